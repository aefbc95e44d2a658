#include "cli/table.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <string.h>

/* The decisions as a table: one row a rung. */
static void print_decisions(struct sw_cli *c, const cJSON *decisions)
{
	static const char *const cols[] = {"attempt", "seq",  "decision", "bracket", "rung", "rank",
					   "n",       "keep", "cutoff",   "value",   NULL};
	const cJSON *d;
	struct sw_grid g;

	sw_grid_init(&g);
	for (size_t i = 0; cols[i] != NULL; i++)
		sw_grid_col(&g, cols[i], i != 2, i < 2 || i == 3 ? 1 : 0);
	cJSON_ArrayForEach (d, decisions) {
		sw_grid_row(&g);
		sw_grid_add_members(&g, d, cols, c->look.utf8);
	}
	if (g.n_rows > 0 && sw_table_print(&c->out, &g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
	sw_grid_fini(&g);
}

/* "FAILED: exit:1" says the state already. */
static bool begins_with_state(const cJSON *why)
{
	const cJSON *state = sw_json_get(why, "state"), *text = sw_json_get(why, "text");

	return cJSON_IsString(state) && cJSON_IsString(text) &&
	       strncmp(text->valuestring, state->valuestring, strlen(state->valuestring)) == 0;
}

int sw_verb_why(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	const int status = sw_cli_call_ref(c, "trial.why", &r);

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 " ", c->sweep, c->trial);
		if (!begins_with_state(r.result)) {
			sw_fmt_value(&c->out, sw_json_get(r.result, "state"), false, c->look.utf8);
			(void)sw_buf_adds(&c->out, ": ");
		}
		sw_fmt_value(&c->out, sw_json_get(r.result, "text"), false, c->look.utf8);
		(void)sw_buf_adds(&c->out, "\n");
		print_decisions(c, sw_json_get(r.result, "decisions"));
	}
	sw_client_reply_fini(&r);
	return status;
}
