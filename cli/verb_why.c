#include "cli/table.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <string.h>

/* The decisions as a table: one row a rung. */
static void print_decisions(struct sw_cli *c, const cJSON *decisions)
{
	static const struct sw_column columns[] = {
		{"attempt", "attempt", SW_FORM_NUMBER, .drop = 1},
		{"seq", "seq", SW_FORM_NUMBER, .drop = 1},
		{"decision", "decision", SW_FORM_TEXT, .drop = 0},
		{"bracket", "bracket", SW_FORM_NUMBER, .drop = 1},
		{"rung", "rung", SW_FORM_NUMBER, .drop = 0},
		{"rank", "rank", SW_FORM_NUMBER, .drop = 0},
		{"n", "n", SW_FORM_NUMBER, .drop = 0},
		{"keep", "keep", SW_FORM_NUMBER, .drop = 0},
		{"cutoff", "cutoff", SW_FORM_NUMBER, .drop = 0},
		{"value", "value", SW_FORM_NUMBER, .drop = 0}};
	const cJSON *d;
	struct sw_grid g;

	sw_grid_columns(&g, c->look.utf8, columns, sizeof columns / sizeof columns[0]);
	cJSON_ArrayForEach (d, decisions)
		sw_grid_add_object(&g, d);
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
