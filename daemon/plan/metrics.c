#include "daemon/plan/metrics.h"
#include "proto/json.h"
#include <math.h>
#include <string.h>
#include <strings.h>

static bool read_number(const cJSON *v, double *out)
{
	if (cJSON_IsNumber(v)) {
		*out = v->valuedouble + 0.0; /* -0 becomes 0: the store keeps no sign of it */
		return true;
	}
	/* JSON has no NaN and no infinity: clients send them as words. */
	if (!cJSON_IsString(v))
		return false;
	const char *s = v->valuestring;
	if (strcasecmp(s, "nan") == 0)
		*out = (double)NAN;
	else if (strcasecmp(s, "inf") == 0 || strcasecmp(s, "+inf") == 0 ||
		 strcasecmp(s, "infinity") == 0)
		*out = (double)INFINITY;
	else if (strcasecmp(s, "-inf") == 0 || strcasecmp(s, "-infinity") == 0)
		*out = -(double)INFINITY;
	else
		return false;
	return true;
}

static sw_status bad_metric(const cJSON *v, const char *what, struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "/metrics";

	sw_json_pointer_add(ptr, sizeof ptr, v->string);
	return sw_err_at(err, SW_INVALID, ptr, "metric \"%.64s\" %s", v->string, what);
}

sw_status sw_metrics_read(const cJSON *metrics, const char *metric, bool *has_value, double *value,
			  struct sw_buf *text, struct sw_err *err)
{
	struct sw_jw w;
	const cJSON *v;
	int n = 0;

	*has_value = false;
	*value = 0.0;
	sw_jw_init_obj(&w, text);
	cJSON_ArrayForEach (v, metrics) {
		double number;

		if (*v->string == '\0' || strlen(v->string) > SW_METRIC_NAME_MAX)
			return bad_metric(v, "needs a name of 1 to 64 bytes", err);
		if (!read_number(v, &number))
			return bad_metric(v, "is not a number (or \"nan\", \"inf\", \"-inf\")",
					  err);
		if (++n > SW_REPORT_METRICS_MAX)
			return sw_err_at(err, SW_INVALID, "/metrics", "over %d metrics",
					 SW_REPORT_METRICS_MAX);
		if (metric != NULL && strcmp(v->string, metric) == 0) {
			*has_value = true;
			*value = number;
		}
		sw_jw_kmetric(&w, v->string, number);
	}
	sw_jw_obj_end(&w);
	if (text->failed != SW_OK)
		return sw_err_set(err, text->failed, "the metrics are too large");
	return SW_OK;
}

sw_status sw_metrics_all(const cJSON *metrics, const struct sw_spec *spec, bool *all, double *y,
			 struct sw_err *err)
{
	const char *has = NULL, *lacks = NULL;

	for (size_t k = 0; k < spec->n_metrics; k++) {
		const char *name = spec->metrics[k].name;
		const cJSON *v = sw_json_get(metrics, name);

		if (v != NULL && read_number(v, &y[k]))
			has = has == NULL ? name : has;
		else
			lacks = lacks == NULL ? name : lacks;
	}
	*all = lacks == NULL;
	/* All or none: a report without any of them is one that does not count for the search. */
	if (has == NULL || lacks == NULL)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/metrics",
			 "the report has \"%s\" and lacks \"%s\": the sweep has %zu metrics, and "
			 "needs all of them in one report",
			 has, lacks, spec->n_metrics);
}

/* A member's number in what sw_metrics_read() wrote, without a tree. False: it is rarer. */
static bool find_number(const char *text, const char *name, double *out)
{
	const size_t n = strlen(name);
	const char *end;

	/* A key stands behind '{' or ',' and its quote; one with a backslash is written in another
	 * way. */
	for (const char *at = text; (at = strstr(at, name)) != NULL; at += n) {
		if (at < text + 2 || at[-1] != '"' || (at[-2] != '{' && at[-2] != ',') ||
		    strncmp(at + n, "\":", 2) != 0)
			continue;
		*out = sw_json_num_read(at + n + 2, &end);
		return end > at + n + 2 && strchr(name, '\\') == NULL;
	}
	return false;
}

sw_status sw_metrics_stored(const char *text, const struct sw_spec *spec, double *y,
			    struct sw_err *err)
{
	cJSON *tree = NULL;
	bool all = false;
	size_t k = 0;

	while (text != NULL && k < spec->n_metrics &&
	       find_number(text, spec->metrics[k].name, &y[k]))
		k++;
	if (text != NULL && k == spec->n_metrics)
		return SW_OK;
	sw_status rc = text != NULL ? sw_json_parse(&tree, text, strlen(text), err) : SW_OK;

	if (rc == SW_OK)
		rc = sw_metrics_all(tree, spec, &all, y, err);
	cJSON_Delete(tree);
	return rc == SW_OK && !all ? sw_err_set(err, SW_IO, "a stored report lacks a metric") : rc;
}

void sw_metrics_explain(const char *metric, const cJSON *metrics, struct sw_err *err)
{
	struct sw_buf list;
	const cJSON *v;

	sw_buf_init(&list, 160);
	cJSON_ArrayForEach (v, metrics) {
		if (list.failed == SW_OK)
			(void)sw_buf_addf(&list, "%s%s", list.len > 0 ? ", " : "", v->string);
	}
	/* The spec's name or the program's may be the slip, so the line shows both. The list stands
	 * last, because it may be cut. */
	if (metrics == NULL || metrics->child == NULL)
		(void)sw_err_at(err, SW_INVALID, "/metrics",
				"no report carries the sweep's metric \"%s\": report it (none was "
				"reported)",
				metric);
	else
		(void)sw_err_at(err, SW_INVALID, "/metrics",
				"no report carries the sweep's metric \"%s\": report it by that "
				"name, or name in the spec one that is reported: %s%s",
				metric, list.len > 0 ? list.data : "",
				list.failed != SW_OK ? ", ..." : "");
	sw_buf_fini(&list);
}
