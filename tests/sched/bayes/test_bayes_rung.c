/* tests/sched/bayes/test_bayes_rung.c — bayes under a pruner as its users meet it: low rungs do not
 * mislead it, and running trials count as what they promise. */
#include "sched/bayes/bayes.h"
#include "sched/sweep/samplers.h"
#include "tests/sched/pruner/rung.h"
#include <math.h>

static void check(const struct sw_space *space, const struct sw_suggestion *s)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(space_check(space, s->values, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	if (s->acquisition == SW_ACQUISITION_EI) {
		ck_assert(isfinite(s->mean) && isfinite(s->sd) && s->sd >= 0);
		ck_assert(isfinite(s->ei) && s->ei >= 0);
	}
}

static void theta_of(const struct sw_suggestion *s, size_t d, struct sw_bayes_memory *m)
{
	ck_assert_int_eq(sw_bayes_memory_init(m, d), SW_OK);
	ck_assert_int_eq(sw_bayes_memory_read(m, s->state, s->state_n), SW_OK);
}

TEST(asks_without_news_are_different_points_of_one_fit)
{
	struct world w;
	struct sw_bayes_memory first, later;
	uint64_t rng = 6;
	bool fitted = false;
	int by_model = 0;

	rung_open(&w, learn_cube(3), 1, false);
	rung_fill(&w.h, 120, &rng);
	for (int i = 0; i < 30; i++) {
		learn_suggest(w.s, &w.h, &w.out);
		check(w.space, &w.out);
		by_model += strcmp(w.out.source, "gp") == 0;
		if (by_model > 0)
			theta_of(&w.out, 4, by_model == 1 && !fitted ? &first : &later);
		if (fitted) {
			ck_assert_mem_eq(first.theta, later.theta, 6 * sizeof(double));
			sw_bayes_memory_fini(&later);
		}
		fitted = by_model > 0;
		for (uint64_t t = 0; t < w.h.trials; t++) {
			double apart = 0;

			for (size_t k = 0; k < 3; k++)
				apart = fmax(apart, fabs(w.h.values[t * 3 + k].number -
							 w.out.values[k].number));
			ck_assert_msg(apart > 1e-9, "ask %d is trial %u", i, (unsigned)t + 1);
		}
		learn_add(&w.h, w.out.values);
	}
	ck_assert_msg(by_model >= 10, "%d of 30 by the model", by_model);
	sw_bayes_memory_fini(&first);
	world_fini(&w);
}

TEST(rungs_above_those_known_are_not_for_the_model_to_judge)
{
	static const struct {
		uint32_t known;
		int spread_from, spread_to;
	} rows[] = {{1, 100, 100}, {2, 50, 82}, {3, 36, 64}, {4, 36, 64}};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct world w;
		uint64_t rng = 8;
		int spread = 0;

		rung_open(&w, learn_cube(3), 1, false);
		for (uint64_t t = 1; t <= 20; t++) {
			const double y = unit(&rng);

			rung_add(&w.h, &rng);
			for (uint32_t k = 0; k < rows[i].known; k++)
				learn_tell(&w.h, t, SW_OBS_RUNG, k, &y);
		}
		for (int ask = 0; ask < 100; ask++) {
			learn_suggest(w.s, &w.h, &w.out);
			check(w.space, &w.out);
			spread += strcmp(w.out.source, "sobol") == 0;
			learn_add(&w.h, w.out.values);
		}
		ck_assert_msg(spread >= rows[i].spread_from && spread <= rows[i].spread_to,
			      "%u rungs known: %d of 100", rows[i].known, spread);
		world_fini(&w);
	}
}

/* What a suggestion hopes for after 30 trials that came to their ends, and six good ones that have
 * a value at the first rung alone: they run, or were stopped there. NaN: none of the model's. */
static double hope_beside(uint64_t seed, bool run, bool pauses)
{
	struct world w;
	uint64_t rng = seed;

	rung_open(&w, learn_cube(2), seed, pauses);
	for (uint64_t t = 1; t <= 36; t++) {
		const bool open = t > 30;
		struct sw_value v[2] = {{0}};
		double y = 0;

		for (size_t k = 0; k < 2; k++) {
			v[k].number = open ? 0.5 + 0.1 * unit(&rng) : unit(&rng);
			y += (v[k].number - 0.6) * (v[k].number - 0.6);
		}
		learn_add(&w.h, v);
		for (uint32_t k = 0; k < (open ? 1 : RUNG_LEVELS); k++) {
			const double at = y + (k + 1 < RUNG_LEVELS ? 0.3 * unit(&rng) : 0);

			learn_tell(&w.h, t, SW_OBS_RUNG, k, &at);
		}
		if (!open || !run)
			learn_tell(&w.h, t, open ? SW_OBS_PRUNED : SW_OBS_FINAL, 0, &y);
	}
	learn_suggest(w.s, &w.h, &w.out);
	const double ei = w.out.acquisition == SW_ACQUISITION_EI ? w.out.ei : (double)NAN;

	world_fini(&w);
	return ei;
}

TEST(what_runs_below_the_top_is_believed_there)
{
	double running = 0, stopped = 0;
	int n = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
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

/* The low x look best at the first rung, and are the worst at the last. */
static double crossing(double x, uint32_t level)
{
	static const double share[RUNG_LEVELS] = {0, 0.4, 0.8, 1};

	return 100 + 10 * (share[level] * (x - 0.8) * (x - 0.8) + (1 - share[level]) * x);
}

TEST(curves_that_cross_lead_to_the_end_that_is_low)
{
	struct world w;
	double sum = 0;
	int n = 0;

	rung_open(&w, learn_cube(1), 2, false);
	for (uint64_t t = 1; t <= 40; t++) {
		learn_suggest(w.s, &w.h, &w.out);
		learn_add(&w.h, w.out.values);
		/* A third of them goes to the end. */
		for (uint32_t k = 0; k < (t % 3 == 0 ? RUNG_LEVELS : 1); k++) {
			const double y = crossing(w.out.values[0].number, k);

			learn_tell(&w.h, t, SW_OBS_RUNG, k, &y);
		}
		learn_tell(&w.h, t, SW_OBS_PRUNED, 0, &(double){0});
		if (t > 30 && w.out.acquisition == SW_ACQUISITION_EI) {
			sum += fabs(w.out.values[0].number - 0.8);
			n++;
			/* in the metric's units, at the last rung */
			ck_assert_double_eq_tol(w.out.mean, crossing(w.out.values[0].number, 3), 1);
		}
	}
	ck_assert_msg(n >= 3 && sum < 0.15 * n, "%g from the minimum, over %d", sum, n);
	world_fini(&w);
}

static const struct sw_param few[] = {{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 10}};

/* No trial has ended, all have a value at the first rung, and then every point is known. */
TEST(space_that_is_used_up_by_running_trials_goes_on)
{
	struct world w;

	rung_open(&w, learn_space(few, 1), 4, false);
	for (uint64_t t = 1; t <= 20; t++) {
		const double y = (double)t;

		learn_suggest(w.s, &w.h, &w.out);
		check(w.space, &w.out);
		learn_add(&w.h, w.out.values);
		learn_tell(&w.h, t, SW_OBS_RUNG, 0, &y);
	}
	world_fini(&w);
}

RUN_TESTS(NULL, NULL)
