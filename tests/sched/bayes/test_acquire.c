/* tests/sched/bayes/test_acquire.c — log EI against long doubles, down to where EI has
 * underflowed. */
#include "sched/bayes/acquire.h"
#include "tests/sched/suite.h"
#include <math.h>

#define SQRT_2PI_L 2.506628274631000502415765284811045L

/* Mills' ratio of t >= 1 by its continued fraction, so long that no digit is missing. */
static long double mills_tail(long double t)
{
	long double tail = t;

	for (int k = 4000; k >= 2; k--)
		tail = t + (long double)k / tail;
	return tail; /* R = 1 / (t + 1 / tail), 1 - t R = (1 / tail) R */
}

static long double log_h_reference(long double u)
{
	if (u > -1)
		return logl(expl(-u * u / 2) / SQRT_2PI_L + u * erfcl(-u / sqrtl(2)) / 2);
	const long double tail = mills_tail(-u);

	return -u * u / 2 - logl(SQRT_2PI_L) - logl(-u * tail + 1);
}

TEST(log_h_everywhere_has_ten_digits)
{
	double ratio, rest;

	for (double u = -60; u <= 20; u += 0.0078125) {
		const long double want = log_h_reference(u);
		const double got = sw_log_h(u, &ratio, &rest);

		/* ln h itself: an absolute error there is a relative one of h. Beside a large
		 * u^2 / 2 a double has no more than 16 digits to give. */
		ck_assert_msg(fabsl(got - want) <= 1e-12L + 4e-16L * fabsl(want),
			      "u %g: %.17g, not %.17Lg", u, got, want);
	}
}

TEST(log_h_far_below_underflow_is_finite_and_right)
{
	const double at[] = {-1e2, -1e3, -1e6, -1e10, -1e99};
	double ratio, rest;

	for (size_t i = 0; i < ROWS(at); i++) {
		const long double want = log_h_reference(at[i]);
		const double got = sw_log_h(at[i], &ratio, &rest);

		ck_assert_msg(fabsl(got / want - 1) < 1e-15L, "u %g: %.17g, not %.17Lg", at[i], got,
			      want);
		ck_assert(isfinite(ratio) && ratio > 0 && isfinite(rest));
	}
	ck_assert(isfinite(sw_log_h(-INFINITY, &ratio, &rest)));
}

TEST(log_h_derivative_equals_differences)
{
	for (double u = -40; u <= 8; u += 0.37) {
		double ratio, rest, a, b;
		const double step = 1e-4;

		(void)sw_log_h(u, &ratio, &rest);
		const double slope =
			(sw_log_h(u + step, &a, &b) - sw_log_h(u - step, &a, &b)) / (2 * step);

		ck_assert_msg(fabs(slope - ratio) <= 1e-7 * (1 + fabs(ratio)), "u %g: %g, not %g",
			      u, ratio, slope);
		/* rest is the same as 1 - u ratio, where that cancels not. */
		if (u < 1) {
			ck_assert_msg(fabs(rest - (1 - u * ratio)) <= 1e-11 * fabs(rest),
				      "u %g: %.17g, not %.17g", u, rest, 1 - u * ratio);
		}
	}
}

TEST(log_ei_gradient_equals_differences)
{
	const double mean[] = {-2, 0, 0.5, 3, 40}, var[] = {1e-8, 1e-3, 1, 7};

	for (size_t i = 0; i < ROWS(mean); i++)
		for (size_t k = 0; k < ROWS(var); k++) {
			const double m = mean[i], v = var[k], s = sqrt(v);
			double gm, gv, x, y;

			(void)sw_log_ei(m, v, -0.5, &gm, &gv);
			const double dm = 1e-5 * s, dv = 1e-5 * v;
			const double nm = (sw_log_ei(m + dm, v, -0.5, &x, &y) -
					   sw_log_ei(m - dm, v, -0.5, &x, &y)) /
					  (2 * dm);
			const double nv = (sw_log_ei(m, v + dv, -0.5, &x, &y) -
					   sw_log_ei(m, v - dv, -0.5, &x, &y)) /
					  (2 * dv);

			ck_assert_msg(fabs(nm - gm) <= 1e-4 * fabs(gm) + 1e-6 / s,
				      "mean %g var %g: %g, not %g", m, v, gm, nm);
			ck_assert_msg(fabs(nv - gv) <= 1e-4 * fabs(gv) + 1e-6 / v,
				      "mean %g var %g: %g, not %g", m, v, gv, nv);
		}
}

RUN_TESTS(NULL, NULL)
