#include "bench/lib/functions.h"
#include "base/philox.h"
#include "sched/num/normal.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX2(l, h)                                                                                 \
	{(l), (l)},                                                                                \
	{                                                                                          \
		(h), (h)                                                                           \
	}
#define BOX3(l, h)                                                                                 \
	{(l), (l), (l)},                                                                           \
	{                                                                                          \
		(h), (h), (h)                                                                      \
	}
#define BOX4(l, h)                                                                                 \
	{(l), (l), (l), (l)},                                                                      \
	{                                                                                          \
		(h), (h), (h), (h)                                                                 \
	}
#define BOX5(l, h)                                                                                 \
	{(l), (l), (l), (l), (l)},                                                                 \
	{                                                                                          \
		(h), (h), (h), (h), (h)                                                            \
	}
#define BOX6(l, h)                                                                                 \
	{(l), (l), (l), (l), (l), (l)},                                                            \
	{                                                                                          \
		(h), (h), (h), (h), (h), (h)                                                       \
	}
#define BOX8(l, h)                                                                                 \
	{(l), (l), (l), (l), (l), (l), (l), (l)},                                                  \
	{                                                                                          \
		(h), (h), (h), (h), (h), (h), (h), (h)                                             \
	}
#define BOX10(l, h)                                                                                \
	{(l), (l), (l), (l), (l), (l), (l), (l), (l), (l)},                                        \
	{                                                                                          \
		(h), (h), (h), (h), (h), (h), (h), (h), (h), (h)                                   \
	}
#define ORIGIN                                                                                     \
	{                                                                                          \
		0                                                                                  \
	}
#define ONES4                                                                                      \
	{                                                                                          \
		1, 1, 1, 1                                                                         \
	}
#define ONES5                                                                                      \
	{                                                                                          \
		1, 1, 1, 1, 1                                                                      \
	}
#define ONES10                                                                                     \
	{                                                                                          \
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1                                                       \
	}
#define STY (-2.9035340277711769)
#define STY10                                                                                      \
	{                                                                                          \
		STY, STY, STY, STY, STY, STY, STY, STY, STY, STY                                   \
	}
#define SCHW 420.96874635998202

/* clang-format off */
static const struct bench_function table[] = {
	{"branin", BENCH_STANDARD, 2, bench_branin, {-5, 0}, {10, 15}, {M_PI, 2.275}, 0.397887, false},
	{"hartmann3", BENCH_STANDARD, 3, bench_hartmann3, BOX3(0, 1),
	 {0.11458886496, 0.555648893188, 0.852546984741}, -3.86278, false},
	{"hartmann6", BENCH_STANDARD, 6, bench_hartmann6, BOX6(0, 1),
	 {0.201689511719, 0.150010687195, 0.476873969482, 0.275332427246, 0.31165161853,
	  0.657300534058}, -3.32237, false},
	{"ackley5", BENCH_STANDARD, 5, bench_ackley, BOX5(-20, 32.768), ORIGIN, 0, false},
	{"ackley10", BENCH_STANDARD, 10, bench_ackley, BOX10(-20, 32.768), ORIGIN, 0, false},
	{"levy4", BENCH_STANDARD, 4, bench_levy, BOX4(-10, 10), ONES4, 0, false},
	{"levy10", BENCH_STANDARD, 10, bench_levy, BOX10(-10, 10), ONES10, 0, false},
	{"rosenbrock5", BENCH_STANDARD, 5, bench_rosenbrock, BOX5(-5, 10), ONES5, 0, false},
	{"michalewicz5", BENCH_STANDARD, 5, bench_michalewicz, BOX5(0, M_PI),
	 {2.20290552, 1.57079633, 1.28499157, 1.92305847, 1.72046977}, -4.687658, true},
	{"rastrigin5", BENCH_STANDARD, 5, bench_rastrigin, BOX5(-3, 5.12), ORIGIN, 0, false},
	{"styblinski10", BENCH_STANDARD, 10, bench_styblinski, BOX10(-5, 5), STY10, -391.6617, false},
	{"shekel", BENCH_STANDARD, 4, bench_shekel, BOX4(0, 10),
	 {4.0007468605, 3.99950948715, 4.0007468605, 3.99950948715}, -10.5364, false},
	{"sixhump", BENCH_STANDARD, 2, bench_sixhump, {-3, -2}, {3, 2}, {0.08984201, -0.71265640},
	 -1.031628, false},
	{"griewank5", BENCH_STANDARD, 5, bench_griewank, BOX5(-400, 600), ORIGIN, 0, false},

	{"powell4", BENCH_HELDOUT, 4, bench_powell, BOX4(-4, 5.5), ORIGIN, 0, false},
	{"dixonprice5", BENCH_HELDOUT, 5, bench_dixonprice, BOX5(-6, 10),
	 {1, 0.70710678118654752, 0.59460355750136053, 0.54525386633262884, 0.52213689121370688}, 0,
	 false},
	{"zakharov4", BENCH_HELDOUT, 4, bench_zakharov, BOX4(-5, 10), ORIGIN, 0, false},
	{"schwefel3", BENCH_HELDOUT, 3, bench_schwefel, BOX3(-500, 500), {SCHW, SCHW, SCHW}, 0, true},
	{"perm3", BENCH_HELDOUT, 3, bench_perm, BOX3(-3, 5), {1, 2, 3}, 0, false},
	{"eggholder", BENCH_HELDOUT, 2, bench_eggholder, BOX2(-512, 512), {512, 404.23180500},
	 -959.6407, true},
	{"dropwave", BENCH_HELDOUT, 2, bench_dropwave, BOX2(-3, 6), ORIGIN, -1, false},
	{"cosines4", BENCH_HELDOUT, 4, bench_cosines, BOX4(-0.6, 1.1), ORIGIN, -0.4, false},
	{"trid6", BENCH_HELDOUT, 6, bench_trid, BOX6(-36, 36), {6, 10, 12, 12, 10, 6}, -50, false},
	{"qing8", BENCH_HELDOUT, 8, bench_qing, BOX8(-2, 6),
	 {1, M_SQRT2, 1.7320508075688773, 2, 2.2360679774997897, 2.4494897427831781,
	  2.6457513110645906, 2 * M_SQRT2}, 0, false},
};
/* clang-format on */

