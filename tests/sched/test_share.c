/* tests/sched/test_share.c — which sweep gets the slot: a table, and an hour of two sweeps. */
#include "sched/share.h"
#include "tests/sched/suite.h"

static const struct {
	const char *name;
	struct sw_share v[4];
	size_t n, pick;
	int64_t join;
} rows[] = {
	{"an only candidate", {{9, 900}}, 1, 0, 900},
	{"fewest running first", {{2, 0}, {1, 900}, {3, 0}}, 3, 1, 0},
	{"then least used", {{1, 50}, {1, 40}, {1, 60}}, 3, 1, 40},
	{"then lowest number", {{1, 40}, {0, 50}, {0, 50}}, 3, 1, 40},
	{"running counts before use", {{1, -5}, {0, 1000000}}, 2, 1, -5},
};

START_TEST(share_row_picks_its_sweep)
{
	ck_assert_msg(sw_share_pick(rows[_i].v, rows[_i].n) == rows[_i].pick, "%s", rows[_i].name);
	ck_assert_int_eq(sw_share_join(rows[_i].v, rows[_i].n), rows[_i].join);
}
END_TEST

START_TEST(share_first_sweep_starts_at_zero)
{
	ck_assert_int_eq(sw_share_join(NULL, 0), 0);
}
END_TEST

START_TEST(share_one_slot_alternates_by_time_and_a_newcomer_gets_no_backlog)
{
	/* One slot; sweep 0's trials take 3 s, sweep 1's 1 s; sweep 2 joins half way. */
	struct sw_share v[3] = {{0, 0}, {0, 0}, {0, 0}};
	const int64_t cost[3] = {3, 1, 1};
	int64_t at_join = 0;

	for (int round = 0; round < 1000; round++) {
		if (round == 500) {
			v[2].used_us = sw_share_join(v, 2);
			at_join = v[2].used_us;
		}
		const size_t i = sw_share_pick(v, round < 500 ? 2 : 3);
		v[i].used_us += cost[i];
	}
	ck_assert_int_le(llabs(v[0].used_us - v[1].used_us), 3);
	ck_assert_int_le(llabs(v[2].used_us - v[1].used_us), 3);
	ck_assert_int_gt(at_join, 300);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("share");
	TCase *tcase = tcase_create("pick");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, share_row_picks_its_sweep, 0, (int)ROWS(rows));
	tcase_add_test(tcase, share_first_sweep_starts_at_zero);
	tcase_add_test(tcase, share_one_slot_alternates_by_time_and_a_newcomer_gets_no_backlog);
	return run_suite(suite);
}
