/*
 * base/dist.h — the distributions that a parameter's values are drawn from: the one vocabulary of
 * the spec, the samplers and the worker.
 *
 * Names    W&B's. Aliases (W&B's of exponents, Ray's, Optuna's) are resolved by spec/read/param.c.
 */
#ifndef SW_BASE_DIST_H
#define SW_BASE_DIST_H

#include <stdbool.h>

#define SW_DIST_MAP(X)                                                                             \
	X(SW_DIST_CONSTANT, "constant")                                                            \
	X(SW_DIST_CATEGORICAL, "categorical")                                                      \
	X(SW_DIST_INT_UNIFORM, "int_uniform")                                                      \
	X(SW_DIST_UNIFORM, "uniform")                                                              \
	X(SW_DIST_LOG_UNIFORM, "log_uniform_values")                                               \
	X(SW_DIST_INV_LOG_UNIFORM, "inv_log_uniform_values")                                       \
	X(SW_DIST_Q_UNIFORM, "q_uniform")                                                          \
	X(SW_DIST_Q_LOG_UNIFORM, "q_log_uniform_values")                                           \
	X(SW_DIST_POW2, "pow2")                                                                    \
	X(SW_DIST_NORMAL, "normal")                                                                \
	X(SW_DIST_Q_NORMAL, "q_normal")                                                            \
	X(SW_DIST_LOG_NORMAL, "log_normal")                                                        \
	X(SW_DIST_Q_LOG_NORMAL, "q_log_normal")                                                    \
	X(SW_DIST_INT_LOG_UNIFORM, "int_log_uniform")

#define SW_DIST_ENUM(id, name) id,
enum sw_dist { SW_DIST_MAP(SW_DIST_ENUM) };
#undef SW_DIST_ENUM

const char *sw_dist_name(enum sw_dist dist);
/* Neither a choice nor a value of a grid. */
bool sw_dist_is_continuous(enum sw_dist dist);

#endif
