/* tests/sched/sweep/test_pending.c — the heap of waiting trials: lowest number first, whatever the
 * order. */
#include "base/fault.h"
#include "sched/sweep/pending.h"
#include "tests/run.h"
#include "tests/sched/suite.h"
#include <stdbool.h>

TEST_LOOP(pending_pops_the_lowest_each_time, 0, 5)
{
	enum { N = 200 };
	struct sw_pending h;
	bool inside[N + 1] = {false};
	uint64_t rng = (uint64_t)_i;

	sw_pending_init(&h);
	for (int step = 0; step < 4000; step++) {
		const uint64_t trial = 1 + below(&rng, N);

		if (below(&rng, 2) == 0 && h.n > 0) {
			uint64_t lowest = 1;

			while (!inside[lowest])
				lowest++;
			ck_assert_uint_eq(sw_pending_pop(&h), lowest);
			inside[lowest] = false;
		} else if (!inside[trial]) {
			ck_assert_int_eq(sw_pending_reserve(&h), SW_OK);
			sw_pending_push(&h, trial);
			inside[trial] = true;
		}
	}
	for (uint64_t trial = 1; trial <= N; trial++)
		if (inside[trial])
			ck_assert_uint_eq(sw_pending_pop(&h), trial);
	ck_assert_uint_eq(h.n, 0);
	sw_pending_fini(&h);
}

#ifdef SW_FAULTS
TEST(pending_without_memory_keeps_what_it_had)
{
	struct sw_pending h;

	sw_pending_init(&h);
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_pending_reserve(&h), SW_NOMEM);
	for (uint64_t i = 1; i <= 16; i++) {
		ck_assert_int_eq(sw_pending_reserve(&h), SW_OK);
		sw_pending_push(&h, i);
	}
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_pending_reserve(&h), SW_NOMEM);
	ck_assert_uint_eq(h.n, 16);
	ck_assert_uint_eq(sw_pending_pop(&h), 1);
	sw_pending_fini(&h);
}
#endif

RUN_TESTS(NULL, NULL)
