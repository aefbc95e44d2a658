/* tests/sched/space/test_space_map.c — from the unit cube to values and back: bounds, round trips,
 * counts. */
#include "base/normal.h"
#include "sched/num/rng.h"
#include "sched/space/space.h"
#include "tests/sched/suite.h"
#include <float.h>
#include <math.h>

static const double weights[] = {0.0, 1.0, 0.0, 7.0, 2.0, 0.0};
static const double thin[] = {1.0, 1e-18, 1.0};

static const struct sw_param kinds[] = {
	{.dist = SW_DIST_CONSTANT},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 1},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 7},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 6, .weights = weights},
	{.dist = SW_DIST_INT_UNIFORM, .min = -7, .max = 12},
	{.dist = SW_DIST_INT_UNIFORM, .min = 3, .max = 3},
	{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 0x1p53},
	{.dist = SW_DIST_INT_UNIFORM, .min = 0, .max = 999999999999},
	{.dist = SW_DIST_UNIFORM, .min = -2.5, .max = 4},
	{.dist = SW_DIST_UNIFORM, .min = 0.1, .max = 0.1},
	{.dist = SW_DIST_UNIFORM, .min = -DBL_MAX / 4, .max = DBL_MAX / 4},
	{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-6, .max = 0.3},
	{.dist = SW_DIST_LOG_UNIFORM, .min = DBL_MIN, .max = DBL_MAX},
	{.dist = SW_DIST_LOG_UNIFORM, .min = 3, .max = 3},
	{.dist = SW_DIST_INV_LOG_UNIFORM, .min = 0.5, .max = 1000},
	{.dist = SW_DIST_Q_UNIFORM, .min = -1, .max = 1, .q = 0.1},
	{.dist = SW_DIST_Q_UNIFORM, .min = 0.05, .max = 7.3, .q = 0.35},
	{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 1.0 / 3.0},
	{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 3, .max = 500, .q = 7},
	{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 0.001, .max = 1, .q = 0.001},
	{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 8, .max = 8, .q = 4},
	{.dist = SW_DIST_POW2, .min = 0x1p-30, .max = 0x1p40},
	{.dist = SW_DIST_POW2, .min = 4, .max = 256},
	{.dist = SW_DIST_NORMAL, .mu = 3, .sigma = 0.5},
	{.dist = SW_DIST_Q_NORMAL, .mu = -1, .sigma = 4, .q = 0.1},
	{.dist = SW_DIST_LOG_NORMAL, .mu = -2, .sigma = 1.5},
	{.dist = SW_DIST_Q_LOG_NORMAL, .mu = 1, .sigma = 1, .q = 0.5},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 1000},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 0x1p40},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 0x1p40 - 5000, .max = 0x1p40},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 7, .max = 7},
};

static bool is_bounded(enum sw_dist d)
{
	return d == SW_DIST_INT_UNIFORM || d == SW_DIST_POW2 || d == SW_DIST_INT_LOG_UNIFORM ||
	       (d >= SW_DIST_UNIFORM && d <= SW_DIST_Q_LOG_UNIFORM);
}

static bool is_discrete(enum sw_dist d)
{
	return d == SW_DIST_CONSTANT || d == SW_DIST_CATEGORICAL || d == SW_DIST_INT_UNIFORM ||
	       d == SW_DIST_INT_LOG_UNIFORM || d == SW_DIST_POW2 || d == SW_DIST_Q_UNIFORM ||
	       d == SW_DIST_Q_LOG_UNIFORM || d == SW_DIST_Q_NORMAL || d == SW_DIST_Q_LOG_NORMAL;
}

static struct sw_space *make(const struct sw_param *p)
{
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, p, NULL), SW_OK);
	return s;
}

