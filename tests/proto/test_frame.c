/* tests/proto/test_frame.c — lines out of a byte stream, however it is cut. */
#include "base/fault.h"
#include "proto/frame.h"
#include "tests/run.h"

static struct sw_frame f;
static struct sw_buf seen;

static void setup(void)
{
	sw_frame_init(&f);
	sw_buf_init(&seen, 1000);
}

static void teardown(void)
{
	sw_buf_fini(&seen);
	sw_frame_fini(&f);
}

/* Feeds bytes in pieces of `piece`; all lines that come out, joined by '|', an over-long one as
 * "TOO_BIG". */
static void feed(const char *bytes, size_t n, size_t piece)
{
	char *line, *at;
	size_t room, len;

	while (n > 0) {
		ck_assert_int_eq(sw_frame_room(&f, &at, &room), SW_OK);
		ck_assert_uint_ge(room, 1);
		size_t k = piece < n ? piece : n;
		k = k < room ? k : room;
		memcpy(at, bytes, k);
		sw_frame_fed(&f, k);
		bytes += k;
		n -= k;
		for (;;) {
			const bool pending = sw_frame_pending(&f);
			const sw_status rc = sw_frame_next(&f, &line, &len);
			if (rc == SW_TOO_BIG) {
				(void)sw_buf_adds(&seen, "TOO_BIG|");
				continue;
			}
			ck_assert_int_eq(rc, SW_OK);
			if (line == NULL)
				break;
			ck_assert(pending);
			ck_assert_uint_eq(strlen(line), len);
			(void)sw_buf_addf(&seen, "%.20s|", line);
		}
		ck_assert(!sw_frame_pending(&f));
		/* So it is with a line over the limit, too, of which nothing is kept. */
		ck_assert_int_eq(sw_frame_unfinished(&f), bytes[-1] != '\n');
	}
}

static const size_t pieces[] = {1, 2, 3, 7, 64, 100000};

TEST_ROWS(frame_lines_come_out_whole_however_they_arrive, pieces)
{
	static const char text[] = "one\ntwo\r\n\n\r\n\nthree\n{\"a\":1}\r\nfour";

	feed(text, strlen(text), pieces[_i]);
	ck_assert_str_eq(seen.data, "one|two|three|{\"a\":1}|");
	feed("\n", 1, 1);
	ck_assert_str_eq(seen.data, "one|two|three|{\"a\":1}|four|");
}

static const struct {
	size_t n;
	const char *end;
	const char *seen;
} sizes[] = {
	{SW_FRAME_MAX, "\n", "xxxxxxxxxxxxxxxxxxxx|ok|"},
	{SW_FRAME_MAX, "\r\n", "xxxxxxxxxxxxxxxxxxxx|ok|"},
	{SW_FRAME_MAX + 1, "\n", "TOO_BIG|ok|"},
	{SW_FRAME_MAX + 1, "\r\n", "TOO_BIG|ok|"},
	{SW_FRAME_MAX + 2, "\n", "TOO_BIG|ok|"},
	{2 * SW_FRAME_MAX, "\n", "TOO_BIG|ok|"},
	{3 * SW_FRAME_MAX + 17, "\nok\n", "TOO_BIG|ok|ok|"},
};

TEST_ROWS(frame_line_over_the_limit_is_reported_once_and_skipped, sizes)
{
	static const size_t cuts[] = {4096, 65536, 1000003};
	struct sw_buf text;

	for (size_t k = 0; k < ROWS(cuts); k++) {
		teardown();
		sw_buf_init(&text, 4 * SW_FRAME_MAX);
		ck_assert_int_eq(sw_buf_reserve(&text, sizes[_i].n), SW_OK);
		memset(text.data, 'x', sizes[_i].n);
		text.len = sizes[_i].n;
		ck_assert_int_eq(sw_buf_adds(&text, sizes[_i].end), SW_OK);
		ck_assert_int_eq(sw_buf_adds(&text, "ok\n"), SW_OK);
		feed(text.data, text.len, cuts[k]);
		ck_assert_str_eq(seen.data, sizes[_i].seen);
		sw_buf_fini(&text);
	}
}

/* A reader that never takes lines: room ends, memory does not grow without bound. */
TEST(frame_that_is_never_read_is_bounded)
{
	char *at;
	size_t room, total = 0;
	sw_status rc;

	while ((rc = sw_frame_room(&f, &at, &room)) == SW_OK) {
		memset(at, '\n', room);
		sw_frame_fed(&f, room);
		total += room;
		ck_assert_uint_lt(total, 2 * SW_FRAME_MAX);
	}
	ck_assert_int_eq(rc, SW_TOO_BIG);
}

TEST(frame_nul_in_a_line_keeps_its_length)
{
	char *at, *line;
	size_t room, len;

	ck_assert_int_eq(sw_frame_room(&f, &at, &room), SW_OK);
	memcpy(at, "a\0b\n", 4);
	sw_frame_fed(&f, 4);
	ck_assert_int_eq(sw_frame_next(&f, &line, &len), SW_OK);
	ck_assert_uint_eq(len, 3);
	ck_assert_int_eq(line[3], '\0');
}

#ifdef SW_FAULTS
TEST(frame_without_memory_can_be_tried_again)
{
	char *at, *line;
	size_t room, len;

	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_frame_room(&f, &at, &room), SW_NOMEM);
	ck_assert_uint_eq(sw_fault_fired(SW_FAULT_MALLOC), 1);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_int_eq(sw_frame_room(&f, &at, &room), SW_OK);
	memcpy(at, "x\n", 2);
	sw_frame_fed(&f, 2);
	ck_assert_int_eq(sw_frame_next(&f, &line, &len), SW_OK);
	ck_assert_str_eq(line, "x");
}
#endif

RUN_TESTS(setup, teardown)
