/* tests/sched/num/test_beta.c — the beta distribution against values worked out in 60-digit
 * arithmetic, against closed forms, and against itself: there and back, in order, mirrored. */
#include "sched/num/beta.h"
#include "tests/run.h"
#include "tests/sched/suite.h"
#include <float.h>
#include <math.h>

static const double shapes[] = {SW_BETA_LEAST, 0.05, 0.4, 1, 2, 7.5, 60, 3e3, 1e4, SW_BETA_MOST};

/* A value of (0, 1) by its distance to the nearer end, which is what can be lost. */
static void check_near(double got, double want, double tol, double a, double b)
{
	const double most = tol * fmin(want, 1.0 - want) + DBL_EPSILON * want;

	ck_assert_msg(fabs(got - want) <= most, "a %g b %g: %.17g, not %.17g", a, b, got, want);
}

static const struct {
	double u, a, b, x; /* each x at the doubles nearest to u, a and b */
} quantiles[] = {
	{1e-12, 0.5, 0.5, 2.46740110027233956e-24},
	{0.3, 0.5, 0.5, 0.206107373853763421},
	{0.999999999999, 0.5, 0.5, 1.0},
	{1e-12, 2, 5, 2.58198978636100695e-7},
	{0.01, 2, 5, 0.0267631911427550571},
	{0.5, 2, 5, 0.264449983295659962},
	{0.999, 2, 5, 0.818613866919133939},
	{0.999999999999, 2, 5, 0.997216639056753665},
	{0.5, 0.05, 0.05, 0.5},
	{0.1, 0.05, 0.05, 9.71182360271996688e-15},
	{1e-5, 0.05, 3, 2.30004700066486227e-101},
	{0.7, 0.05, 3, 0.000183590149747091574},
	{0.2, 0.05, 1e4, 6.12883202107488648e-19},
	{0.999, 0.05, 1e4, 0.000273621417088549165},
	{0.001, 1e4, 0.05, 0.999726378582911451},
	{1e-12, 1e4, 1e4, 0.475144409486148645},
	{0.3, 1e4, 1e4, 0.498145947404840224},
	{0.999999999999, 1e4, 1e4, 0.524855601399992647},
	{1e-12, 30, 1000, 0.00567456601249323771},
	{0.5, 30, 1000, 0.0288218805801843823},
	{0.999, 30, 1000, 0.0479106976007622909},
	{0.05, 1e4, 2, 0.999525749756981411},
	{0.95, 1e4, 1.5, 0.999982408278635777},
	{1e-12, 1, 1e4, 1.00000000000049993e-16},
	{0.99, 1, 1e4, 0.000460410996912154383},
	{1e-6, 7.25, 0.8, 0.159988787311784881},
	{0.4, 7.25, 0.8, 0.907880836503538322},
	{0.25, 1e5, 1e5, 0.499245897020426115},
	{0.6, 0.001, 1e5, 7.96027357836021481e-228},
	{0.4, 3, 3, 0.44625409748647312},
};

TEST_ROWS(beta_known_quantile_to_full_precision, quantiles)
{
	const double a = quantiles[_i].a, b = quantiles[_i].b;

	/* A rounding of u is worth 1 / a roundings of a small x. */
	check_near(sw_beta_quantile(quantiles[_i].u, a, b), quantiles[_i].x,
		   1e-12 + DBL_EPSILON / fmin(a, b), a, b);
}

static const struct {
	double x, a, b, p;
} chances[] = {
	{0.5, 0.5, 0.5, 0.5},
	{1e-12, 0.5, 0.5, 6.3661977236768744e-7},
	{1e-300, 0.05, 0.05, 5.01920530893363024e-16},
	{0.25, 0.05, 0.05, 0.474400659515895344},
	{0.1, 2, 5, 0.114265000000000011},
	{0.9, 2, 5, 0.999945},
	{1e-9, 2, 5, 1.49999999600000019e-17},
	{0.999, 30, 0.5, 0.807237306159537031},
	{0.001, 30, 0.5, 1.0262784370021768e-91},
	{0.49, 1e4, 1e4, 0.00233705933011014951},
	{0.52, 1e4, 1e4, 0.999999992389260887},
	{0.03, 30, 1000, 0.588314327499629392},
	{1e-4, 1, 1e4, 0.632138953567070094},
	{1e-7, 0.001, 1e5, 0.995969398157392861},
	{0.9999, 1e5, 3, 0.00276803396011611016},
};

