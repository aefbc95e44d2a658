#include "cli/table.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <string.h>

/* The decisions as a table: one row a rung. */
static void print_decisions(struct sw_cli *c, const cJSON *decisions)
{
	static const char *const cols[] = {"attempt", "seq",  "decision", "bracket", "rung", "rank",
					   "n",       "keep", "cutoff",   "value",   NULL};
	const cJSON *d;
	struct sw_grid g;

	sw_grid_init(&g, c->look.utf8);
	for (size_t i = 0; cols[i] != NULL; i++)
		sw_grid_col(&g, cols[i], i != 2, i < 2 || i == 3 ? 1 : 0);
	cJSON_ArrayForEach (d, decisions) {
		sw_grid_row(&g);
		sw_grid_add_members(&g, d, cols);
	}
	sw_table_print(&c->out, &g, &c->look);
}

static void print_why(struct sw_cli *c, const cJSON *why)
{
	const char *state = sw_json_text(why, "state", "-"), *text = sw_json_text(why, "text", "");

	sw_cli_subject(c);
	if (strncmp(text, state, strlen(state)) != 0) /* "FAILED: exit:1" says the state already */
		sw_cli_put(c, " ", sw_json_get(why, "state"), ":");
	sw_cli_put(c, " ", sw_json_get(why, "text"), "\n");
	print_decisions(c, sw_json_get(why, "decisions"));
}

int sw_verb_why(struct sw_cli *c)
{
	return sw_cli_answer(c, "trial.why", NULL, print_why);
}