static double unit_at(int i, uint64_t *rng)
{
	static const double edges[] = {0.0,    1.0, 0x1p-53, 1.0 - 0x1p-53, 0.5,
				       -1.0,   2.0, NAN,     INFINITY,      -INFINITY,
				       1e-300, 0.1, 0.25,    1.0 - 0x1p-50, 1.0 / 3.0};

	return (size_t)i < ROWS(edges) ? edges[i] : unit(rng);
}

static void check_round_trip(const struct sw_space *s, const struct sw_param *p, struct sw_value v)
{
	struct sw_value again;
	double u;

	sw_space_encode(s, &v, &u);
	ck_assert(u >= 0.0 && u < 1.0);
	sw_space_decode(s, &u, &again);
	ck_assert_uint_eq(again.choice, v.choice);
	if (is_discrete(p->dist))
		ck_assert_double_eq(again.number, v.number);
	else if (p->dist == SW_DIST_UNIFORM || p->dist == SW_DIST_NORMAL)
		ck_assert_double_eq_tol(again.number, v.number,
					1e-9 * (fabs(v.number) + p->max / 2 - p->min / 2));
	else
		ck_assert_double_eq_tol(again.number / v.number, 1.0, 1e-6);
}

TEST_ROWS(space_any_point_decodes_inside_and_encodes_back, kinds)
{
	const struct sw_param *p = &kinds[_i];
	struct sw_space *s = make(p);
	uint64_t rng = 5;

	for (int i = 0; i < 4000; i++) {
		const double u = unit_at(i, &rng);
		struct sw_value v;

		sw_space_decode(s, &u, &v);
		ck_assert(isfinite(v.number));
		ck_assert(!(v.number == 0.0 && signbit(v.number)));
		if (is_bounded(p->dist))
			ck_assert(p->min <= v.number && v.number <= p->max);
		if (p->dist == SW_DIST_CATEGORICAL) {
			ck_assert_uint_lt(v.choice, p->n_choices);
			ck_assert(p->weights == NULL || p->weights[v.choice] > 0.0);
		}
		if (p->q > 0.0)
			ck_assert_double_eq_tol(remainder(v.number, p->q), 0.0,
						1e-12 * (1.0 + fabs(v.number)));
		/* The two ends of a normal are where no double lies between u and 1. */
		if (u > 1e-12 && u < 1.0 - 1e-12)
			check_round_trip(s, p, v);
	}
	sw_space_destroy(s);
}

TEST_ROWS(space_each_level_is_in_order_and_encodes_back, kinds)
{
	const struct sw_param *p = &kinds[_i];
	struct sw_space *s = make(p);
	const uint64_t levels = sw_space_levels(s, 0);
	const uint64_t stride = levels / 3000 + 1;
	double before = -INFINITY;

	for (uint64_t k = 0; k < levels; k += stride) {
		const struct sw_value v = sw_space_level(s, 0, k);

		if (p->dist == SW_DIST_CATEGORICAL) {
			ck_assert_uint_eq(v.choice, k);
			if (p->weights != NULL && !(p->weights[k] > 0.0))
				continue; /* no point decodes to it */
		} else {
			ck_assert(v.number > before);
			before = v.number;
		}
		check_round_trip(s, p, v);
	}
	sw_space_destroy(s);
}

/* Coordinates are evenly many; so many of them, from the first to the last, are each level's. */
TEST_ROWS(space_level_is_encoded_to_the_middle_of_what_decodes_to_it, kinds)
{
	enum { STEPS = 20000, MOST = 50 };
	struct sw_space *s = make(&kinds[_i]);
	const uint64_t levels = sw_space_levels(s, 0);
	unsigned first = 0;

	for (unsigned i = 0; levels > 0 && levels <= MOST && i < STEPS; i++) {
		const double u = (i + 0.5) / STEPS, next = (i + 1.5) / STEPS;
		struct sw_value v, after;
		double middle;

		sw_space_decode(s, &u, &v);
		sw_space_decode(s, &next, &after);
		if (i + 1 < STEPS && after.number == v.number && after.choice == v.choice)
			continue;
		sw_space_encode(s, &v, &middle);
		ck_assert_double_eq_tol(middle, (first + i + 1) / (2.0 * STEPS), 1.0 / STEPS);
		first = i + 1;
	}
	sw_space_destroy(s);
}

