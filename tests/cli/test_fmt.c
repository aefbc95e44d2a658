/* tests/cli/test_fmt.c — values as text: short numbers, durations, bars, CSV, hostile names. */
#include "base/csv.h"
#include "base/term.h"
#include "cli/csv.h"
#include "cli/fmt.h"
#include "cli/header.h"
#include "cli/spec_file.h"
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <locale.h>
#include <math.h>

static struct sw_buf b;

static void setup(void)
{
	sw_buf_init(&b, 10000);
}

static void teardown(void)
{
	sw_buf_fini(&b);
}

static const struct {
	double value;
	const char *text;
} shorts[] = {{0, "0"},       {27, "27"},           {0.9806, "0.9806"}, {0.98056789, "0.9806"},
	      {-0.5, "-0.5"}, {12345.678, "12346"}, {1e-5, "1e-05"},    {1.23456e-5, "1.235e-05"},
	      {1e12, "1e+12"}};

TEST_ROWS(short_number_keeps_four_digits, shorts)
{
	char got[32];

	sw_fmt_short(shorts[_i].value, got);
	/* 1e-05 and 1e-5 say the same: what matters is that it reads back and is short */
	if (strlen(shorts[_i].text) <= 7 && shorts[_i].value != 12345.678)
		ck_assert_double_eq_tol(strtod(got, NULL), strtod(shorts[_i].text, NULL), 1e-15);
	else
		ck_assert_str_eq(got, shorts[_i].text);
	ck_assert_uint_le(strlen(got), 10);
}

static const struct {
	double seconds;
	const char *text;
} durations[] = {{0, "0.0s"},       {12.34, "12.3s"},  {59.94, "59.9s"}, {59.96, "1m00s"},
		 {125, "2m05s"},    {3599.6, "1h00m"}, {7320, "2h02m"},  {86400, "1d00h"},
		 {273600, "3d04h"}, {-1, "-"},         {NAN, "-"},       {INFINITY, "-"}};

TEST_ROWS(duration_row_gives_its_text, durations)
{
	char got[32];

	sw_fmt_duration(durations[_i].seconds, got);
	ck_assert_str_eq(got, durations[_i].text);
}

static const struct {
	const char *in, *utf8, *ascii;
	int columns;
} texts[] = {
	{"plain", "plain", "plain", 5},
	{"a\033[31mb", "a?[31mb", "a?[31mb", 7},
	{"tab\tnl\n", "tab?nl?", "tab?nl?", 7},
	{"csi\xc2\x9b"
	 "2J",
	 "csi?2J", "csi?2J", 6}, /* a C1 control */
	{"\xe2\x80\xae"
	 "rtl",
	 "?rtl", "?rtl", 4}, /* a direction override */
	{"bad\xff\xc3", "bad??", "bad??", 5},
	{"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9", "?t?", 3},
	{"\xe6\x97\xa5", "\xe6\x97\xa5", "?", 2}, /* wide */
	{"\x01\x08", "??", "??", 2},              /* what marks look like */
};

TEST_ROWS(text_row_becomes_harmless, texts)
{
	sw_term_add(&b, texts[_i].in, true, 0);
	ck_assert_str_eq(b.data, texts[_i].utf8);
	ck_assert_int_eq(sw_term_width(texts[_i].in, true), texts[_i].columns);
	sw_buf_clear(&b);
	sw_term_add(&b, texts[_i].in, false, 0);
	ck_assert_str_eq(b.data, texts[_i].ascii);
}

TEST(text_over_its_width_is_cut_with_a_mark)
{
	sw_term_add(&b, "abcdef", true, 4);
	sw_term_add(&b, "abcd", true, 4);
	sw_term_add(&b, "abcdef", false, 4);
	ck_assert_str_eq(b.data, "abc\xe2\x80\xa6"
				 "abcdabc~");
	sw_buf_clear(&b);
	sw_term_add(&b, "\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", true, 4);
	ck_assert_int_eq(sw_term_width(b.data, true), 3);
}

