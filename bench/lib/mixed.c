/*
 * bench/lib/mixed.c — two spaces as users have them, with a cost that is cheap and known.
 *
 * net7     a training run: the best learning rate depends on the optimizer, and through momentum on
 *          a parameter that only one optimizer has; capacity is shared by depth and width, and the
 *          dropout that helps depends on it; too large a step diverges, which fails the trial.
 * kernel6  a support vector machine: four kernels with three conditional parameters, a ridge
 *          between two logs, a quantised and a log-integer parameter, a weighted category.
 *
 * Every term is 0 or above, and all are 0 at one point, which the check of bench_search visits.
 */
#include "bench/lib/objective.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double square(double v)
{
	return v * v;
}

static void when(struct sw_space *s, size_t child, size_t parent, const uint32_t *choices, size_t n)
{
	struct sw_value allowed[4] = {{0}};
	struct sw_err err = SW_ERR_INIT;

	assert(n <= 4);
	for (size_t i = 0; i < n; i++)
		allowed[i].choice = choices[i];
	const sw_status rc = sw_space_when(s, child, parent, allowed, n, &err);
	if (rc != SW_OK)
		(void)fprintf(stderr, "a condition: %s\n", err.msg);
	assert(rc == SW_OK);
}

/* --- net7 --- */

enum { NET_OPTIMIZER, NET_LR, NET_MOMENTUM, NET_BETA, NET_LAYERS, NET_WIDTH, NET_DROPOUT };
enum { NET_SGD, NET_ADAM, NET_RMSPROP };

static void net_space(struct sw_space *s)
{
	static const uint32_t sgd[] = {NET_SGD}, adam[] = {NET_ADAM};

	bench_add(s, (struct sw_param){.dist = SW_DIST_CATEGORICAL, .n_choices = 3});
	bench_add(s, (struct sw_param){.dist = SW_DIST_LOG_UNIFORM, .min = 1e-5, .max = 1});
	bench_add(s, (struct sw_param){.dist = SW_DIST_UNIFORM, .min = 0, .max = 0.99});
	bench_add(s, (struct sw_param){.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 0.2});
	bench_add(s, (struct sw_param){.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 5});
	bench_add(s, (struct sw_param){.dist = SW_DIST_POW2, .min = 8, .max = 1024});
	bench_add(s, (struct sw_param){.dist = SW_DIST_UNIFORM, .min = 0, .max = 0.8});
	when(s, NET_MOMENTUM, NET_OPTIMIZER, sgd, 1);
	when(s, NET_BETA, NET_OPTIMIZER, adam, 1);
}

static bool net_value(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		      struct bench_value *out)
{
	const double capacity = log2(v[NET_WIDTH].number) + 2 * v[NET_LAYERS].number;
	const double dropout = fmin(0.8, fmax(0, 0.05 * (capacity - 8)));
	double step = log10(v[NET_LR].number), y = 0;

	(void)ctx;
	(void)seed;
	(void)trial;
	switch (v[NET_OPTIMIZER].choice) {
	case NET_SGD:
		step += 0.5 - log10(1 - v[NET_MOMENTUM].number);
		y = 0.6 * square(v[NET_MOMENTUM].number - 0.9);
		break;
	case NET_ADAM:
		step += 3;
		y = 0.12 + 0.05 * square(log10(v[NET_BETA].number) + 3);
		break;
	default:
		step += 3.4;
		y = 0.25;
		break;
	}
	if (step > 1.3)
		return false; /* diverged */
	y += 0.25 * square(step) + (step > 0 ? 2 * step * step : 0);
	y += square((capacity - 13) / 4) + 0.05 * square(v[NET_LAYERS].number - 3) +
	     2 * square(v[NET_DROPOUT].number - dropout);
	out->truth = out->seen = y;
	return true;
}

/* --- kernel6 --- */

enum { SVM_KERNEL, SVM_C, SVM_GAMMA, SVM_DEGREE, SVM_COEF0, SVM_PCA };
enum { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID };

