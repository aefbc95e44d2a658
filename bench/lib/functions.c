#include "bench/lib/functions.h"
#include "base/normal.h"
#include "base/philox.h"
#include <math.h>
#include <stdio.h>

/* --- what each computes; where and how low is in the table below --- */

static double square(double v)
{
	return v * v;
}

static double branin(const double *x, size_t d)
{
	(void)d;
	return square(x[1] - 5.1 / (4 * M_PI * M_PI) * x[0] * x[0] + 5 / M_PI * x[0] - 6) +
	       10 * (1 - 1 / (8 * M_PI)) * cos(x[0]) + 10;
}

static const double hartmann_alpha[4] = {1.0, 1.2, 3.0, 3.2};

/* a, p: double[4][d] */
static double hartmann(const double *x, size_t d, const double *a, const double *p)
{
	double sum = 0;

	for (size_t i = 0; i < 4; i++) {
		double e = 0;

		for (size_t k = 0; k < d; k++)
			e += a[i * d + k] * square(x[k] - p[i * d + k]);
		sum -= hartmann_alpha[i] * exp(-e);
	}
	return sum;
}

static double hartmann3(const double *x, size_t d)
{
	static const double a[] = {3, 10, 30, 0.1, 10, 35, 3, 10, 30, 0.1, 10, 35};
	static const double p[] = {0.3689, 0.1170, 0.2673, 0.4699, 0.4387, 0.7470,
				   0.1091, 0.8732, 0.5547, 0.0381, 0.5743, 0.8828};

	return hartmann(x, d, a, p);
}

double bench_hartmann6(const double *x, size_t d)
{
	static const double a[] = {10, 3,   17,  3.5, 1.7, 8, 0.05, 10, 17,   0.1, 8,   14,
				   3,  3.5, 1.7, 10,  17,  8, 17,   8,  0.05, 10,  0.1, 14};
	static const double p[] = {0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886, 0.2329, 0.4135,
				   0.8307, 0.3736, 0.1004, 0.9991, 0.2348, 0.1451, 0.3522, 0.2883,
				   0.3047, 0.6650, 0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381};

	return hartmann(x, d, a, p);
}

static double ackley(const double *x, size_t d)
{
	double squares = 0, cosines = 0;

	for (size_t k = 0; k < d; k++) {
		squares += x[k] * x[k];
		cosines += cos(2 * M_PI * x[k]);
	}
	return -20 * exp(-0.2 * sqrt(squares / (double)d)) - exp(cosines / (double)d) + 20 + M_E;
}

double bench_levy(const double *x, size_t d)
{
	const double last = 1 + (x[d - 1] - 1) / 4;
	double sum = square(sin(M_PI * (1 + (x[0] - 1) / 4)));

	for (size_t k = 0; k + 1 < d; k++) {
		const double w = 1 + (x[k] - 1) / 4;

		sum += square(w - 1) * (1 + 10 * square(sin(M_PI * w + 1)));
	}
	return sum + square(last - 1) * (1 + square(sin(2 * M_PI * last)));
}

static double rosenbrock(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k + 1 < d; k++)
		sum += 100 * square(x[k + 1] - x[k] * x[k]) + square(x[k] - 1);
	return sum;
}

static double michalewicz(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum -= sin(x[k]) * pow(sin((double)(k + 1) * x[k] * x[k] / M_PI), 20);
	return sum;
}

static double rastrigin(const double *x, size_t d)
{
	double sum = 10 * (double)d;

	for (size_t k = 0; k < d; k++)
		sum += x[k] * x[k] - 10 * cos(2 * M_PI * x[k]);
	return sum;
}

static double styblinski(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += (square(square(x[k])) - 16 * x[k] * x[k] + 5 * x[k]) / 2;
	return sum;
}

