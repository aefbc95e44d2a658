/* tests/sched/bayes/test_outcome.c — the three views: standardised, monotone, and there and
 * back. */
#include "sched/bayes/outcome.h"
#include "tests/sched/suite.h"
#include <float.h>
#include <math.h>

#define N 101

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Shapes that losses have: even, long to the right (as diverged trials make it), long to the left,
 * tiny, huge. */
static void fill(double y[N], int shape)
{
	uint64_t state = 7;

	for (size_t i = 0; i < N; i++) {
		const double u = unit(&state);
		const double shapes[] = {u,          exp(9 * u), -exp(9 * u),
					 1e-300 * u, 1e300 * u,  DBL_MAX * (2 * u - 1)};

		y[i] = shapes[shape];
	}
	qsort(y, N, sizeof *y, by_value);
}

#define SHAPES 6

TEST(view_of_any_values_is_standardised_and_rising)
{
	for (int shape = 0; shape < SHAPES; shape++)
		for (int view = 0; view < SW_OUTCOME_VIEW_N; view++) {
			struct sw_outcome o;
			double y[N], sum = 0, square = 0, last = -INFINITY;

			fill(y, shape);
			sw_outcome_fit(&o, (enum sw_outcome_view)view, y, N);
			for (size_t i = 0; i < N; i++) {
				const double z = sw_outcome_forward(&o, y[i]);

				ck_assert_msg(z > last, "shape %d view %d: %g after %g", shape,
					      view, z, last);
				last = z;
				sum += z;
				square += z * z;
			}
			ck_assert_msg(fabs(sum / N) < 1e-9, "shape %d view %d: mean %g", shape,
				      view, sum / N);
			ck_assert_msg(fabs(square / N - 1) < 1e-9, "shape %d view %d: var %g",
				      shape, view, square / N);
		}
}

TEST(view_there_and_back_is_the_value)
{
	for (int shape = 0; shape < SHAPES; shape++)
		for (int view = 0; view < SW_OUTCOME_VIEW_N; view++) {
			struct sw_outcome o;
			double y[N];

			fill(y, shape);
			sw_outcome_fit(&o, (enum sw_outcome_view)view, y, N);
			const double span = y[N - 1] / 2 - y[0] / 2;

			for (size_t i = 0; i < N; i++) {
				const double back =
					sw_outcome_inverse(&o, sw_outcome_forward(&o, y[i]));

				ck_assert_msg(fabs(back / 2 - y[i] / 2) <= 1e-9 * span,
					      "shape %d view %d: %g, not %g", shape, view, back,
					      y[i]);
			}
			for (double z = -50; z <= 50; z += 1)
				ck_assert(isfinite(sw_outcome_inverse(&o, z)));
		}
}

TEST(view_of_equal_values_is_zero)
{
	const double same[] = {3.5, 3.5, 3.5}, one[] = {-DBL_MAX};

	for (int view = 0; view < SW_OUTCOME_VIEW_N; view++) {
		struct sw_outcome o;

		sw_outcome_fit(&o, (enum sw_outcome_view)view, same, 3);
		ck_assert_double_eq(sw_outcome_forward(&o, 3.5), 0);
		ck_assert_double_eq(sw_outcome_inverse(&o, 1), 3.5);
		sw_outcome_fit(&o, (enum sw_outcome_view)view, one, 1);
		ck_assert_double_eq(sw_outcome_forward(&o, one[0]), 0);
	}
}

/* The bad tail drawn in, written out. */
static double bent(const struct sw_outcome *o, double y)
{
	return y > o->knee ? o->knee + o->stretch * log(1 + (y - o->knee) / o->stretch) : y;
}

/* Yeo and Johnson, eq. 2.1, written out. */
static double by_definition(double x, double l)
{
	if (x >= 0)
		return l == 0 ? log(x + 1) : (pow(x + 1, l) - 1) / l;
	return l == 2 ? -log(1 - x) : -(pow(1 - x, 2 - l) - 1) / (2 - l);
}

