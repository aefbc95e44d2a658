/* tests/sched/test_bayes_accident.c — trials that fail: what their points explain the search keeps
 * away from, and what is scattered over all of them does not lead it astray. */
#include "sched/bayes.h"
#include "tests/sched/bayes_run.h"
#include "tests/sched/rung.h"

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
	struct run r;

	*beyond = 0;
	open_run(&r, box, D, seed);
	for (uint64_t t = 1; t <= TRIALS; t++) {
		const struct sw_value *const v = ask(&r);

		*beyond += t > TRIALS / 2 && v[0].number > 0.1;
		if (fails(rule, v, &rng)) {
			tell(&r, t, SW_OBS_INFEASIBLE, 0);
			continue;
		}
		best = fmin(best, bowl(v));
		tell(&r, t, SW_OBS_FINAL, bowl(v));
	}
	close_run(&r);
	return best;
}

/* One seed may be out of luck. */
START_TEST(scattered_failures_do_not_lead_astray)
{
	double ln = 0;
	size_t beyond;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		ln += log(best_of(SCATTERED, seed, &beyond)) / SEEDS;
	ck_assert_msg(ln < log(1e-4), "%g", exp(ln));
}
END_TEST

START_TEST(search_keeps_away_from_where_all_fail)
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
END_TEST

/* Rows by hand: the verdicts, and that they come out the same wherever the history is taken up. */
struct judged {
	struct bayes_cube cube;
	struct bayes_data data;
	struct bayes_memory memory;
	struct bayes_accidents accidents;
};

static void open_judged(struct judged *j, const struct sw_space *space)
{
	ck_assert_int_eq(sw_bayes_cube_init(&j->cube, space), SW_OK);
	sw_bayes_data_init(&j->data, &j->cube, 1);
	ck_assert_int_eq(sw_bayes_memory_init(&j->memory, j->cube.d), SW_OK);
	ck_assert_int_eq(sw_bayes_accidents_init(&j->accidents, &j->cube), SW_OK);
}

static void close_judged(struct judged *j)
{
	sw_bayes_accidents_fini(&j->accidents);
	sw_bayes_memory_fini(&j->memory);
	sw_bayes_data_fini(&j->data);
	sw_bayes_cube_fini(&j->cube);
}

static struct bayes_data *judge(struct judged *j, const struct sw_history *h)
{
	struct bayes_data *known;
	bool changed;

	ck_assert_int_eq(sw_bayes_data_absorb(&j->data, h, &j->memory), SW_OK);
	ck_assert_int_eq(sw_bayes_accidents_judge(&j->accidents, &j->data, &known, &changed),
			 SW_OK);
	return known;
}

struct count {
	size_t failures, accidents;
};

static void count(struct count *c, const struct judged *j)
{
	for (size_t i = 0; i < j->data.n; i++) {
		const bool is = sw_bayes_accidents_has(&j->accidents, i);

		ck_assert(j->data.bad[i] || !is);
		c->failures += j->data.bad[i];
		c->accidents += is;
	}
}

/* Rows at random, more than the process takes; c: after 64 of them, and after all. */
static void judge_rows(enum rule rule, uint64_t seed, struct count c[2])
{
	enum { AT = 64, ALL = 300 };
	struct sw_space *const space = learn_space(box, D);
	struct sw_history h;
	struct judged j, late;

	sw_history_init(&h, D, 1);
	open_judged(&j, space);
	open_judged(&late, space);
	for (uint64_t t = 1; t <= ALL; t++) {
		struct sw_value v[D];

		for (size_t k = 0; k < D; k++)
			v[k].number = 4 * unit(&seed) - 1;
		v[0].number = v[0].number > 2 ? 0 : v[0].number;
		const bool failed = fails(rule, v, &seed);
		const double y = bowl(v);

		learn_add(&h, v);
		learn_tell(&h, t, failed ? SW_OBS_INFEASIBLE : SW_OBS_FINAL, 0, failed ? NULL : &y);
		if (t % 8 != 0 && t < ALL - 5)
			continue;
		const struct bayes_data *const known = judge(&j, &h);

		ck_assert_uint_eq(known->n, j.data.n - j.accidents.n);
		if (t == AT || t == ALL)
			count(&c[t == ALL], &j);
		if (t < ALL - 5)
			continue;
		(void)judge(&late, &h); /* whoever comes later judges no other way */
		for (size_t i = 0; i < j.data.n; i++)
			ck_assert_int_eq(sw_bayes_accidents_has(&j.accidents, i),
					 sw_bayes_accidents_has(&late.accidents, i));
	}
	close_judged(&late);
	close_judged(&j);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

START_TEST(verdicts_tell_scattered_failures_from_those_beyond_an_edge)
{
	struct count scattered[2] = {{0}}, edge[2] = {{0}};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		judge_rows(SCATTERED, seed, scattered);
		judge_rows(EDGE, seed, edge);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_msg(10 * scattered[i].accidents > 8 * scattered[i].failures,
			      "scattered: %zu of %zu", scattered[i].accidents,
			      scattered[i].failures);
		ck_assert_msg(10 * edge[i].accidents < edge[i].failures, "edge: %zu of %zu",
			      edge[i].accidents, edge[i].failures);
	}
}
END_TEST

