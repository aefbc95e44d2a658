/* bench/lib/formulas.c — what each function computes; where and how low is in functions.c. */
#include "bench/lib/functions.h"
#include <math.h>

static double square(double v)
{
	return v * v;
}

double bench_branin(const double *x, size_t d)
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

double bench_hartmann3(const double *x, size_t d)
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

double bench_ackley(const double *x, size_t d)
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

double bench_rosenbrock(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k + 1 < d; k++)
		sum += 100 * square(x[k + 1] - x[k] * x[k]) + square(x[k] - 1);
	return sum;
}

double bench_michalewicz(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum -= sin(x[k]) * pow(sin((double)(k + 1) * x[k] * x[k] / M_PI), 20);
	return sum;
}

double bench_rastrigin(const double *x, size_t d)
{
	double sum = 10 * (double)d;

	for (size_t k = 0; k < d; k++)
		sum += x[k] * x[k] - 10 * cos(2 * M_PI * x[k]);
	return sum;
}

double bench_styblinski(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += (square(square(x[k])) - 16 * x[k] * x[k] + 5 * x[k]) / 2;
	return sum;
}

double bench_shekel(const double *x, size_t d)
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

double bench_sixhump(const double *x, size_t d)
{
	const double a = x[0] * x[0], b = x[1] * x[1];

	(void)d;
	return (4 - 2.1 * a + a * a / 3) * a + x[0] * x[1] + (4 * b - 4) * b;
}

double bench_griewank(const double *x, size_t d)
{
	double sum = 0, product = 1;

	for (size_t k = 0; k < d; k++) {
		sum += x[k] * x[k] / 4000;
		product *= cos(x[k] / sqrt((double)(k + 1)));
	}
	return sum - product + 1;
}

/* --- held out --- */

double bench_powell(const double *x, size_t d)
{
	(void)d;
	return square(x[0] + 10 * x[1]) + 5 * square(x[2] - x[3]) +
	       square(square(x[1] - 2 * x[2])) + 10 * square(square(x[0] - x[3]));
}

double bench_dixonprice(const double *x, size_t d)
{
	double sum = square(x[0] - 1);

	for (size_t k = 1; k < d; k++)
		sum += (double)(k + 1) * square(2 * x[k] * x[k] - x[k - 1]);
	return sum;
}

double bench_zakharov(const double *x, size_t d)
{
	double squares = 0, line = 0;

	for (size_t k = 0; k < d; k++) {
		squares += x[k] * x[k];
		line += 0.5 * (double)(k + 1) * x[k];
	}
	return squares + square(line) + square(square(line));
}

double bench_schwefel(const double *x, size_t d)
{
	double sum = 418.98288727243369 * (double)d;

	for (size_t k = 0; k < d; k++)
		sum -= x[k] * sin(sqrt(fabs(x[k])));
	return sum;
}

double bench_perm(const double *x, size_t d)
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

double bench_eggholder(const double *x, size_t d)
{
	(void)d;
	return -(x[1] + 47) * sin(sqrt(fabs(x[1] + x[0] / 2 + 47))) -
	       x[0] * sin(sqrt(fabs(x[0] - (x[1] + 47))));
}

double bench_dropwave(const double *x, size_t d)
{
	const double r = x[0] * x[0] + x[1] * x[1];

	(void)d;
	return -(1 + cos(12 * sqrt(r))) / (0.5 * r + 2);
}

double bench_cosines(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += x[k] * x[k] - 0.1 * cos(5 * M_PI * x[k]);
	return sum;
}

double bench_trid(const double *x, size_t d)
{
	double sum = square(x[0] - 1);

	for (size_t k = 1; k < d; k++)
		sum += square(x[k] - 1) - x[k] * x[k - 1];
	return sum;
}

double bench_qing(const double *x, size_t d)
{
	double sum = 0;

	for (size_t k = 0; k < d; k++)
		sum += square(x[k] * x[k] - (double)(k + 1));
	return sum;
}
