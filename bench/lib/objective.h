/*
 * bench/lib/objective.h — something to minimise: a space, and what a point of it costs.
 *
 * Forms    PLAIN    a function of functions.h.
 *          ROTATED  f(m + B R B^-1 (x - m)): turned about its minimiser m in the unit cube (B: the
 *                   box's sides) by a fixed random orthogonal R, one for each function. So the
 *                   minimum keeps its place and value; where the turned point is outside the box
 *                   the function goes on as its formula does, or, where that falls lower than the
 *                   minimum (functions.h, boxed), it is clamped to the box first.
 *          NOISY    plus normal noise, its deviation 10% of the function's own over the box
 *                   (10,000 uniform points). Regrets count in the function's deviations there.
 *          FLAKY    one trial in nine FAILED, wherever it is.
 *          EDGED    all FAILED more than 0.02 of the box beyond the minimiser, along the first
 *                   parameter, on its narrower side.
 *          MIXED    spaces of our own with categories, integers, logs and conditions; some points
 *                   are infeasible. The minimum is 0.
 * Memory   create/destroy. Asserts instead of errors: a bench has nobody to tell.
 */
#ifndef SW_BENCH_LIB_OBJECTIVE_H
#define SW_BENCH_LIB_OBJECTIVE_H

#include "bench/lib/functions.h"
#include "sched/space/space.h"
#include <stdint.h>

enum bench_form { BENCH_PLAIN, BENCH_ROTATED, BENCH_NOISY, BENCH_FLAKY, BENCH_EDGED, BENCH_FORM_N };

struct bench_value {
	double seen;  /* what the sampler is told */
	double truth; /* what counts */
};

struct bench_objective {
	char name[32];
	struct sw_space *space;
	double optimum; /* of the truth */
	double scale;   /* one unit of regret */

	bool crashes; /* a trial without a value FAILED; else it is INFEASIBLE */

	/* seed, trial: what the noise depends on. false: the trial has no value. */
	bool (*value)(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		      struct bench_value *out);
	void *ctx; /* owned */
};

struct bench_objective *bench_objective_function(const struct bench_function *f,
						 enum bench_form form);

void bench_objective_destroy(struct bench_objective *o); /* NULL is allowed */

/* --- bench/lib/mixed.c --- */

/* "net7" and "kernel6"; NULL past the last. */
const char *bench_mixed_name(size_t i);
struct bench_objective *bench_objective_mixed(size_t i);
/* Is the minimum 0 where it should be? 0, or -1 with lines on stderr. */
int bench_mixed_check(void);

/* --- spaces: new, with parameters added, sealed; or a cube of d reals, sealed; the caller's --- */
struct sw_space *bench_space_new(void);
void bench_add(struct sw_space *s, struct sw_param p);
void bench_space_seal(struct sw_space *s);
struct sw_space *bench_space_cube(size_t d, double min, double max);

#endif
