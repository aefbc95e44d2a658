#include "cli/table.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "proto/json.h"
#include <stdio.h>

static void add_progress(struct sw_grid *g, const cJSON *sweep)
{
	const cJSON *counts = sw_json_get(sweep, "counts"), *cap = sw_json_get(sweep, "run_cap");
	uint64_t done = 0, n;

	for (size_t i = 0; i < SW_STATE_N; i++)
		if (sw_state_is_end(sw_states[i]) &&
		    sw_json_u64(sw_json_get(counts, sw_states[i]), &n))
			done += n;
	if (cJSON_IsNumber(cap) && cap->valuedouble > 0.0)
		sw_grid_addf(g, "%llu/%.0f", (unsigned long long)done, cap->valuedouble);
	else
		sw_grid_addf(g, "%llu", (unsigned long long)done);
}

static void add_sweep(struct sw_grid *g, const cJSON *s, bool utf8)
{
	const cJSON *state = sw_json_get(s, "state"), *best = sw_json_get(s, "best");
	const cJSON *seconds = sw_json_get(s, "seconds"), *created = sw_json_get(s, "created_ms");
	char text[32] = "-";

	sw_grid_row(g);
	sw_grid_add_value(g, sw_json_get(s, "sweep"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "name"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, state, utf8,
			  cJSON_IsString(state) ? sw_tint_state(state->valuestring) : SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "method"), utf8, SW_TINT_NONE);
	add_progress(g, s);
	sw_grid_add_value(g, sw_json_get(sw_json_get(s, "counts"), "PRUNED"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "metric"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(best, "value"), utf8, SW_TINT_BOLD);
	sw_grid_add_value(g, sw_json_get(best, "trial"), utf8, SW_TINT_NONE);
	if (cJSON_IsNumber(seconds))
		sw_fmt_duration(seconds->valuedouble, text);
	sw_grid_addf(g, "%s", text);
	if (cJSON_IsNumber(created))
		sw_fmt_time((int64_t)created->valuedouble, text);
	sw_grid_addf(g, "%s", text);
}

int sw_verb_ls(struct sw_cli *c)
{
	static const struct {
		const char *name;
		bool right;
		int drop;
	} cols[] = {{"sweep", true, 0},   {"name", false, 0},   {"state", false, 0},
		    {"method", false, 4}, {"done", true, 0},    {"pruned", true, 2},
		    {"metric", false, 1}, {"best", true, 0},    {"trial", true, 1},
		    {"time", true, 3},    {"created", false, 5}};
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_grid g;
	const cJSON *s, *sweeps;
	int status = sw_cli_call(c, "sweep.list", NULL, &r);

	sw_grid_init(&g);
	if (status != SW_EXIT_DONE || (c->args.given & SW_OPT_JSON))
		goto out;
	for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
		sw_grid_col(&g, cols[i].name, cols[i].right, cols[i].drop);
	sweeps = sw_json_get(r.result, "sweeps");
	cJSON_ArrayForEach (s, sweeps) {
		add_sweep(&g, s, c->look.utf8);
	}
	if (g.n_rows == 0)
		(void)sw_buf_adds(&c->out, "no sweeps yet; `sweep submit FILE` starts one\n");
	else if (sw_table_print(&c->out, &g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
out:
	sw_grid_fini(&g);
	sw_reply_fini(&r);
	return status;
}
