/*
 * sched/space.h — the search space, and the way between its values and the unit cube.
 *
 * Pure     No I/O, clock, thread, global or locale. Immutable once built.
 * Units    A point is n doubles in [0, 1), one per parameter, in the order of sw_space_add(). A
 *          value is a number, or the index of a category.
 * Memory   The space copies what it is given. Values arrays are the caller's.
 * Errors   sw_space_add() refuses what has no meaning and points at the key ("/min", "/values",
 * ...) relative to the parameter; the caller prefixes where the parameter stands.
 *
 * How a unit coordinate u becomes a value (inverse transform, so that u uniform gives the named
 * distribution). Bounds are inclusive.
 *
 *   CONSTANT      the constant
 *   CATEGORICAL   the first category whose cumulated weight exceeds u (equal weights by default)
 *   INT_UNIFORM   min + floor(u * (max - min + 1))
 *   UNIFORM       min + u * (max - min)
 *   LOG_UNIFORM   exp(ln min + u * (ln max - ln min));  min > 0
 *   INV_LOG_UNIFORM  1 / LOG_UNIFORM over [1/max, 1/min]
 *   Q_UNIFORM     the multiples of q within [min, max], each as likely as the others
 *   Q_LOG_UNIFORM LOG_UNIFORM, rounded to the nearest multiple of q within [min, max]
 *   POW2          2^k, k an integer, min and max powers of two, each k as likely as the others
 *   NORMAL        mu + sigma * probit(u);          Q_NORMAL rounds it to a multiple of q
 *   LOG_NORMAL    exp(mu + sigma * probit(u));     Q_LOG_NORMAL rounds it to a multiple of q
 */
#ifndef SW_SCHED_SPACE_H
#define SW_SCHED_SPACE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SPACE_MAX_PARAMS  ((size_t)256)
#define SW_SPACE_MAX_CHOICES ((size_t)10000) /* values of one categorical parameter */

enum sw_dist {
	SW_DIST_CONSTANT,
	SW_DIST_CATEGORICAL,
	SW_DIST_INT_UNIFORM,
	SW_DIST_UNIFORM,
	SW_DIST_LOG_UNIFORM,
	SW_DIST_INV_LOG_UNIFORM,
	SW_DIST_Q_UNIFORM,
	SW_DIST_Q_LOG_UNIFORM,
	SW_DIST_POW2,
	SW_DIST_NORMAL,
	SW_DIST_Q_NORMAL,
	SW_DIST_LOG_NORMAL,
	SW_DIST_Q_LOG_NORMAL,
};

struct sw_param {
	enum sw_dist dist;
	double min, max;  /* the bounded kinds */
	double q;         /* the Q_ kinds; > 0 */
	double mu, sigma; /* the normal kinds; sigma > 0 */
	size_t n_choices; /* CATEGORICAL: at least 1 */
	const double
		*weights; /* CATEGORICAL: n_choices of them, or NULL for equal ones; borrowed */
};

struct sw_value {
	double number;   /* every kind but CATEGORICAL and CONSTANT */
	uint32_t choice; /* CATEGORICAL: index; CONSTANT: 0 */
};

struct sw_space; /* opaque */

SW_NODISCARD sw_status sw_space_create(struct sw_space **out);
void sw_space_destroy(struct sw_space *s); /* NULL is allowed */

/* Checks and appends one parameter. SW_INVALID with a pointer relative to it, SW_TOO_BIG, SW_NOMEM.
 */
SW_NODISCARD sw_status sw_space_add(struct sw_space *s, const struct sw_param *p,
				    struct sw_err *err);

size_t sw_space_size(const struct sw_space *s); /* number of parameters */
const struct sw_param *sw_space_param(const struct sw_space *s, size_t i);

/* The number of values of parameter i, or 0 when it is continuous (or too many to count exactly in
 * 2^53). UNIFORM etc. without q are continuous; the normal kinds are unbounded, so 0. */
uint64_t sw_space_levels(const struct sw_space *s, size_t i);

/* unit[n] -> values[n]. A coordinate outside [0, 1) is taken to its nearest end. O(n log choices).
 */
void sw_space_decode(const struct sw_space *s, const double *unit, struct sw_value *values);

/* values[n] -> unit[n]: the middle of the interval that decodes to each value, so that
 * decode(encode(v)) == v exactly for integers, categories, pow2 and quantised kinds, and to within
 * rounding for the rest. Values outside the space are taken to the nearest end. */
void sw_space_encode(const struct sw_space *s, const struct sw_value *values, double *unit);

/* The k-th (from 0) of the sw_space_levels() values of a discrete parameter, in rising order (the
 * given order for categories). Asserts that the parameter is discrete and k < levels. */
struct sw_value sw_space_level(const struct sw_space *s, size_t i, uint64_t k);

#endif
