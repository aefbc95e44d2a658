#include "cli/fmt.h"
#include "base/term.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void sw_fmt_short(double v, char out[32])
{
	sw_json_num_text(v, out);
	if (strlen(out) > 7)
		(void)snprintf(out, 32, fabs(v) >= 1e4 && fabs(v) < 1e9 ? "%.0f" : "%.4g", v);
}

void sw_fmt_duration(double s, char out[32])
{
	if (!(s >= 0.0) || s > 1e12) {
		(void)snprintf(out, 32, "-");
		return;
	}
	/* 59.95 rounds to 60.0s, which is a minute. */
	if (s < 59.95) {
		(void)snprintf(out, 32, "%.1fs", s);
		return;
	}
	const long long t = llround(s);
	if (t < 3600)
		(void)snprintf(out, 32, "%lldm%02llds", t / 60, t % 60);
	else if (t < 86400)
		(void)snprintf(out, 32, "%lldh%02lldm", t / 3600, t / 60 % 60);
	else
		(void)snprintf(out, 32, "%lldd%02lldh", t / 86400, t / 3600 % 24);
}

void sw_fmt_time(const cJSON *wall_ms, char out[32])
{
	const time_t t = cJSON_IsNumber(wall_ms) ? (time_t)(wall_ms->valuedouble / 1e3) : 0;
	struct tm tm;

	if (!cJSON_IsNumber(wall_ms) || localtime_r(&t, &tm) == NULL ||
	    strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(out, 32, "-");
}

static void add_json(struct sw_buf *b, const cJSON *v, bool utf8)
{
	struct sw_buf json;
	struct sw_jw w;

	sw_buf_init(&json, (size_t)1 << 20);
	sw_jw_init(&w, &json);
	sw_jw_cjson(&w, v);
	if (json.failed == SW_OK && json.data != NULL)
		sw_term_add(b, json.data, utf8, 0);
	else
		b->failed = SW_NOMEM;
	sw_buf_fini(&json);
}

void sw_fmt_value(struct sw_buf *b, const cJSON *v, bool exact, bool utf8)
{
	char num[32];

	if (v == NULL || cJSON_IsNull(v)) {
		(void)sw_buf_adds(b, exact ? "" : "-");
	} else if (cJSON_IsNumber(v)) {
		/* 1.0 is shown as 1.0: to the trial's program it is not the integer 1. */
		if ((v->type & SW_JSON_REAL) != 0)
			sw_json_real_text(v->valuedouble, num);
		else
			sw_json_num_text(v->valuedouble, num);
		if (!exact && strlen(num) > 7)
			sw_fmt_short(v->valuedouble, num);
		(void)sw_buf_adds(b, num);
	} else if (cJSON_IsString(v)) {
		sw_term_add(b, v->valuestring, utf8, 0);
	} else {
		add_json(b, v, utf8);
	}
}

static void one_param(struct sw_buf *b, const char *name, const cJSON *v, bool *first, bool utf8)
{
	if (!*first)
		(void)sw_buf_adds(b, " ");
	*first = false;
	sw_term_add(b, name, utf8, 0);
	(void)sw_buf_adds(b, "=");
	sw_fmt_value(b, v, false, utf8);
}

bool sw_fmt_is_named(const cJSON *names, const char *name)
{
	const cJSON *n;

	cJSON_ArrayForEach (n, names) {
		const size_t len = strlen(name);

		if (cJSON_IsString(n) && strncmp(n->valuestring, name, len) == 0 &&
		    (n->valuestring[len] == '\0' || n->valuestring[len] == '.'))
			return true;
	}
	return false;
}

void sw_fmt_params(struct sw_buf *b, const cJSON *params, const cJSON *names, bool utf8)
{
	const cJSON *n, *v;
	bool first = true;

	cJSON_ArrayForEach (n, names) {
		v = cJSON_IsString(n) ? sw_param_value(params, n->valuestring) : NULL;
		if (v != NULL)
			one_param(b, n->valuestring, v, &first, utf8);
	}
	cJSON_ArrayForEach (v, params) {
		if (v->string != NULL && !sw_fmt_is_named(names, v->string))
			one_param(b, v->string, v, &first, utf8);
	}
}

static bool plain_array(const cJSON *v)
{
	const cJSON *e;

	cJSON_ArrayForEach (e, v) {
		if ((cJSON_IsArray(e) || cJSON_IsObject(e)) && e->child != NULL)
			return false; /* an empty one takes no more room than a number */
	}
	return true;
}

/* A scalar, or an array of scalars, as JSON on one line, made harmless. */
static void json_inline(struct sw_buf *b, const cJSON *v, bool utf8)
{
	const cJSON *e;

	if (!cJSON_IsArray(v)) {
		add_json(b, v, utf8);
		return;
	}
	(void)sw_buf_adds(b, "[");
	cJSON_ArrayForEach (e, v) {
		json_inline(b, e, utf8);
		if (e->next != NULL)
			(void)sw_buf_adds(b, ", ");
	}
	(void)sw_buf_adds(b, "]");
}

/* Depth is bounded: the tree came through sw_json_parse(). */
static void json_pretty(struct sw_buf *b, const cJSON *v, const char *indent, int depth, bool utf8)
{
	const bool object = cJSON_IsObject(v);
	const cJSON *e;

	if (v->child == NULL || !(object || (cJSON_IsArray(v) && !plain_array(v)))) {
		json_inline(b, v, utf8);
		return;
	}
	(void)sw_buf_adds(b, object ? "{\n" : "[\n");
	cJSON_ArrayForEach (e, v) {
		(void)sw_buf_addf(b, "%s%*s", indent, 2 * (depth + 1), "");
		if (object) {
			(void)sw_buf_adds(b, "\"");
			sw_term_add(b, e->string, utf8, 0);
			(void)sw_buf_adds(b, "\": ");
		}
		json_pretty(b, e, indent, depth + 1, utf8);
		(void)sw_buf_adds(b, e->next != NULL ? ",\n" : "\n");
	}
	(void)sw_buf_addf(b, "%s%*s%s", indent, 2 * depth, "", object ? "}" : "]");
}

void sw_fmt_json(struct sw_buf *b, const cJSON *v, const char *indent, bool utf8)
{
	(void)sw_buf_adds(b, indent);
	json_pretty(b, v, indent, 0, utf8);
	(void)sw_buf_adds(b, "\n");
}

void sw_fmt_bar(struct sw_buf *b, double ratio, int columns, bool utf8)
{
	const double r = ratio > 0.0 ? (ratio < 1.0 ? ratio : 1.0) : 0.0; /* NaN: empty */
	/* A full bar must not lose its last eighth to rounding. */
	const int eighths = (int)(r * columns * 8.0 + 1e-9);

	for (int i = 0; i < columns; i++) {
		const int left = eighths - 8 * i;

		if (left >= 8)
			sw_term_add_rune(b, utf8 ? 0x2588 : '#');
		else if (left > 0 && utf8)
			sw_term_add_rune(b, 0x2590 - (uint32_t)left); /* ▏ is 258f, ▉ is 2589 */
		else
			sw_term_add_rune(b, utf8 ? 0x2591 : '.');
	}
}

/* Is this metric a measure of time, which differs between two runs of the same sweep? */
static bool is_time(const char *name)
{
	static const char *const ends[] = {"_s", "_ms", "_us", "_ns", "_seconds", "_time"};
	const size_t n = strlen(name);

	if (strcmp(name, "seconds") == 0 || strncmp(name, "time_", 5) == 0)
		return true;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		const size_t k = strlen(ends[i]);

		if (n > k && strcmp(name + n - k, ends[i]) == 0)
			return true;
	}
	return false;
}

int sw_fmt_times_last(const void *a, const void *b)
{
	const char *na = *(const char *const *)a, *nb = *(const char *const *)b;
	const bool ta = is_time(na), tb = is_time(nb);

	return ta != tb ? ta - tb : strcmp(na, nb);
}
