/* tests/worker/exec/test_lines.c — lines of a pipe: whole, cut, without an end; and the file that
 * they are kept in. */
#include "tests/run.h"
#include "worker/exec/lines.h"
#include "worker/exec/output.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static struct sw_lines lines;
static int way[2];

static void setup(void)
{
	ck_assert_int_eq(pipe2(way, O_NONBLOCK), 0);
	ck_assert_int_gt(fcntl(way[1], F_SETPIPE_SZ, 1 << 20), 0);
	sw_lines_init(&lines);
}

static void put(const char *bytes, size_t n)
{
	ck_assert_int_eq(write(way[1], bytes, n), (ssize_t)n);
}

/* The next line must be this one; NULL: there must be none. */
static void want(const char *expected)
{
	char *line;
	size_t len;
	bool got;

	while (!(got = sw_lines_next(&lines, &line, &len)))
		if (!sw_lines_read(&lines, way[0])) {
			got = sw_lines_next(&lines, &line, &len); /* now that it knows the end */
			break;
		}
	ck_assert_int_eq(got, expected != NULL);
	if (expected) {
		ck_assert_str_eq(line, expected);
		ck_assert_uint_eq(len, strlen(expected));
	}
}

TEST(lines_come_whole_however_they_are_written)
{
	put("one\ntw", 6);
	want("one");
	want(NULL);
	put("o\n\nfour\n", 8);
	want("two");
	want("");
	want("four");
	want(NULL);
}

TEST(lines_without_an_end_come_once_nothing_follows)
{
	put("one\ntwo", 7);
	close(way[1]);
	want("one");
	want("two");
	want(NULL);
	ck_assert(lines.ended);
}

static const struct {
	const char *written, *line;
} returns[] = {{"windows\r\n", "windows"},
	       {"10%\r50%\r100%\n", "100%"},
	       {"10%\r50%\r\n", "50%"},
	       {"\r\n", ""},
	       {"\r\r\rx\n", "x"}};

/* What looks like a report is a line, though its end returns to the start of the line. */
TEST(lines_that_are_objects_end_at_a_carriage_return)
{
	put("10%\r{\"a\":1}\r", 12);
	want("{\"a\":1}");
	want(NULL);
	put("\n {\"a\":2}\r\n{\"a\":3}\r", 19);
	want("{\"a\":2}");
	want("{\"a\":3}");
	want(NULL);
	put("20%\r30%\r{\"a\":4}", 15);
	want(NULL);
	put("\n{\"a\":\r5}\n", 10);
	want("{\"a\":4}");
	want("5}");
	put("\r{\"a\":6}\r{\"a\":7}", 16);
	close(way[1]);
	want("{\"a\":6}");
	want("{\"a\":7}");
	want(NULL);
}

TEST_ROWS(lines_begin_anew_at_a_carriage_return, returns)
{
	put(returns[_i].written, strlen(returns[_i].written));
	want(returns[_i].line);
	want(NULL);
}

/* Its rest is not kept, and what follows it is whole. */
TEST(lines_over_the_limit_are_cut)
{
	static char text[3 * SW_LINES_MAX], cut[SW_LINES_MAX + 1];

	memset(text, 'a', sizeof text);
	memset(cut, 'a', SW_LINES_MAX);
	put(text, sizeof text);
	put("end\nnext\n", 9);
	want(cut);
	want("next");
	want(NULL);
	/* a line that just fits, with its newline beyond */
	put(text, SW_LINES_MAX - 1);
	put("\nlast\n", 6);
	cut[SW_LINES_MAX - 1] = '\0';
	want(cut);
	want("last");
}

/* A progress bar of any length is one short line. */
TEST(lines_of_a_long_progress_bar_are_its_last_state)
{
	char state[64];

	for (int i = 0; i < 20000; i++) {
		const int n = snprintf(state, sizeof state, "\r%d of 20000", i + 1);

		put(state, (size_t)n);
		if (i % 1000 == 0)
			want(NULL);
	}
	put("\nnext\n", 6);
	want("20000 of 20000");
	want("next");
}

TEST(output_at_its_limit_becomes_the_older_file)
{
	char path[] = "/tmp/sw-output-XXXXXX", old[64], line[1000];
	struct sw_output o;
	struct stat st;

	ck_assert_int_ge(mkstemp(path), 0);
	(void)snprintf(old, sizeof old, "%s.1", path);
	memset(line, 'x', sizeof line);
	sw_output_init(&o, path);
	for (int i = 0; i < 261; i++) /* 1,001 bytes each */
		sw_output_line(&o, "", line, sizeof line);
	ck_assert_int_ne(access(old, F_OK), 0);
	sw_output_line(&o, "", line, sizeof line);
	ck_assert_int_eq(stat(old, &st), 0);
	ck_assert_int_eq(st.st_size, 261 * 1001);
	ck_assert_int_le(st.st_size, SW_OUTPUT_MAX);
	sw_output_close(&o);
	/* the next attempt goes on in the same file, and knows its size */
	sw_output_init(&o, path);
	for (int i = 0; i < 260; i++)
		sw_output_line(&o, "", line, sizeof line);
	sw_output_line(&o, "", line, 9);
	sw_output_close(&o);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 261 * 1001 + 10);
	sw_output_init(&o, path);
	sw_output_line(&o, "", line, sizeof line);
	sw_output_close(&o);
	ck_assert_int_eq(stat(old, &st), 0);
	ck_assert_int_eq(st.st_size, 261 * 1001 + 10);
	unlink(old);
	unlink(path);
}

static size_t n_writes;

/* In place of the C library's. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
	n_writes++;
	return syscall(SYS_writev, fd, parts, n);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	n_writes++;
	return syscall(SYS_write, fd, bytes, n);
}

TEST(output_of_short_lines_is_gathered)
{
	char path[] = "/tmp/sw-output-XXXXXX";
	struct sw_output o;
	struct stat st;

	ck_assert_int_ge(mkstemp(path), 0);
	sw_output_init(&o, path);
	n_writes = 0;
	for (int i = 0; i < 100000; i++)
		sw_output_line(&o, "", "y", 1);
	sw_output_close(&o);
	ck_assert_uint_le(n_writes, 4);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 200000);
	unlink(path);
}

TEST(output_without_a_folder_is_lost)
{
	struct sw_output o;

	sw_output_init(&o, "/no/such/folder/1.log");
	sw_output_line(&o, "", "x", 1);
	sw_output_close(&o);
}

RUN_TESTS(setup, NULL)
