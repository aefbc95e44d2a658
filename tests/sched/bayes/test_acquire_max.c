/* tests/sched/bayes/test_acquire_max.c — against the closed form of one normal, thrown numbers of
 * more, and differences. */
#include "base/normal.h"
#include "sched/bayes/acquire.h"
#include "sched/bayes/acquire_max.h"
#include "sched/space/history.h"
#include "tests/sched/suite.h"
#include <math.h>

TEST(one_normal_is_the_closed_form)
{
	for (double mean = -50; mean <= 60; mean += 0.37)
		for (double sd = 1e-3; sd < 100; sd *= 3) {
			double a, b;
			const double got = sw_log_ei_max(1, &mean, &sd, 0, &a, &b);
			const double want = sw_log_ei(mean, sd * sd, 0, &a, &b);

			ck_assert_msg(fabs(got - want) < 1e-4, "mean %g sd %g: %.12g, not %.12g",
				      mean, sd, got, want);
		}
}

TEST_LOOP(several_agree_with_thrown_numbers, 2, 5)
{
	const size_t m = (size_t)_i, throws = 200000;
	uint64_t state = 3;

	for (int round = 0; round < 6; round++) {
		double mean[SW_METRICS_MAX], sd[SW_METRICS_MAX], a[SW_METRICS_MAX],
			b[SW_METRICS_MAX];
		double sum = 0, square = 0;

		for (size_t k = 0; k < m; k++) {
			mean[k] = 2 * unit(&state) - 1.5;
			sd[k] = 0.05 + unit(&state);
		}
		for (size_t i = 0; i < throws; i++) {
			double top = -INFINITY;

			for (size_t k = 0; k < m; k++) {
				const double z = sw_normal_quantile(unit(&state) + 0x1p-54);

				top = fmax(top, mean[k] + sd[k] * z);
			}
			sum += fmax(0, -top);
			square += fmax(0, -top) * fmax(0, -top);
		}
		const double seen = sum / (double)throws;
		const double error = sqrt(square / (double)throws / (double)throws);
		const double got = exp(sw_log_ei_max(m, mean, sd, 0, a, b));

		ck_assert_msg(fabs(got - seen) < 5 * error, "%zu: %g, thrown %g +- %g", m, got,
			      seen, error);
	}
}

TEST(derivatives_equal_differences)
{
	uint64_t state = 5;

	for (int round = 0; round < 200; round++) {
		const size_t m = 2 + below(&state, 3);
		double mean[SW_METRICS_MAX], sd[SW_METRICS_MAX], a[SW_METRICS_MAX],
			b[SW_METRICS_MAX];
		double x[SW_METRICS_MAX], y[SW_METRICS_MAX];

		for (size_t k = 0; k < m; k++) {
			mean[k] = 12 * unit(&state) - 4;
			sd[k] = 0.1 + 2 * unit(&state);
		}
		(void)sw_log_ei_max(m, mean, sd, 0, a, b);
		for (size_t k = 0; k < 2 * m; k++) {
			double *const at = k < m ? &mean[k] : &sd[k - m];
			const double here = *at, step = 1e-5 * sd[k % m];

			*at = here + step;
			const double up = sw_log_ei_max(m, mean, sd, 0, x, y);
			*at = here - step;
			const double down = sw_log_ei_max(m, mean, sd, 0, x, y);
			*at = here;
			const double want = (up - down) / (2 * step);
			const double got = k < m ? a[k] : b[k - m];

			ck_assert_msg(fabs(got - want) < 2e-2 * fmax(1, fabs(want)),
				      "round %d, %zu of %zu: %g, not %g", round, k, m, got, want);
		}
	}
}

RUN_TESTS(NULL, NULL)
