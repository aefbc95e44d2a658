/*
 * sched/num/bfgs.h — minimises a smooth function inside a box: projected BFGS.
 *
 * Pure     No I/O, clock, thread, random or global: the same calls give the same bits.
 * Memory   One block of n^2 + 6n doubles for the length of a call.
 * Source   Nocedal and Wright, Numerical Optimization (2006), algorithm 6.1 (BFGS on the inverse
 *          Hessian), 6.20 (its first scale), 3.5 (the quadratic step back). Departures: bounds are
 *          kept by projection, with the coordinates that press on one frozen for the step
 *          (Bertsekas 1982), and Armijo's condition alone (no Wolfe): an update without positive
 *          curvature is left out.
 * Cost     O(n^2) a step beside the function itself: for tens of variables and dear functions.
 */
#ifndef SW_SCHED_NUM_BFGS_H
#define SW_SCHED_NUM_BFGS_H

#include "base/status.h"
#include <stddef.h>

/* The value at x, and its gradient into grad[n] (not NULL). If the function has no value it returns
 * something large and finite (1e10): the step is shortened. */
typedef double (*sw_bfgs_fn)(const double *x, double *grad, void *arg);

struct sw_bfgs_options {
	double first_step;  /* the largest move of a coordinate in the first step, exactly */
	double max_step;    /* ... in a later one, at most */
	double ftol;        /* two steps with a fall below ftol (1 + |f|) end it */
	unsigned max_iters; /* accepted steps */
	unsigned max_evals; /* calls of the function, the first one included; 0: no limit */
};

/* Minimises fn over lo <= x <= hi (double[n] each). x, in: the start (clipped first), out: the best
 * point; *f its value, never above that of the start. SW_NOMEM is the only failure. */
SW_NODISCARD sw_status sw_bfgs_minimise(size_t n, const double *lo, const double *hi,
					const struct sw_bfgs_options *opt, sw_bfgs_fn fn, void *arg,
					double *x, double *f);

#endif
