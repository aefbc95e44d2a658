/*
 * sched/space_internal.h — what space.c prepares once and space_map.c uses at each point.
 *
 * A discrete parameter is an integer index k from k_lo to k_hi and a way from k to the value:
 * INT_UNIFORM k; the Q_ kinds k * num / den; POW2 2^k; CATEGORICAL and CONSTANT choice k.
 */
#ifndef SW_SCHED_SPACE_INTERNAL_H
#define SW_SCHED_SPACE_INTERNAL_H

#include "sched/space.h"

struct space_entry {
	struct sw_param p; /* weights: the entry's own copy */
	double *cum;       /* CATEGORICAL with weights: cumulated and normalised; the last is 1 */
	double k_lo, k_hi; /* the indices of a bounded discrete kind */
	double num, den;   /* q == num / den, both integers if q is a short decimal or a 1/n */
	double u_lo, u_hi; /* LOG kinds: logarithms of the bounds, in the order u runs */
	uint64_t levels;   /* 0: not countable */
};

struct sw_space {
	struct space_entry *v;
	size_t n, cap;
};

/* The largest double below 1. */
#define SW_BELOW_ONE (1.0 - 0x1p-53)

/* Doubles hold each integer up to here. */
#define SW_EXACT_MAX 0x1p53

/* The value of index k of a number-valued discrete parameter. Exact for short decimals: 3 * 0.1 is
 * 0.3. Never -0. */
double sw_space_value_of(const struct space_entry *e, double k);

#endif
