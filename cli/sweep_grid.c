#include "cli/sweep_grid.h"
#include "cli/table.h"
#include "cli/view.h"
#include "proto/json.h"
#include <string.h>

void sw_sweep_grid_init(struct sw_grid *g)
{
	static const struct sw_grid_head heads[] = {
		{"sweep", true, 0},   {"name", false, 0},    {"state", false, 0},
		{"method", false, 5}, {"done", true, 0},     {"pruned", true, 2},
		{"metric", false, 1}, {"best", true, 0},     {"trial", true, 1},
		{"time", true, 4},    {"created", false, 6}, {"tags", false, 5},
		{"note", false, 8},   {"cause", false, 7}};

	sw_grid_heads(g, heads, sizeof heads / sizeof heads[0]);
}

static void add_progress(struct sw_grid *g, const cJSON *sweep)
{
	const cJSON *counts = sw_json_get(sweep, "counts"), *cap = sw_json_get(sweep, "run_cap");
	uint64_t done = 0, n;

	for (size_t i = 0; i < SW_STATE_N; i++)
		if (sw_view_is_end(sw_states[i]) &&
		    sw_json_u64(sw_json_get(counts, sw_states[i]), &n))
			done += n;
	if (cJSON_IsNumber(cap) && cap->valuedouble > 0.0)
		sw_grid_addf(g, "%llu/%.0f", (unsigned long long)done, cap->valuedouble);
	else
		sw_grid_addf(g, "%llu", (unsigned long long)done);
}

/* With several metrics it shows all of them, and how many trials are on the front; there is no
 * best. */
static void add_several(struct sw_grid *g, const cJSON *sweep, bool utf8)
{
	struct sw_buf names;
	const cJSON *metric;
	uint64_t n = 0;

	sw_buf_init(&names, 1024);
	cJSON_ArrayForEach (metric, sw_json_get(sweep, "metrics")) {
		if (!cJSON_IsString(metric))
			continue;
		if (names.len > 0)
			(void)sw_buf_adds(&names, ", ");
		(void)sw_buf_adds(&names, metric->valuestring);
	}
	sw_grid_add(g, names.data, utf8, SW_TINT_NONE);
	sw_buf_fini(&names);
	(void)sw_json_u64(sw_json_get(sw_json_get(sweep, "pareto"), "trials"), &n);
	if (n > 0)
		sw_grid_addf(g, "%llu on the front", (unsigned long long)n);
	else
		sw_grid_addf(g, "-");
	sw_grid_addf(g, "-");
}

/* "baseline good"; an empty cell where there is none. */
static void add_annotations(struct sw_grid *g, const cJSON *s, bool utf8)
{
	struct sw_buf tags;
	const cJSON *tag;

	sw_buf_init(&tags, 4096);
	cJSON_ArrayForEach (tag, sw_json_get(s, "tags"))
		if (cJSON_IsString(tag))
			(void)sw_buf_addf(&tags, "%s%s", tags.len > 0 ? " " : "", tag->valuestring);
	sw_grid_add(g, tags.data, utf8, SW_TINT_NONE);
	sw_grid_add(g, cJSON_GetStringValue(sw_json_get(s, "note")), utf8, SW_TINT_NONE);
	sw_buf_fini(&tags);
}

void sw_sweep_grid_add(struct sw_grid *g, const cJSON *s, bool utf8)
{
	const cJSON *state = sw_json_get(s, "state"), *best = sw_json_get(s, "best");
	const cJSON *seconds = sw_json_get(s, "seconds"), *created = sw_json_get(s, "created_ms");
	char text[32] = "-";

	sw_grid_row(g);
	sw_grid_add_members(g, s, (const char *const[]){"sweep", "name", NULL}, utf8);
	sw_grid_add_value(g, state, utf8,
			  cJSON_IsString(state) ? sw_grid_tint(state->valuestring) : SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "method"), utf8, SW_TINT_NONE);
	add_progress(g, s);
	sw_grid_add_value(g, sw_json_get(sw_json_get(s, "counts"), "PRUNED"), utf8, SW_TINT_NONE);
	if (cJSON_IsObject(sw_json_get(s, "pareto"))) {
		add_several(g, s, utf8);
	} else {
		sw_grid_add_value(g, sw_json_get(s, "metric"), utf8, SW_TINT_NONE);
		sw_grid_add_value(g, sw_json_get(best, "value"), utf8, SW_TINT_BOLD);
		sw_grid_add_value(g, sw_json_get(best, "trial"), utf8, SW_TINT_NONE);
	}
	if (cJSON_IsNumber(seconds))
		sw_fmt_duration(seconds->valuedouble, text);
	sw_grid_addf(g, "%s", text);
	if (cJSON_IsNumber(created))
		sw_fmt_time((int64_t)created->valuedouble, text);
	sw_grid_addf(g, "%s", text);
	add_annotations(g, s, utf8);
	sw_grid_add_value(g, sw_json_get(s, "cause"), utf8, SW_TINT_NONE);
	/* Of a sweep that has not come to its end it is worth more than some other columns. */
	if (cJSON_IsString(sw_json_get(s, "cause")) &&
	    strcmp(sw_json_text(s, "state", ""), "COMPLETED") != 0)
		g->cols[g->n_cols - 1].drop = 3;
}

void sw_sweep_grid_print(struct sw_cli *c, struct sw_grid *g)
{
	sw_grid_drop_empty(g, g->n_cols - 3); /* tags: few have any */
	sw_grid_drop_empty(g, g->n_cols - 2); /* note */
	if (sw_table_print(&c->out, g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
}
