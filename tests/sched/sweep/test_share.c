/* tests/sched/sweep/test_share.c — which sweep gets the slot: a table, and hours of several
 * sweeps. */
#include "sched/sweep/share.h"
#include "tests/run.h"
#include "tests/sched/suite.h"
#include <float.h>

#define S 1000000 /* us */

static const struct {
	const char *name;
	struct sw_share v[4];
	size_t n, pick;
	double weight; /* of a newcomer */
	int64_t join;
} rows[] = {
	{"an only candidate", {{.running = 9, .used_us = 900}}, 1, 0, 1, 900},
	{"each running trial counts as a second before any ended",
	 {{.running = 2}, {.running = 1, .used_us = 900}, {.running = 3}},
	 3,
	 1,
	 1,
	 0},
	{"then least used",
	 {{.running = 1, .used_us = 50},
	  {.running = 1, .used_us = 40},
	  {.running = 1, .used_us = 60}},
	 3,
	 1,
	 1,
	 40},
	{"then lowest number", {{.used_us = 50}, {.used_us = 50}}, 2, 0, 1, 50},
	{"as much served: the fewest running first",
	 {{.running = 1, .used_us = 1 * S}, {.used_us = 2 * S}},
	 2,
	 1,
	 1,
	 1 * S},
	{"a running trial counts as the mean of those that ended",
	 {{.running = 1, .used_us = 8 * S, .ended = 4, .ended_us = 8 * S},
	  {.running = 2, .used_us = 7 * S, .ended = 7, .ended_us = 14 * S}},
	 2,
	 0,
	 1,
	 7 * S},
	{"use counts, not only what runs", {{.running = 2}, {.used_us = 9 * S}}, 2, 0, 1, 0},
	{"three times the weight, three times the use",
	 {{.used_us = 2 * S}, {.used_us = 5 * S, .weight = 3}},
	 2,
	 1,
	 0.5,
	 5 * S / 6},
	{"as much served: the fewest running over the weight first",
	 {{.running = 1}, {.running = 1, .used_us = 1 * S, .weight = 2}},
	 2,
	 1,
	 4,
	 0},
};

/* The index of the sweep to serve: of those that are level the first. */
static size_t pick_first(const struct sw_share *v, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (sw_share_before(&v[i], &v[best]))
			best = i;
	return best;
}

TEST_ROWS(share_row_picks_its_sweep, rows)
{
	ck_assert_msg(pick_first(rows[_i].v, rows[_i].n) == rows[_i].pick, "%s", rows[_i].name);
	ck_assert_int_eq(sw_share_join(rows[_i].v, rows[_i].n, rows[_i].weight), rows[_i].join);
}

TEST(share_first_sweep_starts_at_zero)
{
	ck_assert_int_eq(sw_share_join(NULL, 0, 2), 0);
}

TEST(share_of_any_weight_stays_an_account)
{
	const double weights[] = {DBL_MIN, 1e-300, 1e-9, 1, 1e6};
	struct sw_share s = {.weight = 1, .used_us = 3600 * (int64_t)S};

	ck_assert_int_eq(sw_share_join(&s, 1, 1e6), 3600 * (int64_t)S * 1000000);
	for (size_t i = 0; i < ROWS(weights); i++) {
		for (size_t k = 0; k < ROWS(weights); k++) {
			struct sw_share t = {.weight = weights[i], .used_us = s.used_us};

			ck_assert_int_ge(sw_share_join(&t, 1, weights[k]), 0);
			sw_share_reweigh(&t, weights[k]);
			ck_assert_int_ge(t.used_us, 0);
			ck_assert_int_lt(t.used_us, INT64_MAX / 2);
			ck_assert_double_eq(t.weight, weights[k]);
		}
	}
	sw_share_reweigh(&s, 3);
	ck_assert_int_eq(s.used_us, 3 * 3600 * (int64_t)S);
}

TEST(share_one_slot_alternates_by_time_and_a_newcomer_gets_no_backlog)
{
	/* One slot; sweep 0's trials take 3 s, sweep 1's 1 s; sweep 2 joins half way. */
	struct sw_share v[3] = {{.running = 0}};
	const int64_t cost[3] = {3, 1, 1};
	int64_t at_join = 0;

	for (int round = 0; round < 1000; round++) {
		if (round == 500) {
			v[2].used_us = sw_share_join(v, 2, 1);
			at_join = v[2].used_us;
		}
		const size_t i = pick_first(v, round < 500 ? 2 : 3);
		v[i].used_us += cost[i];
	}
	ck_assert_int_le(llabs(v[0].used_us - v[1].used_us), 3);
	ck_assert_int_le(llabs(v[2].used_us - v[1].used_us), 3);
	ck_assert_int_gt(at_join, 300);
}

/* Eight slots in virtual time, trials of other lengths in each sweep, weights 1, 2 and 4. */
TEST(share_slots_of_several_sweeps_go_by_weight)
{
	enum { SLOTS = 8 };
	const int64_t cost[3] = {7 * S, 2 * S, 3 * S};
	struct sw_share v[3] = {{.weight = 1}, {.weight = 2}, {.weight = 4}};
	size_t who[SLOTS];
	int64_t until[SLOTS];

	for (size_t k = 0; k < SLOTS; k++) {
		who[k] = pick_first(v, 3);
		v[who[k]].running++;
		until[k] = cost[who[k]];
	}
	for (int round = 0; round < 5000; round++) {
		size_t k = 0;

		for (size_t i = 1; i < SLOTS; i++)
			if (until[i] < until[k])
				k = i;
		struct sw_share *done = &v[who[k]];
		done->running--;
		done->ended++;
		done->ended_us += cost[who[k]];
		done->used_us += cost[who[k]];
		who[k] = pick_first(v, 3);
		v[who[k]].running++;
		until[k] += cost[who[k]];
	}
	for (size_t i = 1; i < 3; i++)
		ck_assert_double_eq_tol((double)v[i].used_us / v[i].weight / (double)v[0].used_us,
					1.0, 0.02);
}

/* Two slots, equal trials. The second sweep joins while the first has both, and is given what these
 * two cost; from then on each has a slot. */
TEST(share_two_equal_sweeps_have_a_slot_each)
{
	struct sw_share v[2] = {{.running = 2}, {.running = 0}};
	size_t who[2] = {0, 0};

	v[1].used_us = sw_share_join(v, 1, 1);
	for (int round = 0; round < 1000; round++) {
		const size_t k =
			(size_t)round % 2; /* the slot that was taken first is free first */
		struct sw_share *done = &v[who[k]];

		done->running--;
		done->ended++;
		done->ended_us += 44000;
		done->used_us += 44000;
		who[k] = pick_first(v, 2);
		v[who[k]].running++;
		ck_assert_msg(round < 4 || (v[0].running == 1 && v[1].running == 1), "round %d",
			      round);
	}
}

RUN_TESTS(NULL, NULL)
