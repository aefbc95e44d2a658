#include "sched/bayes/outcome.h"
#include <assert.h>
#include <float.h>
#include <math.h>

#define POWER_LO   (-20) /* tenths */
#define POWER_HI   40
#define KNEE       3.0 /* times (median - min), above the median */
#define HUGE_RATIO 1e15
#define TINY       1e-12 /* what a log or a root is given instead of 0 and less */

/* Beyond the knee: as the logarithm, with the same value and slope there. */
static double bend(const struct sw_outcome *o, double y)
{
	if (!(o->stretch > 0) || y <= o->knee)
		return y;
	/* Halves, as the difference of two large values may overflow. */
	const double half = y / 2 - o->knee / 2, ratio = half / (o->stretch / 2);
	const double ln = ratio < HUGE_RATIO ? log1p(ratio) : log(half) - log(o->stretch / 2);

	return o->knee + o->stretch * ln;
}

static double unbend(const struct sw_outcome *o, double y)
{
	if (!(o->stretch > 0) || y <= o->knee)
		return y;
	return o->knee + o->stretch * expm1((y - o->knee) / o->stretch);
}

/* A value as the views see it. */
static double scaled(const struct sw_outcome *o, double y)
{
	return bend(o, y) / o->scale;
}

static double power_transform(double x, double power)
{
	if (x >= 0)
		return power == 0 ? log1p(x) : expm1(power * log1p(x)) / power;
	const double m = 2 - power;

	return m == 0 ? -log1p(-x) : -expm1(m * log1p(-x)) / m;
}

/* (1 + m t)^(1/m) - 1, and its limit at m = 0. */
static double power_back(double t, double m)
{
	if (m == 0)
		return expm1(t);
	return expm1(log(fmax(1 + m * t, TINY)) / m);
}

static double power_inverse(double t, double power)
{
	return t >= 0 ? power_back(t, power) : -power_back(-t, 2 - power);
}

struct moments {
	double mean, sd;
};

/* Of the values as `by` has them. */
static struct moments moments_of(const struct sw_outcome *o,
				 double (*by)(const struct sw_outcome *, double), const double *y,
				 size_t n)
{
	struct moments m = {0, 0};

	for (size_t i = 0; i < n; i++)
		m.mean += by(o, y[i]) / (double)n;
	for (size_t i = 0; i < n; i++) {
		const double off = by(o, y[i]) - m.mean;

		m.sd += off * off / (double)n;
	}
	m.sd = sqrt(m.sd);
	return m;
}

/* Log likelihood of the power, profiled over mean and variance (section 3 of the source). log1p of
 * the values is the same for all powers and is what costs, so it is taken once. */
static double power_choose(const struct sw_outcome *o, const double *y, size_t n)
{
	const size_t step = (n + SW_OUTCOME_SEEN - 1) / SW_OUTCOME_SEEN;
	double ln[SW_OUTCOME_SEEN], sum_ln = 0, best = -INFINITY, power = 1;
	size_t seen = 0;

	for (size_t i = 0; i < n; i += step, seen++) {
		const double x = (scaled(o, y[i]) - o->shift) / o->width;

		ln[seen] = x >= 0 ? log1p(x) : -log1p(-x);
		sum_ln += ln[seen];
	}
	for (int k = POWER_LO; k <= POWER_HI; k++) {
		const double l = k / 10.0;
		double sum = 0, square = 0;

		for (size_t i = 0; i < seen; i++) {
			const double m = ln[i] >= 0 ? l : 2 - l;
			const double t = m == 0 ? ln[i]
						: copysign(expm1(m * fabs(ln[i])) / m, ln[i]);

			sum += t;
			square += t * t;
		}
		const double mean = sum / (double)seen;
		/* Rounding can bring the difference to 0 or below, where it has no logarithm. */
		const double var = fmax(square / (double)seen - mean * mean, DBL_MIN);
		const double fit = -0.5 * (double)seen * log(var) + (l - 1) * sum_ln;

		if (fit > best) {
			best = fit;
			power = l;
		}
	}
	return power;
}

/* Before the last standardisation. */
static double transform(const struct sw_outcome *o, double y)
{
	const double x = scaled(o, y);

	switch (o->view) {
	case SW_OUTCOME_YJ:
		return power_transform((x - o->shift) / o->width, o->power);
	case SW_OUTCOME_LOG1:
		return log(fmax((x - o->shift) / o->width, TINY));
	default:
		return (x - o->shift) / o->width;
	}
}

