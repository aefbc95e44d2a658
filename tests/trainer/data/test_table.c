/* tests/trainer/data/test_table.c — the kind of each column of a table, and what is said of it. */
#include "base/buf.h"
#include "tests/trainer/data/data_set.h"
#include "trainer/table.h"

/* The answer of `sweep-worker table`, parsed. */
static cJSON *shown(const char *text, const char *options)
{
	char path[100];
	struct sw_buf out;
	cJSON *json;

	put("d.csv", text, strlen(text));
	snprintf(path, sizeof path, "%s/d.csv", folder);
	sw_buf_init(&out, 1 << 20);
	sw_table_show(path, options, NULL, &out);
	json = cJSON_Parse(out.data);
	ck_assert_ptr_nonnull(json);
	sw_buf_fini(&out);
	return json;
}

/* Twelve rows of the column x with the values given, one after the other and again; z is numbers,
 * and the target tells nothing of either. */
static const char *column(const char *const *values, char separator, char out[2000])
{
	size_t n = 0, k = 0;
	int at = sprintf(out, "x%cz%cy\n", separator, separator);

	while (values[n])
		n++;
	for (int i = 0; i < 12; i++, k = (k + 1) % n)
		at += sprintf(out + at, "%s%c%d%c%d\n", values[k], separator, i * i, separator,
			      i * 7 % 5);
	return out;
}

#define MANY "abc ghij klm nopq rst uvw xyz dddd eee"
static const struct {
	const char *values[13];
	char separator;
	const char *columns, *kind, *becomes;
	int holes;
} kinds[] = {
	{{"1", "2", "3.5"}, ',', NULL, "number", "a number, scaled", 0},
	{{"1", "2", "NA", "n/a", "?", "-"},
	 ',',
	 NULL,
	 "number",
	 "a number, scaled, and 1 that says where it is empty",
	 8},
	{{"\"1,200\"", "900", "\"12,000.5\""}, ',', NULL, "number", "a number, scaled", 0},
	{{"1,5", "2", "3,25"}, ';', NULL, "number", "a number, scaled", 0},
	{{"1,5", "2.5"}, ';', NULL, "category", "2 columns, one for each value", 0},
	{{"a", "b"}, ',', NULL, "category", "2 columns, one for each value", 0},
	{{"True", "False"}, ',', NULL, "category", "2 columns, one for each value", 0},
	{{"a", "b", ""},
	 ',',
	 NULL,
	 "category",
	 "2 columns, one for each value, and 1 that says where it is empty",
	 4},
	{{"1", "2", "x"}, ',', NULL, "category", "3 columns, one for each value", 0},
	{{"2024-01-31", "2024-02-01 12:00"},
	 ',',
	 NULL,
	 "date",
	 "3 numbers: day, month, day of the week",
	 0},
	{{"03/01/2024", "04/02/2024"},
	 ',',
	 NULL,
	 "date",
	 "3 numbers: day, month, day of the week (the day is first)",
	 0},
	{{"03/01/2024", "", "02/13/2024"},
	 ',',
	 NULL,
	 "date",
	 "3 numbers: day, month, day of the week (the month is first), and 1 that "
	 "says where it is empty",
	 4},
	{{"1234567", "1234567", "1234567", "1234567", "1234567", "1234567", "7", "2.5"},
	 ',',
	 NULL,
	 "number",
	 "a number, mostly 1234567: in 2 pieces",
	 0},
	{{"0", "0", "0", "-1.5", "", "6"},
	 ',',
	 NULL,
	 "number",
	 "a number, mostly 0: in 2 pieces, and 1 that says where it is empty",
	 2},
	{{"01.02.2024", "31.02.2024"}, ',', NULL, "category", "2 columns, one for each value", 0},
	{{"2024-01-31", "01.02.2024", "02/13/2024"},
	 ',',
	 NULL,
	 "text",
	 "left out: its dates have several forms: write all in one",
	 0},
	{{"7"}, ',', NULL, "constant", "left out: all rows have the same value", 0},
	{{"z"}, ',', NULL, "constant", "left out: all rows have the same value", 0},
	{{""}, ',', NULL, "constant", "left out: all cells are empty", 12},
	{{"3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"},
	 ',',
	 NULL,
	 "id",
	 "left out: it numbers the rows",
	 0},
	{{"3", "5", "4", "6", "7", "12", "9", "11", "10", "8", "14", "13"},
	 ',',
	 NULL,
	 "id",
	 "left out: it numbers the rows",
	 0},
	{{"3", "5", "4", "6", "7", "12", "9", "11", "10", "8", "14", "15"},
	 ',',
	 NULL,
	 "number",
	 "a number, scaled",
	 0},
	{{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
	 ',',
	 NULL,
	 "id",
	 "left out: each row has another value",
	 0},
	{{MANY "1", MANY "2", MANY "3", MANY "4", MANY "5", MANY "6", MANY "7", MANY "8", MANY "9",
	  MANY "0", MANY "a", MANY "b"},
	 ',',
	 NULL,
	 "text",
	 "left out: free text",
	 0},
	{{"1", "2"}, ',', "{\"ignore\": [\"x\"]}", "ignored", "left out: as asked", 0},
	{{"1", "2"},
	 ',',
	 "{\"category\": [\"x\"]}",
	 "category",
	 "2 columns, one for each value",
	 0},
};

TEST_ROWS(table_column_has_its_kind, kinds)
{
	char text[2000], options[200];
	snprintf(options, sizeof options, "{\"label\": \"y\"%s%s}",
		 kinds[_i].columns ? ", \"columns\": " : "",
		 kinds[_i].columns ? kinds[_i].columns : "");
	cJSON *json = shown(column(kinds[_i].values, kinds[_i].separator, text), options);
	const cJSON *x = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "columns"), 0);

	ck_assert_msg(x != NULL, "%s: %s", text, cJSON_PrintUnformatted(json));
	ck_assert_str_eq(cJSON_GetObjectItem(x, "kind")->valuestring, kinds[_i].kind);
	ck_assert_str_eq(cJSON_GetObjectItem(x, "becomes")->valuestring, kinds[_i].becomes);
	ck_assert_int_eq(cJSON_GetObjectItem(x, "holes")->valueint, kinds[_i].holes);
	cJSON_Delete(json);
}

