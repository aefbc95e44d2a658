/* tests/sched/pruner/test_promote.c — the edges of promotion. Whole histories against the paper's
 * get_job written out: tests/sim/oracle_asha.c. */
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"

#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_PROMOTE, .asha = { __VA_ARGS__ }                                 \
	}

static struct sw_pruner *make(uint64_t grace, uint64_t max_t, uint64_t rf)
{
	const struct sw_pruner_config c = CONFIG(grace, max_t, rf, 1, 0);

	return make_pruner(&c, 1);
}

TEST(promote_one_trial_pauses_and_waits)
{
	struct sw_pruner *p = make(1, 9, 2);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 1);
	ck_assert_int_eq(report(p, 1, &t, 1, 0.5).verdict, SW_VERDICT_PAUSE);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	ck_assert_uint_eq(sw_pruner_next_n(p, 9), 0);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 2);
	sw_pruner_destroy(p);
}

TEST(promote_of_two_equal_ones_takes_the_earlier)
{
	struct sw_pruner *p = make(1, 9, 2);
	struct sw_prune_trial t[2];

	for (uint64_t i = 2; i > 0; i--) { /* the later one reports first */
		sw_pruner_enter(p, i, &t[i - 1]);
		(void)report(p, i, &t[i - 1], 1, 0.5);
	}
	ck_assert_uint_eq(sw_pruner_next(p), 1);
	ck_assert_uint_eq(sw_pruner_next_n(p, 9), 1);
	sw_pruner_resumed(p, 1, &t[0]);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	sw_pruner_destroy(p);
}

TEST(promote_last_leg_goes_to_max_t)
{
	/* Rungs 1, 3, 9 of max_t 20: 9 is below the top, and the leg after it ends at 20. */
	struct sw_pruner *p = make(1, 20, 3);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	for (uint64_t step = 1; step <= 9; step *= 3) {
		ck_assert_uint_eq(sw_pruner_until(p, &t), step);
		ck_assert_int_eq(report(p, 1, &t, step, 0.5).verdict, SW_VERDICT_PAUSE);
		sw_pruner_resumed(p, 1, &t);
	}
	ck_assert_uint_eq(sw_pruner_until(p, &t), 20);
	ck_assert_int_eq(report(p, 1, &t, 19, 0.5).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 1, &t, 20, 0.5).verdict, SW_VERDICT_COMPLETE);
	sw_pruner_destroy(p);
}

TEST(promote_with_its_only_rung_at_max_t_never_pauses)
{
	struct sw_pruner *p = make(5, 5, 2);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 5);
	ck_assert_int_eq(report(p, 1, &t, 4, 0.5).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t, 5, 0.25);
	ck_assert_int_eq(j.verdict, SW_VERDICT_COMPLETE);
	ck_assert_uint_eq(j.rung, 5);
	ck_assert_double_eq(j.value, 0.25);
	sw_pruner_destroy(p);
}

static const struct {
	uint64_t grace, max_t, rf, want;
	size_t n;
} ladders[] = {{1, 1000, 10, 1000, 4}, {1, 243, 3, 243, 6}, {1, 100, 4, 64, 4}};

TEST_ROWS(promote_ladder_has_its_top_rung, ladders)
{
	struct sw_pruner *p = make(ladders[_i].grace, ladders[_i].max_t, ladders[_i].rf);

	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), ladders[_i].n);
	ck_assert_uint_eq(sw_pruner_rung_step(p, 0, ladders[_i].n - 1), ladders[_i].want);
	sw_pruner_destroy(p);
}

static const struct refused refused[] = {
	{CONFIG(0, 9, 3, 1, 3), "/grace_period", "grace_period must be at least 1"},
	{CONFIG(1, 9, 3, 4, 3), "/brackets",
	 "brackets 4 is too many: there are only 3 rungs up to max_t 9"},
};

TEST_ROWS(promote_bad_config_is_refused, refused)
{
	check_refused(&refused[_i]);
}

RUN_TESTS(NULL, NULL)
