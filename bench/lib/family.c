#include "bench/lib/family.h"
#include "bench/lib/cells.h"
#include "bench/lib/objective.h"
#include <math.h>

/* Of parameters from 0 to 1; the three numbers are those of crossing(). */
struct formula {
	size_t d;
	double start, slowest, power;
};

static struct sw_space *cube(void *ctx)
{
	return bench_space_cube(((const struct formula *)ctx)->d, 0, 1);
}

static double noise(uint64_t seed, uint64_t trial, size_t epoch)
{
	return 0.7 * bench_normal(seed, trial, 0x6e6f) +
	       0.7 * bench_normal(seed, trial, 0x6e70 + (unsigned)epoch);
}

static double corr(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		   double *curve)
{
	double x[6], truth = 0;

	(void)ctx;
	for (size_t k = 0; k < 6; k++)
		x[k] = v[k].number;
	const double end = bench_hartmann6(x, 6) + 3.32237, start = 1 + 0.5 * sin(3 * x[0] + x[3]);

	for (size_t t = 0; t < BENCH_EPOCHS; t++) {
		truth = end + start * pow((double)(t + 1), -0.7);
		curve[t] = truth + 0.03 * noise(seed, trial, t);
	}
	return truth;
}

/* One parameter says how slowly the loss comes down, and slow is where the minimum is. */
static double crossing(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		       double *curve)
{
	static const double best[] = {0.2, 0.7, 0.4, 0.6, 0.3}, weight[] = {3, 2.5, 2, 1.5, 1};
	const struct formula *const c = ctx;
	const double slow = 0.7 + c->slowest * pow(1 - v[0].number, c->power);
	double end = 0, truth = 0, sum = 0;

	for (size_t k = 0; k < 5; k++)
		sum += v[k].number - best[k];
	for (size_t k = 0; k < 5; k++) {
		/* Reflected, so that it is no sum over the parameters. */
		const double off = v[k].number - best[k] - sum * 2 / 5;

		end += weight[k] * (off * off + 0.02 * (1 - cos(15 * off)));
	}
	for (size_t t = 0; t < BENCH_EPOCHS; t++) {
		truth = end + c->start * exp(-(double)(t + 1) / slow);
		curve[t] = truth + 0.02 * noise(seed, trial, t);
	}
	return truth;
}

int bench_families_open(struct bench_family out[BENCH_FAMILIES], size_t *n, const char *list)
{
	static struct formula smooth = {.d = 6}, cross = {5, 1.5, 9, 2}, hard = {5, 2.5, 6, 3};
	static const struct bench_family by_formula[] = {{"corr", cube, corr, &smooth, NULL},
							 {"cross", cube, crossing, &cross, NULL},
							 {"hard", cube, crossing, &hard, NULL}};

	*n = 0;
	for (size_t i = 0; i < sizeof by_formula / sizeof *by_formula; i++)
		if (bench_listed(list, by_formula[i].name))
			out[(*n)++] = by_formula[i];
	for (size_t i = 0; bench_recorded_name(i) != NULL; i++) {
		if (!bench_listed(list, bench_recorded_name(i)))
			continue;
		if (bench_recorded_open(&out[*n], i) != 0)
			return -1;
		++*n;
	}
	return 0;
}

void bench_families_close(struct bench_family *family, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (family[i].free_ctx != NULL)
			family[i].free_ctx(family[i].ctx);
}
