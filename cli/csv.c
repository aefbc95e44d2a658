#include "cli/csv.h"
#include "base/csv.h"
#include "cli/fmt.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include "spec/spec.h"
#include <stdio.h>
#include <string.h>

#define BEST 6 /* of these are those of the best report */
static const char *const fixed[] = {"trial", "attempt", "state",     "cause",
				    "step",  "value",   "best_step", "best_value"};
static const char *const times[] = {"seconds", "created_ms", "ended_ms"};
#define N(list) (sizeof(list) / sizeof(list)[0])

/* Unless an earlier trial has it, too: one column. A metric moves up to its place among the others:
 * cJSON_InsertItemInArray() of cJSON 1.7.15 fails between two items. */
static void add_name(struct sw_csv *csv, cJSON *names, const char *name)
{
	const cJSON *n;

	cJSON_ArrayForEach (n, names) {
		if (strcmp(n->valuestring, name) == 0)
			return;
	}
	cJSON *at = cJSON_CreateString(name);
	if (at == NULL || !cJSON_AddItemToArray(names, at)) {
		cJSON_Delete(at);
		csv->failed = SW_NOMEM;
		return;
	}
	/* By exchanging texts, so that no item has to move. */
	for (; names == csv->metrics && at != names->child; at = at->prev) {
		char *text = at->valuestring;

		if (sw_fmt_times_last(&at->prev->valuestring, &text) < 0)
			break;
		at->valuestring = at->prev->valuestring;
		at->prev->valuestring = text;
	}
}

/* Parameters in groups have their whole names: "opt.wd". They nest as deep as JSON may. */
static void add_params(struct sw_csv *csv, const cJSON *params, const char *prefix)
{
	char name[2 * SW_SPEC_MAX_PARAM_NAME];
	const cJSON *p;

	cJSON_ArrayForEach (p, params) {
		const cJSON *group = sw_json_get(p, "parameters");

		(void)snprintf(name, sizeof name, "%s%s%s", prefix, p->string,
			       group != NULL ? "." : "");
		if (group != NULL)
			add_params(csv, group, name);
		else
			add_name(csv, csv->params, name);
	}
}

void sw_csv_init(struct sw_csv *csv, const cJSON *spec)
{
	const cJSON *params = sw_json_get(spec, "parameters");

	*csv = (struct sw_csv){.params = cJSON_CreateArray(), .metrics = cJSON_CreateArray()};
	if (csv->params == NULL || csv->metrics == NULL)
		csv->failed = SW_NOMEM;
	else if (cJSON_IsObject(params))
		add_params(csv, params, "");
}

void sw_csv_fini(struct sw_csv *csv)
{
	cJSON_Delete(csv->params);
	cJSON_Delete(csv->metrics);
}

void sw_csv_learn(struct sw_csv *csv, const cJSON *trial)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, sw_json_get(trial, "params")) {
		/* A group's members have columns of their own already; an object that is a value
		 * gets one. */
		if (!cJSON_IsObject(v) || !sw_fmt_is_named(csv->params, v->string))
			add_name(csv, csv->params, v->string);
	}
	cJSON_ArrayForEach (v, sw_json_get(trial, "metrics")) {
		add_name(csv, csv->metrics, v->string);
	}
}

/* An empty one for null and NULL. */
static void add_field(struct sw_buf *out, const cJSON *v)
{
	struct sw_buf b;
	struct sw_jw w;

	if (v == NULL || cJSON_IsNull(v))
		return;
	if (cJSON_IsString(v)) {
		sw_csv_field(out, v->valuestring);
		return;
	}
	sw_buf_init(&b, (size_t)1 << 20);
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, v);
	if (b.failed != SW_OK)
		out->failed = b.failed;
	else
		sw_csv_field(out, b.data);
	sw_buf_fini(&b);
}

void sw_csv_value(struct sw_buf *out, const cJSON *v)
{
	add_field(out, v);
	(void)sw_buf_adds(out, ",");
}

void sw_csv_end(struct sw_buf *out)
{
	if (out->failed == SW_OK && out->len > 0)
		out->data[out->len - 1] = '\n';
}

/* Adds a trial's value in a column, or for NULL the column's name. */
static void add_cell(struct sw_buf *out, const cJSON *trial, const char *name, const cJSON *v)
{
	if (trial != NULL) {
		sw_csv_value(out, v);
		return;
	}
	sw_csv_field(out, name);
	(void)sw_buf_adds(out, ",");
}

static bool is_in(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* Adds the cells of the parameters, or of the metrics. A name that an earlier column, or a fixed
 * one, has is said with where it is from: who reads by names would have one of the two. */
static void add_cells(const struct sw_csv *csv, struct sw_buf *out, const cJSON *trial,
		      const char *of, const cJSON *names)
{
	const cJSON *n, *params = sw_json_get(trial, "params");
	const bool metrics = names == csv->metrics;
	char whole[2 * SW_SPEC_MAX_PARAM_NAME + 16];

	cJSON_ArrayForEach (n, names) {
		const char *name = n->valuestring;
		const bool again = trial == NULL &&
				   (is_in(fixed, N(fixed), name) || is_in(times, N(times), name) ||
				    (metrics && sw_fmt_is_named(csv->params, name)));

		(void)snprintf(whole, sizeof whole, "%s.%s", of, name);
		add_cell(out, trial, again ? whole : name,
			 metrics ? sw_json_get(sw_json_get(trial, of), name)
				 : sw_param_value(params, name));
	}
}

void sw_csv_row(const struct sw_csv *csv, const cJSON *trial, struct sw_buf *out)
{
	const cJSON *best = sw_json_get(trial, "best");

	for (size_t i = 0; i < N(fixed); i++)
		add_cell(out, trial, fixed[i],
			 i < BEST ? sw_json_get(trial, fixed[i])
				  : sw_json_get(best, fixed[i] + strlen("best_")));
	add_cells(csv, out, trial, "params", csv->params);
	add_cells(csv, out, trial, "metrics", csv->metrics);
	for (size_t i = 0; i < N(times); i++)
		add_cell(out, trial, times[i], sw_json_get(trial, times[i]));
	sw_csv_end(out);
}

void sw_csv_header(const struct sw_csv *csv, struct sw_buf *out)
{
	sw_csv_row(csv, NULL, out);
	if (csv->failed != SW_OK)
		out->failed = csv->failed;
}
