/* tests/sched/bayes/test_bayes_rung.c — bayes under a pruner as its users meet it: it goes on from
 * a stored state, low rungs do not mislead it, and nothing that a trial may do upsets it. */
#include "base/fault.h"
#include "sched/bayes/bayes.h"
#include "sched/sweep/samplers.h"
#include "tests/run.h"
#include "tests/sched/pruner/rung.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"
#include <math.h>
#include <string.h>

static const struct sw_param mixed[] = {
	{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1},
	{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 3},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_CONSTANT},
};

/* The last but one is active with the second choice alone; 0.1 * p1 <= p3 + 0.5 where it is. */
static struct sw_space *mixed_space(void)
{
	const struct sw_value second = {.choice = 1};
	const struct sw_term left = {.coef = 0.1, .n_factors = 1, .factor = {1}};
	const struct sw_term right = {.coef = 1, .n_factors = 1, .factor = {3}};
	const struct sw_constraint c = {.left = {.terms = &left, .n_terms = 1},
					.right = {.terms = &right, .n_terms = 1, .constant = 0.5},
					.op = SW_LE};
	struct sw_space *const s = learn_space(mixed, ROWS(mixed));

	ck_assert_int_eq(sw_space_when(s, 3, 2, &second, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	return s;
}

static double loss_at(const struct sw_value *v, uint32_t level)
{
	const double lr = log10(v[0].number) + 2, layers = v[1].number - 3;
	const double kind[] = {0.4, 0, 0.7};

	return 0.2 * lr * lr + 0.05 * layers * layers + kind[v[2].choice] +
	       exp(-(double)level) * (2 - lr / 4);
}

/* Running trials move on: a rung more, or an end of some kind. reached: rungs, 99: ended. */
static void move_on(struct sw_history *h, uint32_t *reached, uint64_t *rng)
{
	for (uint64_t t = 1; t <= h->trials; t++) {
		const struct sw_value *const v = h->values + (t - 1) * h->n_params;
		const uint64_t what = below(rng, 20);
		double y;

		if (reached[t] == 99 || below(rng, 2) == 0)
			continue;
		if (what < 14 && reached[t] < RUNG_LEVELS) {
			y = loss_at(v, reached[t]);
			learn_tell(h, t, SW_OBS_RUNG, reached[t]++, &y);
			continue;
		}
		y = loss_at(v, reached[t]);
		learn_tell(h, t,
			   what < 2    ? SW_OBS_INFEASIBLE
			   : what == 2 ? SW_OBS_NONE
			   : what < 6  ? SW_OBS_FINAL
				       : SW_OBS_PRUNED,
			   0, what <= 2 ? NULL : &y);
		reached[t] = 99;
	}
}

static void check(const struct sw_space *space, const struct sw_suggestion *s)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(space_check(space, s->values, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	if (s->acquisition == SW_ACQUISITION_EI) {
		ck_assert(isfinite(s->mean) && isfinite(s->sd) && s->sd >= 0);
		ck_assert(isfinite(s->ei) && s->ei >= 0);
	}
}

static void check_same(const struct sw_suggestion *a, const struct sw_suggestion *b)
{
	learn_same(a, b, ROWS(mixed));
	ck_assert_double_eq(a->mean, b->mean);
	ck_assert_double_eq(a->sd, b->sd);
	ck_assert_uint_eq(a->state_n, b->state_n);
	ck_assert_int_eq(memcmp(a->state, b->state, a->state_n), 0);
}

START_TEST(restored_sampler_goes_on_byte_for_byte)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct sw_space *const space = mixed_space();
		struct sw_sampler *const s = rung_sampler(space, seed);
		struct sw_suggestion last = {.state = NULL}, got, again;
		uint32_t reached[200] = {0};
		uint64_t rng = seed;
		int by_model = 0;
		struct sw_history h;

		sw_history_init(&h, ROWS(mixed), 1);
		for (int i = 0; i < 90; i++) {
			struct sw_sampler *const fresh = rung_sampler(space, seed);

			again = got = (struct sw_suggestion){.state = NULL};
			ck_assert_int_eq(sw_sampler_restore(fresh, last.state, last.state_n, NULL),
					 SW_OK);
			learn_suggest(fresh, &h, &again);
			learn_suggest(s, &h, &got);
			check(space, &got);
			check_same(&got, &again);
			sw_suggestion_fini(&again);
			sw_sampler_destroy(fresh);
			learn_add(&h, got.values);
			if (below(&rng, 3) != 0)
				move_on(&h, reached, &rng);
			sw_suggestion_fini(&last);
			last = got;
			by_model += i >= 60 && strcmp(got.source, "gp") == 0;
		}
		ck_assert_msg(by_model >= 10, "%d of 30 by the model", by_model);
		sw_suggestion_fini(&last);
		sw_history_fini(&h);
		sw_sampler_destroy(s);
		sw_space_destroy(space);
	}
}
END_TEST

static void theta_of(const struct sw_suggestion *s, size_t d, struct sw_bayes_memory *m)
{
	ck_assert_int_eq(sw_bayes_memory_init(m, d), SW_OK);
	ck_assert_int_eq(sw_bayes_memory_read(m, s->state, s->state_n), SW_OK);
}

START_TEST(asks_without_news_are_different_points_of_one_fit)
{
	struct sw_space *const space = learn_cube(3);
	struct sw_sampler *const s = rung_sampler(space, 1);
	struct sw_bayes_memory first, later;
	struct sw_history h;
	uint64_t rng = 6;
	bool fitted = false;
	int by_model = 0;

	sw_history_init(&h, 3, 1);
	rung_fill(&h, 120, &rng);
	for (int i = 0; i < 30; i++) {
		struct sw_suggestion got = {.state = NULL};

		learn_suggest(s, &h, &got);
		check(space, &got);
		by_model += strcmp(got.source, "gp") == 0;
		if (by_model > 0)
			theta_of(&got, 4, by_model == 1 && !fitted ? &first : &later);
		if (fitted) {
			ck_assert_mem_eq(first.theta, later.theta, 6 * sizeof(double));
			sw_bayes_memory_fini(&later);
		}
		fitted = by_model > 0;
		for (uint64_t t = 0; t < h.trials; t++) {
			double apart = 0;

			for (size_t k = 0; k < 3; k++)
				apart = fmax(apart, fabs(h.values[t * 3 + k].number -
							 got.values[k].number));
			ck_assert_msg(apart > 1e-9, "ask %d is trial %u", i, (unsigned)t + 1);
		}
		learn_add(&h, got.values);
		sw_suggestion_fini(&got);
	}
	ck_assert_msg(by_model >= 10, "%d of 30 by the model", by_model);
	sw_bayes_memory_fini(&first);
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}
END_TEST

START_TEST(rungs_above_those_known_are_not_for_the_model_to_judge)
{
	static const struct {
		uint32_t known;
		int spread_from, spread_to;
	} rows[] = {{1, 100, 100}, {2, 50, 82}, {3, 20, 47}, {4, 20, 47}};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct sw_space *const space = learn_cube(3);
		struct sw_sampler *const s = rung_sampler(space, 1);
		struct sw_history h;
		uint64_t rng = 8;
		int spread = 0;

		sw_history_init(&h, 3, 1);
		for (uint64_t t = 1; t <= 20; t++) {
			const double y = unit(&rng);

			rung_add(&h, &rng);
			for (uint32_t k = 0; k < rows[i].known; k++)
				learn_tell(&h, t, SW_OBS_RUNG, k, &y);
		}
		for (int ask = 0; ask < 100; ask++) {
			struct sw_suggestion got = {.state = NULL};

			learn_suggest(s, &h, &got);
			check(space, &got);
			spread += strcmp(got.source, "sobol") == 0;
			learn_add(&h, got.values);
			sw_suggestion_fini(&got);
		}
		ck_assert_msg(spread >= rows[i].spread_from && spread <= rows[i].spread_to,
			      "%u rungs known: %d of 100", rows[i].known, spread);
		sw_history_fini(&h);
		sw_sampler_destroy(s);
		sw_space_destroy(space);
	}
}
END_TEST

