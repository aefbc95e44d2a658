#include "sched/bayes/acquire_max.h"
#include "sched/space/history.h"
#include <assert.h>
#include <math.h>

#define LN_SQRT_2PI 0.91893853320467274178
#define INV_SQRT_2  0.70710678118654752440
#define FAR         (-36.0) /* beyond, erfc has no digits left */
#define DROP        16.0    /* e to minus this is nothing */
#define SPREAD      8.0     /* nor is anything so many deviations below a mean */
#define HALF        6

struct normals {
	size_t m;
	const double *mean, *sd;
};

/* ln Phi(x), and its derivative phi / Phi. */
static double ln_phi(double x, double *slope)
{
	double v;

	if (x > FAR) {
		v = log(0.5 * erfc(-x * INV_SQRT_2));
	} else {
		const double s = 1 / (x * x);

		v = -0.5 * x * x - LN_SQRT_2PI - log(-x) + log1p(-s + 3 * s * s);
	}
	*slope = exp(-0.5 * x * x - LN_SQRT_2PI - v);
	return v;
}

/* ln of the product at t; slope[m] of each factor, by its own argument. */
static double ln_product(const struct normals *x, double t, double *slope)
{
	double sum = 0;

	for (size_t k = 0; k < x->m; k++)
		sum += ln_phi((t - x->mean[k]) / x->sd[k], &slope[k]);
	return sum;
}

struct sums {
	double shift; /* what is taken out of the exponents */
	double all, by_mean[SW_METRICS_MAX], by_sd[SW_METRICS_MAX];
};

static void add_panel(const struct normals *x, double from, double to, struct sums *s)
{
	static const double node[HALF] = {0.12523340851146894, 0.36783149899818018,
					  0.58731795428661748, 0.76990267419430469,
					  0.9041172563704748,  0.98156063424671924};
	static const double weight[HALF] = {0.24914704581340288, 0.23349253653835478,
					    0.20316742672306584, 0.16007832854334633,
					    0.10693932599531857, 0.047175336386511835};
	const double middle = from / 2 + to / 2, half = to / 2 - from / 2;
	double slope[SW_METRICS_MAX];

	for (int i = 0; i < 2 * HALF; i++) {
		const int n = i < HALF ? i : i - HALF;
		const double t = middle + (i < HALF ? node[n] : -node[n]) * half;
		/* The shift is the value at `best`, the largest of all: no part overflows. */
		const double part = weight[n] * half * exp(ln_product(x, t, slope) - s->shift);

		s->all += part;
		for (size_t k = 0; k < x->m; k++) {
			s->by_mean[k] -= part * slope[k] / x->sd[k];
			s->by_sd[k] -= part * slope[k] * (t - x->mean[k]) / (x->sd[k] * x->sd[k]);
		}
	}
}

double sw_log_ei_max(size_t m, const double *mean, const double *sd, double best, double *by_mean,
		     double *by_sd)
{
	const struct normals x = {m, mean, sd};
	double slope[SW_METRICS_MAX], fall = 0, low = -INFINITY, top = -INFINITY, wide = 0;
	struct sums s = {.all = 0};

	assert(m >= 1 && m <= SW_METRICS_MAX);
	s.shift = ln_product(&x, best, slope);
	for (size_t k = 0; k < m; k++) {
		fall += slope[k] / sd[k];
		if (best > mean[k] - sd[k])
			/* Each factor is at most 1, so where one is nothing the product is as
			 * well. */
			low = fmax(low, mean[k] - SPREAD * sd[k]);
		top = fmax(top, mean[k]);
		wide = fmax(wide, sd[k]);
	}
	/* Concave: it falls at least as fast as at its end. If it is sure to be below best, it
	 * falls around the largest mean. */
	double from = best - DROP / fmax(fall, 1e-300);

	from = fmax(from, low);
	/* Twelve nodes a panel are exact only where the integrand is smooth: it bends around the
	 * largest mean, and is flat far above it. */
	const double cut[] = {top, top + SPREAD / 2 * wide, best};

	for (int i = 0; i < 3; i++) {
		if (cut[i] <= from || cut[i] > best)
			continue;
		add_panel(&x, from, cut[i], &s);
		from = cut[i];
	}
	for (size_t k = 0; k < m; k++) {
		by_mean[k] = s.by_mean[k] / s.all;
		by_sd[k] = s.by_sd[k] / s.all;
	}
	return s.shift + log(s.all);
}
