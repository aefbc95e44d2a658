#include "sched/bayes/acquire.h"
#include <assert.h>
#include <math.h>

#define INV_SQRT_2PI   0.39894228040143267794
#define LN_SQRT_2PI    0.91893853320467274178
#define INV_SQRT_2     0.70710678118654752440
#define LONGEST        1e100 /* beyond, u * u overflows and no digit of ln h is left to lose */
#define FRACTION_TERMS 24    /* at t = 4 the last one moves the sum by less than 1e-16 */

double sw_log_h(double u, double *ratio, double *rest)
{
	/* Below -1 the two terms of h nearly cancel, and their sum would have few digits. */
	if (u > -1) {
		const double phi = INV_SQRT_2PI * exp(-0.5 * u * u);
		const double Phi = 0.5 * erfc(-u * INV_SQRT_2);
		const double h = phi + u * Phi;

		*ratio = Phi / h;
		*rest = phi / h;
		return log(h);
	}
	const double t = fmin(-u, LONGEST);

	if (t < 4) {
		/* With e^(u^2/2) taken out; the difference costs a factor t^2 of precision. */
		const double E = 0.5 * exp(0.5 * t * t) * erfc(t * INV_SQRT_2);
		const double q = INV_SQRT_2PI - t * E;

		*ratio = E / q;
		*rest = INV_SQRT_2PI / q;
		return -0.5 * t * t + log(q);
	}
	/* R(t) = Phi(-t) / phi(t) = 1 / (t + K), K = 1 / (t + 2 / (t + 3 / ...)): 1 - t R = K R. */
	double tail = t;

	for (int k = FRACTION_TERMS; k >= 2; k--)
		tail = t + k / tail;
	const double K = 1 / tail;

	*ratio = tail;
	*rest = (t + K) * tail;
	return -0.5 * t * t - LN_SQRT_2PI + log(K / (t + K));
}

double sw_log_ei(double mean, double var, double best, double *by_mean, double *by_var)
{
	assert(var > 0);
	const double s = sqrt(var);
	double ratio, rest;
	const double ln_h = sw_log_h((best - mean) / s, &ratio, &rest);

	*by_mean = -ratio / s;
	*by_var = rest / (2 * var);
	return 0.5 * log(var) + ln_h;
}
