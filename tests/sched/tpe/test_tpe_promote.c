/* tests/sched/tpe/test_tpe_promote.c — tpe where trials pause at their rungs and may never end:
 * what they had there teaches at once. */
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

#define LOW  0.2
#define HIGH 0.8

struct sweep {
	struct sw_space *space;
	struct sw_sampler *s;
	struct sw_history h;
	struct sw_suggestion out;
	uint64_t rng;
};

static void open_sweep(struct sweep *w)
{
	*w = (struct sweep){.space = learn_cube(1), .rng = 7};
	const struct sw_sampler_config c = {.kind = SW_SAMPLER_TPE,
					    .seed = 1,
					    .space = w->space,
					    .n_levels = 3,
					    .levels = {1, 3, 9},
					    .pauses = true};

	ck_assert_int_eq(sw_samplers_create(&w->s, &c, NULL), SW_OK);
	sw_history_init(&w->h, 1, 1);
}

static void close_sweep(struct sweep *w)
{
	sw_sampler_destroy(w->s);
	sw_history_fini(&w->h);
	sw_space_destroy(w->space);
}

/* A trial around x that waits at its first rung, where it had about y. */
static uint64_t wait_at(struct sweep *w, double x, double y)
{
	const double spread = 0.04 * (unit(&w->rng) - 0.5);
	const struct sw_value v = {.number = x + spread};

	y += spread;
	learn_add(&w->h, &v);
	learn_tell(&w->h, w->h.trials, SW_OBS_RUNG, 0, &y);
	return w->h.trials;
}

/* Of 20 suggestions, those near x. */
static int suggested_near(struct sweep *w, double x)
{
	int near_by = 0;

	for (int t = 0; t < 20; t++) {
		learn_suggest(w->s, &w->h, &w->out);
		learn_add(&w->h, w->out.values);
		learn_tell(&w->h, w->h.trials, SW_OBS_NONE, 0, NULL);
		near_by += fabs(w->out.values[0].number - x) < 0.15;
	}
	return near_by;
}

TEST(tpe_promote_learns_from_those_that_wait)
{
	struct sweep w;

	open_sweep(&w);
	for (int t = 0; t < 5; t++) {
		ck_assert_int_le(suggested_near(&w, LOW), 12); /* Sobol's points still */
		wait_at(&w, LOW, 0.1);
		wait_at(&w, HIGH, 1.0);
	}
	learn_suggest(w.s, &w.h, &w.out);
	ck_assert_str_eq(w.out.source, "tpe");
	ck_assert_int_ge(suggested_near(&w, LOW), 14);
	close_sweep(&w);
}

static const enum sw_obs_kind further[] = {SW_OBS_RUNG, SW_OBS_FINAL};

/* What went on counts for what it came to, above all that wait below. */
TEST_ROWS(tpe_promote_ranks_by_how_far_a_trial_came, further)
{
	struct sweep w;

	open_sweep(&w);
	for (int t = 0; t < 20; t++) {
		const double y = 1.0;

		wait_at(&w, LOW, 0.1);
		const uint64_t trial = wait_at(&w, HIGH, 0.9);
		learn_tell(&w.h, trial, further[_i], 1, &y);
	}
	ck_assert_int_ge(suggested_near(&w, HIGH), 14);
	close_sweep(&w);
}

TEST(tpe_promote_forgets_the_rung_of_who_failed_later)
{
	struct sweep w;

	open_sweep(&w);
	for (int t = 0; t < 20; t++) {
		const uint64_t trial = wait_at(&w, LOW, 0.1);

		learn_tell(&w.h, trial, SW_OBS_INFEASIBLE, 0, NULL);
		wait_at(&w, HIGH, 0.9);
	}
	ck_assert_int_ge(suggested_near(&w, HIGH), 14);
	close_sweep(&w);
}

/* A trial that goes on counts once: as much as one of which only the last was ever told. */
static const struct {
	enum sw_obs_kind kind;
	uint32_t level;
} lasts[] = {{SW_OBS_RUNG, 1}, {SW_OBS_FINAL, 0}, {SW_OBS_PRUNED, 0}};

TEST_ROWS(tpe_promote_counts_a_trial_once, lasts)
{
	struct sweep w;
	double ei[2];

	for (int rung_before = 0; rung_before < 2; rung_before++) {
		open_sweep(&w);
		for (int t = 0; t < 40; t++) {
			const struct sw_value v = {.number = t % 10 == 0 ? LOW : HIGH};
			const double y = 0.5 * (t % 10) + 0.001 * t;

			learn_add(&w.h, &v);
			if (rung_before != 0)
				learn_tell(&w.h, w.h.trials, SW_OBS_RUNG, 0, &y);
			learn_tell(&w.h, w.h.trials, lasts[_i].kind, lasts[_i].level, &y);
		}
		learn_suggest(w.s, &w.h, &w.out);
		ck_assert_str_eq(w.out.source, "tpe");
		ei[rung_before] = w.out.ei;
		close_sweep(&w);
	}
	ck_assert_double_eq(ei[0], ei[1]);
}

RUN_TESTS(NULL, NULL)