/* What a suggestion hopes for after 30 trials that came to their ends, and six good ones that have
 * a value at the first rung alone: they run, or were stopped there. NaN: none of the model's. */
static double hope_beside(uint64_t seed, bool run, bool pauses)
{
	struct sw_space *const space = learn_cube(2);
	struct sw_sampler_config config = rung_config(space, seed);
	struct sw_suggestion got = {.state = NULL};
	struct sw_sampler *s;
	struct sw_history h;
	uint64_t rng = seed;

	config.pauses = pauses;
	ck_assert_int_eq(sw_samplers_create(&s, &config, NULL), SW_OK);

	sw_history_init(&h, 2, 1);
	for (uint64_t t = 1; t <= 36; t++) {
		const bool open = t > 30;
		struct sw_value v[2] = {{0}};
		double y = 0;

		for (size_t k = 0; k < 2; k++) {
			v[k].number = open ? 0.5 + 0.1 * unit(&rng) : unit(&rng);
			y += (v[k].number - 0.6) * (v[k].number - 0.6);
		}
		learn_add(&h, v);
		for (uint32_t k = 0; k < (open ? 1 : RUNG_LEVELS); k++) {
			const double at = y + (k + 1 < RUNG_LEVELS ? 0.3 * unit(&rng) : 0);

			learn_tell(&h, t, SW_OBS_RUNG, k, &at);
		}
		if (!open || !run)
			learn_tell(&h, t, open ? SW_OBS_PRUNED : SW_OBS_FINAL, 0, &y);
	}
	learn_suggest(s, &h, &got);
	const double ei = got.acquisition == SW_ACQUISITION_EI ? got.ei : (double)NAN;

	sw_suggestion_fini(&got);
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
	return ei;
}

