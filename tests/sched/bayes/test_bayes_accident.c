/* tests/sched/bayes/test_bayes_accident.c — trials that fail: what their points explain the search
 * keeps away from, and what is scattered over all of them does not lead it astray. */
#include "sched/bayes/bayes.h"
#include "sched/sweep/samplers.h"
#include "tests/sched/pruner/rung.h"
#include <math.h>

enum { D = 4, TRIALS = 60, SEEDS = 6 };

static const struct sw_param box[D] = {
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
	{.dist = SW_DIST_UNIFORM, .min = -1, .max = 3},
};

static double bowl(const struct sw_value *v)
{
	double y = 0;

	for (size_t i = 0; i < D; i++)
		y += v[i].number * v[i].number;
	return y;
}

enum rule { SCATTERED, EDGE, BOTH };

/* One in nine, wherever it is; and all beyond an edge beside the best. */
static bool fails(enum rule rule, const struct sw_value *v, uint64_t *rng)
{
	const bool chance = below(rng, 9) == 0, edge = v[0].number > 0.1;

	return rule == SCATTERED ? chance : rule == EDGE ? edge : edge || chance;
}

static double best_of(enum rule rule, uint64_t seed, size_t *beyond)
{
	double best = INFINITY;
	uint64_t rng = seed;
	struct world r;

	*beyond = 0;
	world_init(&r, SW_SAMPLER_BAYES, learn_space(box, D), seed);
	for (uint64_t t = 1; t <= TRIALS; t++) {
		const struct sw_value *const v = world_ask(&r);

		*beyond += t > TRIALS / 2 && v[0].number > 0.1;
		if (fails(rule, v, &rng)) {
			world_tell(&r, SW_OBS_FAILED, 0);
			continue;
		}
		best = fmin(best, bowl(v));
		world_tell(&r, SW_OBS_FINAL, bowl(v));
	}
	world_fini(&r);
	return best;
}

/* One seed may be out of luck. */
TEST(scattered_failures_do_not_lead_astray)
{
	double ln = 0;
	size_t beyond;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		ln += log(best_of(SCATTERED, seed, &beyond)) / SEEDS;
	ck_assert_msg(ln < log(1e-4), "%g", exp(ln));
}

TEST_LOOP(search_keeps_away_from_where_all_fail, EDGE, BOTH + 1)
{
	const enum rule rule = (enum rule)_i;
	double ln = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t beyond;

		ln += log(best_of(rule, seed, &beyond)) / SEEDS;
		ck_assert_msg(beyond <= TRIALS / 6, "seed %u: %zu", (unsigned)seed, beyond);
	}
	ck_assert_msg(ln < log(1e-2), "%g", exp(ln));
}

/* Trials by hand: the verdicts. */
struct judged {
	struct sw_space *space;
	struct sw_bayes_cube cube;
	struct sw_bayes_accidents accidents;
	struct sw_history h;
	bool changed;
};

static void open_judged(struct judged *j)
{
	j->space = learn_space(box, D);
	sw_bayes_cube_init(&j->cube, j->space);
	ck_assert_int_eq(sw_bayes_accidents_init(&j->accidents, &j->cube), SW_OK);
	sw_history_init(&j->h, D, 1);
}

static void close_judged(struct judged *j)
{
	sw_history_fini(&j->h);
	sw_bayes_accidents_fini(&j->accidents);
	sw_space_destroy(j->space);
}

static void judge(struct judged *j)
{
	ck_assert_int_eq(sw_bayes_accidents_judge(&j->accidents, &j->cube, &j->h, &j->changed),
			 SW_OK);
}

/* A trial at random that ends as it must, or (waits) stops at a rung and does not end. */
static void add_trial(struct judged *j, enum rule rule, bool waits, uint64_t *rng)
{
	struct sw_value v[D];

	for (size_t k = 0; k < D; k++)
		v[k].number = 4 * unit(rng) - 1;
	v[0].number = v[0].number > 2 ? 0 : v[0].number;
	const bool failed = fails(rule, v, rng);
	const double y = bowl(v);

	learn_add(&j->h, v);
	learn_tell(&j->h, j->h.trials,
		   failed  ? SW_OBS_FAILED
		   : waits ? SW_OBS_RUNG
			   : SW_OBS_FINAL,
		   0, failed ? NULL : &y);
}

struct count {
	size_t failures, accidents;
};

static void count(struct count *c, const struct judged *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->h.n_obs; i++) {
		const bool is = sw_bayes_accidents_has(&j->accidents, j->h.obs[i].trial);

		ck_assert(j->h.obs[i].kind == SW_OBS_FAILED || !is);
		c->failures += j->h.obs[i].kind == SW_OBS_FAILED;
		n += is;
	}
	ck_assert_uint_eq(n, j->accidents.n);
	c->accidents += n;
}

/* c: after 64 trials, and after more than the process takes. */
static void judge_trials(enum rule rule, bool wait, uint64_t seed, struct count c[2])
{
	enum { AT = 64, ALL = 300 };
	struct judged j;

	open_judged(&j);
	for (uint64_t t = 1; t <= ALL; t++) {
		add_trial(&j, rule, wait && t % 10 != 0, &seed);
		if (t != AT && t != ALL)
			continue;
		judge(&j);
		count(&c[t == ALL], &j);
	}
	close_judged(&j);
}

