/* tests/daemon/plan/test_metrics.c — the metrics of a report: what passes, what is refused, and
 * where. */
#include "daemon/plan/metrics.h"
#include "proto/json.h"
#include "tests/run.h"
#include <math.h>

static const struct {
	const char *metrics;
	const char *text; /* as stored; NULL: refused */
	const char *ptr;
	bool has;
	double value; /* NaN is compared as NaN */
} rows[] = {
	{"{\"loss\": 0.5}", "{\"loss\":0.5}", "", true, 0.5},
	{"{\"acc\": 1, \"loss\": -2e3}", "{\"acc\":1,\"loss\":-2000}", "", true, -2000},
	{"{\"loss\": -0.0}", "{\"loss\":0}", "", true, 0},
	{"{}", "{}", "", false, 0},
	{"{\"acc\": 1}", "{\"acc\":1}", "", false, 0},
	{"{\"Loss\": 1}", "{\"Loss\":1}", "", false, 0},
	{"{\"loss\": \"nan\"}", "{\"loss\":\"nan\"}", "", true, NAN},
	{"{\"loss\": \"NaN\"}", "{\"loss\":\"nan\"}", "", true, NAN},
	{"{\"loss\": \"Infinity\"}", "{\"loss\":\"inf\"}", "", true, INFINITY},
	{"{\"loss\": \"-inf\"}", "{\"loss\":\"-inf\"}", "", true, -INFINITY},
	{"{\"loss\": \"0.5\"}", NULL, "/metrics/loss", false, 0},
	{"{\"loss\": true}", NULL, "/metrics/loss", false, 0},
	{"{\"loss\": null}", NULL, "/metrics/loss", false, 0},
	{"{\"loss\": [1]}", NULL, "/metrics/loss", false, 0},
	{"{\"a/b\": {}}", NULL, "/metrics/a~1b", false, 0},
	{"{\"\": 1}", NULL, "/metrics/", false, 0},
};

TEST_ROWS(metrics_row_is_read_or_refused_at_its_place, rows)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf text;
	cJSON *v = NULL;
	bool has = false;
	double value = 0;

	ck_assert_int_eq(sw_json_parse(&v, rows[_i].metrics, strlen(rows[_i].metrics), &err),
			 SW_OK);
	sw_buf_init(&text, 4096);
	const sw_status rc = sw_metrics_read(v, "loss", &has, &value, &text, &err);
	if (rows[_i].text == NULL) {
		ck_assert_int_eq(rc, SW_INVALID);
		ck_assert_str_eq(err.ptr, rows[_i].ptr);
	} else {
		ck_assert_msg(rc == SW_OK, "%s: %s", rows[_i].metrics, err.msg);
		ck_assert_str_eq(text.data, rows[_i].text);
		ck_assert_int_eq(has, rows[_i].has);
		if (isnan(rows[_i].value))
			ck_assert(isnan(value));
		else
			ck_assert_double_eq(value, rows[_i].value);
	}
	sw_buf_fini(&text);
	cJSON_Delete(v);
}

static const struct {
	const char *metrics, *line;
} missing[] = {
	{"{\"los\": 1}", "no report carries the sweep's metric \"loss\": report it by that name, "
			 "or name in the spec "
			 "one that is reported: los"},
	{"{\"acc\": 1, \"lost\": 2}", "no report carries the sweep's metric \"loss\": report it by "
				      "that name, or name in the spec "
				      "one that is reported: acc, lost"},
	{"{}", "no report carries the sweep's metric \"loss\": report it (none was reported)"},
};

/* "did you mean" one of the reported names would be a guess, and in a driver's typo a wrong one. */
TEST_ROWS(metrics_missing_one_is_named_with_both_ways_out, missing)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = NULL;

	ck_assert_int_eq(sw_json_parse(&v, missing[_i].metrics, strlen(missing[_i].metrics), &err),
			 SW_OK);
	sw_metrics_explain("loss", v, &err);
	ck_assert_int_eq(err.code, SW_INVALID);
	ck_assert_str_eq(err.ptr, "/metrics");
	ck_assert_str_eq(err.msg, missing[_i].line);
	cJSON_Delete(v);
}

TEST(metrics_that_are_many_leave_room_for_the_way_out)
{
	char given[4096] = "{";
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = NULL;

	for (int i = 0; i < 64; i++)
		(void)snprintf(given + strlen(given), sizeof given - strlen(given),
			       "%s\"metric_of_a_long_name_%d\": 1", i > 0 ? "," : "", i);
	(void)strcat(given, "}");
	ck_assert_int_eq(sw_json_parse(&v, given, strlen(given), &err), SW_OK);
	sw_metrics_explain("loss", v, &err);
	ck_assert_ptr_nonnull(strstr(err.msg, "is reported: metric_of_a_long_name_0, "));
	ck_assert_str_eq(err.msg + strlen(err.msg) - 5, ", ...");
	cJSON_Delete(v);
}

RUN_TESTS(NULL, NULL)
