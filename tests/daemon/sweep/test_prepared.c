/* tests/daemon/sweep/test_prepared.c — suggestions that wait to be handed out. */
#include "base/buf.h"
#include "base/fault.h"
#include "daemon/sweep/prepared.h"
#include "daemon/sweep/suggest.h"
#include "spec/spec.h"
#include <check.h>
#include <stdlib.h>

/* A queue of n suggestions from trial 4, number 3 on; each knows its own trial. */
static struct sw_prepared make(uint64_t n)
{
	struct sw_prepared q = {.v = NULL};

	for (uint64_t i = 0; i < n; i++) {
		struct sw_prepared_one *one = sw_calloc(1, sizeof *one);

		ck_assert_ptr_nonnull(one);
		one->suggestion.state = sw_malloc(8);
		one->suggestion.known = 4 + i;
		ck_assert_int_eq(sw_prepared_push(&q, one, 4, 3), SW_OK);
	}
	return q;
}

START_TEST(prepared_suggestions_leave_in_their_order)
{
	struct sw_prepared q = make(20);

	ck_assert(sw_prepared_trim(&q, 4, 3));
	ck_assert_uint_eq(q.n, 20);
	for (uint64_t gone = 1; gone < 20; gone++) {
		ck_assert(sw_prepared_trim(&q, 4 + gone, 3 + gone));
		ck_assert_uint_eq(q.n, 20 - gone);
		ck_assert_uint_eq(q.first, 4 + gone);
		ck_assert_uint_eq(q.v[0]->suggestion.known, 4 + gone);
	}
	sw_prepared_fini(&q);
	ck_assert_uint_eq(q.n, 0);
}
END_TEST

START_TEST(prepared_suggestions_that_took_other_trials_for_pending_all_leave)
{
	struct sw_prepared q = make(5);

	ck_assert(!sw_prepared_trim(&q, 6, 4)); /* two trials came, one suggestion was used */
	ck_assert_uint_eq(q.n, 0);
	ck_assert(sw_prepared_trim(&q, 9, 5));
	struct sw_prepared_one *one = sw_calloc(1, sizeof *one);
	ck_assert_int_eq(sw_prepared_push(&q, one, 9, 5), SW_OK);
	ck_assert_uint_eq(q.first, 9);
	ck_assert_uint_eq(q.first_made, 5);
	sw_prepared_fini(&q);
}
END_TEST

START_TEST(state_comes_back_from_its_text)
{
	unsigned char *state;
	size_t n;

	ck_assert_int_eq(sw_prepared_state("00ff1a", &state, &n), SW_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_mem_eq(state, "\x00\xff\x1a", 3);
	free(state);
	ck_assert_int_eq(sw_prepared_state("", &state, &n), SW_OK);
	ck_assert_ptr_null(state);
	ck_assert_uint_eq(n, 0);
	static const char *const bad[] = {"0", "0g", "g0", "0A", "00 1"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(sw_prepared_state(bad[i], &state, &n), SW_INVALID);
		ck_assert_ptr_null(state);
	}
}
END_TEST

START_TEST(why_is_written_again_with_another_number_of_unseen_results)
{
	struct sw_buf first, again, want;
	const struct sw_spec spec = {.n_metrics = 1, .metrics = {{.name = "loss"}}};
	struct sw_suggestion s = {.source = "gp",
				  .known = 7,
				  .acquisition = SW_ACQUISITION_EI,
				  .mean = 0.25,
				  .log_ei = -900};

	sw_buf_init(&first, 4096);
	sw_buf_init(&again, 4096);
	sw_buf_init(&want, 4096);
	sw_suggest_why(&s, 7, &spec, &first);
	sw_suggest_why(&s, 29, &spec, &want);
	ck_assert_ptr_nonnull(strstr(first.data, "\"log_expected_improvement\":-900,"));
	sw_suggest_why_again(first.data, 22, &again);
	ck_assert_str_eq(again.data, want.data);
	sw_buf_clear(&again);
	sw_suggest_why_again(want.data, 0, &again);
	ck_assert_str_eq(again.data, first.data);
	sw_buf_fini(&first);
	sw_buf_fini(&again);
	sw_buf_fini(&want);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(prepared_push_without_memory_changes_nothing)
{
	struct sw_prepared q = make(8);
	struct sw_prepared_one *one = sw_calloc(1, sizeof *one);

	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_prepared_push(&q, one, 4, 3), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_uint_eq(q.n, 8);
	ck_assert_int_eq(sw_prepared_push(&q, one, 4, 3), SW_OK);
	ck_assert_uint_eq(q.n, 9);
	ck_assert_ptr_eq(q.v[8], one);
	sw_prepared_fini(&q);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("prepared");
	TCase *t = tcase_create("prepared");

	tcase_add_test(t, prepared_suggestions_leave_in_their_order);
	tcase_add_test(t, prepared_suggestions_that_took_other_trials_for_pending_all_leave);
	tcase_add_test(t, state_comes_back_from_its_text);
	tcase_add_test(t, why_is_written_again_with_another_number_of_unseen_results);
#ifdef SW_FAULTS
	tcase_add_test(t, prepared_push_without_memory_changes_nothing);
#endif
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	const int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
