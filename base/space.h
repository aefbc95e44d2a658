/*
 * base/space.h — what a search space is described by: the one vocabulary of the spec, which fills
 * it, and of sched/space, which is built of it.
 */
#ifndef SW_BASE_SPACE_H
#define SW_BASE_SPACE_H

#include "base/dist.h"
#include <stddef.h>
#include <stdint.h>

#define SW_SPACE_MAX_PARAMS  ((size_t)256)
#define SW_SPACE_MAX_CHOICES ((size_t)10000) /* values of one categorical parameter */

#define SW_SPACE_MAX_CONSTRAINTS ((size_t)256)
#define SW_SPACE_MAX_TERMS       ((size_t)64) /* on one side of a constraint */
#define SW_TERM_MAX_FACTORS      4

struct sw_param {
	enum sw_dist dist;
	double min, max;  /* the bounded kinds */
	double q;         /* the Q_ kinds; > 0 */
	double mu, sigma; /* the normal kinds; sigma > 0 */
	size_t n_choices; /* CATEGORICAL: at least 1 */
	const double
		*weights; /* CATEGORICAL: n_choices of them, or NULL for equal ones; borrowed */
	/* The choices (CONSTANT: the one) as numbers, if all of them are, so that constraints can
	 * use the parameter; else NULL. Borrowed. */
	const double *numbers;
};

/* coef times the product of 1 to SW_TERM_MAX_FACTORS parameters (indices; one may stand twice). */
struct sw_term {
	double coef;
	size_t n_factors;
	uint16_t factor[SW_TERM_MAX_FACTORS];
};

struct sw_sum {
	const struct sw_term *terms; /* borrowed */
	size_t n_terms;
	double constant;
};

enum sw_compare { SW_LT, SW_LE, SW_GT, SW_GE, SW_EQ, SW_NE };

struct sw_constraint {
	struct sw_sum left, right;
	enum sw_compare op;
};

#endif
