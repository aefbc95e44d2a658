#include "cli/sweep_grid.h"
#include "cli/table.h"
#include "cli/view.h"
#include "proto/json.h"
#include <string.h>

void sw_sweep_grid_init(struct sw_grid *g, bool utf8)
{
	static const struct sw_grid_head heads[] = {
		{"sweep", true, 0},   {"name", false, 0},    {"state", false, 0},
		{"method", false, 5}, {"done", true, 0},     {"pruned", true, 2},
		{"metric", false, 1}, {"best", true, 0},     {"trial", true, 1},
		{"time", true, 4},    {"created", false, 6}, {"tags", false, 5},
		{"note", false, 8},   {"cause", false, 7}};

	sw_grid_heads(g, utf8, heads, sizeof heads / sizeof heads[0]);
}

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

/* The texts of an array as one cell, which is empty if there are no texts. */
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

/* With several metrics it shows all of them, and how many trials are on the front; there is no
 * best. */
static void add_several(struct sw_grid *g, const cJSON *sweep)
{
	const uint64_t n = sw_json_uint(sw_json_get(sweep, "pareto"), "trials");

	add_list(g, sw_json_get(sweep, "metrics"), ", ");
	if (n > 0)
		sw_grid_addf(g, "%llu on the front", (unsigned long long)n);
	else
		sw_grid_addf(g, "-");
	sw_grid_addf(g, "-");
}

void sw_sweep_grid_add(struct sw_grid *g, const cJSON *s)
{
	const cJSON *best = sw_json_get(s, "best");

	sw_grid_row(g);
	sw_grid_add_members(g, s, (const char *const[]){"sweep", "name", NULL});
	sw_grid_add_state(g, s);
	sw_grid_add_member(g, s, "method");
	add_progress(g, s);
	sw_grid_add_member(g, sw_json_get(s, "counts"), "PRUNED");
	if (cJSON_IsObject(sw_json_get(s, "pareto"))) {
		add_several(g, s);
	} else {
		sw_grid_add_member(g, s, "metric");
		sw_grid_add_value(g, sw_json_get(best, "value"), SW_TINT_BOLD);
		sw_grid_add_member(g, best, "trial");
	}
	sw_grid_add_duration(g, sw_json_get(s, "seconds"));
	sw_grid_add_time(g, sw_json_get(s, "created_ms"));
	add_list(g, sw_json_get(s, "tags"), " ");
	sw_grid_add(g, sw_json_text(s, "note", NULL), SW_TINT_NONE);
	sw_grid_add_member(g, s, "cause");
	/* Of a sweep that has not come to its end it is worth more than some other columns. */
	if (cJSON_IsString(sw_json_get(s, "cause")) &&
	    strcmp(sw_json_text(s, "state", ""), "COMPLETED") != 0)
		g->cols[g->n_cols - 1].drop = 3;
}

void sw_sweep_grid_print(struct sw_cli *c, struct sw_grid *g)
{
	sw_grid_drop_empty(g, g->n_cols - 3); /* tags: few have any */
	sw_grid_drop_empty(g, g->n_cols - 2); /* note */
	sw_table_print(&c->out, g, &c->look);
}