START_TEST(what_runs_below_the_top_is_believed_there)
{
	double running = 0, stopped = 0;
	int n = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		const double open = hope_beside(seed, true, false);
		const double ended = hope_beside(seed, false, false);

		ck_assert_int_eq(isnan(open), isnan(ended));
		if (isnan(open))
			continue;
		/* Where trials pause, what has a value is not taken to run. */
		ck_assert_double_eq(hope_beside(seed, true, true), ended);
		running += open;
		stopped += ended;
		n++;
	}
	ck_assert_int_ge(n, 12);
	ck_assert_msg(running < 0.97 * stopped, "%g running, %g stopped", running, stopped);
}
END_TEST

/* The low x look best at the first rung, and are the worst at the last. */
static double crossing(double x, uint32_t level)
{
	static const double share[RUNG_LEVELS] = {0, 0.4, 0.8, 1};

	return 100 + 10 * (share[level] * (x - 0.8) * (x - 0.8) + (1 - share[level]) * x);
}

START_TEST(curves_that_cross_lead_to_the_end_that_is_low)
{
	struct sw_space *const space = learn_cube(1);
	struct sw_sampler *const s = rung_sampler(space, 2);
	struct sw_suggestion got = {.state = NULL};
	struct sw_history h;
	double sum = 0;
	int n = 0;

	sw_history_init(&h, 1, 1);
	for (uint64_t t = 1; t <= 40; t++) {
		learn_suggest(s, &h, &got);
		learn_add(&h, got.values);
		/* A third of them goes to the end. */
		for (uint32_t k = 0; k < (t % 3 == 0 ? RUNG_LEVELS : 1); k++) {
			const double y = crossing(got.values[0].number, k);

			learn_tell(&h, t, SW_OBS_RUNG, k, &y);
		}
		learn_tell(&h, t, SW_OBS_PRUNED, 0, &(double){0});
		if (t > 30 && got.acquisition == SW_ACQUISITION_EI) {
			sum += fabs(got.values[0].number - 0.8);
			n++;
			/* in the metric's units, at the last rung */
			ck_assert_double_eq_tol(got.mean, crossing(got.values[0].number, 3), 1);
		}
		sw_suggestion_fini(&got);
	}
	ck_assert_msg(n >= 3 && sum < 0.15 * n, "%g from the minimum, over %d", sum, n);
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}
END_TEST

static double upset(int kind, uint64_t t, uint32_t level)
{
	switch (kind) {
	case 0:
		return 3.25;
	case 1:
		return t % 5 == 0 || level == 0 ? 1e300 * (double)t : (double)t;
	case 2:
		return t % 3 == 0 ? -1e308 : 1e308;
	default:
		return level == 0 ? 1e308 : 1e-300 * (double)t;
	}
}

