#include "daemon/pilot/lines.h"
#include "tests/run.h"

TEST(pilot_lines_are_read_with_what_they_lack_left_empty)
{
	const char *text = "17_0 sweepd-ab-1.0 running n1\n"
			   "17_1\tsweepd-ab-1.1  pending - Resources and more \n"
			   "user@host/sweepd-ab-2.0 sweepd-ab-2.0 node_fail n2 NODE_FAIL\r\n";
	struct sw_pilot_line l;

	ck_assert(sw_pilot_line_next(&text, &l));
	ck_assert_str_eq(l.id, "17_0");
	ck_assert_str_eq(l.name, "sweepd-ab-1.0");
	ck_assert_int_eq(l.state, SW_PILOT_RUNNING);
	ck_assert_str_eq(l.node, "n1");
	ck_assert_str_eq(l.reason, "");
	ck_assert(sw_pilot_line_next(&text, &l));
	ck_assert_int_eq(l.state, SW_PILOT_PENDING);
	ck_assert_str_eq(l.node, "");
	ck_assert_str_eq(l.reason, "Resources and more ");
	ck_assert(sw_pilot_line_next(&text, &l));
	ck_assert_str_eq(l.id, "user@host/sweepd-ab-2.0");
	ck_assert_int_eq(l.state, SW_PILOT_NODE_FAIL);
	ck_assert(!sw_pilot_line_next(&text, &l));
}

static const char *const odd[] = {
	"",
	"\n\n",
	"17 name\n",
	"17 name sleeping n1\n",
	"17 name running\n",
	"17 a-name-of-far-more-than-the-sixty-three-bytes-that-one-of-ours-has-at-most running "
	"n1\n",
};

TEST_ROWS(pilot_lines_odd_ones_are_left_out, odd)
{
	const char *text = odd[_i];
	struct sw_pilot_line l;

	ck_assert_msg(!sw_pilot_line_next(&text, &l), "%s", odd[_i]);
}

TEST(pilot_lines_hostile_text_is_made_harmless)
{
	const char *text = "1 n running n\x1b[2J why\x07\n";
	struct sw_pilot_line l;

	ck_assert(sw_pilot_line_next(&text, &l));
	ck_assert_str_eq(l.node, "n?[2J");
	ck_assert_str_eq(l.reason, "why?");
}

TEST(pilot_lines_of_a_submission_are_ids)
{
	const char *text = "17_0\n\n 17_1 \nlast";
	char id[SW_PILOT_ID];

	ck_assert(sw_pilot_id_next(&text, id));
	ck_assert_str_eq(id, "17_0");
	ck_assert(sw_pilot_id_next(&text, id));
	ck_assert_str_eq(id, "17_1");
	ck_assert(sw_pilot_id_next(&text, id));
	ck_assert_str_eq(id, "last");
	ck_assert(!sw_pilot_id_next(&text, id));
}

RUN_TESTS(NULL, NULL)