static const struct {
	const char *text, *options, *says;
} no[] = {
	{"x,y\n1,2\n2,3\n3,4\n", "{\"label\": \"y\", \"columns\": {\"number\": [\"z\"]}}",
	 "has no column \"z\": did you mean \"x\"?"},
	{"x,y\n1,2\n2,3\n3,4\n", "{\"label\": \"y\", \"columns\": {\"number\": [\"y\"]}}",
	 "column \"y\" is the one to predict"},
	{"x,y\n1,2\n2,3\nthree,4\n", "{\"label\": \"y\", \"columns\": {\"number\": [\"x\"]}}",
	 "line 4, column \"x\": \"three\" is not a number, as 2 of its cells are: mend it, leave "
	 "the cell empty, or name the column in \"columns\""},
	{"x,y\n2001-02-03,2\n2001-02-04,3\n",
	 "{\"label\": \"y\", \"columns\": {\"number\": [\"x\"]}}",
	 "line 2, column \"x\": \"2001-02-03\" is not a number, as 0 of its cells are"},
	{"x,y\n1,2\n", "{\"label\": \"y\", \"encoding\": \"utf-16\"}",
	 "unknown encoding \"utf-16\""},
	{"x,y\n1,2\n", NULL, "\"label\""},
	{"x,y\n1,2\n2,2\n", "{\"label\": \"y\"}", ": all rows have the same label"},
	{"x,y\n1,2\n1,3\n", "{\"label\": \"y\"}",
	 " has no column to learn from: all are left out, the first because all rows have the same "
	 "value"},
	{"x,y\n1,2\n2,3\n3,4\n", "{\"label\": \"y\", \"columns\": {\"date\": [\"x\"]}}",
	 "line 2, column \"x\" is no date"},
};

TEST_ROWS(table_that_is_refused_has_one_line, no)
{
	cJSON *json = shown(no[_i].text, no[_i].options);
	const char *says = cJSON_GetStringValue(cJSON_GetObjectItem(json, "error"));

	ck_assert_msg(says && strstr(says, no[_i].says), "%s", says ? says : "no error");
	cJSON_Delete(json);
}

static const struct {
	const char *slip, *says;
} late[] = {
	{"1,2001-02-03,12o", "line 2002, column \"x\": \"12o\" is not a number, as 2000 of its"},
	{"1,2001-02-30,2.5", "line 2002, column \"d\": it is not a date, as 2000 of its cells are"},
	{"1,20010203,2.5", "line 2002, column \"d\": it is not a date, as 2000 of its cells are"},
};

/* Numbers and dates for 2,000 rows, then a slip. */
TEST_ROWS(table_kind_that_changes_late_is_refused_with_its_line, late)
{
	char *text = malloc(1 << 17);
	int at = sprintf(text, "y,d,x\n");

	for (int i = 0; i < 2000; i++)
		at += sprintf(text + at, "%d,2001-%02d-%02d,%d.5\n", i % 2, i % 12 + 1, i % 28 + 1,
			      i * 17 % 1999);
	sprintf(text + at, "%s\n", late[_i].slip);
	cJSON *json = shown(text, "{\"label\": \"y\"}");

	ck_assert_ptr_nonnull(
		strstr(cJSON_GetObjectItem(json, "error")->valuestring, late[_i].says));
	cJSON_Delete(json);
	free(text);
}

