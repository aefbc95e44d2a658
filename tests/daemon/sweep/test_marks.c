/* tests/daemon/sweep/test_marks.c — what has changed in a sweep after which change. */
#include "daemon/sweep/marks.h"
#include "tests/run.h"

#define FIRST 1000 /* the number before the first change */

static struct sw_mark out[SW_MARKS_MAX];
static size_t n;
static uint64_t next;

static struct sw_marks looked_at(uint64_t trials)
{
	struct sw_marks m = {.number = FIRST, .dropped = FIRST, .looks = SW_MARKS_LOOKS};

	for (uint64_t trial = 1; trial <= trials; trial++)
		sw_marks_note(&m, trial);
	return m;
}

static bool since(const struct sw_marks *m, uint64_t number, size_t most)
{
	return sw_marks_since(m, number, out, most, &n, &next);
}

TEST(marks_nobody_looks_at_name_no_trial)
{
	struct sw_marks m = {.number = FIRST, .dropped = FIRST};

	sw_marks_note(&m, 7);
	ck_assert_uint_eq(m.n, 0);
	ck_assert(!since(&m, FIRST, SW_MARKS_MAX));
	ck_assert_uint_eq(next, FIRST + 1);
	ck_assert(since(&m, next, SW_MARKS_MAX));
	ck_assert_uint_eq(n, 0);
	sw_marks_fini(&m);
	ck_assert_uint_eq(m.number, FIRST + 1);
}

TEST(marks_of_a_chatty_trial_name_it_once_by_its_last_change)
{
	struct sw_marks m = looked_at(3);

	for (int i = 0; i < 1000; i++)
		sw_marks_note(&m, 1 + (uint64_t)(i % 2));
	sw_marks_note(&m, 0); /* the sweep itself */
	ck_assert(since(&m, FIRST, SW_MARKS_MAX));
	ck_assert_uint_eq(n, 3);
	ck_assert(out[0].trial == 3 && out[1].trial == 1 && out[2].trial == 2);
	ck_assert_uint_eq(out[2].number, FIRST + 1003);
	ck_assert_uint_eq(next, FIRST + 1004);
	ck_assert(since(&m, out[1].number, SW_MARKS_MAX));
	ck_assert(n == 1 && out[0].trial == 2);
	sw_marks_fini(&m);
}

TEST(marks_that_have_no_room_come_next)
{
	struct sw_marks m = looked_at(10);

	ck_assert(since(&m, FIRST, 4));
	ck_assert(n == 4 && out[3].trial == 4);
	ck_assert_uint_eq(next, FIRST + 4);
	ck_assert(since(&m, next, 6));
	ck_assert(n == 6 && out[0].trial == 5);
	ck_assert_uint_eq(next, FIRST + 10);
	sw_marks_fini(&m);
}

TEST(marks_too_many_to_name_drop_the_older_half)
{
	struct sw_marks m = looked_at(SW_MARKS_MAX);

	ck_assert(since(&m, FIRST, SW_MARKS_MAX));
	ck_assert_uint_eq(n, SW_MARKS_MAX);
	sw_marks_note(&m, SW_MARKS_MAX + 1);
	ck_assert(!since(&m, FIRST + SW_MARKS_MAX / 2 - 1, SW_MARKS_MAX));
	ck_assert(since(&m, FIRST + SW_MARKS_MAX / 2, SW_MARKS_MAX));
	ck_assert_uint_eq(n, SW_MARKS_MAX / 2 + 1);
	/* Nobody looks meanwhile: no more names. */
	for (uint64_t trial = 1; trial <= SW_MARKS_MAX; trial++)
		sw_marks_note(&m, SW_MARKS_MAX + 1 + trial);
	ck_assert_uint_eq(m.n, 0);
	ck_assert(!since(&m, FIRST + SW_MARKS_MAX, SW_MARKS_MAX));
	sw_marks_fini(&m);
}

TEST(marks_of_a_number_that_never_was_are_unknown)
{
	struct sw_marks m = looked_at(3);

	ck_assert(!since(&m, FIRST + 4, SW_MARKS_MAX));
	ck_assert(!since(&m, FIRST - 1, SW_MARKS_MAX));
	sw_marks_drop(&m);
	ck_assert(!since(&m, FIRST + 3, SW_MARKS_MAX));
	ck_assert_uint_eq(next, FIRST + 4);
	ck_assert(since(&m, next, SW_MARKS_MAX));
	sw_marks_fini(&m);
}

RUN_TESTS(NULL, NULL)
