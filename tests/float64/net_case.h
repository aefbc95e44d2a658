/*
 * tests/float64/net_case.h — a small net with its data, both in double (as_double.h), and the check
 * of its gradients.
 */
#ifndef SW_TESTS_FLOAT64_NET_CASE_H
#define SW_TESTS_FLOAT64_NET_CASE_H

#include "trainer/net/net.h"

struct net_case {
	const char *list; /* the layers, as JSON */
	enum sw_shape_kind kind;
	bool numbers;   /* mse; else cross entropy over 4 classes */
	bool each;      /* TOKENS: a label for each token, some of them none */
	bool whole;     /* TOKENS: no lengths */
	size_t micro;   /* rows at once, of 8; 0: all */
	double smooth;  /* of labels */
	size_t c, h, w; /* IMAGE; 0: 2 x 6 x 5 */
	size_t most;    /* gradients of a tensor that are looked at; 0: all */
	int isa, blas;  /* which loops; 0, or 2 for the products of BLAS everywhere */
	unsigned seed;
};

/* U(-1, 1), and an integer below n, from what case_seed() began. */
void case_seed(unsigned seed);
double case_unit(void);
unsigned case_draw(unsigned n);

/* Does the list fit the case's data? *out: the compiled net, to be freed. */
bool case_compiles(const struct net_case *c, struct sw_model **out, struct sw_err *err);

/* Fails the running test at the first gradient that is not the slope of the loss. */
void case_check(const struct net_case *c);

#endif