static const struct {
	double ratio;
	bool utf8;
	const char *text;
} bars[] = {{0.0, false, "...."},
	    {0.5, false, "##.."},
	    {1.0, false, "####"},
	    {2.0, false, "####"},
	    {-1.0, false, "...."},
	    {NAN, false, "...."},
	    {0.999, false, "###."},
	    {0.5, true, "\u2588\u2588\u2591\u2591"},
	    {0.53125, true, "\u2588\u2588\u258f\u2591"}};

TEST_ROWS(bar_row_gives_its_text, bars)
{
	sw_fmt_bar(&b, bars[_i].ratio, 4, bars[_i].utf8);
	ck_assert_str_eq(b.data, bars[_i].text);
}

static const struct {
	const char *in, *out;
} fields[] = {{"plain", "plain"},
	      {"a b", "a b"},
	      {"a,b", "\"a,b\""},
	      {"say \"x\"", "\"say \"\"x\"\"\""},
	      {"two\nlines", "\"two\nlines\""},
	      {"cr\r", "\"cr\r\""},
	      {"", ""}};

TEST_ROWS(csv_field_is_quoted_when_it_must_be, fields)
{
	sw_csv_field(&b, fields[_i].in);
	(void)sw_buf_adds(&b, "|");
	ck_assert_int_eq(strncmp(b.data, fields[_i].out, strlen(fields[_i].out)), 0);
	ck_assert_uint_eq(b.len, strlen(fields[_i].out) + 1);
}

static cJSON *json(const char *text)
{
	cJSON *v = NULL;

	ck_assert_int_eq(sw_json_parse(&v, text, strlen(text), NULL), SW_OK);
	return v;
}

TEST(csv_has_spec_order_then_sorted_metrics_then_times)
{
	cJSON *spec = json("{\"parameters\":{\"z\":{},\"a\":{}}}");
	cJSON *one = json("{\"trial\":1,\"attempt\":2,\"state\":\"FAILED\",\"cause\":\"x,y\","
			  "\"params\":{\"a\":0.1,\"z\":\"q\"},\"step\":3,\"seconds\":1.5,"
			  "\"best\":{\"step\":2,\"value\":0.1},\"created_ms\":7,\"ended_ms\":9,"
			  "\"metrics\":{\"samples_per_s\":5,\"val\":0.25,\"acc\":1e-9,\"b\":2},"
			  "\"value\":0.25}");
	cJSON *two = json("{\"trial\":2,\"attempt\":1,\"state\":\"PENDING\",\"cause\":null,"
			  "\"params\":{},\"step\":0,\"metrics\":{},\"value\":null}");
	struct sw_csv csv;

	sw_csv_init(&csv, spec);
	sw_csv_learn(&csv, one);
	sw_csv_learn(&csv, two);
	sw_csv_header(&csv, &b);
	sw_csv_row(&csv, one, &b);
	sw_csv_row(&csv, two, &b);
	ck_assert_str_eq(b.data,
			 "trial,attempt,state,cause,step,value,best_step,best_value,z,a,acc,b,val,"
			 "samples_per_s,seconds,created_ms,ended_ms\n"
			 "1,2,FAILED,\"x,y\",3,0.25,2,0.1,q,0.1,1e-9,2,0.25,5,1.5,7,9\n"
			 "2,1,PENDING,,0,,,,,,,,,,,,\n");
	sw_csv_fini(&csv);
	cJSON_Delete(spec);
	cJSON_Delete(one);
	cJSON_Delete(two);
}

TEST(csv_without_memory_fails_cleanly_at_each_call)
{
	cJSON *spec = json("{\"parameters\":{\"z\":{},\"a\":{}}}");
	cJSON *one =
		json("{\"trial\":1,\"params\":{\"z\":[1],\"b\":2},\"metrics\":{\"m\":1,\"k\":2}}");

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_csv csv;

		sw_buf_init(&b, 10000);
		walk_arm();
		sw_csv_init(&csv, spec);
		sw_csv_learn(&csv, one);
		sw_csv_header(&csv, &b);
		sw_csv_row(&csv, one, &b);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(b.failed, fired ? SW_NOMEM : SW_OK);
		sw_csv_fini(&csv);
		sw_buf_fini(&b);
	}
	cJSON_Delete(spec);
	cJSON_Delete(one);
}