START_TEST(results_of_any_size_and_failures_do_no_harm)
{
	for (int kind = 0; kind < 5; kind++) {
		struct sw_space *const space = mixed_space();
		struct sw_sampler *const s = rung_sampler(space, 3);
		struct sw_suggestion got = {.state = NULL};
		struct sw_history h;

		sw_history_init(&h, ROWS(mixed), 1);
		for (uint64_t t = 1; t <= 60; t++) {
			learn_suggest(s, &h, &got);
			check(space, &got);
			learn_add(&h, got.values);
			for (uint32_t k = 0; kind < 4 && k < t % 5; k++) {
				const double y = upset(kind, t, k);

				learn_tell(&h, t, SW_OBS_RUNG, k, &y);
			}
			if (kind == 4 || t % 7 == 0)
				learn_tell(&h, t, SW_OBS_INFEASIBLE, 0, NULL);
			sw_suggestion_fini(&got);
		}
		sw_history_fini(&h);
		sw_sampler_destroy(s);
		sw_space_destroy(space);
	}
}
END_TEST

static const struct sw_param few[] = {{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 10}};

/* No trial has ended, all have a value at the first rung, and then every point is known. */
START_TEST(space_that_is_used_up_by_running_trials_goes_on)
{
	struct sw_space *const space = learn_space(few, 1);
	struct sw_sampler *const s = rung_sampler(space, 4);
	struct sw_suggestion got = {.state = NULL};
	struct sw_history h;

	sw_history_init(&h, 1, 1);
	for (uint64_t t = 1; t <= 20; t++) {
		const double y = (double)t;

		learn_suggest(s, &h, &got);
		check(space, &got);
		learn_add(&h, got.values);
		learn_tell(&h, t, SW_OBS_RUNG, 0, &y);
		sw_suggestion_fini(&got);
	}
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(every_failure_of_memory_is_clean)
{
	struct sw_space *const space = mixed_space();
	struct sw_suggestion want = {.state = NULL};
	uint32_t reached[40] = {0};
	uint64_t rng = 7;
	struct sw_history h;
	struct sw_sampler *s = rung_sampler(space, 5);

	sw_history_init(&h, ROWS(mixed), 1);
	for (int i = 0; i < 30; i++) {
		struct sw_suggestion got = {.state = NULL};

		learn_suggest(s, &h, &got);
		learn_add(&h, got.values);
		if (i < 28)
			move_on(&h, reached, &rng);
		sw_suggestion_fini(&got);
	}
	sw_sampler_destroy(s);
	s = rung_sampler(space, 5);
	learn_suggest(s, &h, &want);
	ck_assert_str_eq(want.source, "gp");
	sw_sampler_destroy(s);
	for (unsigned nth = 1;; nth++) {
		const struct sw_sampler_config c = rung_config(space, 5);
		struct sw_suggestion got = {.state = NULL};

		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		sw_status rc = sw_samplers_create(&s, &c, NULL);
		const bool made = rc == SW_OK;

		if (made)
			rc = sw_sampler_suggest(s, &h, h.trials + 1, &got, NULL);
		const bool fired = sw_fault_fired(SW_FAULT_MALLOC) > 0;

		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		if (made && fired)
			learn_suggest(s, &h, &got);
		if (made) {
			check_same(&want, &got);
			sw_suggestion_fini(&got);
			sw_sampler_destroy(s);
		}
		if (!fired)
			break;
		ck_assert_uint_lt(nth, 2000);
	}
	sw_suggestion_fini(&want);
	sw_history_fini(&h);
	sw_space_destroy(space);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_test(tcase, restored_sampler_goes_on_byte_for_byte);
	tcase_add_test(tcase, asks_without_news_are_different_points_of_one_fit);
	tcase_add_test(tcase, rungs_above_those_known_are_not_for_the_model_to_judge);
	tcase_add_test(tcase, what_runs_below_the_top_is_believed_there);
	tcase_add_test(tcase, curves_that_cross_lead_to_the_end_that_is_low);
	tcase_add_test(tcase, results_of_any_size_and_failures_do_no_harm);
	tcase_add_test(tcase, space_that_is_used_up_by_running_trials_goes_on);
#ifdef SW_FAULTS
	tcase_add_test(tcase, every_failure_of_memory_is_clean);
#endif
}