TEST_ROWS(beta_known_chance_to_full_precision, chances)
{
	const double a = chances[_i].a, b = chances[_i].b;
	const double got = sw_beta_cdf(chances[_i].x, a, b), p = chances[_i].p;

	ck_assert_msg(fabs(got / p - 1.0) <= 1e-12, "a %g b %g at %g: %.17g, not %.17g", a, b,
		      chances[_i].x, got, p);
}

/* x^a where b is 1, 1 - (1 - x)^b where a is, and the arc sine law. */
TEST(beta_of_closed_form_agrees_with_it)
{
	for (double u = 0x1p-40; u < 1.0; u += 0.013) {
		const double arc = sin(0.5 * M_PI * u);

		check_near(sw_beta_quantile(u, 0.5, 0.5), arc * arc, 1e-12, 0.5, 0.5);
		for (size_t i = 1; i < ROWS(shapes); i++) {
			check_near(sw_beta_quantile(u, shapes[i], 1), exp(log(u) / shapes[i]),
				   1e-11, shapes[i], 1);
			check_near(sw_beta_quantile(u, 1, shapes[i]), -expm1(log1p(-u) / shapes[i]),
				   1e-11, 1, shapes[i]);
		}
	}
}

TEST(beta_outside_its_range_is_certain)
{
	static const double ends[] = {0.0, -0.0, -1.0, -INFINITY, NAN};

	for (size_t i = 0; i < ROWS(ends); i++)
		ck_assert_double_eq(sw_beta_cdf(ends[i], 2, 3), 0.0);
	ck_assert_double_eq(sw_beta_cdf(1.0, 2, 3), 1.0);
	ck_assert_double_eq(sw_beta_cdf(INFINITY, 2, 3), 1.0);
	ck_assert_double_eq(sw_beta_quantile(0.0, 2, 3), 0.0);
}

/* Every pair of shapes: quantiles rise with u, the distribution function takes them back, and that
 * of b and a mirrors it. */
TEST_LOOP(beta_quantile_is_the_inverse_of_the_cdf, 0, (int)(ROWS(shapes) * ROWS(shapes)))
{
	const double a = shapes[(size_t)_i / ROWS(shapes)], b = shapes[(size_t)_i % ROWS(shapes)];
	double before = 0.0;

	for (int i = 0; i < 700; i++) {
		const double u = i < 100   ? 1e-12 * pow(10, 0.1 * i)
				 : i < 600 ? 0.01 + (i - 100) / 510.0
					   : 1.0 - pow(10, -2 - 0.1 * (i - 600));
		const double x = sw_beta_quantile(u, a, b);

		ck_assert_msg(x >= before && x <= 1.0, "a %g b %g u %.17g: %.17g after %.17g", a, b,
			      u, x, before);
		before = x;
		if (x < DBL_MIN || x > 1.0 - 0x1p-20) /* no doubles between */
			continue;
		/* A rounding of x is worth so much of u. */
		const double density =
			(sw_beta_cdf(x * (1 + 1e-6), a, b) - sw_beta_cdf(x * (1 - 1e-6), a, b)) /
			(2e-6 * x);
		const double most = 1e-11 * fmin(u, 1.0 - u) + DBL_EPSILON * (1 + 8 * x * density);
		ck_assert_msg(fabs(sw_beta_cdf(x, a, b) - u) <= most,
			      "a %g b %g: %.17g became %.17g, by %.17g", a, b, u,
			      sw_beta_cdf(x, a, b), x);
		const double mirrored = 1.0 - sw_beta_cdf(1.0 - x, b, a);
		ck_assert_msg(x < 1e-6 || fabs(mirrored - u) <= 1e-11 + DBL_EPSILON * density,
			      "a %g b %g: %.17g, mirrored %.17g", a, b, u, mirrored);
	}
}

RUN_TESTS(NULL, NULL)
