/* tests/sched/bayes/test_gp_state.c — rows that come and go, hostile data, no memory. */
#include "sched/bayes/gp.h"
#include "sched/num/bfgs.h"
#include "tests/sched/suite.h"
#include "tests/walk.h"
#include <math.h>
#include <stdbool.h>

enum { D = 3, N = 45, BASE = 17, THETA = 3 * D + 3, ASKS = 6 };

static double X[N * D], Z[N], ASK[ASKS * D], theta[THETA];

struct answers {
	double mean[ASKS], var[ASKS], dmean[ASKS][D], dvar[ASKS][D], batch[2][ASKS];
};

static struct sw_gp *create(size_t d, bool additive)
{
	const struct sw_gp_config config = {.d = d, .additive = additive, .warped = additive};
	struct sw_gp *gp = NULL;

	ck_assert_int_eq(sw_gp_create(&gp, &config), SW_OK);
	return gp;
}

static void setup(void)
{
	uint64_t rng = 3;
	struct sw_gp *gp = create(D, true);

	for (int i = 0; i < N * D; i++)
		X[i] = unit(&rng);
	for (int i = 0; i < ASKS * D; i++)
		ASK[i] = unit(&rng);
	for (int i = 0; i < N; i++)
		Z[i] = cos(4 * X[i * D]) - X[i * D + 2];
	sw_gp_theta_default(gp, theta);
	for (int i = 0; i < D; i++)
		theta[2 * D + 3 + i] = 0.7 * (i - 1);
	sw_gp_destroy(gp);
}

static void answer(struct sw_gp *gp, struct answers *a)
{
	memset(a, 0, sizeof *a);
	for (int i = 0; i < ASKS; i++)
		sw_gp_predict(gp, ASK + i * D, &a->mean[i], &a->var[i], a->dmean[i], a->dvar[i]);
	ck_assert_int_eq(sw_gp_predict_batch(gp, ASK, ASKS, a->batch[0], a->batch[1]), SW_OK);
}

static void append(struct sw_gp *gp, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		ck_assert_int_eq(sw_gp_append(gp, X + i * D), SW_OK);
}

static void near(const double *a, const double *b, size_t n, double tol)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs(a[i] - b[i]) <= tol * (1 + fabs(b[i]))))
			ck_abort_msg("%zu: %.17g is not %.17g (within %g)", i, a[i], b[i], tol);
}

TEST(gp_rows_appended_equal_rows_set)
{
	struct sw_gp *by_row = create(D, true), *at_once = create(D, true);
	struct answers a, b;

	ck_assert_int_eq(sw_gp_set(by_row, X, Z, BASE, theta), SW_OK);
	append(by_row, BASE, N);
	sw_gp_targets(by_row, Z);
	answer(by_row, &a);
	ck_assert_int_eq(sw_gp_set(at_once, X, Z, N, theta), SW_OK);
	answer(at_once, &b);
	near(a.mean, b.mean, ASKS, 1e-7);
	near(a.var, b.var, ASKS, 1e-7);
	near(a.dmean[0], b.dmean[0], ASKS * D, 1e-6);
	near(a.dvar[0], b.dvar[0], ASKS * D, 1e-6);
	sw_gp_destroy(by_row);
	sw_gp_destroy(at_once);
}

/* The believer: a row without a target moves no mean, and takes variance away. */
TEST(gp_believed_row_keeps_the_mean_and_lowers_the_variance)
{
	struct sw_gp *gp = create(D, true), *told = create(D, true);
	struct answers before, after, as_told;
	double z[BASE + 1], mean, var;

	ck_assert_int_eq(sw_gp_set(gp, X, Z, BASE, theta), SW_OK);
	answer(gp, &before);
	sw_gp_predict(gp, X + BASE * D, &mean, &var, NULL, NULL);
	append(gp, BASE, BASE + 1);
	answer(gp, &after);
	near(after.mean, before.mean, ASKS, 1e-12);
	for (int i = 0; i < ASKS; i++)
		ck_assert_double_lt(after.var[i], before.var[i]);
	sw_gp_predict(gp, X + BASE * D, &mean, &var, NULL, NULL);
	ck_assert_double_lt(var, 1e-5);
	/* Its value was the mean: told so outright, the process is the same. */
	memcpy(z, Z, BASE * sizeof *z);
	z[BASE] = mean;
	ck_assert_int_eq(sw_gp_set(told, X, z, BASE + 1, theta), SW_OK);
	answer(told, &as_told);
	near(after.mean, as_told.mean, ASKS, 1e-7);
	near(after.var, as_told.var, ASKS, 1e-7);
	sw_gp_destroy(gp);
	sw_gp_destroy(told);
}

