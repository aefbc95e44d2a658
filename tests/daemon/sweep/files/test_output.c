/* tests/daemon/sweep/files/test_output.c — a program's output, page by page, while its files turn
 * over. */
#include "base/fault.h"
#include "daemon/sweep/files/output.h"
#include "tests/run.h"

static char path[64], old[70], held[70], dir[40];

static void begin(void)
{
	(void)snprintf(dir, sizeof dir, "/tmp/sw_output.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/1.log", dir);
	(void)snprintf(old, sizeof old, "%s.1", path);
	(void)snprintf(held, sizeof held, "%s.held", path);
}

static void end(void)
{
	(void)unlink(path);
	(void)unlink(old);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void put(const char *text, size_t n)
{
	FILE *f = fopen(path, "a");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* Reads on from *at; the text, the place after it and what is said of it are checked. */
static void reads(struct sw_output_place *at, size_t most, const char *want, bool more, bool lost)
{
	struct sw_output_page page;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;

	sw_buf_init(&text, 1000);
	ck_assert_int_eq(sw_output_read(path, at, most, &text, &page, &err), SW_OK);
	ck_assert_str_eq(text.len > 0 ? text.data : "", want);
	ck_assert_int_eq(page.more, more);
	ck_assert_int_eq(page.lost, lost);
	*at = page.next;
	sw_buf_fini(&text);
}

TEST(output_is_read_page_by_page_and_goes_on)
{
	struct sw_output_place at = {.file = 0};

	reads(&at, 100, "", false, false); /* no file yet */
	put("one\ntwo\n", 8);
	reads(&at, 4, "one\n", true, false);
	reads(&at, 4, "two\n", false, false);
	reads(&at, 4, "", false, false);
	put("three\n", 6);
	reads(&at, 100, "three\n", false, false);
}

TEST(output_that_turned_over_goes_on_where_it_was)
{
	struct sw_output_place at = {.file = 0}, first = {.file = 0};

	put("one\ntwo\n", 8);
	reads(&at, 4, "one\n", true, false);
	ck_assert_int_eq(rename(path, old), 0);
	reads(&at, 100, "two\n", false, false); /* the next file is not there yet */
	put("three\n", 6);
	reads(&at, 100, "three\n", false, false);
	reads(&first, 100, "one\ntwo\n", true, false);
	reads(&first, 100, "three\n", false, false);
}

TEST(output_that_is_no_longer_kept_is_said_to_be_lost)
{
	struct sw_output_place at = {.file = 0};

	put("one\n", 4);
	reads(&at, 2, "on", true, false);
	/* the inode of the first file stays in use, so that no other gets it */
	ck_assert_int_eq(link(path, held), 0);
	ck_assert_int_eq(rename(path, old), 0);
	put("two\n", 4);
	ck_assert_int_eq(rename(path, old), 0);
	put("three\n", 6);
	reads(&at, 100, "two\n", true, true);
	reads(&at, 100, "three\n", false, false);
	ck_assert_int_eq(unlink(held), 0);
	at.offset = 1000; /* of a file that was cut */
	reads(&at, 100, "two\n", true, true);
}

#define BAD "\xef\xbf\xbd"

static const struct {
	const char *text;
	size_t n;
	const char *want, *rest; /* rest: of the page after it */
} texts[] = {
	{"a\0b\n", 4, "a" BAD "b\n", ""},
	{"\xff\xfe\n", 3, BAD BAD "\n", ""},
	{"\xc3\xa9\xe2\x82\xac", 5, "\xc3\xa9\xe2\x82\xac", ""},
	{"a\xe2\x82", 3, "a", BAD BAD}, /* a character that never became whole */
	{"\xed\xa0\x80!", 4, BAD BAD BAD "!", ""},
};

TEST_ROWS(output_that_is_no_text_is_made_text, texts)
{
	struct sw_output_place at = {.file = 0};

	put(texts[_i].text, texts[_i].n);
	reads(&at, 100, texts[_i].want, *texts[_i].rest != '\0', false);
	reads(&at, 100, texts[_i].rest, false, false);
}

TEST(output_behind_a_link_is_not_read)
{
	const struct sw_output_place at = {.file = 0};
	struct sw_output_page page;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;

	sw_buf_init(&text, 1000);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(sw_output_read(path, &at, 100, &text, &page, &err), SW_IO);
	ck_assert_str_eq(err.msg, "cannot read the trial's output");
	ck_assert_uint_eq(text.len, 0);
	sw_buf_fini(&text);
}

#ifdef SW_FAULTS
TEST(output_without_memory_is_a_clean_error)
{
	const struct sw_output_place at = {.file = 0};
	struct sw_output_page page;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;

	put("one\n", 4);
	sw_buf_init(&text, 1000);
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_output_read(path, &at, 100, &text, &page, &err), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	sw_buf_fini(&text);
}
#endif

RUN_TESTS(begin, end)