#define TABLE_N (sizeof table / sizeof *table)

const struct bench_function *bench_functions(size_t *n)
{
	*n = TABLE_N;
	return table;
}

double bench_unit(unsigned long long key, unsigned long long row, unsigned column)
{
	/* its own mark in the last word keeps it away from all that samplers draw */
	const struct sw_philox_words at = {
		{(uint32_t)row, (uint32_t)(row >> 32), column, 0x62656e63u}};
	const struct sw_philox_words r = sw_philox_raw(at, (uint32_t)key, (uint32_t)(key >> 32));

	return (double)((((uint64_t)r.v[1] << 32) | r.v[0]) >> 11) * 0x1p-53;
}

double bench_normal(unsigned long long key, unsigned long long row, unsigned column)
{
	return sw_normal_quantile(bench_unit(key, row, column) + 0x1p-54);
}

/* --- the check --- */

#define PROBES 20000

/* Downhill along the axes from the minimiser, steps of 1e-3 to 1e-9 of the box. */
static double compass(const struct bench_function *f, double *x)
{
	double best = f->value(x, f->d);

	for (double step = 1e-3; step > 1e-9;) {
		bool better = false;

		for (size_t i = 0; i < 2 * f->d; i++) {
			const size_t k = i / 2;
			const double old = x[k], width = f->hi[k] - f->lo[k];
			const double to = old + (i % 2 == 0 ? step : -step) * width;

			x[k] = fmin(f->hi[k], fmax(f->lo[k], to));
			const double y = f->value(x, f->d);
			if (y < best) {
				best = y;
				better = true;
			} else {
				x[k] = old;
			}
		}
		if (!better)
			step /= 2;
	}
	return best;
}

static int check_one(const struct bench_function *f)
{
	const double value = f->value(f->at, f->d), scale = fmax(1, fabs(f->published));
	double x[BENCH_MAX_D], lowest = INFINITY;

	if (fabs(value - f->published) > 2e-5 * scale) {
		(void)fprintf(stderr, "%s: %.12g at its minimiser, published is %.12g\n", f->name,
			      value, f->published);
		return -1;
	}
	memcpy(x, f->at, sizeof x);
	const double near = compass(f, x);
	if (near < value - 1e-12 * scale) {
		(void)fprintf(stderr, "%s: %.15g is below %.15g, at", f->name, near, value);
		for (size_t k = 0; k < f->d; k++)
			(void)fprintf(stderr, " %.12g", x[k]);
		(void)fputc('\n', stderr);
		return -1;
	}
	for (unsigned i = 0; i < PROBES; i++) {
		for (unsigned k = 0; k < f->d; k++)
			x[k] = f->lo[k] + (f->hi[k] - f->lo[k]) * bench_unit(1, i, k);
		lowest = fmin(lowest, f->value(x, f->d));
	}
	if (lowest < value - 1e-9 * scale) {
		(void)fprintf(stderr, "%s: %.15g somewhere, below the minimum of %.15g\n", f->name,
			      lowest, value);
		return -1;
	}
	return 0;
}

int bench_functions_check(void)
{
	int rc = 0;

	for (size_t i = 0; i < TABLE_N; i++)
		if (check_one(&table[i]) != 0)
			rc = -1;
	return rc;
}
