/* tests/sched/bayes/test_gp.c — the Gaussian process against a dense reference, and its
 * gradients. */
#include "sched/bayes/gp.h"
#include "sched/bayes/gp_internal.h"
#include "tests/sched/bayes/gp_reference.h"
#include "tests/sched/suite.h"

enum { D = 4, N = 30, VARIANTS = 18 };

static const bool CATEGORY[D] = {false, true, false, false};

/* One process of each kind, data for it and a theta inside the bounds. */
struct bench {
	struct reference ref;
	struct sw_gp *gp;
	double X[REF_MAX * REF_D], z[REF_MAX], theta[REF_THETA];
	size_t theta_n;
};

static void points(const struct sw_gp_config *config, double *X, size_t n, uint64_t *rng)
{
	for (size_t i = 0; i < n * config->d; i++) {
		const bool category = config->category != NULL && config->category[i % config->d];

		X[i] = category ? (double)below(rng, 3) : unit(rng);
	}
}

static void bench_init(struct bench *b, int variant)
{
	const struct sw_gp_config config = {
		.d = D,
		.kernel = variant % 2 ? SW_GP_RBF : SW_GP_MATERN52,
		.additive = variant / 2 % 2,
		.category = variant / 4 % 2 ? CATEGORY : NULL,
		.warped = variant / 8 % 2,
		.noisy = variant / 16,
	};
	uint64_t rng = 7 + (uint64_t)variant;

	memset(b, 0, sizeof *b);
	ck_assert_int_eq(sw_gp_create(&b->gp, &config), SW_OK);
	b->theta_n = sw_gp_theta_n(b->gp);
	ck_assert_uint_eq(b->theta_n,
			  D * (1U + config.additive + config.warped) + 2U + config.additive);
	points(&config, b->X, N, &rng);
	for (int i = 0; i < N; i++)
		b->z[i] = sin(5 * b->X[i * D]) + b->X[i * D + 1] + 0.3 * (unit(&rng) - 0.5);
	sw_gp_theta_default(b->gp, b->theta);
	for (size_t i = 0; i < b->theta_n; i++)
		b->theta[i] += 0.6 * (unit(&rng) - 0.5);
	b->theta[D + 1] = log(1e-4);
	b->ref.config = config;
	b->ref.n = N;
	b->ref.X = b->X;
	memcpy(b->ref.theta, b->theta, sizeof b->theta);
}

static void near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol * (1 + fabs(b))))
		ck_abort_msg("%.17g is not %.17g (within %g)", a, b, tol);
}

TEST_LOOP(gp_posterior_equals_the_dense_reference, 0, VARIANTS)
{
	struct bench b;
	double Xs[100 * D], means[100], vars[100];
	uint64_t rng = 99;

	bench_init(&b, _i);
	ref_condition(&b.ref, b.z);
	ck_assert_int_eq(sw_gp_set(b.gp, b.X, b.z, N, b.theta), SW_OK);
	points(&b.ref.config, Xs, 100, &rng);
	memcpy(Xs, b.X, 3 * D * sizeof *Xs); /* told points too */
	ck_assert_int_eq(sw_gp_predict_batch(b.gp, Xs, 100, means, vars), SW_OK);
	for (int i = 0; i < 100; i++) {
		double mean, var, mean_ref, var_ref;

		sw_gp_predict(b.gp, Xs + i * D, &mean, &var, NULL, NULL);
		ref_predict(&b.ref, Xs + i * D, &mean_ref, &var_ref);
		near(mean, mean_ref, 1e-8);
		near(var, var_ref, 1e-8);
		near(means[i], mean_ref, 1e-8);
		near(vars[i], var_ref, 1e-8);
	}
	sw_gp_destroy(b.gp);
}

