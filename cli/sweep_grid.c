#include "cli/sweep_grid.h"
#include "cli/view.h"
#include "proto/json.h"
#include <string.h>

static void add_progress(struct sw_grid *g, const cJSON *sweep)
{
	const cJSON *counts = sw_json_get(sweep, "counts"), *cap = sw_json_get(sweep, "run_cap");
	uint64_t done = 0;

	for (size_t i = 0; i < SW_STATE_N; i++)
		done += sw_view_is_end(sw_states[i]) ? sw_json_uint(counts, sw_states[i]) : 0;
	if (cJSON_IsNumber(cap) && cap->valuedouble > 0.0)
		sw_grid_addf(g, "%llu/%.0f", (unsigned long long)done, cap->valuedouble);
	else
		sw_grid_addf(g, "%llu", (unsigned long long)done);
}

/* The texts of an array as one cell; an empty one where there is none. */
static void add_list(struct sw_grid *g, const cJSON *texts, const char *between)
{
	struct sw_buf b;
	const cJSON *v;

	sw_buf_init(&b, 4096);
	cJSON_ArrayForEach (v, texts)
		if (cJSON_IsString(v))
			(void)sw_buf_addf(&b, "%s%s", b.len > 0 ? between : "", v->valuestring);
	sw_grid_add(g, b.data, SW_TINT_NONE);
	sw_buf_fini(&b);
}

static void add_tags(struct sw_grid *g, const cJSON *sweep)
{
	add_list(g, sw_json_get(sweep, "tags"), " ");
}

/* With several metrics all of them, and how many trials are on the front: there is no best. */
static void add_metric(struct sw_grid *g, const cJSON *sweep)
{
	if (cJSON_IsObject(sw_json_get(sweep, "pareto")))
		add_list(g, sw_json_get(sweep, "metrics"), ", ");
	else
		sw_grid_add_member(g, sweep, "metric");
}

static void add_best(struct sw_grid *g, const cJSON *sweep)
{
	const cJSON *pareto = sw_json_get(sweep, "pareto");
	const uint64_t n = sw_json_uint(pareto, "trials");

	if (n > 0)
		sw_grid_addf(g, "%llu on the front", (unsigned long long)n);
	else
		sw_grid_add_value(g, sw_json_get(sw_json_get(sweep, "best"), "value"),
				  cJSON_IsObject(pareto) ? SW_TINT_NONE : SW_TINT_BOLD);
}

static const struct sw_column columns[] = {
	{"sweep", "sweep", SW_FORM_NUMBER, .drop = 0},
	{"name", "name", SW_FORM_TEXT, .drop = 0},
	{NULL, "state", SW_FORM_TEXT, .drop = 0, .put = sw_grid_add_state},
	{"method", "method", SW_FORM_TEXT, .drop = 5},
	{NULL, "done", SW_FORM_NUMBER, .drop = 0, .put = add_progress},
	{"counts/PRUNED", "pruned", SW_FORM_NUMBER, .drop = 2},
	{NULL, "metric", SW_FORM_TEXT, .drop = 1, .put = add_metric},
	{NULL, "best", SW_FORM_NUMBER, .drop = 0, .put = add_best},
	{"best/trial", "trial", SW_FORM_NUMBER, .drop = 1},
	{"seconds", "time", SW_FORM_DURATION, .drop = 4},
	{"created_ms", "created", SW_FORM_TIME, .drop = 6},
	{NULL, "tags", SW_FORM_TEXT, .drop = 5, .put = add_tags, .optional = true},
	{"note", "note", SW_FORM_TEXT, .drop = 8, .optional = true},
	{"cause", "cause", SW_FORM_TEXT, .drop = 7}};

void sw_sweep_grid_init(struct sw_grid *g, bool utf8)
{
	sw_grid_columns(g, utf8, columns, sizeof columns / sizeof columns[0]);
}

void sw_sweep_grid_add(struct sw_grid *g, const cJSON *s)
{
	sw_grid_add_object(g, s);
	/* Of a sweep that has not come to its end it is worth more than some other columns. */
	if (g->failed == SW_OK && cJSON_IsString(sw_json_get(s, "cause")) &&
	    strcmp(sw_json_text(s, "state", ""), "COMPLETED") != 0)
		g->cols[g->n_cols - 1].drop = 3;
}