TEST(power_is_the_likeliest_of_the_grid)
{
	struct sw_outcome o;
	double y[N], x[N], best = -INFINITY, want = 0;

	fill(y, 1);
	sw_outcome_fit(&o, SW_OUTCOME_YJ, y, N);
	for (size_t i = 0; i < N; i++)
		x[i] = (bent(&o, y[i]) / o.scale - o.shift) / o.width;
	for (int k = -20; k <= 40; k++) {
		const double l = k / 10.0;
		double sum = 0, square = 0, ln = 0;

		for (size_t i = 0; i < N; i++) {
			const double t = by_definition(x[i], l);

			sum += t / N;
			square += t * t / N;
			ln += copysign(log(1 + fabs(x[i])), x[i]);
		}
		const double fit = -0.5 * N * log(square - sum * sum) + (l - 1) * ln;

		if (fit > best) {
			best = fit;
			want = l;
		}
	}
	ck_assert_double_eq_tol(o.power, want, 1e-12);
	ck_assert_msg(o.power < 0.5, "a long right tail is drawn in: power %g", o.power);
	for (size_t i = 0; i < N; i++) {
		const double z = (by_definition(x[i], want) - o.mean) / o.sd;

		ck_assert_double_eq_tol(sw_outcome_forward(&o, y[i]), z, 1e-9);
	}
}

TEST(log_view_is_the_log_of_the_gap_to_the_best)
{
	const double y[] = {1, 2, 5, 6, 1000};
	/* The knee is at 5 + 3 (5 - 1) = 17, and what is beyond it is drawn in. */
	const double far = 17 + 12 * log(1 + (1000 - 17) / 12.0);
	struct sw_outcome o;

	sw_outcome_fit(&o, SW_OUTCOME_LOG1, y, 5);
	/* s = 2 - 1: 1 -> ln 1, 5 -> ln 5, far -> ln far. */
	const double unit_z = sw_outcome_forward(&o, 5) - sw_outcome_forward(&o, 1);

	ck_assert_double_eq_tol((sw_outcome_forward(&o, 1000) - sw_outcome_forward(&o, 1)) / unit_z,
				log(far) / log(5), 1e-12);
	ck_assert(isfinite(sw_outcome_forward(&o, -1000)));
}

TEST(diverged_losses_leave_the_good_ones_apart)
{
	double y[N];

	for (size_t i = 0; i < N; i++)
		y[i] = i < 60 ? 1 + 0.01 * (double)i : pow(10, (double)i / 8);
	for (int view = 0; view < SW_OUTCOME_VIEW_N; view++) {
		struct sw_outcome o;

		sw_outcome_fit(&o, (enum sw_outcome_view)view, y, N);
		/* Beside losses of up to 1e12 they still are not one value, by whatever view. */
		const double good = sw_outcome_forward(&o, y[59]) - sw_outcome_forward(&o, y[0]);

		ck_assert_msg(good > 0.02, "view %d: %g", view, good);
	}
}

TEST(gain_is_a_difference_that_never_cancels)
{
	for (int shape = 0; shape < 3; shape++)
		for (int view = 0; view < SW_OUTCOME_VIEW_N; view++) {
			struct sw_outcome o;
			double y[N];

			fill(y, shape);
			sw_outcome_fit(&o, (enum sw_outcome_view)view, y, N);
			for (size_t i = 0; i < N; i += 10) {
				const double z = sw_outcome_forward(&o, y[i]);
				const double from = sw_outcome_inverse(&o, z);
				const double by = from - sw_outcome_inverse(&o, z - 0.01);
				const double got = exp(sw_outcome_ln_gain(&o, z, log(0.01)));
				const double tiny = sw_outcome_ln_gain(&o, z, -400);
				const double less = sw_outcome_ln_gain(&o, z, -401);

				/* The knee, where a piece of the way may lie beyond it, costs
				 * most. */
				ck_assert_msg(fabs(got - by) <= 2e-3 * by + 1e-13 * fabs(from),
					      "shape %d view %d at %g: %g, not %g", shape, view,
					      from, got, by);
				/* A difference of e^-400 is 0 in any double beside 1. */
				ck_assert_double_eq_tol(tiny - less, 1, 1e-9);
				ck_assert_double_eq_tol(tiny + 400, log(by / 0.01), 0.1);
				ck_assert_double_eq_tol(sw_outcome_deviation(&o, z, exp(-9)) /
								exp(tiny + 391),
							1, 1e-9);
			}
		}
}

TEST(gain_of_equal_values_is_as_it_came)
{
	const double same[] = {3.5, 3.5};
	struct sw_outcome o;

	sw_outcome_fit(&o, SW_OUTCOME_LOG1, same, 2);
	ck_assert_double_eq(sw_outcome_ln_gain(&o, 0, -7.5), -7.5);
	ck_assert_double_eq(sw_outcome_deviation(&o, 0, 0.5), 0.5);
}

RUN_TESTS(NULL, NULL)
