/* tests/sched/pruner/test_hyperband.c — the bands of W&B. Whole histories against a plain model:
 * tests/sim/oracle_rules.c, for patience, threshold and the medians as well. */
#include "tests/sched/pruner/prune.h"

#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_HYPERBAND, .hyperband = { __VA_ARGS__ }                          \
	}

static const struct {
	struct sw_pruner_config c;
	size_t n, shown;
	uint64_t step[6];
} ladders[] = {
	{CONFIG(.max_iter = 27, .s = 2, .eta = 3), 2, 2, {3, 9}},
	{CONFIG(.max_iter = 27, .s = 3, .eta = 3), 3, 3, {1, 3, 9}},
	{CONFIG(.max_iter = 1000, .s = 3, .eta = 10), 3, 3, {1, 10, 100}},
	{CONFIG(.max_iter = 100, .s = 3, .eta = 3), 3, 3, {3, 11, 33}}, /* rounded down */
	{CONFIG(.min_iter = 3, .eta = 3), 40, 5, {3, 9, 27, 81, 243}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 81), 4, 4, {3, 9, 27, 81}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 80), 3, 3, {3, 9, 27}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 2), 1, 1, {3}},
	{CONFIG(.min_iter = 1, .eta = 1.5), 64, 5, {1, 2, 3, 5, 7}},
	{CONFIG(.max_iter = 27, .s = 5, .eta = 1.5), 5, 5, {3, 5, 8, 12, 18}},
	{CONFIG(.min_iter = 1, .eta = 2), 64, 5, {1, 2, 4, 8, 16}},
	{CONFIG(.min_iter = UINT64_MAX, .eta = 2), 1, 1, {UINT64_MAX}},
};

TEST_ROWS(hyperband_ladder_has_its_bands, ladders)
{
	struct sw_pruner *p = make_pruner(&ladders[_i].c, 1);

	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), ladders[_i].n);
	for (size_t k = 0; k < ladders[_i].shown; k++)
		ck_assert_uint_eq(sw_pruner_rung_step(p, 0, k), ladders[_i].step[k]);
	sw_pruner_destroy(p);
}

TEST(hyperband_stops_an_old_trial_by_what_came_later)
{
	const struct sw_pruner_config c = CONFIG(.min_iter = 1, .eta = 2, .strict = true);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[4];

	for (uint64_t i = 0; i < 4; i++) {
		sw_pruner_enter(p, i + 1, &t[i]);
		ck_assert_int_eq(report(p, i + 1, &t[i], 1, 9.0 - (double)i).verdict,
				 SW_VERDICT_CONTINUE);
	}
	/* 6 7 8 9: of four the third is the cutoff, and 9 is above it. A long ladder's next band is
	 * 2, which the report at 2 reaches; so it is judged there, alone. */
	ck_assert_int_eq(report(p, 1, &t[0], 2, 9.0).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 2, &t[1], 2, 1.0).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 3, &t[2], 2, 1.0).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t[0], 3, 0.0);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP); /* 1 1 9: above the second */
	ck_assert_uint_eq(j.rung, 2);
	ck_assert_double_eq(j.value, 9.0);
	ck_assert_double_eq(j.cutoff, 1.0);
	char why[SW_PRUNE_CAUSE_MAX];
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, "band 2: rank 3 of 3");
	ck_assert_double_eq(sw_pruner_rung_cutoff(p, 0, 1), 9.0);
	ck_assert_double_nan(sw_pruner_rung_cutoff(p, 0, 2));
	sw_pruner_destroy(p);
}

RUN_TESTS(NULL, NULL)
