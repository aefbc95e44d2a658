/* tests/sched/bayes/test_bayes_metrics.c — bayes with several metrics: it fills a front, and says
 * by what a point was chosen. */
#include "sched/sampler/pareto.h"
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

#define D 4

static const struct sw_param box[D] = {
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
};

static void open_metrics(struct world *r, enum sw_sampler_kind kind, size_t n_metrics)
{
	world_init(r, SW_SAMPLER_BAYES, learn_space(box, D), 3);
	sw_sampler_destroy(r->s);
	sw_history_fini(&r->h);
	const struct sw_sampler_config config = {
		.kind = kind, .seed = 3, .space = r->space, .n_metrics = n_metrics};

	ck_assert_int_eq(sw_samplers_create(&r->s, &config, NULL), SW_OK);
	sw_history_init(&r->h, D, n_metrics);
}

/* Squared distances to corners of a cube, the second a thousand times as large. */
static void distances(const struct sw_value *v, size_t m, double *y)
{
	for (size_t k = 0; k < m; k++) {
		y[k] = 0;
		for (size_t i = 0; i < D; i++) {
			const double at = (k >> i & 1) != 0 ? 1.5 : 0;

			y[k] += (v[i].number - at) * (v[i].number - at) * (k == 1 ? 1000 : 1);
		}
	}
}

static void suggest(struct world *r)
{
	sw_suggestion_fini(&r->out);
	ck_assert_int_eq(sw_sampler_suggest(r->s, &r->h, r->h.trials + 1, &r->out, NULL), SW_OK);
	ck_assert_int_eq(sw_history_add_trial(&r->h, r->out.values), SW_OK);
}

/* Every ninth trial fails, wherever it is. */
static void tell_all(struct world *r, uint64_t trial)
{
	const struct sw_obs obs = {.trial = trial,
				   .kind = trial % 9 == 8 ? SW_OBS_FAILED : SW_OBS_FINAL};
	double y[SW_METRICS_MAX];

	distances(r->h.values + (trial - 1) * D, r->h.n_metrics, y);
	ck_assert_int_eq(sw_history_observe(&r->h, obs, obs.kind == SW_OBS_FINAL ? y : NULL),
			 SW_OK);
}

static double volume_after(enum sw_sampler_kind kind, size_t m, uint64_t n)
{
	double y[400 * SW_METRICS_MAX], reference[SW_METRICS_MAX], volume;
	size_t rows = 0;
	struct world r;

	open_metrics(&r, kind, m);
	for (uint64_t t = 1; t <= n; t++) {
		suggest(&r);
		tell_all(&r, t);
		if (r.h.obs[t - 1].kind == SW_OBS_FINAL)
			memcpy(y + m * rows++, r.h.y + (t - 1) * m, m * sizeof *y);
	}
	for (size_t k = 0; k < m; k++)
		reference[k] = k == 1 ? 4000 : 4;
	ck_assert_int_eq(sw_hypervolume(y, rows, m, reference, &volume), SW_OK);
	world_fini(&r);
	return volume;
}

TEST_LOOP(front_of_sixty_trials_covers_more_than_two_hundred_at_random, 2, 4)
{
	const size_t m = (size_t)_i;
	const double bayes = volume_after(SW_SAMPLER_BAYES, m, 60);
	const double random = volume_after(SW_SAMPLER_RANDOM, m, 200);

	ck_assert_msg(bayes > random, "%zu metrics: %g, random %g", m, bayes, random);
}

TEST(suggestion_says_by_what_it_was_chosen)
{
	unsigned n[SW_ACQUISITION_MAX + 1] = {0};
	struct world r;

	open_metrics(&r, SW_SAMPLER_BAYES, 3);
	for (uint64_t t = 1; t <= 30; t++) {
		const struct sw_suggestion *s = &r.out;
		double sum = 0;

		suggest(&r);
		tell_all(&r, t);
		n[s->acquisition]++;
		ck_assert_int_ne(s->acquisition, SW_ACQUISITION_EI);
		if (s->acquisition == SW_ACQUISITION_NONE)
			continue;
		ck_assert(isfinite(s->log_ei));
		for (size_t k = 0; k < 3; k++)
			sum += s->weight[k];
		ck_assert_double_eq_tol(sum, 1, 1e-12);
		for (size_t k = 0; k < 3 && s->acquisition == SW_ACQUISITION_MAX; k++)
			ck_assert(isfinite(s->metric_mean[k]) && s->metric_sd[k] > 0);
		/* The second metric is a thousand times as large, and is said in its own units. */
		if (s->acquisition == SW_ACQUISITION_MAX)
			ck_assert_double_gt(fabs(s->metric_mean[1]), 10 * fabs(s->metric_mean[0]));
		else
			ck_assert(isfinite(s->mean) && s->sd > 0);
	}
	ck_assert_uint_gt(n[SW_ACQUISITION_WHOLE], 8);
	ck_assert_uint_gt(n[SW_ACQUISITION_MAX], 8);
	ck_assert_uint_eq(n[SW_ACQUISITION_EI], 0);
	world_fini(&r);
}

RUN_TESTS(NULL, NULL)
