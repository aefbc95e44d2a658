/* tests/spec/test_checkpoint.c — "checkpoint": when states are written, and which stay. */
#include "tests/spec/spec_text.h"

#define WITH(text) TRAIN "{" REST "},'checkpoint':" text "}"

TEST(checkpoint_left_out_is_by_time_best_and_last)
{
	struct sw_spec *s = read_spec(TRAIN "{" REST "}}");
	struct sw_spec *empty = read_spec(WITH("{}"));

	ck_assert_uint_eq(s->checkpoint.every, 0);
	ck_assert_int_eq(s->checkpoint.keep, SW_SPEC_KEEP_BEST_AND_LAST);
	ck_assert_uint_eq(s->checkpoint.max_mb, 0);
	ck_assert_mem_eq(&s->checkpoint, &empty->checkpoint, sizeof s->checkpoint);
}

TEST(checkpoint_given_reaches_the_struct)
{
	struct sw_spec *s = read_spec(WITH("{'every':3,'keep':'all','max_mb':500}"));
	struct sw_spec *best = read_spec(WITH("{'keep':'best-and-last'}"));
	struct sw_spec *none = read_spec(WITH("{'keep':'none'}"));

	ck_assert_uint_eq(s->checkpoint.every, 3);
	ck_assert_int_eq(s->checkpoint.keep, SW_SPEC_KEEP_ALL);
	ck_assert_uint_eq(s->checkpoint.max_mb, 500);
	ck_assert_int_eq(best->checkpoint.keep, SW_SPEC_KEEP_BEST_AND_LAST);
	ck_assert_int_eq(none->checkpoint.keep, SW_SPEC_KEEP_NONE);
}

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{WITH("{'keep':'none','every':2}"), "/checkpoint/keep",
	 "with \"keep\": \"none\" there is nothing for \"every\" to do"},
	{WITH("{'keep':'none','max_mb':2}"), "/checkpoint/keep",
	 "with \"keep\": \"none\" there is nothing for \"max_mb\" to do"},
	{HEAD ",'checkpoint':{}}", "/checkpoint",
	 "\"checkpoint\" needs \"trainer\" or \"command\": if you drive the trials, you keep "
	 "their state too"},
};

TEST_ROWS(checkpoint_that_is_wrong_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

RUN_TESTS(NULL, NULL)
