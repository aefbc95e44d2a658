/* tests/sched/pruner/test_patience.c — patience and threshold, rules of a line or two. */
#include "tests/sched/pruner/prune.h"

#define PATIENCE(n, delta)                                                                         \
	{                                                                                          \
		.kind = SW_PRUNER_PATIENCE, .patience = { n, delta }                               \
	}
#define THRESHOLD(...)                                                                             \
	{                                                                                          \
		.kind = SW_PRUNER_THRESHOLD, .threshold = { __VA_ARGS__ }                          \
	}

TEST(patience_of_equal_values_runs_out)
{
	const struct sw_pruner_config c = PATIENCE(2, 0);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t;
	char why[SW_PRUNE_CAUSE_MAX];

	sw_pruner_enter(p, 1, &t);
	ck_assert_int_eq(report(p, 1, &t, 1, 0.5).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 1, &t, 2, 0.5).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t, 9, 0.5);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP);
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, "step 9: 2 reports without improvement on 0.5");
	sw_pruner_destroy(p);
}

TEST_LOOP(threshold_says_which_side, 0, 2)
{
	const struct sw_pruner_config c = THRESHOLD(.has_lower = true, .lower = 0.25,
						    .has_upper = true, .upper = 2,
						    .interval_steps = 1);
	static const double value[] = {0.125, 8};
	static const char *const want[] = {"step 3: value 0.125 is below the threshold 0.25",
					   "step 3: value 8 is above the threshold 2"};
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t;
	char why[SW_PRUNE_CAUSE_MAX];

	sw_pruner_enter(p, 1, &t);
	ck_assert_int_eq(report(p, 1, &t, 1, 0.25).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 1, &t, 2, 2).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t, 3, value[_i]);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP);
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, want[_i]);
	sw_pruner_destroy(p);
}

/* A pruner of no kind lets everything go on, and answers every question. */
TEST(none_answers_every_question)
{
	const struct sw_pruner_config c = {.kind = SW_PRUNER_NONE};
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	sw_pruner_begin(p, 1, &t, 0);
	const struct sw_judgement j = report(p, 1, &t, 1, 9.0);
	ck_assert_int_eq(j.verdict, SW_VERDICT_CONTINUE);
	ck_assert_uint_eq(j.rung, 0);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	ck_assert_uint_eq(sw_pruner_next_n(p, 5), 0);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 0);
	ck_assert_uint_eq(sw_pruner_every(p), 0);
	ck_assert_uint_eq(sw_pruner_bracket_n(p), 1);
	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), 0);
	sw_pruner_ended(p, 1, &t, true);
	sw_pruner_invariant(p);
	sw_pruner_destroy(p);
	sw_pruner_destroy(NULL);
}

RUN_TESTS(NULL, NULL)
