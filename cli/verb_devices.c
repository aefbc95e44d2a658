#include "cli/table.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <string.h>

static enum sw_tint slot_tint(const cJSON *state)
{
	if (!cJSON_IsString(state))
		return SW_TINT_NONE;
	if (strcmp(state->valuestring, "BUSY") == 0)
		return SW_TINT_CYAN;
	if (strcmp(state->valuestring, "DOWN") == 0)
		return SW_TINT_RED;
	return strcmp(state->valuestring, "IDLE") == 0 ? SW_TINT_GREEN : SW_TINT_YELLOW;
}

static void add_slot(struct sw_grid *g, const cJSON *s, bool utf8)
{
	const cJSON *state = sw_json_get(s, "state"), *seconds = sw_json_get(s, "seconds");
	uint64_t sweep = 0, trial = 0;
	char text[32] = "-";

	sw_grid_row(g);
	sw_grid_add_value(g, sw_json_get(s, "slot"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "device"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, state, utf8, slot_tint(state));
	sw_grid_add_value(g, sw_json_get(s, "pid"), utf8, SW_TINT_NONE);
	if (sw_json_u64(sw_json_get(s, "sweep"), &sweep) &&
	    sw_json_u64(sw_json_get(s, "trial"), &trial) && trial > 0)
		sw_grid_addf(g, "%llu/%llu", (unsigned long long)sweep, (unsigned long long)trial);
	else
		sw_grid_addf(g, "-");
	sw_grid_add_value(g, sw_json_get(s, "attempt"), utf8, SW_TINT_NONE);
	if (cJSON_IsNumber(seconds))
		sw_fmt_duration(seconds->valuedouble, text);
	sw_grid_addf(g, "%s", text);
	sw_grid_add_value(g, sw_json_get(s, "starts"), utf8, SW_TINT_NONE);
	sw_grid_add_value(g, sw_json_get(s, "cause"), utf8, SW_TINT_NONE);
}

int sw_verb_devices(struct sw_cli *c)
{
	static const struct {
		const char *name;
		bool right;
		int drop;
	} cols[] = {{"slot", true, 0}, {"device", false, 0}, {"state", false, 0},
		    {"pid", true, 3},  {"trial", false, 0},  {"attempt", true, 2},
		    {"time", true, 1}, {"starts", true, 4},  {"cause", false, 0}};
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_grid g;
	const cJSON *s;
	const int status = sw_cli_call(c, "device.list", NULL, &r);

	sw_grid_init(&g);
	if (status != SW_EXIT_DONE || (c->args.given & SW_OPT_JSON))
		goto out;
	for (size_t i = 0; i < sizeof cols / sizeof cols[0]; i++)
		sw_grid_col(&g, cols[i].name, cols[i].right, cols[i].drop);
	cJSON_ArrayForEach (s, sw_json_get(r.result, "slots")) {
		add_slot(&g, s, c->look.utf8);
	}
	if (g.n_rows == 0)
		(void)sw_buf_adds(&c->out, "no slots: the daemon runs no trials of its own\n");
	else if (sw_table_print(&c->out, &g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
out:
	sw_grid_fini(&g);
	sw_reply_fini(&r);
	return status;
}
