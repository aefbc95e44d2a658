/* tests/trainer/data/test_csv.c — CSV files, whole and broken, with the exact line each one
 * gets; and what one cell says. */
#include "tests/trainer/data/data_set.h"
#include "trainer/data/table.h"
#include <math.h>
#include <zlib.h>

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
	{"sep=;\r", true, "y", 0, "/path", " is empty"},
	{"sep=\"\n1\n", true, "y", 0, "/path",
	 " has one column (\"sep=\"\"): a label and at least one feature are needed, with ',', "
	 "';', '|' or a tab between them, and no line above the names"},
	{"y\n1\n2\n", true, "y", 0, "/path",
	 " has one column (\"y\"): a label and at least one feature are needed, with ',', ';', "
	 "'|' or a tab between them, and no line above the names"},
	{"a,y\n1,n1\n2,n2\n3,n3\n4,n4\n5,n5\n6,n6\n7,n7\n8,n8\n9,n9\n9,n0\n", true, "y", 0,
	 "/label", ": each row has a label of its own: is it a name?"},
	{"a,y\n1,2\na,y\n3,4\n", true, "y", 0, "/path",
	 ": line 3 is the header once more: leave it out"},
	{"a;y\n1;2\n3\n", true, "y", 0, "/path",
	 ": line 3 has 1 columns, the header has 2: a cell with the separator (;) in it needs "
	 "quotes"},
	{"a,y\n1,2\n3,?\n", true, "y", 0, "/path",
	 ": 1 row has no value to learn in column \"y\", the first on line 3 (?): leave such "
	 "rows out, or rename the class ?"},
	{"\x1f\x8b\x08\0\0\0\0", true, "y", 0, "/path", " is cut off: its gzip has no end"},
	{"a,y\n1,2\n3,4,5\n", true, "y", 0, "/path",
	 ": line 3 has 3 columns, the header has 2: a cell with the separator (,) in it needs "
	 "quotes"},
	{"a,y\n1,2\n\n3\n", true, "y", 0, "/path",
	 ": line 4 has 1 columns, the header has 2: a cell with the separator (,) in it needs "
	 "quotes"},
	{"1,2\n3\n", false, NULL, -1, "/path",
	 ": line 2 has 1 columns, the first row has 2: a cell with the separator (,) in it needs "
	 "quotes"},
	{"a,y\n1,\n1,4\n", true, "y", 0, "/path",
	 ": 1 row has no value to learn in column \"y\", the first on line 2 (an empty cell): "
	 "leave such rows out"},
	{"a,y\n\"1,2\n", true, "y", 0, "/path", ": line 2 opens a quote that is never closed"},
	{"a,y\n\"1\"x,2\n", true, "y", 0, "/path",
	 ": line 2 has text after a closing quote, where the separator (,) is due"},
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
	{"y,a,y\n1,2,3\n3,4,5\n", true, "y", 0, "/path",
	 ": line 1: columns 0 and 2 (from 0) are both called \"y\": rename one"},
	{"a,y\n1,caf\xc3\xa9\n2,caf\xe9\n", true, "y", 0, "/path",
	 ": line 3 has the byte 0xe9, which is not UTF-8: say \"encoding\": \"latin-1\", or "
	 "convert the file (iconv -t UTF-8)"},
	{"\xfc,y\n1,2\n", true, "y", 0, "/path",
	 ": line 1 has the byte 0xfc, which is not UTF-8: say \"encoding\": \"latin-1\", or "
	 "convert the file (iconv -t UTF-8)"},
	{"1,2\n3,4\n", false, "y", 0, "/label",
	 "without a header a column is named by its number, from 0 to 1"},
	{"1,2\n3,4\n", false, NULL, 2, "/label", " has 2 columns: there is no column 2 (from 0)"},
	{"1,2\n3,4\n", false, NULL, -3, "/label", " has 2 columns: there is no column -3 (from 0)"},
};