/* They would be classes, one a row. */
TEST(table_target_of_amounts_with_signs_is_refused)
{
	char text[2000];
	int at = sprintf(text, "x,y\n");

	for (int i = 0; i < 60; i++)
		at += sprintf(text + at, "%d.5,$%d.25\n", i % 7, i * 3);
	cJSON *json = shown(text, "{\"label\": \"y\"}");

	ck_assert_ptr_nonnull(
		strstr(cJSON_GetObjectItem(json, "error")->valuestring,
		       "line 2, column \"y\": \"$0.25\" is a number but for its sign: take"));
	cJSON_Delete(json);
}

/* Numbers of which few differ, and words: classes, also one that is called "none". */
TEST(table_of_classes_may_mix_words_and_numbers)
{
	char text[2000];
	int at = sprintf(text, "x,s,y\n");

	for (int i = 0; i < 60; i++)
		at += sprintf(text + at, "%d.%03d,%s,%s\n", i % 7 + 1, i * i % 1000,
			      i % 9 ? "M" : "\"1,5\"",
			      i == 30  ? "unknown"
			      : i % 20 ? i % 2 ? "1" : "0"
				       : "none");
	cJSON *json = shown(text, "{\"label\": \"y\"}");
	const cJSON *columns = cJSON_GetObjectItem(json, "columns");
	char *classes = cJSON_PrintUnformatted(
		cJSON_GetObjectItem(cJSON_GetObjectItem(json, "target"), "classes"));

	ck_assert_str_eq(classes, "[\"0\",\"1\",\"none\",\"unknown\"]");
	ck_assert_str_eq(cJSON_GetStringValue(
				 cJSON_GetObjectItem(cJSON_GetArrayItem(columns, 2), "warning")),
			 "line 2: \"none\" is not a number, as most of its cells are: is it a "
			 "class?");
	/* a text that looks like a decimal comma says nothing of the other columns */
	ck_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(json, "decimal")), ".");
	free(classes);
	cJSON_Delete(json);
}

/* Codes, most of them numbers: a category, which is said. */
TEST(table_codes_of_which_some_are_words_are_a_category)
{
	char *text = malloc(1 << 16);
	int at = sprintf(text, "x,y\n");

	for (int i = 0; i < 1200; i++)
		at += i % 12 ? sprintf(text + at, "%d,%d\n", 100 + i * 37 % 300, i % 2)
			     : sprintf(text + at, "E%d,%d\n", 900 + i / 12 % 2, i % 2);
	cJSON *json = shown(text, "{\"label\": \"y\"}");
	const cJSON *x = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "columns"), 0);

	ck_assert_msg(x != NULL, "%s", cJSON_PrintUnformatted(json));
	ck_assert_str_eq(cJSON_GetStringValue(cJSON_GetObjectItem(x, "kind")), "category");
	ck_assert_ptr_nonnull(strstr(cJSON_GetStringValue(cJSON_GetObjectItem(x, "warning")),
				     "line 2: \"E900\" is not a number"));
	cJSON_Delete(json);
	free(text);
}

static const struct {
	bool text, twice; /* the column is a word of the target, or the target's own number */
	const char *task;
	bool warned;
} leaks[] = {
	{false, false, "classes", false},
	{true, false, "classes", true},
	{false, true, "regression", true},
};

TEST_ROWS(table_column_that_gives_the_target_is_warned_of, leaks)
{
	char text[4000];
	int at = sprintf(text, "x,y\n");

	for (int i = 0; i < 100; i++) {
		const int x = i * 37 % 101;

		at += sprintf(text + at, leaks[_i].text ? "c%d," : "%d.5,",
			      leaks[_i].text ? i % 3 : x);
		at += sprintf(text + at, leaks[_i].twice ? "%d.25\n" : "%d\n",
			      leaks[_i].twice ? x : i % 3);
	}
	cJSON *json = shown(text, "{\"label\": \"y\"}");
	const cJSON *x = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "columns"), 0);

	ck_assert_str_eq(cJSON_GetStringValue(
				 cJSON_GetObjectItem(cJSON_GetObjectItem(json, "target"), "task")),
			 leaks[_i].task);
	ck_assert_int_eq(cJSON_HasObjectItem(x, "warning"), leaks[_i].warned);
	cJSON_Delete(json);
}

RUN_TESTS(folder_make, folder_remove)