void sw_outcome_fit(struct sw_outcome *o, enum sw_outcome_view view, const double *y, size_t n)
{
	assert(n >= 1 && y[0] <= y[n - 1]);
	*o = (struct sw_outcome){.view = view, .at = y[0], .flat = true, .scale = 1, .width = 1};
	o->sd = 1;
	if (y[0] == y[n - 1])
		return;
	const double median = y[(n - 1) / 2] / 2 + y[n / 2] / 2, gap = median - y[0];

	/* Without a gap half of the values are the best one, and nothing says what is far from
	 * it. */
	if (gap > 0 && gap < DBL_MAX / KNEE / 4) {
		o->knee = median + KNEE * gap;
		o->stretch = KNEE * gap;
	}
	/* A power of two: dividing by it rounds nothing. */
	o->scale = ldexp(1, ilogb(fmax(fabs(y[0]), fabs(bend(o, y[n - 1])))));
	const struct moments raw = moments_of(o, scaled, y, n);

	if (!(raw.sd > 0))
		return;
	o->flat = false;
	o->shift = raw.mean;
	o->width = raw.sd;
	if (view == SW_OUTCOME_YJ)
		o->power = power_choose(o, y, n);
	if (view == SW_OUTCOME_LOG1) {
		/* The tenth of the best sets the scale of the logarithm: the view looks closely
		 * where they differ. */
		const size_t low = n / 10 > 1 ? n / 10 : 1;
		const double near = y[low] / o->scale - y[0] / o->scale;
		const double half = median / o->scale - y[0] / o->scale;

		o->width = near > 0 ? near : half > 0 ? half : raw.sd;
		o->shift = y[0] / o->scale - o->width;
	}
	const struct moments t = moments_of(o, transform, y, n);

	o->mean = t.mean;
	o->sd = t.sd > 0 ? t.sd : 1;
}

double sw_outcome_forward(const struct sw_outcome *o, double y)
{
	return o->flat ? 0 : (transform(o, y) - o->mean) / o->sd;
}

double sw_outcome_inverse(const struct sw_outcome *o, double z)
{
	if (o->flat)
		return o->at;
	const double t = z * o->sd + o->mean;
	double x = t;

	if (o->view == SW_OUTCOME_YJ)
		x = power_inverse(t, o->power);
	else if (o->view == SW_OUTCOME_LOG1)
		x = exp(t);
	return fmin(fmax(unbend(o, (x * o->width + o->shift) * o->scale), -DBL_MAX), DBL_MAX);
}

/* ln of the inverse's derivative. */
static double ln_slope(const struct sw_outcome *o, double z)
{
	const double t = z * o->sd + o->mean;
	double x = t, ln = log(o->sd) + log(o->width) + log(o->scale);

	if (o->view == SW_OUTCOME_YJ) {
		const double m = t >= 0 ? o->power : 2 - o->power;

		x = power_inverse(t, o->power);
		ln += m == 0 ? fabs(t) : log(fmax(1 + m * fabs(t), TINY)) * (1 / m - 1);
	} else if (o->view == SW_OUTCOME_LOG1) {
		x = exp(t);
		ln += t;
	}
	const double y = (x * o->width + o->shift) * o->scale;

	return o->stretch > 0 && y > o->knee ? ln + (y - o->knee) / o->stretch : ln;
}

double sw_outcome_deviation(const struct sw_outcome *o, double z, double sd)
{
	return o->flat ? sd : fmin(exp(ln_slope(o, z)) * sd, DBL_MAX);
}

/* The slope's integral by Gauss and Legendre: a sum of what is positive cancels nowhere. */
double sw_outcome_ln_gain(const struct sw_outcome *o, double z, double ln_dz)
{
	static const double node[] = {0.04691007703066800, 0.23076534494715845, 0.5,
				      0.76923465505284155, 0.95308992296933200};
	static const double weight[] = {0.11846344252809454, 0.23931433524968324,
					0.28444444444444444, 0.23931433524968324,
					0.11846344252809454};
	double ln[5], most = -INFINITY, sum = 0;

	if (o->flat)
		return ln_dz;
	for (size_t i = 0; i < 5; i++) {
		ln[i] = ln_slope(o, z - node[i] * exp(ln_dz));
		most = fmax(most, ln[i]);
	}
	for (size_t i = 0; i < 5; i++)
		sum += weight[i] * exp(ln[i] - most);
	return fmin(fmax(ln_dz + most + log(sum), -DBL_MAX), DBL_MAX);
}