TEST_ROWS(csv_malformed_gives_its_line, bad)
{
	const struct sw_dataset set = {.header = bad[_i].header, .label_column = bad[_i].index};
	struct sw_err err = SW_ERR_INIT;
	struct sw_table table;
	char want[256];

	csv_put(bad[_i].text);
	ck_assert_int_eq(sw_table_look(&table, path, bad[_i].label, &set, NULL, &err), SW_INVALID);
	snprintf(want, sizeof want, "%s%s", strncmp(bad[_i].says, "without", 7) ? path : "",
		 bad[_i].says);
	ck_assert_str_eq(err.msg, want);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	sw_table_fini(&table);
}

/* All rows of a text, cells joined by '|' and rows by '/', as they are read. */
static const char *rows_of(const void *text, size_t n, bool latin1, char out[400])
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_csv_reader r;
	sw_status rc;

	put("d.csv", text, n);
	*out = '\0';
	rc = sw_csv_open(&r, path, latin1, &err);
	while (rc == SW_OK && r.cells > 0) {
		for (size_t i = 0; i < r.cells; i++) {
			ck_assert_uint_eq(strlen(r.cell[i].text), r.cell[i].len);
			strcat(strcat(out, r.cell[i].text), i + 1 < r.cells ? "|" : "/");
		}
		rc = sw_csv_next(&r, &err);
	}
	ck_assert_msg(rc == SW_OK, "%s: %s", (const char *)text, err.msg);
	sw_csv_close(&r);
	return out;
}

static const struct {
	const char *text, *rows;
	bool latin1;
} dialects[] = {
	{"a,y,b\n1,red,-2.5\n3e1,blue,.5\n", "a|y|b/1|red|-2.5/3e1|blue|.5/", false},
	{"\xef\xbb\xbf"
	 "a,y\r\n1,red\r\n\r\n3e1,blue",
	 "a|y/1|red/3e1|blue/", false},
	{"\n\"a\",y\n\"1\",\"red\"\r\n 30 , blue\n\n", "a|y/1|red/30|blue/", false},
	{"a;b\n1,5;\"2;5\"\n,;3\n", "a|b/1,5|2;5/,|3/", false},
	{"a\tb\n1 2\t\"x\ty\"\n", "a|b/1 2|x\ty/", false},
	{"a|b\n1,2|3\n", "a|b/1,2|3/", false},
	{"a,b\n\"x \"\"y\"\", z\nw\",2\n", "a|b/x \"y\", z\nw|2/", false},
	{"a,b\n\"\",\n", "a|b/|/", false},
	{"a\n\"\"\"\"\n\n2\n", "a/\"//2/", false},
	{"a,b\n\"1\", \"x,y\" \n2,\t\"x,y\"\n", "a|b/1|x,y/2|x,y/", false},
	{"sep=|\r\na|b,c\n1,5|2\n", "a|b,c/1,5|2/", false},
	{"caf\xe9;n\n\xa3;\xff\n", "caf\xc3\xa9|n/\xc2\xa3|\xc3\xbf/", true},
};

TEST_ROWS(csv_of_every_dialect_is_read, dialects)
{
	const char *text = dialects[_i].text;
	char out[400];

	ck_assert_str_eq(rows_of(text, strlen(text), dialects[_i].latin1, out), dialects[_i].rows);
}

/* Two members, the second of which a reader of one would not see. */
TEST(csv_gzip_of_two_members_is_read_whole)
{
	unsigned char packed[400];
	const char *const parts[] = {"a,b\n1,2\n", "3,4\n"};
	size_t n = 0;
	char out[400];

	for (size_t i = 0; i < ROWS(parts); i++) {
		z_stream z = {.next_in = (Bytef *)parts[i], .avail_in = (uInt)strlen(parts[i])};

		ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
				 Z_OK);
		z.next_out = packed + n;
		z.avail_out = (uInt)(sizeof packed - n);
		ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
		n += z.total_out;
		deflateEnd(&z);
	}
	ck_assert_str_eq(rows_of(packed, n, false, out), "a|b/1|2/3|4/");
}