static void svm_space(struct sw_space *s)
{
	static const double weights[] = {1, 1, 2, 1};
	static const uint32_t curved[] = {SVM_POLY, SVM_RBF, SVM_SIGMOID}, poly[] = {SVM_POLY};
	static const uint32_t offset[] = {SVM_POLY, SVM_SIGMOID};

	bench_add(s, (struct sw_param){
			     .dist = SW_DIST_CATEGORICAL, .n_choices = 4, .weights = weights});
	bench_add(s, (struct sw_param){.dist = SW_DIST_LOG_UNIFORM, .min = 1e-3, .max = 1e4});
	bench_add(s, (struct sw_param){.dist = SW_DIST_LOG_UNIFORM, .min = 1e-6, .max = 10});
	bench_add(s, (struct sw_param){.dist = SW_DIST_INT_UNIFORM, .min = 2, .max = 6});
	bench_add(s, (struct sw_param){.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 5, .q = 0.25});
	bench_add(s, (struct sw_param){.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 256});
	when(s, SVM_GAMMA, SVM_KERNEL, curved, 3);
	when(s, SVM_DEGREE, SVM_KERNEL, poly, 1);
	when(s, SVM_COEF0, SVM_KERNEL, offset, 2);
}

static bool svm_value(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		      struct bench_value *out)
{
	const double c = log10(v[SVM_C].number) - 1.5;
	double y = 0.04 * square(log(v[SVM_PCA].number / 48));

	(void)ctx;
	(void)seed;
	(void)trial;
	if (v[SVM_KERNEL].choice == SVM_LINEAR) {
		y += 0.35 + 0.03 * square(c + 1.5);
	} else {
		const double g = log10(v[SVM_GAMMA].number) + 2.25;

		y += 0.12 * square(c + g) + 0.01 * square(c - g) + 0.03 * (1 - cos(3 * (c - g)));
	}
	switch (v[SVM_KERNEL].choice) {
	case SVM_POLY:
		y += 0.1 + 0.1 * square(v[SVM_DEGREE].number - 3) +
		     0.05 * square(v[SVM_COEF0].number - 1.25);
		break;
	case SVM_SIGMOID:
		y += 0.2 + 0.1 * square(v[SVM_COEF0].number - 0.5);
		break;
	default:
		break;
	}
	out->truth = out->seen = y;
	return true;
}

/* --- the two --- */

static const struct {
	const char *name;
	void (*space)(struct sw_space *s);
	bool (*value)(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		      struct bench_value *out);
	struct sw_value best[7]; /* costs nothing */
} mixed[] = {{"net7",
	      net_space,
	      net_value,
	      {{.choice = NET_SGD},
	       {.number = 0.031622776601683791},
	       {.number = 0.9},
	       {.number = 0.01},
	       {.number = 3},
	       {.number = 128},
	       {.number = 0.25}}},
	     {"kernel6",
	      svm_space,
	      svm_value,
	      {{.choice = SVM_RBF},
	       {.number = 31.622776601683793},
	       {.number = 0.0056234132519034908},
	       {.number = 3},
	       {.number = 0.5},
	       {.number = 48}}}};

const char *bench_mixed_name(size_t i)
{
	return i < sizeof mixed / sizeof *mixed ? mixed[i].name : NULL;
}

int bench_mixed_check(void)
{
	int rc = 0;

	for (size_t i = 0; bench_mixed_name(i) != NULL; i++) {
		struct bench_value y = {.truth = INFINITY};

		if (!mixed[i].value(NULL, mixed[i].best, 1, 1, &y) || fabs(y.truth) > 1e-12) {
			(void)fprintf(stderr, "%s: %g where it should be 0\n", mixed[i].name,
				      y.truth);
			rc = -1;
		}
	}
	return rc;
}

struct bench_objective *bench_objective_mixed(size_t i)
{
	struct bench_objective *o = calloc(1, sizeof *o);

	assert(o != NULL && bench_mixed_name(i) != NULL);
	*o = (struct bench_objective){.scale = 1, .value = mixed[i].value};
	(void)snprintf(o->name, sizeof o->name, "%s", mixed[i].name);
	o->space = bench_space_new();
	mixed[i].space(o->space);
	bench_space_seal(o->space);
	return o;
}
