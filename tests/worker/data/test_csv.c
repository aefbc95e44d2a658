/* tests/worker/data/test_csv.c — CSV files, whole and broken, with the exact line each one gets. */
#include "base/fault.h"
#include "tests/run.h"
#include "worker/data/data_csv.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

/* The file of this test holds `text`. */
static void put(const char *text)
{
	FILE *f;

	snprintf(path, sizeof path, "/tmp/sw-csv-%d.csv", (int)getpid());
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void teardown(void)
{
	unlink(path);
}

static const struct {
	const char *text;
	bool header;
	const char *label; /* NULL: the index */
	long index;
	const char *ptr, *says; /* after "PATH: " or "PATH has ..." */
} bad[] = {
	{"", true, "y", 0, "/path", " is empty"},
	{"\n\n", true, "y", 0, "/path", " is empty"},
	{"y\n1\n2\n", true, "y", 0, "/path",
	 " has one column: a label and at least one feature are needed"},
	{"a,y\n1,2\n3,4,5\n", true, "y", 0, "/path", ": line 3 has 3 columns, the header has 2"},
	{"a,y\n1,2\n\n3\n", true, "y", 0, "/path", ": line 4 has 1 columns, the header has 2"},
	{"1,2\n3\n", false, NULL, -1, "/path", ": line 2 has 1 columns, the first row has 2"},
	{"a,y\n1,2\nx,4\n", true, "y", 0, "/path", ": line 3, column \"a\": \"x\" is not a number"},
	{"a,y\n,2\n1,4\n", true, "y", 0, "/path",
	 ": line 2, column \"a\": an empty cell is not a number"},
	{"a,y\n1,\n1,4\n", true, "y", 0, "/path",
	 ": line 2, column \"y\": an empty cell is not a number"},
	{"a,y\nnan,2\n", true, "y", 0, "/path", ": line 2, column \"a\": \"nan\" is not a number"},
	{"a,y\n0x10,2\n", true, "y", 0, "/path",
	 ": line 2, column \"a\": \"0x10\" is not a number"},
	{"a,y\n1e999,2\n", true, "y", 0, "/path",
	 ": line 2, column \"a\": \"1e999\" is too large for a float"},
	{"a,y\n1e39,2\n", true, "y", 0, "/path",
	 ": line 2, column \"a\": \"1e39\" is too large for a float"},
	{"1,2\n3,4\nq,5\n", false, NULL, 1, "/path", ": line 3, column 0: \"q\" is not a number"},
	{"a,y\n\"1,2\n", true, "y", 0, "/path", ": line 2 opens a quote that is never closed"},
	{"a,y\n\"1\"x,2\n", true, "y", 0, "/path", ": line 2 has text after a closing quote"},
	{"a,y\n1,2\n", true, "y", 0, "/path", " has 1 row of data: too few"},
	{"a,y\n", true, "y", 0, "/path", " has 0 rows of data: too few"},
	{"alpha,beta,y\n1,2,3\n", true, "alpa", 0, "/label",
	 " has no column \"alpa\": did you mean \"alpha\"?"},
	{"a,b,y\n1,2,3\n", true, "something", 0, "/label",
	 " has no column \"something\": it has a, b, y"},
	{"c1,c2,c3,c4,c5,c6,c7,c8,c9\n", true, "something", 0, "/label",
	 " has no column \"something\": it has c1, c2, c3, c4, c5, c6, c7, c8, ..."},
	{"y,a,y\n1,2,3\n3,4,5\n", true, "y", 0, "/label", " has 2 columns \"y\""},
	{"a,y\n1,caf\xc3\xa9\n2,caf\xe9\n", true, "y", 0, "/path",
	 ": line 3 has the byte 0xe9, which is not UTF-8: convert the file (iconv -t UTF-8)"},
	{"\xfc,y\n1,2\n", true, "y", 0, "/path",
	 ": line 1 has the byte 0xfc, which is not UTF-8: convert the file (iconv -t UTF-8)"},
	{"1,2\n3,4\n", false, "y", 0, "/label",
	 "without a header the label is a column's number, from 0"},
	{"1,2\n3,4\n", false, NULL, 2, "/label", " has 2 columns: there is no column 2 (from 0)"},
	{"1,2\n3,4\n", false, NULL, -3, "/label", " has 2 columns: there is no column -3 (from 0)"},
};

TEST_ROWS(csv_malformed_gives_its_line, bad)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_csv csv;
	char want[256];

	put(bad[_i].text);
	ck_assert_int_eq(sw_data_csv_read(&csv, path, bad[_i].header,
					  (struct sw_data_csv_label){bad[_i].label, bad[_i].index},
					  &err),
			 SW_INVALID);
	snprintf(want, sizeof want, "%s%s", strncmp(bad[_i].says, "without", 7) ? path : "",
		 bad[_i].says);
	ck_assert_str_eq(err.msg, want);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	ck_assert_ptr_null(csv.x);
}