/* A bound that was computed is the multiple that it is meant for, and still the bound. */
static const struct {
	double min, max, q, first, last;
	uint64_t levels;
} computed[] = {
	{0.0, 0.6, 0.1, 0.0, 0.6, 7},
	{0.0, 0.1 * 6, 0.1, 0.0, 0.6, 7},
	{0.0, 0.3 - 0.1, 0.1, 0.0, 0.3 - 0.1, 3},
	{0.1 + 0.2, 0.7, 0.2, 0.4, 0.6, 2},
	{0.1 + 0.2, 0.9, 0.3, 0.1 + 0.2, 0.9, 3},
	{0.1f, 0.3f, 0.1, 0.1f, 0.3, 3},
	{0.05, 0.35, 0.05, 0.05, 0.35, 7},
	{0.3 - 0.1, 0.3 - 0.1, 0.1, 0.3 - 0.1, 0.3 - 0.1, 1},
	{0.0, 0.199999, 0.1, 0.0, 0.1, 2},
	{0.100001, 0.2, 0.1, 0.2, 0.2, 1},
};

TEST_ROWS(space_bound_beside_a_multiple_by_rounding_is_that_multiple, computed)
{
	struct sw_space *s = make(&(struct sw_param){.dist = SW_DIST_Q_UNIFORM,
						     .min = computed[_i].min,
						     .max = computed[_i].max,
						     .q = computed[_i].q});

	ck_assert_uint_eq(sw_space_levels(s, 0), computed[_i].levels);
	for (uint64_t k = 0; k < computed[_i].levels; k++) {
		const struct sw_value v = sw_space_level(s, 0, k);

		ck_assert(computed[_i].min <= v.number && v.number <= computed[_i].max);
		ck_assert_double_eq(sw_space_nearest(s, 0, v).number, v.number);
		ck_assert_int_eq(sw_space_check_value(s, 0, v, NULL), SW_OK);
		check_round_trip(s, sw_space_param(s, 0), v);
	}
	ck_assert_double_eq(sw_space_level(s, 0, 0).number, computed[_i].first);
	ck_assert_double_eq(sw_space_level(s, 0, computed[_i].levels - 1).number,
			    computed[_i].last);
	sw_space_destroy(s);
}

/* The text that a person sees for a multiple of q: no 0.30000000000000004. */
TEST(space_multiple_of_a_decimal_prints_as_that_decimal)
{
	static const struct {
		double q, max;
		const char *third, *seventh;
	} rows[] = {{0.1, 1, "0.3", "0.7"},         {0.05, 1, "0.15", "0.35"},
		    {0.15, 2, "0.45", "1.05"},      {1e-5, 1e-3, "3e-05", "7e-05"},
		    {0.001, 1, "0.003", "0.007"},   {2.5, 100, "7.5", "17.5"},
		    {1.1, 10, "3.3", "7.7"},        {1e22, 1e24, "3e+22", "7e+22"},
		    {0.0625, 1, "0.1875", "0.4375"}};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct sw_space *s = make(&(struct sw_param){
			.dist = SW_DIST_Q_UNIFORM, .max = rows[i].max, .q = rows[i].q});
		char text[40];

		(void)snprintf(text, sizeof text, "%.17g", sw_space_level(s, 0, 3).number);
		ck_assert_double_eq(strtod(rows[i].third, NULL), sw_space_level(s, 0, 3).number);
		ck_assert_msg(strtod(rows[i].seventh, NULL) == sw_space_level(s, 0, 7).number,
			      "q %g: %s", rows[i].q, text);
		sw_space_destroy(s);
	}
}

