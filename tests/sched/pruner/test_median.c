/* tests/sched/pruner/test_median.c — the edges of both medians. */
#include "tests/sched/pruner/prune.h"
#include <malloc.h>

#define RAY(...)                                                                                   \
	{                                                                                          \
		.kind = SW_PRUNER_MEDIAN, .median = {.running_mean = true, __VA_ARGS__ }           \
	}
#define OPTUNA(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_MEDIAN, .median = { __VA_ARGS__ }                                \
	}

TEST(median_of_optuna_forgets_who_was_pruned)
{
	const struct sw_pruner_config c = OPTUNA(.interval_steps = 1, .n_min_trials = 1);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[3];
	size_t first = 0;

	/* A thousand trials that fail leave nothing behind but the steps (and, the first of them,
	 * what malloc keeps for the next). */
	for (uint64_t i = 1; i <= 1000; i++) {
		sw_pruner_enter(p, i, &t[0]);
		for (uint64_t step = 1; step <= 20; step++)
			(void)report(p, i, &t[0], step, (double)i);
		sw_pruner_ended(p, i, &t[0], false);
		first = i == 10 ? mallinfo2().uordblks : first;
	}
	ck_assert_uint_eq(mallinfo2().uordblks, first);
	sw_pruner_enter(p, 1001, &t[1]);
	(void)report(p, 1001, &t[1], 3, 0.5);
	sw_pruner_ended(p, 1001, &t[1], true);
	sw_pruner_enter(p, 1002, &t[2]);
	ck_assert_int_eq(report(p, 1002, &t[2], 2, 9.0).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1002, &t[2], 3, 0.75);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP);
	char why[SW_PRUNE_CAUSE_MAX];
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, "step 3: best 0.75 is worse than the median 0.5 of 1");
	sw_pruner_destroy(p);
}

TEST(median_of_two_huge_values_is_between_them)
{
	const struct sw_pruner_config c = RAY(.min_samples_required = 2);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[3];

	for (uint64_t i = 0; i < 3; i++) {
		sw_pruner_enter(p, i + 1, &t[i]);
		const struct sw_judgement j = report(p, i + 1, &t[i], 1, 1.7e308);
		ck_assert_int_eq(j.verdict, SW_VERDICT_CONTINUE);
		if (i == 2)
			ck_assert_double_eq(j.cutoff, 1.7e308);
		const struct sw_judgement k = report(p, i + 1, &t[i], 2, 1.7e308);
		ck_assert(isnan(k.cutoff) || k.cutoff == 1.7e308); /* their sum is not finite */
	}
	sw_pruner_invariant(p);
	sw_pruner_destroy(p);
}

RUN_TESTS(NULL, NULL)
