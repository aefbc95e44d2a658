/*
 * tests/kernels/gradient.h — holds an entry and its gradient to a reference in double.
 *
 * A case names its tensors, a reference that computes the output in double by the definition, and
 * how the table under test is called. The forward pass is compared with the reference; the gradient
 * with central differences of the reference's sum(dy * y), also in double. The backward call is
 * made twice: over memory full of NaN, then adding to gradients of parameters.
 */
#ifndef SW_TESTS_KERNELS_GRADIENT_H
#define SW_TESTS_KERNELS_GRADIENT_H

#include "kernels/ops.h"
#include <stddef.h>

#define GRADIENT_INS 4

struct gradient_case {
	const char *name;
	size_t ins;             /* float tensors that are read */
	size_t n[GRADIENT_INS]; /* their elements */
	size_t out_n;
	double tol; /* of |a - b| <= tol (scale of the tensor + |b|) */
	const void *shape;
	void (*reference)(const void *shape, double *const *in, double *out);
	sw_status (*forward)(const void *shape, float *const *in, float *out);
	/* din[i]: where to put the gradient of tensor i. dy may be written over. */
	sw_status (*backward)(const void *shape, float *const *in, const float *out, float *dy,
			      float *const *din);
};

/* Fails the running test at the first number that is wrong. */
void gradient_check(const struct gradient_case *c);

/* n numbers of U(-1, 1), another set for each key; to be freed. At least one element is made. */
float *gradient_noise(size_t n, unsigned key);

/* 64-byte aligned scratch memory of the test's process, filled with NaN; bytes may be 0. */
void *gradient_work(size_t bytes);

#endif