/* A point that was an accident is told: it is not proposed again. */
START_TEST(known_rows_are_told_apart_from_all)
{
	struct sw_space *const space = learn_space(box, D);
	struct sw_value v[D] = {{.number = 0.5}, {.number = 0.5}, {.number = 0.5}, {.number = 0.5}};
	double x[D], y = 1;
	struct sw_history h;
	struct judged j;
	uint64_t rng = 3;

	sw_history_init(&h, D, 1);
	open_judged(&j, space);
	learn_add(&h, v);
	learn_tell(&h, 1, SW_OBS_INFEASIBLE, 0, NULL);
	sw_bayes_cube_read(&j.cube, v, x);
	ck_assert_ptr_eq(judge(&j, &h), &j.data); /* nothing went well yet */
	for (uint64_t t = 2; t <= 20; t++) {
		for (size_t k = 0; k < D; k++)
			v[k].number = 4 * unit(&rng) - 1;
		learn_add(&h, v);
		learn_tell(&h, t, SW_OBS_FINAL, 0, &y);
	}
	const struct bayes_data *const known = judge(&j, &h);

	ck_assert_uint_eq(known->n, 19);
	ck_assert_uint_eq(known->n_good, 19);
	ck_assert_uint_eq(known->trial[known->best], j.data.trial[j.data.best]);
	ck_assert(sw_bayes_data_has(known, x));
	close_judged(&j);
	sw_history_fini(&h);
	sw_space_destroy(space);
}
END_TEST

/* Under a pruner: what failed by accident counts with the values that it had. */
static double best_under_pruner(const struct sw_space *space, uint64_t seed)
{
	struct sw_sampler *const s = rung_sampler(space, seed);
	struct sw_suggestion got = {.state = NULL};
	struct sw_history h;
	double best = INFINITY;

	sw_history_init(&h, D, 1);
	for (uint64_t t = 1; t <= TRIALS; t++) {
		learn_suggest(s, &h, &got);
		learn_add(&h, got.values);
		const double y = bowl(got.values);
		const bool failed = fails(SCATTERED, got.values, &seed);

		for (uint32_t level = 0; level < (failed ? 1 : RUNG_LEVELS - 1); level++) {
			const double at = y * rung_slopes[level] + RUNG_LEVELS - level;

			learn_tell(&h, t, SW_OBS_RUNG, level, &at);
		}
		learn_tell(&h, t, failed ? SW_OBS_INFEASIBLE : SW_OBS_FINAL, 0, failed ? NULL : &y);
		best = failed ? best : fmin(best, y);
		sw_suggestion_fini(&got);
	}
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	return best;
}

START_TEST(scattered_failures_do_not_lead_astray_under_a_pruner)
{
	struct sw_space *const space = learn_space(box, D);
	double ln = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		ln += log(best_under_pruner(space, seed)) / SEEDS;
	ck_assert_msg(ln < log(1e-3), "%g", exp(ln));
	sw_space_destroy(space);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bayes_accident");
	TCase *c = tcase_create("accident");

	tcase_set_timeout(c, 120);
	tcase_add_test(c, scattered_failures_do_not_lead_astray);
	tcase_add_loop_test(c, search_keeps_away_from_where_all_fail, EDGE, BOTH + 1);
	tcase_add_test(c, verdicts_tell_scattered_failures_from_those_beyond_an_edge);
	tcase_add_test(c, known_rows_are_told_apart_from_all);
	tcase_add_test(c, scattered_failures_do_not_lead_astray_under_a_pruner);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
