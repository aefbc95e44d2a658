/* tests/sched/sweep/test_share.c — which sweep gets the slot. Hours of several sweeps:
 * tests/e2e/test_fairness.py. */
#include "sched/sweep/share.h"
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
	 {{.running = 1, .used_us = 4 * S, .ended = 2, .ended_us = 8 * S},
	  {.running = 2, .used_us = 5 * S, .ended = 7, .ended_us = 7 * S}},
	 2,
	 1,
	 1,
	 4 * S},
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
	sw_share_reweigh(&s, 1);
	ck_assert_int_eq(s.used_us, 3600 * (int64_t)S);
}

RUN_TESTS(NULL, NULL)
