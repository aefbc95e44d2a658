/* tests/plot/test_importance.c — the parameters that matter, on functions that say which do. */
#include "base/philox.h"
#include "plot/build.h"
#include "tests/plot/built.h"

#define PARAMS 6
#define TRIALS 1000

static const char *const kinds[] = {"adam", "sgd", "lion", "rmsprop", "nag"};
static struct sw_plot_trial trials[TRIALS];
static double values[TRIALS][PARAMS];

/* The value of a trial; may take parameters from it (NaN), or give them another scale. */
typedef double objective(double *x);

static double one_linear(double *x)
{
	return 5 * x[0] + x[1];
}

static double a_category(double *x)
{
	x[0] = floor(5 * x[0]);
	return (x[0] == 2 ? 0 : 1) + .1 * x[1];
}

static double on_a_log_scale(double *x)
{
	x[0] = pow(10, -6 * x[0]);
	return fabs(log10(x[0]) + 3) + x[1];
}

/* Trials of three names have parameter 1, which can make them good; the others have parameter 2. */
static double a_condition(double *x)
{
	x[0] = floor(5 * x[0]);
	x[x[0] < 3 ? 2 : 1] = NAN;
	return x[0] < 3 ? fabs(x[1] - .9) : 1 + .1 * x[2];
}

static const struct {
	objective *f;
	const char *what;
	enum sw_plot_scale scale; /* of parameter 0 */
	size_t first;             /* of the two that matter, the parameters 0 and 1 */
} functions[] = {
	{one_linear, "one linear", SW_PLOT_LINEAR, 0},
	{a_category, "category", SW_PLOT_CATEGORY, 0},
	{on_a_log_scale, "log", SW_PLOT_LOG, 0},
	{a_condition, "condition", SW_PLOT_CATEGORY, 1},
};

static double weight[PARAMS];

static double uniform(uint64_t seed, size_t i, size_t k)
{
	const struct sw_philox_words c = {{(uint32_t)i, (uint32_t)k, 0, 0}};

	return sw_philox_raw(c, (uint32_t)seed, 0).v[0] / 4294967296.;
}

static struct sw_plot_data planted(size_t f, size_t n, uint64_t seed)
{
	static struct sw_plot_param params[PARAMS];
	static const char *const names[PARAMS] = {"0", "1", "2", "3", "4", "5"};

	for (size_t k = 0; k < PARAMS; k++)
		params[k] = (struct sw_plot_param){.name = names[k], .varied = true};
	params[0].scale = functions[f].scale;
	if (params[0].scale == SW_PLOT_CATEGORY) {
		params[0].n_names = 5;
		params[0].names = kinds;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < PARAMS; k++)
			values[i][k] = uniform(seed, i, k);
		trials[i] = (struct sw_plot_trial){.trial = (int64_t)i + 1,
						   .state = SW_PLOT_STATE_COMPLETED,
						   .value = functions[f].f(values[i]),
						   .params = values[i]};
	}
	return (struct sw_plot_data){.metric = "loss",
				     .params = params,
				     .n_params = PARAMS,
				     .trials = trials,
				     .n = n,
				     .all = n};
}

static size_t weigh(const struct sw_plot_data *d)
{
	sw_plot_fini(&built);
	sw_plot_init(&built, "importance", "");
	const size_t n = sw_plot_weigh(&built, d, weight);
	ck_assert_int_eq(built.failed, SW_OK);
	return n;
}

TEST_ROWS(importance_ranks_what_is_planted_first, functions)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		const struct sw_plot_data d = planted((size_t)_i, TRIALS, seed);
		double least = 1, most = 0, sum = 0;

		ck_assert_uint_eq(weigh(&d), TRIALS);
		for (size_t k = 0; k < PARAMS; k++) {
			sum += weight[k];
			if (k < 2)
				least = fmin(least, weight[k]);
			else
				most = fmax(most, weight[k]);
			ck_assert_msg(weight[k] <= weight[functions[_i].first],
				      "%s, seed %d: %zu has %g", functions[_i].what, (int)seed, k,
				      weight[k]);
		}
		ck_assert_msg(least > most, "%s, seed %d: %g, %g", functions[_i].what, (int)seed,
			      least, most);
		ck_assert_double_eq_tol(sum, 1, 1e-9);
	}
}

/* The divergences of two categories' counts, by hand: of 20 trials the two best have a's first
 * name, as half of all. With one trial's weight spread over both names: 2.5/3 and .5/3 against 1/2
 * each, so 4/9. */