TEST(csv_of_every_dialect_is_read)
{
	static const char *const texts[] = {
		"a,y,b\n1,red,-2.5\n3e1,blue,.5\n",
		("\xef\xbb\xbf"
		 "a,y,b\r\n1,red,-2.5\r\n\r\n3e1,blue,.5"),
		"\n\"a\",\"y\",b\n\"1\",\"red\",\"-2.5\"\r\n 30 ,\"blue\",0.5\n\n",
	};
	const float want[] = {1, -2.5f, 30, 0.5f};

	for (size_t i = 0; i < ROWS(texts); i++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_data_csv csv;

		put(texts[i]);
		ck_assert_msg(sw_data_csv_read(&csv, path, true, (struct sw_data_csv_label){"y", 0},
					       &err) == SW_OK,
			      "%zu: %s", i, err.msg);
		ck_assert_uint_eq(csv.rows, 2);
		ck_assert_uint_eq(csv.features, 2);
		ck_assert_mem_eq(csv.x, want, sizeof want);
		ck_assert_str_eq(csv.label[0], "red");
		ck_assert_str_eq(csv.label[1], "blue");
		sw_data_csv_fini(&csv);
	}
}

TEST(csv_quoted_cells_keep_commas_quotes_and_lines)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_csv csv;

	put("1,\"a \"\"b\"\", c\nd\"\n2,e\n3\n");
	ck_assert_int_eq(
		sw_data_csv_read(&csv, path, false, (struct sw_data_csv_label){NULL, 1}, &err),
		SW_INVALID);
	/* the quoted newline counts as a line */
	ck_assert_ptr_nonnull(strstr(err.msg, "line 4 has 1 columns"));
	put("1,\"a \"\"b\"\", c\nd\"\n2,e\n");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(
		sw_data_csv_read(&csv, path, false, (struct sw_data_csv_label){NULL, 1}, &err),
		SW_OK);
	ck_assert_str_eq(csv.label[0], "a \"b\", c\nd");
	sw_data_csv_fini(&csv);
}

TEST(csv_missing_or_no_file_is_said)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_csv csv;

	ck_assert_int_eq(sw_data_csv_read(&csv, "/nowhere/x.csv", true,
					  (struct sw_data_csv_label){"y", 0}, &err),
			 SW_NOT_FOUND);
	ck_assert_str_eq(err.msg, "/nowhere/x.csv: No such file or directory");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(
		sw_data_csv_read(&csv, "/tmp", true, (struct sw_data_csv_label){"y", 0}, &err),
		SW_INVALID);
	ck_assert_str_eq(err.msg, "/tmp is not a file");
}

#ifdef SW_FAULTS
/* _i: the kind of failure; every failure point of reading 300 rows. */
TEST_LOOP(csv_fails_cleanly_at_each_point, 0, 2)
{
	const enum sw_fault_kind kind = _i ? SW_FAULT_IO : SW_FAULT_MALLOC;
	static char text[8192];
	unsigned fired = 1;
	size_t n = 0;

	n += (size_t)sprintf(text, "a,y\n");
	for (int i = 0; i < 300; i++)
		n += (size_t)sprintf(text + n, "%d,%d\n", i, i % 3);
	put(text);
	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_data_csv csv;
		sw_status status;

		ck_assert_uint_lt(nth, 100);
		sw_fault_arm(kind, nth, false);
		status = sw_data_csv_read(&csv, path, true, (struct sw_data_csv_label){"y", 0},
					  &err);
		fired = sw_fault_fired(kind);
		sw_fault_arm(kind, 0, false);
		ck_assert_int_eq(status, !fired ? SW_OK : _i ? SW_IO : SW_NOMEM);
		sw_data_csv_fini(&csv);
	}
}
#endif

RUN_TESTS(NULL, teardown)