/* The penalties, written out from the recipe's table. */
static double penalty(const struct bench *b)
{
	const double m = sqrt(2) + 0.5 * log(D), *t = b->theta;
	const double noise = b->ref.config.noisy ? pow(t[D + 1] - log(0.1), 2) / 4
						 : pow(t[D + 1] - log(1e-6), 2) / 18;
	double sum = t[D] * t[D] / 4.5 + noise;

	for (int k = 0; k < D; k++)
		sum += pow(t[k] - m, 2) / 6 + t[k];
	if (b->ref.config.additive) {
		sum += pow(t[D + 2] + 1, 2) / 8;
		for (int k = 0; k < D; k++)
			sum += pow(t[D + 3 + k] - log(0.5), 2) / 2;
	}
	for (size_t k = b->theta_n - D; b->ref.config.warped && k < b->theta_n; k++)
		sum += t[k] * t[k] / 18;
	return sum;
}

TEST_LOOP(gp_objective_equals_the_dense_reference, 0, VARIANTS)
{
	struct bench b;
	double f;

	bench_init(&b, _i);
	ref_condition(&b.ref, b.z);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &f, NULL), SW_OK);
	near(f, penalty(&b) - (double)b.ref.lml, 1e-8);
	sw_gp_destroy(b.gp);
}

/* That the objective and the posterior themselves are right, the tests before say. */
TEST_LOOP(gp_gradients_by_theta_equal_finite_differences, 0, VARIANTS)
{
	struct bench b;
	double f, grad[REF_THETA], side[2];
	const double step = 1e-5;

	bench_init(&b, _i);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &f, grad), SW_OK);
	for (size_t i = 0; i < b.theta_n; i++) {
		const double here = b.theta[i];

		for (int k = 0; k < 2; k++) {
			b.theta[i] = here + (k ? step : -step);
			ck_assert_int_eq(
				sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &side[k], NULL), SW_OK);
		}
		b.theta[i] = here;
		near(grad[i], (side[1] - side[0]) / (2 * step), 1e-6);
	}
	sw_gp_destroy(b.gp);
}

TEST_LOOP(gp_gradients_by_x_equal_finite_differences, 0, VARIANTS)
{
	struct bench b;
	uint64_t rng = 5;
	const double step = 1e-5;

	bench_init(&b, _i);
	ck_assert_int_eq(sw_gp_set(b.gp, b.X, b.z, N, b.theta), SW_OK);
	for (int i = 0; i < 20; i++) {
		double x[D], mean, var, dmean[D], dvar[D], m[2], v[2];

		points(&b.ref.config, x, 1, &rng);
		sw_gp_predict(b.gp, x, &mean, &var, dmean, dvar);
		for (int k = 0; k < D; k++) {
			const bool category = b.ref.config.category != NULL && CATEGORY[k];
			const double here = x[k];

			for (int side = 0; side < 2 && !category; side++) {
				x[k] = here + (side ? step : -step);
				sw_gp_predict(b.gp, x, &m[side], &v[side], NULL, NULL);
			}
			x[k] = here;
			near(dmean[k], category ? 0 : (m[1] - m[0]) / (2 * step), 1e-6);
			near(dvar[k], category ? 0 : (v[1] - v[0]) / (2 * step), 1e-6);
		}
	}
	sw_gp_destroy(b.gp);
}

TEST_LOOP(gp_fit_falls_and_stays_within_bounds, 0, VARIANTS)
{
	struct bench b;
	double theta[REF_THETA], clipped[REF_THETA], f0, f, again;

	bench_init(&b, _i);
	sw_gp_theta_default(b.gp, theta);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, theta, &f0, NULL), SW_OK);
	ck_assert_int_eq(sw_gp_fit(b.gp, b.X, b.z, N, theta,
				   &(struct sw_gp_fit_options){.max_evals = 200}, &f),
			 SW_OK);
	ck_assert_double_lt(f, f0 - 1);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, theta, &again, NULL), SW_OK);
	ck_assert_double_eq(f, again);
	memcpy(clipped, theta, sizeof theta);
	sw_gp_theta_clip(b.gp, clipped);
	ck_assert_mem_eq(clipped, theta, b.theta_n * sizeof *theta);
	/* From its own optimum there is next to nothing to gain, and nothing to lose. */
	ck_assert_int_eq(sw_gp_fit(b.gp, b.X, b.z, N, theta,
				   &(struct sw_gp_fit_options){.max_evals = 200}, &again),
			 SW_OK);
	ck_assert_double_le(again, f);
	near(again, f, 1e-3);
	sw_gp_destroy(b.gp);
}