/* Rows longer than a block, quotes and line ends at its border. */
TEST(csv_rows_over_many_blocks_are_read_whole)
{
	const size_t n = 700000;
	char *text = malloc(2 * n + 5100);
	struct sw_err err = SW_ERR_INIT;
	struct sw_csv_reader r;
	size_t at = 0, rows = 0, text_rows = 0;

	for (size_t i = 0; at < 2 * n; i++, text_rows++)
		at += (size_t)sprintf(text + at, "%zu,\"%*d\"\"\n\"\r\n", i, (int)(i % 5000 + 1),
				      7);
	put("d.csv", text, at);
	ck_assert_msg(sw_csv_open(&r, path, false, &err) == SW_OK, "%s", err.msg);
	for (sw_status rc = SW_OK; r.cells > 0; rows++, rc = sw_csv_next(&r, &err)) {
		double v;

		ck_assert_msg(rc == SW_OK, "%s", err.msg);
		ck_assert(sw_cell_plain(&r.cell[0], &v) && v == (double)rows);
		ck_assert_uint_eq(r.cell[1].len, rows % 5000 + 3);
	}
	ck_assert_uint_eq(rows, text_rows);
	sw_csv_close(&r);
	free(text);
}

/* Longer than what is read at first. */
TEST(csv_header_over_many_blocks_has_its_separator)
{
	const size_t n = 20000;
	char *text = malloc(n * 40);
	struct sw_err err = SW_ERR_INIT;
	struct sw_csv_reader r;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(text + at, "%s\"%030zu\"", i ? ";" : "", i);
	put("d.csv", text, at);
	ck_assert_msg(sw_csv_open(&r, path, false, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(r.columns, n);
	sw_csv_close(&r);
	free(text);
}

TEST(csv_missing_or_no_file_is_said)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_csv_reader r;

	ck_assert_int_eq(sw_csv_open(&r, "/nowhere/x.csv", false, &err), SW_NOT_FOUND);
	ck_assert_str_eq(err.msg, "/nowhere/x.csv: No such file or directory");
	sw_csv_close(&r);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_csv_open(&r, "/tmp", false, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, "/tmp is not a file");
	sw_csv_close(&r);
}

/* --- cells --- */

static const struct {
	const char *text;
	double point, comma; /* NaN: no number so written */
} numbers[] = {
	{"1", 1, 1},
	{"-2.5", -2.5, (double)NAN},
	{".5e2", 50, (double)NAN},
	{"1,5", (double)NAN, 1.5},
	{"1,200", 1200, 1.2},
	{"1.200", 1.2, 1200},
	{"1,200.5", 1200.5, (double)NAN},
	{"1.200,5", (double)NAN, 1200.5},
	{"-12,000,000", -12e6, (double)NAN},
	{"1200,000", (double)NAN, 1200},
	{"1,20,000", (double)NAN, (double)NAN},
	{",5", (double)NAN, .5},
	{"0.123", .123, (double)NAN},
	{"-0,123", (double)NAN, -.123},
	{"0.1", 0.1, (double)NAN},
	{"9007199254740993", 9007199254740992, 9007199254740992},
	{"123456789012345678901234567890", 123456789012345678901234567890.0,
	 123456789012345678901234567890.0},
	{"2.2250738585072011e-308", 2.2250738585072011e-308, (double)NAN},
	{"17976931348623157e292", 17976931348623157e292, 17976931348623157e292},
	{"1e999", (double)NAN, (double)NAN},
	{"0x10", (double)NAN, (double)NAN},
	{"inf", (double)NAN, (double)NAN},
	{"nan", (double)NAN, (double)NAN},
	{"1e", (double)NAN, (double)NAN},
	{"1 2", (double)NAN, (double)NAN},
	{"+", (double)NAN, (double)NAN},
	{"", (double)NAN, (double)NAN},
};

TEST_ROWS(cell_number_is_read_in_both_forms, numbers)
{
	const struct sw_csv_cell cell = {.text = (char *)numbers[_i].text,
					 .len = strlen(numbers[_i].text)};

	for (int how = 0; how < 2; how++) {
		const double want = how ? numbers[_i].comma : numbers[_i].point;
		double v = (double)NAN;
		const bool is = sw_cell_number(&cell, (enum sw_decimal)how, &v);

		ck_assert_msg(is == !isnan(want) && (!is || v == want), "%s as %d: %d, %.17g",
			      cell.text, how, is, v);
	}
}

/* Against strtod, which is exact: numbers of all lengths and powers. */
TEST(cell_number_has_the_bits_of_strtod)
{
	uint64_t s = 1;

	for (int i = 0; i < 200000; i++) {
		char text[96];
		double v;

		s = s * 6364136223846793005u + 1442695040888963407u;
		snprintf(text, sizeof text,
			 i % 3 == 0   ? "%.*f"
			 : i % 3 == 1 ? "%.*g"
				      : "%.*e",
			 (int)(s >> 40) % (i % 3 ? 20 : 10),
			 ldexp((double)(s >> 11), (int)(s >> 3) % (i % 3 ? 120 : 40) - 90));
		ck_assert(sw_cell_plain(&(struct sw_csv_cell){.text = text, .len = strlen(text)},
					&v));
		ck_assert_msg(v == strtod(text, NULL), "%s: %.17g", text, v);
	}
}

/* Each at the front of a block of sixteen bytes, and across two. */
TEST_LOOP(csv_cell_of_digits_is_seen_to_be_a_number, 0, 18)
{
	static const char cells[] = "7,-2.5,.5,5.,12345678.12345678,1234567890123456.7,"
				    "12345678901234567890123456789012,,-,.,-.,1.2.3,+1,1e5,a,1 2,"
				    "1234567890123456.7.8,123456789012345678901234567890123";
	struct sw_err err = SW_ERR_INIT;
	struct sw_csv_reader r;
	char text[400];

	snprintf(text, sizeof text, "%.*s%s\n", _i, "aaaaaaaaaaaaaaaaa,", cells);
	csv_put(text);
	ck_assert_int_eq(sw_csv_open(&r, path, false, &err), SW_OK);
	for (size_t i = 0; i < r.cells; i++)
		if (_i == 0 || i > 0)
			ck_assert_msg(r.cell[i].plain == (i < 7), "%s", r.cell[i].text);
	sw_csv_close(&r);
}

static const struct {
	const char *text;
	int form; /* -1: none */
	double days;
	int month, weekday;
} dates[] = {
	{"1970-01-01", SW_DATE_YMD, 0, 1, 3},
	{"2024-02-29", SW_DATE_YMD, 19782, 2, 3},
	{"2024/02/29 12:00", SW_DATE_YMD, 19782.5, 2, 3},
	{"1969-12-31T18:00:00Z", SW_DATE_YMD, -0.25, 12, 2},
	{"2024-02-29T12:00:00.0+06:00", SW_DATE_YMD, 19782.25, 2, 3},
	{"31.01.2024", SW_DATE_DMY, 19753, 1, 2},
	{"31/01/2024", SW_DATE_DMY, 19753, 1, 2},
	{"1/31/2024", SW_DATE_MDY, 19753, 1, 2},
	{"2023-02-29", -1, 0, 0, 0},
	{"31.01.24", -1, 0, 0, 0},
	{"2024-01-31 25:00", -1, 0, 0, 0},
	{"2024-01-31x", -1, 0, 0, 0},
	{"20240131", -1, 0, 0, 0},
};

TEST_ROWS(cell_date_is_read_in_its_form, dates)
{
	const struct sw_csv_cell cell = {.text = (char *)dates[_i].text,
					 .len = strlen(dates[_i].text)};

	for (int form = 0; form < SW_DATE_FORMS; form++) {
		struct sw_date d;
		const bool is = sw_cell_date(&cell, (enum sw_date_form)form, &d);

		ck_assert_msg(is == (form == dates[_i].form), "%s: %d", cell.text, form);
		if (is)
			ck_assert_msg(fabs(d.days - dates[_i].days) < 1e-9 &&
					      d.month == dates[_i].month &&
					      d.weekday == dates[_i].weekday,
				      "%s: %.9g %d %d", cell.text, d.days, d.month, d.weekday);
	}
}

RUN_TESTS(setup, folder_remove)
