/* tests/daemon/sweep/test_marks.c — what has changed in a sweep since somebody looked. */
#include "daemon/sweep/marks.h"
#include "tests/run.h"

static struct sw_marks watched(uint64_t n)
{
	struct sw_marks c = {.watched = true};

	for (uint64_t trial = 1; trial <= n; trial++)
		sw_marks_note(&c, trial);
	return c;
}

TEST(changes_nobody_watches_name_no_trial)
{
	struct sw_marks c = {.watched = false};

	sw_marks_note(&c, 7);
	ck_assert(c.any);
	ck_assert_uint_eq(c.n, 0);
	sw_marks_fini(&c);
}

TEST(changes_of_a_chatty_trial_name_it_once)
{
	struct sw_marks c = watched(3);

	for (int i = 0; i < 1000; i++)
		sw_marks_note(&c, 1 + (uint64_t)(i % 3));
	sw_marks_note(&c, 0); /* the sweep itself */
	ck_assert_uint_eq(c.n, 3);
	sw_marks_fini(&c);
}

TEST(changes_seen_leave_the_later_ones)
{
	struct sw_marks c = watched(10);

	sw_marks_seen(&c, 4, false);
	ck_assert(!c.any);
	ck_assert_uint_eq(c.n, 6);
	ck_assert_uint_eq(c.trials[0], 5);
	ck_assert_uint_eq(c.trials[5], 10);
	sw_marks_note(&c, 2); /* seen before: it has changed again */
	ck_assert_uint_eq(c.trials[6], 2);
	sw_marks_seen(&c, 0, true);
	ck_assert_uint_eq(c.n, 0);
	sw_marks_fini(&c);
}

TEST(changes_too_many_to_name_overflow_until_all_are_seen)
{
	struct sw_marks c = watched(SW_MARKS_MAX);

	ck_assert(!c.overflowed);
	ck_assert_uint_eq(c.n, SW_MARKS_MAX);
	sw_marks_note(&c, SW_MARKS_MAX + 1);
	ck_assert(c.overflowed);
	ck_assert_uint_eq(c.n, 0);
	sw_marks_note(&c, 3);
	ck_assert_uint_eq(c.n, 0);
	sw_marks_seen(&c, 0, true);
	ck_assert(!c.overflowed);
	sw_marks_note(&c, 3);
	ck_assert_uint_eq(c.n, 1);
	sw_marks_fini(&c);
}

RUN_TESTS(NULL, NULL)