TEST_LOOP(gp_truncated_is_as_before_the_rows_came, 0, 2)
{
	struct sw_gp *gp = create(D, _i % 2);
	struct answers before, after;
	double z[N];

	for (int i = 0; i < N; i++)
		z[i] = -3 * Z[i];
	ck_assert_int_eq(sw_gp_set(gp, X, Z, BASE, theta), SW_OK);
	append(gp, BASE, BASE + 4);
	answer(gp, &before);
	append(gp, BASE + 4, N);
	sw_gp_truncate(gp, BASE + 4);
	answer(gp, &after);
	ck_assert_mem_eq(&before, &after, sizeof before);
	/* Over targets that came with the rows: the kept rows have the new ones. */
	sw_gp_targets(gp, z);
	answer(gp, &before);
	append(gp, BASE + 4, N);
	sw_gp_targets(gp, z);
	sw_gp_truncate(gp, BASE + 4);
	answer(gp, &after);
	ck_assert_mem_eq(&before, &after, sizeof before);
	sw_gp_destroy(gp);
}

static void all_finite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			ck_abort_msg("[%zu] is %g", i, v[i]);
}

enum { BIG_D = 256, BIG_THETA = 3 * BIG_D + 3, FEW = 12 };

/* Everything that can be asked of a process, with whatever theta and data. */
static void exercise(struct sw_gp *gp, size_t d, const double *x, const double *z, size_t n,
		     double *t)
{
	static double grad[BIG_THETA], dmean[BIG_D], dvar[BIG_D];
	double f, mean, var, start;

	ck_assert_int_eq(sw_gp_objective(gp, x, z, n, t, &start, grad), SW_OK);
	all_finite(&start, 1);
	all_finite(grad, sw_gp_theta_n(gp));
	for (int round = 0; round < 2; round++) {
		if (sw_gp_set(gp, x, z, n, t) == SW_OK) {
			ck_assert_int_eq(sw_gp_append(gp, x), SW_OK); /* a duplicate */
			sw_gp_predict(gp, x, &mean, &var, dmean, dvar);
			all_finite(&mean, 1);
			all_finite(&var, 1);
			ck_assert_double_gt(var, 0);
			all_finite(dmean, d);
			all_finite(dvar, d);
			sw_gp_truncate(gp, 1);
		}
		ck_assert_int_eq(
			sw_gp_fit(gp, x, z, n, t, &(struct sw_gp_fit_options){.max_evals = 20}, &f),
			SW_OK);
		all_finite(&f, 1);
		all_finite(t, sw_gp_theta_n(gp));
	}
}

static const struct hostile {
	const char *what;
	size_t d, n;
	bool flat, twins; /* z all 0; all rows equal */
	double shift;     /* of theta */
} HOSTILE[] = {
	{"one row", 2, 1, false, false, 0},
	{"two rows", 2, 2, false, false, 0},
	{"one coordinate", 1, FEW, false, false, 0},
	{"many coordinates", BIG_D, FEW, false, false, 0},
	{"flat", 3, FEW, true, false, 0},
	{"twins", 3, FEW, false, true, 0},
	{"flat twins", 3, FEW, true, true, 0},
	{"twins, next to no noise", 3, FEW, false, true, -40},
	{"tiny", 3, FEW, false, false, -99},
	{"huge", 3, FEW, false, false, 99},
	{"beyond", 3, FEW, false, false, 1e6},
	{"beyond, below", 3, FEW, false, false, -1e6},
};

TEST_LOOP(gp_hostile_data_gives_numbers_or_a_status, 0, 2 * ROWS(HOSTILE))
{
	static double x[BIG_D * FEW], z[FEW], t[BIG_THETA];
	const struct hostile *h = &HOSTILE[_i / 2];
	struct sw_gp *gp = create(h->d, _i % 2);
	uint64_t rng = 1;

	for (size_t i = 0; i < h->n * h->d; i++)
		x[i] = h->twins ? 0.5 : unit(&rng);
	for (size_t i = 0; i < h->n; i++)
		z[i] = h->flat ? 0 : unit(&rng) - 0.5;
	sw_gp_theta_default(gp, t);
	for (size_t i = 0; i < sw_gp_theta_n(gp); i++)
		t[i] = fmax(fmin(t[i] + h->shift, fabs(h->shift) > 100 ? 1e9 : 100),
			    fabs(h->shift) > 100 ? -1e9 : -100);
	exercise(gp, h->d, x, z, h->n, t);
	sw_gp_destroy(gp);
}

/* 300 tellings of one point leave a 300th of the jitter: less than the floor. */
TEST(gp_variance_at_the_floor_has_no_slope)
{
	enum { TWINS = 300 };
	static double x[TWINS], z[TWINS];
	struct sw_gp *gp = create(1, false);
	double t[3], mean, var, dmean, dvar;

	sw_gp_theta_default(gp, t);
	t[2] = -60;
	ck_assert_int_eq(sw_gp_set(gp, x, z, TWINS, t), SW_OK);
	sw_gp_predict(gp, x, &mean, &var, &dmean, &dvar);
	ck_assert_double_eq(var, 1e-12 * exp(t[1]));
	ck_assert_double_eq(dvar, 0);
	sw_gp_destroy(gp);
}