TEST_LOOP(gp_fit_of_one_evaluation_is_its_start, 0, VARIANTS)
{
	struct bench b;
	double theta[REF_THETA], f, f0;

	bench_init(&b, _i);
	memcpy(theta, b.theta, sizeof theta);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, theta, &f0, NULL), SW_OK);
	ck_assert_int_eq(sw_gp_fit(b.gp, b.X, b.z, N, theta,
				   &(struct sw_gp_fit_options){.max_evals = 1}, &f),
			 SW_OK);
	ck_assert_double_eq(f, f0);
	ck_assert_mem_eq(theta, b.theta, b.theta_n * sizeof *theta);
	sw_gp_destroy(b.gp);
}

/* The kernel's own exponential, in every lane of every width that this processor has: RBF of one
 * coordinate at distance t is e^(-t^2/2). */
TEST_LOOP(gp_exponential_of_every_width_equals_the_library, 0, GP_WIDTHS)
{
	enum { POINTS = 61 };
	const struct sw_gp_config config = {.d = 1, .kernel = SW_GP_RBF};
	const struct sw_gp_row_ops *ops = sw_gp_row_ops_at(_i);
	struct sw_gp_points p = {.n = 0};
	struct sw_gp_block block = {.mem = NULL};
	struct sw_gp *gp;
	double theta[3] = {0, 0, 0}, k[POINTS], x = 0;

	if (ops == NULL) {
		printf("gp_exponential: skipped, width %d is not in this processor\n", _i);
		return;
	}
	ck_assert_int_eq(sw_gp_create(&gp, &config), SW_OK);
	ck_assert(sw_gp_hyper_load(gp, &gp->hyper, theta));
	ck_assert_int_eq(sw_gp_points_renew(&p, POINTS, 1, &block, 1), SW_OK);
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < POINTS; i++)
			p.Xt[i] = 37.5 * (round * POINTS + i) / (2000.0 * POINTS);
		ops->values(gp, &gp->hyper, &p, POINTS, &x, k, NULL);
		for (int i = 0; i < POINTS; i++) {
			const double e = exp(-0.5 * (p.Xt[i] * p.Xt[i]));

			if (!(fabs(k[i] - e) <= 1e-15 * e))
				ck_abort_msg("e^%.17g: %.17g is not %.17g",
					     -0.5 * p.Xt[i] * p.Xt[i], k[i], e);
		}
	}
	sw_gp_block_free(&p.block);
	sw_gp_block_free(&block);
	sw_gp_destroy(gp);
}

/* The rows of each width feed the same process. */
TEST_LOOP(gp_widths_agree, 0, VARIANTS)
{
	struct bench b;
	double f[GP_WIDTHS], grad[GP_WIDTHS][REF_THETA];

	bench_init(&b, _i);
	for (int w = 0; w < GP_WIDTHS; w++) {
		b.gp->ops = sw_gp_row_ops_at(w) != NULL ? sw_gp_row_ops_at(w) : sw_gp_row_ops_at(0);
		ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &f[w], grad[w]),
				 SW_OK);
		near(f[w], f[0], 1e-10);
		for (size_t i = 0; i < b.theta_n; i++)
			near(grad[w][i], grad[0][i], 1e-8);
	}
	sw_gp_destroy(b.gp);
}