TEST(importance_of_counts_is_as_by_hand)
{
	struct sw_plot_data d = planted(1, 20, 1);
	struct sw_plot_param params[2] = {
		{"a", SW_PLOT_CATEGORY, true, 2, kinds},
		{"b", SW_PLOT_CATEGORY, true, 2, kinds},
	};

	d.params = params;
	d.n_params = 2;
	for (size_t i = 0; i < 20; i++) {
		trials[i].value = (double)i;
		values[i][0] = i % 4 == 0 || i % 4 == 1 ? 0 : 1;
		values[i][1] = i % 2 == 0 ? 0 : 1; /* the two best have one of each */
	}
	ck_assert_uint_eq(weigh(&d), 20);
	ck_assert_double_eq_tol(weight[0], 1, 1e-9);
	ck_assert_double_eq_tol(weight[1], 0, 1e-9);
	/* Half of the trials lose b, one of the best among them. Of the ten that have it five have
	 * the first name: 1.5/2 and .5/2 against 1/2 each, so 1/4; times (1/2)^2 / (1/2). */
	for (size_t i = 0; i < 20; i++)
		values[i][1] = i % 2 == 1 ? NAN : i % 4 == 0 ? 0 : 1;
	ck_assert_uint_eq(weigh(&d), 20);
	ck_assert_double_eq_tol(weight[1] / weight[0], (1. / 8) / (4. / 9), 1e-9);
}

/* As sums over all kernels, written down in another language, have it. Optuna 5.0.0's
 * PedAnovaImportanceEvaluator says .7450: its densities have kernels of a width each. */
TEST(importance_of_numbers_is_as_by_hand)
{
	struct sw_plot_data d = planted(0, 500, 1);

	d.n_params = 2;
	for (size_t i = 0; i < 500; i++) {
		values[i][0] = (double)(7 * i % 50);
		values[i][1] = (double)((11 * (i / 50) + i) % 50);
		trials[i].value = 2 * values[i][0] + values[i][1] + .001 * (double)i;
	}
	ck_assert_uint_eq(weigh(&d), 500);
	ck_assert_double_eq_tol(weight[0], .734455, 1e-5);
}

TEST(importance_does_not_mind_the_sense_or_failed_trials)
{
	struct sw_plot_data d = planted(0, TRIALS, 7);
	double before[PARAMS];

	weigh(&d);
	memcpy(before, weight, sizeof before);
	d.maximize = true;
	for (size_t i = 0; i < TRIALS; i++)
		trials[i].value = -trials[i].value;
	weigh(&d);
	ck_assert_mem_eq(before, weight, sizeof before);
	for (size_t i = 0; i < 100; i++) {
		trials[i].state = SW_PLOT_STATE_FAILED;
		trials[i].value = 1e9;
		values[i][4] = .5; /* which would matter */
	}
	ck_assert_uint_eq(weigh(&d), TRIALS - 100);
	ck_assert_double_lt(weight[4], .02);
}

TEST(importance_has_a_bar_a_parameter_the_heaviest_on_top)
{
	struct sw_plot_data d = planted(0, TRIALS, 3);

	build("importance", &d, 1, NULL, 0);
	ck_assert_uint_eq(built.panels[0].y.n_names, PARAMS);
	ck_assert_str_eq(built.panels[0].y.names[5], "0");
	ck_assert_str_eq(built.panels[0].y.names[4], "1");
	const double drawn = mark_of(series_of(0, ""), 5)->x2;
	weigh(&d);
	ck_assert_double_eq(drawn, weight[0]);
	build("importance", &d, 1, NULL, 0);
	ck_assert_double_eq(mark_of(series_of(0, ""), 5)->y, 4.6);
	for (size_t k = 1; k < PARAMS; k++)
		ck_assert_double_ge(mark_of(series_of(0, ""), k)->x2,
				    mark_of(series_of(0, ""), k - 1)->x2);
	ck_assert_note("the best tenth of 1000 trials");
	d.n = 20;
	build("importance", &d, 1, NULL, 0);
	ck_assert_note("With fewer than 50 trials the order may be chance.");
	for (size_t i = 0; i < 20; i++)
		trials[i].value = 1;
	build("importance", &d, 1, NULL, 0);
	ck_assert_note("No parameter tells the best trials from the others.");
	d.n = 0;
	build("importance", &d, 1, NULL, 0);
}

RUN_TESTS(NULL, NULL)
