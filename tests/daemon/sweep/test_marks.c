/* tests/daemon/sweep/test_marks.c — changes of a sweep, more than are named. The rest is in
 * api/test_watch_story.c. */
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
	ck_assert_uint_eq(m.number, FIRST + 2 * SW_MARKS_MAX + 1);
}

RUN_TESTS(NULL, NULL)