/* What does not fit is computed again. */
TEST_LOOP(gp_gradient_is_the_same_however_much_is_kept, 0, VARIANTS)
{
	struct bench b;
	const size_t most[] = {0, 100, 1000};
	double f[2], grad[2][REF_THETA];

	bench_init(&b, _i);
	ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &f[0], grad[0]), SW_OK);
	ck_assert_uint_eq(b.gp->kept_n, N);
	for (size_t k = 0; k < ROWS(most); k++) {
		b.gp->kept_most = most[k];
		ck_assert_int_eq(sw_gp_objective(b.gp, b.X, b.z, N, b.theta, &f[1], grad[1]),
				 SW_OK);
		ck_assert_uint_lt(b.gp->kept_n, N);
		ck_assert_mem_eq(&f[1], &f[0], sizeof *f);
		ck_assert_mem_eq(grad[1], grad[0], b.theta_n * sizeof(double));
	}
	sw_gp_destroy(b.gp);
}

/* What happens within the last tenth of a coordinate (a momentum, say) has little room: a process
 * that may warp finds that, tells points there better, and leaves the other coordinate alone. */
TEST_LOOP(gp_warps_a_coordinate_that_matters_near_its_end, 0, 2)
{
	enum { POINTS = 40, ASKS = 200 };
	struct sw_gp_config config = {.d = 2, .kernel = _i ? SW_GP_RBF : SW_GP_MATERN52};
	double X[2 * POINTS], z[POINTS], theta[6], f, off[2] = {0};
	uint64_t rng = 11;

	points(&config, X, POINTS, &rng);
	for (int i = 0; i < POINTS; i++)
		z[i] = sin(3 * log(1.01 - X[2 * i])) + cos(6 * X[2 * i + 1]);
	for (int side = 0; side < 2; side++) {
		struct sw_gp *gp;
		uint64_t draws = 12;

		config.warped = side == 1;
		ck_assert_int_eq(sw_gp_create(&gp, &config), SW_OK);
		sw_gp_theta_default(gp, theta);
		ck_assert_int_eq(sw_gp_fit(gp, X, z, POINTS, theta,
					   &(struct sw_gp_fit_options){.max_evals = 200}, &f),
				 SW_OK);
		ck_assert_int_eq(sw_gp_set(gp, X, z, POINTS, theta), SW_OK);
		for (int i = 0; i < ASKS; i++) {
			double x[2], mean, var;

			points(&config, x, 1, &draws);
			x[0] = 0.5 + x[0] / 2;
			sw_gp_predict(gp, x, &mean, &var, NULL, NULL);
			off[side] += fabs(mean - sin(3 * log(1.01 - x[0])) - cos(6 * x[1]));
		}
		sw_gp_destroy(gp);
	}
	ck_assert_double_gt(theta[4], 1);
	ck_assert_double_lt(fabs(theta[5]), 0.5);
	ck_assert_double_lt(off[1], 0.75 * off[0]);
}

TEST_LOOP(gp_plain_fit_of_a_warped_process_is_the_fit_of_a_plain_one, 0, 8)
{
	struct bench warped, plain;
	const struct sw_gp_fit_options options = {.max_evals = 50, .plain = true};
	double f[2];

	bench_init(&warped, 8 + _i);
	bench_init(&plain, _i);
	memcpy(warped.theta, plain.theta, plain.theta_n * sizeof *plain.theta);
	ck_assert_int_eq(sw_gp_fit(warped.gp, plain.X, plain.z, N, warped.theta, &options, &f[0]),
			 SW_OK);
	ck_assert_int_eq(sw_gp_fit(plain.gp, plain.X, plain.z, N, plain.theta, &options, &f[1]),
			 SW_OK);
	near(f[0], f[1], 1e-9);
	for (size_t i = 0; i < plain.theta_n; i++)
		near(warped.theta[i], plain.theta[i], 1e-6);
	for (size_t i = plain.theta_n; i < warped.theta_n; i++)
		ck_assert_double_eq(warped.theta[i], 0);
	sw_gp_destroy(warped.gp);
	sw_gp_destroy(plain.gp);
}

RUN_TESTS(NULL, NULL)