/* wait: nine of ten that do not fail stay at a rung. */
TEST_LOOP(verdicts_tell_scattered_failures_from_those_beyond_an_edge, 0, 2)
{
	struct count scattered[2] = {{0}}, edge[2] = {{0}};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		judge_trials(SCATTERED, _i != 0, seed, scattered);
		judge_trials(EDGE, _i != 0, seed, edge);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_msg(10 * scattered[i].accidents > 8 * scattered[i].failures,
			      "scattered: %zu of %zu", scattered[i].accidents,
			      scattered[i].failures);
		ck_assert_msg(10 * edge[i].accidents < edge[i].failures, "edge: %zu of %zu",
			      edge[i].accidents, edge[i].failures);
	}
}

/* What a trial said itself stands, among failures of the same place that say the same. */
TEST(infeasible_trials_are_no_accidents)
{
	struct judged j;
	uint64_t rng = 4;

	open_judged(&j);
	for (int t = 1; t <= 60; t++) {
		add_trial(&j, SCATTERED, false, &rng);
		if (j.h.obs[j.h.n_obs - 1].kind == SW_OBS_FAILED)
			j.h.obs[j.h.n_obs - 1].kind = SW_OBS_INFEASIBLE;
		judge(&j);
		ck_assert_uint_eq(j.accidents.n, 0);
		ck_assert(!j.changed);
	}
	close_judged(&j);
}

/* Verdicts change, and those who went on know that, whatever grew meanwhile. */
TEST_LOOP(changed_verdicts_are_announced, 1, 3)
{
	bool was[200] = {false};
	size_t changes = 0;
	struct judged j;
	uint64_t rng = (uint64_t)_i;

	open_judged(&j);
	for (uint64_t t = 1; t <= 200; t++) {
		bool differs = false;

		add_trial(&j, BOTH, false, &rng);
		judge(&j);
		for (uint64_t k = 1; k <= t; k++) {
			const bool is = sw_bayes_accidents_has(&j.accidents, k);

			differs = differs || is != was[k - 1];
			was[k - 1] = is;
		}
		ck_assert_int_eq(differs, j.changed);
		changes += differs;
		judge(&j);
		ck_assert(!j.changed);
	}
	ck_assert_uint_gt(changes, 10);
	close_judged(&j);
}

/* A point that was an accident is told: it is not proposed again. */
TEST(known_rows_are_told_apart_from_all)
{
	const struct sw_value at[D] = {
		{.number = 0.5}, {.number = 0.5}, {.number = 0.5}, {.number = 0.5}};
	struct sw_bayes_data data, *known;
	struct sw_bayes_memory memory;
	struct judged j;
	double x[D];
	uint64_t rng = 3;

	open_judged(&j);
	sw_bayes_data_init(&data, &j.cube, 1);
	ck_assert_int_eq(sw_bayes_memory_init(&memory, D), SW_OK);
	sw_bayes_cube_read(&j.cube, at, x);
	learn_add(&j.h, at);
	learn_tell(&j.h, 1, SW_OBS_FAILED, 0, NULL);
	judge(&j);
	ck_assert_uint_eq(j.accidents.n, 0); /* nothing went well yet */
	while (j.h.trials < 20) {
		add_trial(&j, EDGE, false, &rng);
		if (j.h.obs[j.h.n_obs - 1].kind == SW_OBS_FAILED)
			j.h.obs[j.h.n_obs - 1].kind = SW_OBS_NONE;
	}
	judge(&j);
	ck_assert_int_eq(sw_bayes_data_absorb(&data, &j.h, &memory), SW_OK);
	ck_assert_int_eq(sw_bayes_accidents_known(&j.accidents, &data, &known), SW_OK);
	ck_assert_uint_eq(known->n, data.n - 1);
	ck_assert_uint_eq(known->n, known->n_good);
	ck_assert_uint_eq(known->trial[known->best], data.trial[data.best]);
	ck_assert(sw_bayes_data_has(known, x));
	sw_bayes_memory_fini(&memory);
	sw_bayes_data_fini(&data);
	close_judged(&j);
}

/* ---- under a pruner ---- */

/* What failed by accident counts with the values that it had. pauses: a trial that is not among the
 * best third so far waits at its rung, for good. */
static double best_under_pruner(bool pauses, uint64_t seed)
{
	struct world w;
	double best = INFINITY, values[TRIALS];

	rung_open(&w, learn_space(box, D), seed, pauses);
	for (uint64_t t = 1; t <= TRIALS; t++) {
		const struct sw_value *const v = world_ask(&w);
		const double y = values[t - 1] = bowl(v);
		const bool failed = fails(SCATTERED, v, &seed);
		size_t better = 0;

		for (uint64_t k = 1; k < t; k++)
			better += values[k - 1] < y;
		const bool waits = pauses && 3 * better > t;

		for (uint32_t level = 0; level < (failed || waits ? 1 : RUNG_LEVELS - 1); level++) {
			const double at = y * rung_slopes[level] + RUNG_LEVELS - level;

			learn_tell(&w.h, t, SW_OBS_RUNG, level, &at);
		}
		best = failed ? best : fmin(best, y);
		if (failed)
			learn_tell(&w.h, t, SW_OBS_FAILED, 0, NULL);
		else if (!waits)
			learn_tell(&w.h, t, SW_OBS_FINAL, 0, &y);
	}
	world_fini(&w);
	return best;
}

TEST_LOOP(scattered_failures_do_not_lead_astray_under_a_pruner, 0, 2)
{
	double ln = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		ln += log(best_under_pruner(_i != 0, seed)) / SEEDS;
	ck_assert_msg(ln < log(1e-3), "%g", exp(ln));
}

RUN_TESTS(NULL, NULL)