static double shekel(const double *x, size_t d)
{
	static const double beta[10] = {0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
	static const double c[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1},    {8, 8, 8, 8}, {6, 6, 6, 6},
					{3, 7, 3, 7}, {2, 9, 2, 9},    {5, 3, 5, 3}, {8, 1, 8, 1},
					{6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
	double sum = 0;

	for (size_t i = 0; i < 10; i++) {
		double r = beta[i];

		for (size_t k = 0; k < d; k++)
			r += square(x[k] - c[i][k]);
		sum -= 1 / r;
	}
	return sum;
}

static double sixhump(const double *x, size_t d)
{
	const double a = x[0] * x[0], b = x[1] * x[1];

	(void)d;
	return (4 - 2.1 * a + a * a / 3) * a + x[0] * x[1] + (4 * b - 4) * b;
}

static double griewank(const double *x, size_t d)
{
	double sum = 0, product = 1;

	for (size_t k = 0; k < d; k++) {
		sum += x[k] * x[k] / 4000;
		product *= cos(x[k] / sqrt((double)(k + 1)));
	}
	return sum - product + 1;
}

/* --- held out --- */

static double powell(const double *x, size_t d)
{
	(void)d;
	return square(x[0] + 10 * x[1]) + 5 * square(x[2] - x[3]) +
	       square(square(x[1] - 2 * x[2])) + 10 * square(square(x[0] - x[3]));
}

static double dixonprice(const double *x, size_t d)
{
	double sum = square(x[0] - 1);

	for (size_t k = 1; k < d; k++)
		sum += (double)(k + 1) * square(2 * x[k] * x[k] - x[k - 1]);
	return sum;
}

static double zakharov(const double *x, size_t d)
{
	double squares = 0, line = 0;

	for (size_t k = 0; k < d; k++) {
		squares += x[k] * x[k];
		line += 0.5 * (double)(k + 1) * x[k];
	}
	return squares + square(line) + square(square(line));
}

static double schwefel(const double *x, size_t d)
{
	double sum = 418.98288727243369 * (double)d;

	for (size_t k = 0; k < d; k++)
		sum -= x[k] * sin(sqrt(fabs(x[k])));
	return sum;
}

static double perm(const double *x, size_t d)
{
	double sum = 0;

	for (size_t i = 1; i <= d; i++) {
		double inner = 0;

		for (size_t k = 1; k <= d; k++)
			inner += (pow((double)k, (double)i) + 0.5) *
				 (pow(x[k - 1] / (double)k, (double)i) - 1);
		sum += square(inner);
	}
	return sum;
}

static double eggholder(const double *x, size_t d)
{
	(void)d;
	return -(x[1] + 47) * sin(sqrt(fabs(x[1] + x[0] / 2 + 47))) -
	       x[0] * sin(sqrt(fabs(x[0] - (x[1] + 47))));
}

static double dropwave(const double *x, size_t d)
{
	const double r = x[0] * x[0] + x[1] * x[1];

	(void)d;
	return -(1 + cos(12 * sqrt(r))) / (0.5 * r + 2);
}

static double cosines(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += x[k] * x[k] - 0.1 * cos(5 * M_PI * x[k]);
	return sum;
}

static double trid(const double *x, size_t d)
{
	double sum = square(x[0] - 1);

	for (size_t k = 1; k < d; k++)
		sum += square(x[k] - 1) - x[k] * x[k - 1];
	return sum;
}

static double qing(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += square(x[k] * x[k] - (double)(k + 1));
	return sum;
}

/* --- the table --- */

/* clang-format off */
#define R2(x)  x, x
#define R3(x)  R2(x), x
#define R4(x)  R2(x), R2(x)
#define R5(x)  R4(x), x
#define R6(x)  R4(x), R2(x)
#define R8(x)  R4(x), R4(x)
#define R10(x) R8(x), R2(x)
#define STY    (-2.9035340277711769)
#define SCHW   420.96874635998202

static const struct bench_function table[] = {
	{"branin", BENCH_STANDARD, 2, branin, {-5, 0}, {10, 15}, {M_PI, 2.275}, 0.397887, false},
	{"hartmann3", BENCH_STANDARD, 3, hartmann3, {R3(0)}, {R3(1)},
	 {0.11458886496, 0.555648893188, 0.852546984741}, -3.86278, false},
	{"hartmann6", BENCH_STANDARD, 6, bench_hartmann6, {R6(0)}, {R6(1)},
	 {0.201689511719, 0.150010687195, 0.476873969482, 0.275332427246, 0.31165161853,
	  0.657300534058}, -3.32237, false},
	{"ackley5", BENCH_STANDARD, 5, ackley, {R5(-20)}, {R5(32.768)}, {0}, 0, false},
	{"ackley10", BENCH_STANDARD, 10, ackley, {R10(-20)}, {R10(32.768)}, {0}, 0, false},
	{"levy4", BENCH_STANDARD, 4, bench_levy, {R4(-10)}, {R4(10)}, {R4(1)}, 0, false},
	{"levy10", BENCH_STANDARD, 10, bench_levy, {R10(-10)}, {R10(10)}, {R10(1)}, 0, false},
	{"rosenbrock5", BENCH_STANDARD, 5, rosenbrock, {R5(-5)}, {R5(10)}, {R5(1)}, 0, false},
	{"michalewicz5", BENCH_STANDARD, 5, michalewicz, {R5(0)}, {R5(M_PI)},
	 {2.20290552, 1.57079633, 1.28499157, 1.92305847, 1.72046977}, -4.687658, true},
	{"rastrigin5", BENCH_STANDARD, 5, rastrigin, {R5(-3)}, {R5(5.12)}, {0}, 0, false},
	{"styblinski10", BENCH_STANDARD, 10, styblinski, {R10(-5)}, {R10(5)}, {R10(STY)}, -391.6617, false},
	{"shekel", BENCH_STANDARD, 4, shekel, {R4(0)}, {R4(10)},
	 {4.0007468605, 3.99950948715, 4.0007468605, 3.99950948715}, -10.5364, false},
	{"sixhump", BENCH_STANDARD, 2, sixhump, {-3, -2}, {3, 2}, {0.08984201, -0.71265640},
	 -1.031628, false},
	{"griewank5", BENCH_STANDARD, 5, griewank, {R5(-400)}, {R5(600)}, {0}, 0, false},

	{"powell4", BENCH_HELDOUT, 4, powell, {R4(-4)}, {R4(5.5)}, {0}, 0, false},
	{"dixonprice5", BENCH_HELDOUT, 5, dixonprice, {R5(-6)}, {R5(10)},
	 {1, 0.70710678118654752, 0.59460355750136053, 0.54525386633262884, 0.52213689121370688}, 0,
	 false},
	{"zakharov4", BENCH_HELDOUT, 4, zakharov, {R4(-5)}, {R4(10)}, {0}, 0, false},
	{"schwefel3", BENCH_HELDOUT, 3, schwefel, {R3(-500)}, {R3(500)}, {R3(SCHW)}, 0, true},
	{"perm3", BENCH_HELDOUT, 3, perm, {R3(-3)}, {R3(5)}, {1, 2, 3}, 0, false},
	{"eggholder", BENCH_HELDOUT, 2, eggholder, {R2(-512)}, {R2(512)}, {512, 404.23180500},
	 -959.6407, true},
	{"dropwave", BENCH_HELDOUT, 2, dropwave, {R2(-3)}, {R2(6)}, {0}, -1, false},
	{"cosines4", BENCH_HELDOUT, 4, cosines, {R4(-0.6)}, {R4(1.1)}, {0}, -0.4, false},
	{"trid6", BENCH_HELDOUT, 6, trid, {R6(-36)}, {R6(36)}, {6, 10, 12, 12, 10, 6}, -50, false},
	{"qing8", BENCH_HELDOUT, 8, qing, {R8(-2)}, {R8(6)},
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

int bench_functions_check(void)
{
	int rc = 0;

	for (const struct bench_function *f = table; f < table + TABLE_N; f++) {
		const double value = f->value(f->at, f->d);

		if (fabs(value - f->published) <= 2e-5 * fmax(1, fabs(f->published)))
			continue;
		(void)fprintf(stderr, "%s: %.12g at its minimiser, published is %.12g\n", f->name,
			      value, f->published);
		rc = -1;
	}
	return rc;
}