TEST(space_value_outside_goes_to_the_nearest_end)
{
	static const struct {
		struct sw_param p;
		double low, high;
	} rows[] = {
		{{.dist = SW_DIST_INT_UNIFORM, .min = -7, .max = 12}, -7, 12},
		{{.dist = SW_DIST_UNIFORM, .min = -1, .max = 2}, -1, 2},
		{{.dist = SW_DIST_LOG_UNIFORM, .min = 0.5, .max = 2}, 0.5, 2},
		{{.dist = SW_DIST_INV_LOG_UNIFORM, .min = 0.5, .max = 2}, 0.5, 2},
		{{.dist = SW_DIST_Q_UNIFORM, .min = 0.5, .max = 2.4, .q = 0.5}, 0.5, 2},
		{{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 0.7, .max = 2, .q = 0.5}, 1, 2},
		{{.dist = SW_DIST_POW2, .min = 4, .max = 64}, 4, 64},
	};
	static const double far[] = {1e9, 1e300, INFINITY};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct sw_space *s = make(&rows[i].p);

		for (size_t k = 0; k < ROWS(far); k++) {
			struct sw_value v = {.number = far[k]}, got;
			double u;

			sw_space_encode(s, &v, &u);
			sw_space_decode(s, &u, &got);
			ck_assert_double_eq_tol(got.number, rows[i].high, 1e-9);
			v.number = -far[k];
			sw_space_encode(s, &v, &u);
			sw_space_decode(s, &u, &got);
			ck_assert_double_eq_tol(got.number, rows[i].low, 1e-9);
		}
		sw_space_destroy(s);
	}
	struct sw_space *s = make(&(struct sw_param){.dist = SW_DIST_CATEGORICAL, .n_choices = 3});
	double u;
	struct sw_value got;
	sw_space_encode(s, &(struct sw_value){.choice = 99}, &u);
	sw_space_decode(s, &u, &got);
	ck_assert_uint_eq(got.choice, 2);
	sw_space_destroy(s);
}

TEST(space_thin_category_is_skipped_without_harm)
{
	struct sw_space *s = make(
		&(struct sw_param){.dist = SW_DIST_CATEGORICAL, .n_choices = 3, .weights = thin});
	struct sw_value got;
	double u;

	sw_space_encode(s, &(struct sw_value){.choice = 1}, &u);
	ck_assert_double_eq_tol(u, 0.5, 1e-12);
	sw_space_decode(s, &(double){0.5 - 1e-15}, &got);
	ck_assert_uint_eq(got.choice, 0);
	sw_space_decode(s, &(double){0.5 + 1e-15}, &got);
	ck_assert_uint_eq(got.choice, 2);
	sw_space_destroy(s);
}

/* ---- distributions, by counts ---- */

enum { DRAWS = 100000 };

/* How many of DRAWS uniform points decode to a number of at most x. */
static double share_upto(const struct sw_param *p, double x)
{
	struct sw_space *s = make(p);
	unsigned n = 0;

	for (uint64_t i = 0; i < DRAWS; i++) {
		const double u = sw_rng_unit(3, SW_RNG_SAMPLE, i, 0);
		struct sw_value v;

		sw_space_decode(s, &u, &v);
		n += (p->dist == SW_DIST_CATEGORICAL ? v.choice : v.number) <= x;
	}
	sw_space_destroy(s);
	return n / (double)DRAWS;
}

