/* tests/sched/pruner/test_asha.c — ladders, brackets, what is refused; for promotion too, which has
 * the same rungs. Whole histories, of ties and of rungs that are skipped, against a plain model and
 * against the paper's get_job: tests/sim/oracle_asha.c. */
#include "sched/pruner/rungs.h"
#include "tests/sched/pruner/prune.h"

static struct sw_pruner *make(uint64_t grace, uint64_t max_t, uint64_t rf, uint64_t brackets,
			      uint64_t min_results)
{
	const struct sw_pruner_config c = {.kind = SW_PRUNER_ASHA,
					   .asha = {.grace_period = grace,
						    .max_t = max_t,
						    .reduction_factor = rf,
						    .brackets = brackets,
						    .min_results = min_results}};

	return make_pruner(&c, 11);
}

static const struct {
	uint64_t grace, max_t, rf, bracket;
	size_t n;
	uint64_t step[64];
} ladders[] = {
	{1, 1000, 10, 0, 4, {1, 10, 100, 1000}},
	{1, 243, 3, 0, 6, {1, 3, 9, 27, 81, 243}},
	{1, 243, 3, 2, 4, {9, 27, 81, 243}},
	{1, 100, 4, 0, 4, {1, 4, 16, 64}},
	{5, 5, 2, 0, 1, {5}},
	{7, 27, 3, 0, 2, {7, 21}},
	{UINT64_MAX - 1, UINT64_MAX, 2, 0, 1, {UINT64_MAX - 1}},
	{1, UINT64_MAX, UINT64_C(1) << 32, 0, 2, {1, UINT64_C(1) << 32}},
};

TEST_ROWS(asha_ladder_has_its_rungs, ladders)
{
	struct sw_pruner *a = make(ladders[_i].grace, ladders[_i].max_t, ladders[_i].rf,
				   ladders[_i].bracket + 1, 2);
	const uint32_t b = (uint32_t)ladders[_i].bracket;

	ck_assert_uint_eq(sw_pruner_rung_n(a, b), ladders[_i].n);
	for (size_t k = 0; k < ladders[_i].n; k++) {
		ck_assert_uint_eq(sw_pruner_rung_step(a, b, k), ladders[_i].step[k]);
		ck_assert_uint_eq(sw_pruner_rung_count(a, b, k), 0);
		ck_assert_double_nan(sw_pruner_rung_cutoff(a, b, k));
	}
	sw_pruner_destroy(a);
}

TEST(asha_longest_ladder_has_64_rungs)
{
	struct sw_pruner *a = make(1, UINT64_MAX, 2, 64, 2);

	ck_assert_uint_eq(sw_pruner_rung_n(a, 0), SW_RUNGS_MAX);
	ck_assert_uint_eq(sw_pruner_rung_step(a, 0, 63), UINT64_C(1) << 63);
	ck_assert_uint_eq(sw_pruner_rung_n(a, 63), 1);
	struct sw_prune_trial t = {0};
	(void)report(a, 1, &t, 1, 1.0);
	const struct sw_judgement j = report(a, 1, &t, UINT64_MAX, 1.0);
	ck_assert_int_eq(j.verdict, SW_VERDICT_COMPLETE);
	ck_assert_uint_eq(t.filled, UINT64_MAX);
	sw_pruner_destroy(a);
}

TEST(asha_brackets_are_drawn_by_their_rungs)
{
	/* Rungs 1 3 9 27: brackets of 4, 3 and 2 rungs. */
	struct sw_pruner *a = make(1, 27, 3, 3, 3);
	enum { N = 90000 };
	unsigned drawn[3] = {0};

	for (uint64_t trial = 1; trial <= N; trial++) {
		struct sw_prune_trial t;

		sw_pruner_enter(a, trial, &t);
		drawn[t.bracket]++;
	}
	ck_assert_double_eq_tol(drawn[0], N * 4.0 / 9.0, 600);
	ck_assert_double_eq_tol(drawn[1], N * 3.0 / 9.0, 600);
	ck_assert_double_eq_tol(drawn[2], N * 2.0 / 9.0, 600);
	sw_pruner_destroy(a);
}

TEST(promote_with_its_only_rung_at_max_t_never_pauses)
{
	const struct sw_pruner_config c = {.kind = SW_PRUNER_PROMOTE, .asha = {5, 5, 2, 1, 0}};
	struct sw_pruner *p = make_pruner(&c, 1);
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

RUN_TESTS(NULL, NULL)
