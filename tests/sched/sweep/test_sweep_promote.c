/* tests/sched/sweep/test_sweep_promote.c — sweeps of the promote variant, as stories. Whole sweeps
 * beside the paper's get_job: tests/sim. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/story.h"
#include <math.h>

#define PROMOTE .pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {1, 9, 3, 1, 1}}

/* an event and its outcome a line */
/* clang-format off */
static const struct story stories[] = {
	{"three pause, the best goes on from its checkpoint; in the end the others are pruned",
	 {PROMOTE, .run_cap = 3}, FREE, {
		"ask", "create 1; start 1.1 until 1",
		"report 1 1 1 1 0.5",
		 "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 "
		 "of 1",
		"ask", "create 2; start 2.1 until 1",
		"keep 2 1 1 1 0.7",
		 "hold (rung 1 value 0.7 rank 2/2 keep 0 cutoff none); pause 2.1@1 rung 1: rank 2 "
		 "of 2",
		"ask", "create 3; start 3.1 until 1",
		"ask",
		 "EXHAUSTED nothing to hand out now: all 3 trials are made, and none of the 2 "
		 "paused ones may go on yet",
		"report 3 1 1 1 0.6",
		 "hold (rung 1 value 0.6 rank 2/3 keep 1 cutoff 0.5); pause 3.1@1 rung 1: rank 2 "
		 "of 3",
		"report 1 1 2 2 0.4",
		 "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
		"tell 1 1 COMPLETED",
		 "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
		"ask", "start 1.2@1 until 3",
		"report 1 1 2 2 0.4",
		 "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
		"report 1 2 1 1 0.4", "INVALID /step step 1 is not above the last step, 1",
		"report 1 2 1 2 0.4", "go",
		"report 1 2 2 3 0.3",
		 "hold (rung 3 value 0.3 rank 1/1 keep 0 cutoff none); pause 1.2@3 rung 3: rank 1 "
		 "of 1; end 1.2 PRUNED rung 3: rank 1 of 1, not promoted; end 2.1 PRUNED rung 1: "
		 "rank 3 of 3, not promoted; end 3.1 PRUNED rung 1: rank 2 of 3, not promoted; "
		 "sweep COMPLETED",
		"extend 4", "sweep RUNNING"}},
};
/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

TEST(sweep_place_says_where_a_paused_trial_stands)
{
	const struct sw_sweep_config c = {PROMOTE, .run_cap = 9};
	struct sw_actions actions = {0};
	struct sw_pruner_turn place;
	struct sw_sweep *s;
	char line[80];

	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	for (int i = 1; i <= 5; i++) {
		if (i == 4) /* trial 3 is the best of three */
			ck_assert_str_eq(play(s, &actions, "ask"), "start 3.2@1 until 3");
		(void)play(s, &actions, "ask");
		(void)snprintf(line, sizeof line, "report %d 1 1 1 %d", i, i < 4 ? 10 - i : i + 5);
		(void)play(s, &actions, line);
	}
	ck_assert_int_eq(sw_sweep_place(s, 0, &place), SW_NOT_FOUND);
	ck_assert_int_eq(sw_sweep_place(s, 99, &place), SW_NOT_FOUND);
	/* 9 8 7 9 10, by trial: 3, 2, 1 and 4 with the same, 5 */
	ck_assert_int_eq(sw_sweep_trial(s, 3)->state, SW_TRIAL_RUNNING);
	ck_assert_int_eq(sw_sweep_place(s, 3, &place), SW_CONFLICT);
	static const uint64_t ranks[] = {3, 2, 0, 4, 5};
	for (uint64_t i = 1; i <= 5; i++) {
		if (i == 3)
			continue;
		ck_assert_int_eq(sw_sweep_place(s, i, &place), SW_OK);
		ck_assert_uint_eq(place.rung, 1);
		ck_assert_uint_eq(place.n, 5);
		ck_assert_uint_eq(place.rank, ranks[i - 1]);
		ck_assert_uint_eq(place.keep, 1);
		ck_assert_uint_eq(place.ahead, ranks[i - 1] - 2); /* trial 3 is not in the queue */
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

/* --- whole sweeps --- */

static uint64_t any_running(const struct sw_sweep *s, uint64_t *rng)
{
	const uint64_t n = sw_sweep_trial_n(s), from = below(rng, n + 1);

	for (uint64_t i = 0; i < n; i++)
		if (sw_sweep_trial(s, 1 + (from + i) % n)->state == SW_TRIAL_RUNNING)
			return 1 + (from + i) % n;
	return 0;
}

static void report_one(struct sw_sweep *s, struct sw_actions *actions, uint64_t trial,
		       uint64_t *rng)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);
	const struct sw_event ev = {.kind = SW_EVENT_REPORT,
				    .trial = trial,
				    .attempt = t->attempt,
				    .seq = t->seq + 1,
				    .step = t->step + 1 + below(rng, 3),
				    .has_value = true,
				    .value = (double)below(rng, 20)};

	ck_assert_int_eq(sw_sweep_step(s, &ev, actions, NULL), SW_OK);
}

/* How many suggestions the next asks take, against asking. */
TEST(sweep_wants_suggestions_counts_the_promotions_before_them)
{
	const struct sw_event ask = {.kind = SW_EVENT_ASK};
	uint64_t mixed = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint64_t rng = seed, trial;
		struct sw_actions actions = {0};
		const struct sw_sweep_config c = {
			.seed = seed,
			.sampler = SW_SAMPLER_TPE,
			.run_cap = 1 + below(&rng, 50),
			.max_concurrent = below(&rng, 3) == 0 ? 0 : 1 + below(&rng, 12),
			.pruner = {.kind = SW_PRUNER_PROMOTE,
				   .asha = {1 + below(&rng, 2), 20, 2 + below(&rng, 3), 1, 1}}};
		struct sw_sweep *s;

		ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
		for (int e = 0; sw_sweep_state(s) == SW_SWEEP_RUNNING && e < 300; e++) {
			const uint64_t want = sw_sweep_wants_suggestions(s, 7);
			uint64_t made = sw_sweep_trial_n(s), asked = 0;

			for (int i = 0; e % 10 == 0 && i < 7; i++)
				asked += sw_sweep_step(s, &ask, &actions, NULL) == SW_OK;
			made = sw_sweep_trial_n(s) - made;
			ck_assert(e % 10 != 0 || made == want);
			mixed += made > 0 && asked > made;
			trial = any_running(s, &rng);
			if (trial != 0)
				report_one(s, &actions, trial, &rng);
		}
		sw_actions_fini(&actions);
		sw_sweep_destroy(s);
	}
	ck_assert_uint_gt(mixed, 20);
}

RUN_TESTS(NULL, NULL)
