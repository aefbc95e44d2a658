/* tests/trainer/data/test_csv.c — CSV files, whole and broken, with the exact line each one
 * gets. */
#include "tests/run.h"
#include "tests/trainer/data/data_set.h"
#include "trainer/data/data_csv.h"

static char path[100];

static void setup(void)
{
	folder_make();
	snprintf(path, sizeof path, "%s/d.csv", folder);
}

static void csv_put(const char *text)
{
	put("d.csv", text, strlen(text));
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
	{"a,y\r1,2\r3,4\r", true, "y", 0, "/path",
	 ": line 1 has a carriage return (\\r) that ends no line: convert the file (tr '\\r' "
	 "'\\n')"},
	{"a,\"y\"\r\n1,\"2\"\r\r\n", true, "y", 0, "/path",
	 ": line 2 has a carriage return (\\r) that ends no line: convert the file (tr '\\r' "
	 "'\\n')"},
	{"\xff\xfe"
	 "a",
	 true, "y", 0, "/path", " is UTF-16: convert the file (iconv -f UTF-16 -t UTF-8)"},
	{"a,b\n1,2\n", true, "1", 0, "/label",
	 " has no column \"1\": a column's number has no quotes (from 0)"},
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

	csv_put(bad[_i].text);
	ck_assert_int_eq(sw_data_csv_read(&csv, path, bad[_i].header,
					  (struct sw_data_csv_label){bad[_i].label, bad[_i].index},
					  0, &err),
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

		csv_put(texts[i]);
		ck_assert_msg(sw_data_csv_read(&csv, path, true, (struct sw_data_csv_label){"y", 0},
					       0, &err) == SW_OK,
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

	csv_put("1,\"a \"\"b\"\", c\nd\"\n2,e\n3\n");
	ck_assert_int_eq(
		sw_data_csv_read(&csv, path, false, (struct sw_data_csv_label){NULL, 1}, 0, &err),
		SW_INVALID);
	/* the quoted newline counts as a line */
	ck_assert_ptr_nonnull(strstr(err.msg, "line 4 has 1 columns"));
	csv_put("1,\"a \"\"b\"\", c\nd\"\n2,e\n");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(
		sw_data_csv_read(&csv, path, false, (struct sw_data_csv_label){NULL, 1}, 0, &err),
		SW_OK);
	ck_assert_str_eq(csv.label[0], "a \"b\", c\nd");
	sw_data_csv_fini(&csv);
}

TEST(csv_missing_or_no_file_is_said)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_data_csv csv;

	ck_assert_int_eq(sw_data_csv_read(&csv, "/nowhere/x.csv", true,
					  (struct sw_data_csv_label){"y", 0}, 0, &err),
			 SW_NOT_FOUND);
	ck_assert_str_eq(err.msg, "/nowhere/x.csv: No such file or directory");
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(
		sw_data_csv_read(&csv, "/tmp", true, (struct sw_data_csv_label){"y", 0}, 0, &err),
		SW_INVALID);
	ck_assert_str_eq(err.msg, "/tmp is not a file");
}

RUN_TESTS(setup, folder_remove)