TEST(params_follow_the_given_order_then_their_own)
{
	cJSON *params = json("{\"x\":1,\"b\":\"two\",\"a\":0.123456789,\"n\":null,\"l\":[1,2],"
			     "\"r\":1.0,\"g\":123456789.0}");
	cJSON *names = json("[\"a\",\"missing\",\"b\"]");

	sw_fmt_params(&b, params, names, true);
	ck_assert_str_eq(b.data, "a=0.1235 b=two x=1 n=- l=[1,2] r=1.0 g=123456789");
	cJSON_Delete(params);
	cJSON_Delete(names);
}

TEST(pretty_json_reads_back_equal)
{
	cJSON *v = json("{\"a\":[1,0.1,\"x\"],\"b\":{},\"c\":[{\"d\":null}],\"e\":[]}"), *again;

	sw_fmt_json(&b, v, "  ", true);
	ck_assert_ptr_nonnull(strstr(b.data, "    \"a\": [1, 0.1, \"x\"],\n"));
	again = json(b.data);
	ck_assert(cJSON_Compare(v, again, true));
	cJSON_Delete(again);
	cJSON_Delete(v);
}

static const struct {
	const char *name;
	bool time;
} metrics[] = {{"val_loss", false}, {"samples_per_s", true}, {"seconds", true}, {"epoch_ms", true},
	       {"loss", false},     {"time_total", true},    {"s", false},      {"classes", false}};

TEST_ROWS(metric_row_of_time_stands_last, metrics)
{
	const char *name = metrics[_i].name, *first = "a_s", *last = "zzz";

	/* of time: after any that is not, and by bytes among its like */
	ck_assert_int_eq(sw_fmt_times_last(&name, &last) > 0, metrics[_i].time);
	ck_assert_int_eq(sw_fmt_times_last(&first, &name) > 0, !metrics[_i].time);
}

static const struct {
	const char *text, *where;
} places[] = {{"{\"a\": ]}", "f.json:1:7: "},
	      {"{\"p\":\n{\"lr\": {\"max\": 1e999}}}",
	       "f.json:2:16: /p/lr/max: a number that is not finite"},
	      {"{\"p\": {\"x\": 1, \"x\": 2}}", "f.json:1:"},
	      {"{\n \"a\": 1,\n \"b\": x}", "f.json:3:7: "},
	      {"", "f.json:1:1: "}};

TEST_ROWS(spec_file_error_names_line_and_column, places)
{
	struct sw_err why = SW_ERR_INIT, err = SW_ERR_INIT;
	const char *text = places[_i].text;

	ck_assert_int_eq(sw_json_check(text, strlen(text), &why), SW_PARSE);
	ck_assert_int_eq(sw_spec_file_place("f.json", text, strlen(text), &why, &err), SW_PARSE);
	ck_assert_msg(strncmp(err.msg, places[_i].where, strlen(places[_i].where)) == 0,
		      "%s, not %s", err.msg, places[_i].where);
	ck_assert_ptr_null(strstr(err.msg, "at byte"));
}

TEST(marks_become_colours_or_nothing)
{
	const struct sw_look plain = {.utf8 = true}, color = {.utf8 = true, .color = true};
	const struct sw_look narrow = {.utf8 = true, .width = 4};
	struct sw_buf in, out;

	sw_buf_init(&in, 100);
	sw_buf_init(&out, 1000);
	sw_header_mark(&in, SW_TINT_GREEN);
	(void)sw_buf_adds(&in, "green");
	sw_header_mark(&in, SW_TINT_NONE);
	sw_header_mark_print(&out, in.data, &plain);
	sw_header_mark_print(&out, in.data, &color);
	sw_header_mark_print(&out, in.data, &narrow);
	ck_assert_str_eq(out.data, "green\n\033[32mgreen\033[0m\ngre\u2026\n");
	sw_buf_fini(&in);
	sw_buf_fini(&out);
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, setup, teardown);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
}
