#include "cli/trial_text.h"
#include "base/term.h"
#include "cli/csv.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "proto/json.h"
#include <stdio.h>

void sw_trial_text_table(struct sw_cli *c, const cJSON *sweep, const cJSON *const *trials, size_t n,
			 bool whole)
{
	const cJSON *spec = sw_json_get(sweep, "spec");
	struct sw_csv csv;

	sw_csv_init(&csv, spec);
	const struct sw_trial_grid how = {
		.sweep = c->sweep,
		.parameters = csv.params,
		.metric = sw_json_text(sweep, "metric", NULL),
		.metrics = sw_json_get(spec, "metrics"),
		.max_t = whole ? sw_json_number(sweep, "max_t", 0.0) : 0.0,
		.cause = whole,
	};
	struct sw_grid g;

	sw_grid_init(&g, c->look.utf8);
	sw_trial_grid_fill(&g, &how, trials, n);
	sw_table_print(&c->out, &g, &c->look);
	sw_csv_fini(&csv);
}

static int widest(const struct sw_names *names, int least, bool utf8)
{
	for (size_t i = 0; i < names->n; i++) {
		const int w = sw_term_width(names->name[i], utf8);

		least = w > least ? w : least;
	}
	return least < 40 ? least : 40;
}

/* "  name   value", one a line. */
static void section(struct sw_cli *c, const char *title, const struct sw_names *names,
		    const cJSON *values, int width)
{
	if (names->n == 0)
		return; /* no title over nothing */
	(void)sw_buf_addf(&c->out, "%s\n", title);
	for (size_t i = 0; i < names->n; i++) {
		const cJSON *v = sw_json_get(values, names->name[i]);

		if (v == NULL)
			continue;
		const int w = sw_term_width(names->name[i], c->look.utf8);
		(void)sw_buf_adds(&c->out, "  ");
		sw_cli_text(c, names->name[i]);
		(void)sw_buf_addf(&c->out, "%*s", w < width ? width - w + 2 : 2, "");
		sw_fmt_value(&c->out, v, true, c->look.utf8);
		(void)sw_buf_adds(&c->out, "\n");
	}
}

/* ", best 0.9806 at step 9", if that is not the step that is shown. */
static void add_best(struct sw_cli *c, const cJSON *trial)
{
	const cJSON *best = sw_json_get(trial, "best"), *step = sw_json_get(best, "step");

	if (!cJSON_IsNumber(step) || cJSON_Compare(step, sw_json_get(trial, "step"), true))
		return;
	sw_cli_put(c, ", best ", sw_json_get(best, "value"), " at step ");
	sw_cli_put(c, "", step, "");
}

void sw_trial_text(struct sw_cli *c, const cJSON *trial, const cJSON *spec)
{
	const cJSON *params = sw_json_get(trial, "params"),
		    *metrics = sw_json_get(trial, "metrics");
	const cJSON *cause = sw_json_get(trial, "cause"), *v;
	struct sw_names p = {.n = 0}, m = {.n = 0};
	char text[32], silent[64];

	sw_cli_put(c, "state ", sw_json_get(trial, "state"), "");
	if (cJSON_IsString(cause))
		sw_cli_put(c, " (", cause, ")");
	sw_fmt_duration(sw_json_number(trial, "seconds", -1.0), text);
	sw_cli_put(c, ", step ", sw_json_get(trial, "step"), ", ");
	(void)sw_buf_adds(&c->out, text);
	if (sw_trial_grid_silent(trial, silent) != NULL)
		(void)sw_buf_addf(&c->out, ", %s", silent);
	add_best(c, trial);
	(void)sw_buf_adds(&c->out, "\n");
	cJSON_ArrayForEach (v, sw_json_get(spec, "parameters"))
		if (v->string != NULL && sw_json_get(params, v->string) != NULL)
			sw_trial_grid_name(&p, v->string);
	cJSON_ArrayForEach (v, params)
		sw_trial_grid_name(&p, v->string);
	cJSON_ArrayForEach (v, metrics)
		sw_trial_grid_name(&m, v->string);
	sw_trial_grid_names_sort(&m);
	const int width = widest(&m, widest(&p, 8, c->look.utf8), c->look.utf8);
	section(c, "parameters", &p, params, width);
	section(c, "metrics", &m, metrics, width);
}
