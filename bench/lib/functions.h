/*
 * bench/lib/functions.h — functions with a known minimum, to search in.
 *
 * Set      BENCH_STANDARD: the fourteen whose peers' figures are known, in the boxes of those
 *          figures. BENCH_HELDOUT: ten more, minimum off the centre, looked at only to see whether
 *          what was learned on the first holds elsewhere.
 * Pure     No state.
 * Source   The definitions and minima that are in every collection of test functions (Surjanovic
 *          and Bingham, "Virtual library of simulation experiments"; Dixon and Szegö 1978). Boxes
 *          are ours where a usual one puts the minimum into the middle.
 */
#ifndef SW_BENCH_LIB_FUNCTIONS_H
#define SW_BENCH_LIB_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_MAX_D 10

enum bench_set { BENCH_STANDARD, BENCH_HELDOUT };

struct bench_function {
	const char *name;
	enum bench_set set;
	size_t d;
	double (*value)(const double *x, size_t d); /* x: double[d] */
	double lo[BENCH_MAX_D], hi[BENCH_MAX_D];    /* the box */
	double at[BENCH_MAX_D];                     /* where the minimum is, to 8 digits or more */
	double published;                           /* its value, as printed elsewhere */
	bool boxed; /* lower values lie outside the box: a rotated form is clamped to it */
};

/* The table: the standard ones first. */
const struct bench_function *bench_functions(size_t *n);

/* Each value at the known minimiser against the published one. 0, or -1 with lines on stderr. */
int bench_functions_check(void);

/* Uniform in [0, 1), a function of its three arguments. */
double bench_unit(unsigned long long key, unsigned long long row, unsigned column);
/* Standard normal, likewise. */
double bench_normal(unsigned long long key, unsigned long long row, unsigned column);

/* Two of them, for other benches. */
double bench_hartmann6(const double *x, size_t d);
double bench_levy(const double *x, size_t d);

#endif