TEST(gp_no_rows_or_no_number_is_invalid)
{
	struct sw_gp *gp = create(D, false);
	double t[THETA], f;

	memcpy(t, theta, sizeof t);
	ck_assert_int_eq(sw_gp_set(gp, X, Z, 0, t), SW_INVALID);
	ck_assert_int_eq(sw_gp_objective(gp, X, Z, 0, t, &f, NULL), SW_INVALID);
	t[1] = NAN;
	ck_assert_int_eq(sw_gp_set(gp, X, Z, BASE, t), SW_INVALID);
	ck_assert_int_eq(sw_gp_objective(gp, X, Z, BASE, t, &f, NULL), SW_OK);
	ck_assert_double_eq(f, 1e10);
	sw_gp_destroy(gp);
	sw_gp_destroy(NULL);
}

static sw_status whole_life(void)
{
	const struct sw_gp_config config = {.d = D, .additive = true, .warped = true};
	struct sw_gp *gp = NULL;
	double t[THETA], f, mean[ASKS], var[ASKS];
	sw_status rc = sw_gp_create(&gp, &config);

	if (rc != SW_OK)
		return rc;
	memcpy(t, theta, sizeof t);
	rc = sw_gp_fit(gp, X, Z, BASE, t, &(struct sw_gp_fit_options){.max_evals = 5}, &f);
	if (rc == SW_OK)
		rc = sw_gp_set(gp, X, Z, BASE, t);
	for (size_t i = BASE; rc == SW_OK && i < N; i++) {
		rc = sw_gp_append(gp, X + i * D);
		/* The process without the row still answers where there was no room for it. */
		sw_gp_predict(gp, ASK, mean, var, NULL, NULL);
		all_finite(mean, 1);
	}
	if (rc == SW_OK)
		rc = sw_gp_predict_batch(gp, ASK, ASKS, mean, var);
	if (rc == SW_OK)
		rc = sw_gp_fit(gp, X, Z, N, t, &(struct sw_gp_fit_options){.max_evals = 5}, &f);
	sw_gp_destroy(gp);
	return rc;
}

TEST(gp_without_memory_says_so)
{
	WALK (SW_FAULT_MALLOC, 9) {
		walk_arm();
		const sw_status rc = whole_life();
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
	}
}

/* Rosenbrock's valley; beyond x = 1.5 it has no value. */
static double valley(const double *x, double *grad, void *arg)
{
	const double a = 1 - x[0], b = x[1] - x[0] * x[0];

	++*(unsigned *)arg;
	grad[0] = -2 * a - 400 * x[0] * b;
	grad[1] = 200 * b;
	return x[0] > 1.5 ? 1e10 : a * a + 100 * b * b;
}

static const struct box {
	double lo[2], hi[2], at[2];
} BOXES[] = {
	{{-2, -2}, {2, 2}, {1, 1}},
	{{-2, -2}, {0.5, 2}, {0.5, 0.25}},
	{{-2, -2}, {2, 0.36}, {0.6022, 0.36}},
	{{1.2, -2}, {2, 2}, {1.2, 1.44}},
};

TEST_ROWS(bfgs_finds_the_minimum_of_the_box, BOXES)
{
	const struct sw_bfgs_options opt = {
		.first_step = 0.5, .max_step = 10, .ftol = 1e-14, .max_iters = 200};
	const struct box *b = &BOXES[_i];
	double x[2] = {-1.2, 1}, f;
	unsigned evals = 0;

	ck_assert_int_eq(sw_bfgs_minimise(2, b->lo, b->hi, &opt, valley, &evals, x, &f), SW_OK);
	near(x, b->at, 2, 1e-3);
	ck_assert_uint_lt(evals, 200);
}

TEST(bfgs_ends_at_its_limit_of_evaluations)
{
	struct sw_bfgs_options opt = {
		.first_step = 0.5, .max_step = 10, .ftol = 1e-14, .max_iters = 200};
	double before = INFINITY;

	for (unsigned limit = 1; limit < 30; limit++) {
		double x[2] = {-1.2, 1}, f;
		unsigned evals = 0;

		opt.max_evals = limit;
		ck_assert_int_eq(
			sw_bfgs_minimise(2, BOXES[0].lo, BOXES[0].hi, &opt, valley, &evals, x, &f),
			SW_OK);
		ck_assert_uint_eq(evals, limit);
		ck_assert_double_le(f, before);
		before = f;
	}
}

SUITE(tcase)
{
	tcase_add_unchecked_fixture(tcase, setup, NULL);
}
