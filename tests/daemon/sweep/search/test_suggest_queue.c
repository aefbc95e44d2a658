/* tests/daemon/sweep/search/test_suggest_queue.c — suggestions that wait to be handed out, and a
 * sampler's state as text. */
#include "base/buf.h"
#include "base/fault.h"
#include "base/memory.h"
#include "daemon/sweep/run/suggest_state.h"
#include "daemon/sweep/search/suggest_queue.h"
#include "tests/run.h"

/* A queue of n suggestions from trial 4, number 3 on; each knows its own trial. */
static struct sw_suggest_queue make(uint64_t n)
{
	struct sw_suggest_queue q = {.v = NULL};

	for (uint64_t i = 0; i < n; i++) {
		struct sw_suggestion *one = sw_calloc(1, sizeof *one);

		ck_assert_ptr_nonnull(one);
		one->state = sw_malloc(8);
		one->known = 4 + i;
		ck_assert_int_eq(sw_suggest_queue_push(&q, one, 4, 3), SW_OK);
	}
	return q;
}

TEST(prepared_suggestions_leave_in_their_order)
{
	struct sw_suggest_queue q = make(20);

	ck_assert(sw_suggest_queue_trim(&q, 4, 3));
	ck_assert_uint_eq(q.n, 20);
	for (uint64_t gone = 1; gone < 20; gone++) {
		ck_assert(sw_suggest_queue_trim(&q, 4 + gone, 3 + gone));
		ck_assert_uint_eq(q.n, 20 - gone);
		ck_assert_uint_eq(q.first, 4 + gone);
		ck_assert_uint_eq(q.v[0]->known, 4 + gone);
	}
	sw_suggest_queue_fini(&q);
	ck_assert_uint_eq(q.n, 0);
}

TEST(prepared_suggestions_that_took_other_trials_for_pending_all_leave)
{
	struct sw_suggest_queue q = make(5);

	ck_assert(!sw_suggest_queue_trim(&q, 6, 4)); /* two trials came, one suggestion was used */
	ck_assert_uint_eq(q.n, 0);
	ck_assert(sw_suggest_queue_trim(&q, 9, 5));
	struct sw_suggestion *one = sw_calloc(1, sizeof *one);
	ck_assert_int_eq(sw_suggest_queue_push(&q, one, 9, 5), SW_OK);
	ck_assert_uint_eq(q.first, 9);
	ck_assert_uint_eq(q.first_made, 5);
	sw_suggest_queue_fini(&q);
}

TEST(state_comes_back_from_its_text)
{
	unsigned char *state;
	size_t n;

	ck_assert_int_eq(sw_suggest_state_read("00ff1a", &state, &n), SW_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_mem_eq(state, "\x00\xff\x1a", 3);
	free(state);
	ck_assert_int_eq(sw_suggest_state_read("", &state, &n), SW_OK);
	ck_assert_ptr_null(state);
	ck_assert_uint_eq(n, 0);
	static const char *const bad[] = {"0", "0g", "g0", "0A", "00 1"};
	for (size_t i = 0; i < ROWS(bad); i++) {
		ck_assert_int_eq(sw_suggest_state_read(bad[i], &state, &n), SW_INVALID);
		ck_assert_ptr_null(state);
	}
}

#ifdef SW_FAULTS
TEST(prepared_push_without_memory_changes_nothing)
{
	struct sw_suggest_queue q = make(8);
	struct sw_suggestion *one = sw_calloc(1, sizeof *one);

	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_suggest_queue_push(&q, one, 4, 3), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_uint_eq(q.n, 8);
	ck_assert_int_eq(sw_suggest_queue_push(&q, one, 4, 3), SW_OK);
	ck_assert_uint_eq(q.n, 9);
	ck_assert_ptr_eq(q.v[8], one);
	sw_suggest_queue_fini(&q);
}
#endif

RUN_TESTS(NULL, NULL)