static const struct {
	struct sw_param p;
	double x, share;
} counts[] = {
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 4}, 0, 0.25},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 6, .weights = weights}, 1, 0.1},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 6, .weights = weights}, 3, 0.8},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 5}, 1, 0.2},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 5}, 4, 0.8},
	{{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3}, 0, 0.25},
	/* 1 has the reals from 1 to 2: ln 2 / ln 8; up to 3: ln 4 / ln 8 */
	{{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 7}, 1, 1.0 / 3.0},
	{{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 7}, 3, 2.0 / 3.0},
	{{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1}, 1e-3, 0.25},
	/* 1/x is log-uniform over [1/100, 1]: P(x <= 10) = P(1/x >= 0.1) = 1/2 */
	{{.dist = SW_DIST_INV_LOG_UNIFORM, .min = 1, .max = 100}, 10, 0.5},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.25}, 0, 0.2},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.25}, 0.75, 0.8},
	/* everything below 1.5 rounds to 1: ln 1.5 / ln 4 */
	{{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 1, .max = 4, .q = 1}, 1, 0.29248125},
	{{.dist = SW_DIST_POW2, .min = 4, .max = 64}, 8, 0.4},
	{{.dist = SW_DIST_NORMAL, .mu = 5, .sigma = 2}, 3, 0.15865525},
	{{.dist = SW_DIST_NORMAL, .mu = 5, .sigma = 2}, 9, 0.97724987},
	{{.dist = SW_DIST_LOG_NORMAL, .mu = 1, .sigma = 1}, 2.718281828459045, 0.5},
	{{.dist = SW_DIST_Q_NORMAL, .mu = 0, .sigma = 1, .q = 1}, -1, 0.30853754},
	/* rounds to 0 below 0.5: cdf(ln 0.5) */
	{{.dist = SW_DIST_Q_LOG_NORMAL, .mu = 0, .sigma = 1, .q = 1}, 0, 0.24410860},
};

TEST_ROWS(space_draws_have_the_named_distribution, counts)
{
	/* Five standard deviations of a count; the seed is fixed, so this is no gamble. */
	const double p = counts[_i].share;

	ck_assert_double_eq_tol(share_upto(&counts[_i].p, counts[_i].x), p,
				5.0 * sqrt(p * (1.0 - p) / DRAWS));
}

/* ---- probit ---- */

static const struct {
	double u, z;
} quantiles[] = {
	/* Each z to 17 digits, worked out in 60-digit arithmetic at the double nearest to u. */
	{0.5, 0.0},
	{0.25, -6.74489750196081743e-1},
	{0.1, -1.28155156554460044e+0},
	{0.075, -1.43953147093845593e+0},
	{0.0749, -1.44023826752796366e+0},
	{0.01, -2.32634787404084109e+0},
	{0.001, -3.09023230616781354e+0},
	{1e-5, -4.26489079392282461e+0},
	{1e-10, -6.36134090240405620e+0},
	{1.3887943864964021e-11, -6.65790464350110358e+0},
	{1e-12, -7.03448382530113193e+0},
	{5.551115123125783e-17, -8.29236107581359554e+0},
	{0.9, 1.28155156554460059e+0},
	{0.975, 1.95996398454005386e+0},
	{0.999, 3.09023230616781328e+0},
	{0.99999, 4.26489079392384077e+0},
	{0.9999999999, 6.36134088969742186e+0},
};

TEST_ROWS(probit_known_quantile_to_full_precision, quantiles)
{
	ck_assert_double_eq_tol(sw_normal_quantile(quantiles[_i].u), quantiles[_i].z,
				4e-16 * fabs(quantiles[_i].z) + 1e-300);
}

TEST(probit_is_the_inverse_of_the_cdf)
{
	double before = -INFINITY;

	for (double u = 0x1p-54; u < 0.5; u *= 1.03) {
		const double z = sw_normal_quantile(u);

		ck_assert_double_gt(z, before);
		before = z;
		/* A relative error of z comes back z * z times as large, and z reaches 8. */
		ck_assert_double_eq_tol(sw_normal_cdf(z) / u, 1.0, 5e-14);
		if (u > 1e-3)
			ck_assert_double_eq_tol(sw_normal_quantile(1.0 - u), -z, 1e-12);
	}
	ck_assert_double_eq(sw_normal_quantile(0.5), 0.0);
}

RUN_TESTS(NULL, NULL)
