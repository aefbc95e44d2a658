/* cli/verb_show.c — `show 1`: a sweep with its spec; `show 1/7`: a trial with its reports. */
#include "cli/header.h"
#include "cli/pareto_text.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>

static void print_grid(struct sw_cli *c, struct sw_grid *g)
{
	if (g->n_rows > 0 && sw_table_print(&c->out, g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
	sw_grid_fini(g);
}

static void header_line(struct sw_cli *c, const struct sw_view *v, int which)
{
	const struct sw_look whole = {.utf8 = c->look.utf8, .color = c->look.color};
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	if (which == 0)
		sw_header_sweep(&b, v, c->look.utf8, v->at_us);
	else if (which == 1)
		sw_header_trials(&b, v, c->look.utf8);
	else
		sw_header_best(&b, v, c->look.utf8);
	if (b.failed != SW_OK)
		c->out.failed = b.failed;
	else
		sw_mark_print(&c->out, b.data, &whole);
	sw_buf_fini(&b);
}

static void print_rungs(struct sw_cli *c, const cJSON *rungs)
{
	const cJSON *r;
	struct sw_grid g;

	sw_grid_init(&g);
	sw_grid_col(&g, "bracket", true, 0);
	sw_grid_col(&g, "rung", true, 0);
	sw_grid_col(&g, "n", true, 0);
	sw_grid_col(&g, "cutoff", true, 0);
	cJSON_ArrayForEach (r, rungs) {
		sw_grid_row(&g);
		sw_grid_add_value(&g, sw_json_get(r, "bracket"), c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "step"), c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "n"), c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "cutoff"), c->look.utf8, SW_TINT_NONE);
	}
	print_grid(c, &g);
}

static void labelled(struct sw_cli *c, const char *label, const cJSON *v)
{
	(void)sw_buf_addf(&c->out, "%-8s", label);
	sw_fmt_value(&c->out, v, true, c->look.utf8);
}

/* "metric  val_loss (minimize)", or "metrics val_loss (minimize), acc (maximize)". */
static void metric_line(struct sw_cli *c, const struct sw_view *v)
{
	const cJSON *list = sw_json_get(sw_json_get(v->head, "spec"), "metrics"), *m;

	if (!cJSON_IsArray(list)) {
		labelled(c, "metric", sw_json_get(v->head, "metric"));
		(void)sw_buf_adds(&c->out, " (");
		sw_fmt_value(&c->out, sw_json_get(v->head, "goal"), false, c->look.utf8);
		(void)sw_buf_adds(&c->out, ")");
		return;
	}
	cJSON_ArrayForEach (m, list) {
		const cJSON *goal = sw_json_get(m, "goal");

		if (m == list->child)
			labelled(c, "metrics", sw_json_get(m, "name"));
		else
			sw_fmt_value(&c->out, sw_json_get(m, "name"), true, c->look.utf8);
		(void)sw_buf_adds(&c->out, " (");
		sw_cli_text(c, cJSON_IsString(goal) ? goal->valuestring : "minimize");
		(void)sw_buf_adds(&c->out, m->next != NULL ? "), " : ")");
	}
}

/* In the place of the best: "front   4 trials, hypervolume 52.65 from loss 14.3, acc 13.5" */
static void front_line(struct sw_cli *c, const cJSON *pareto)
{
	uint64_t n = 0;

	(void)sw_json_u64(sw_json_get(pareto, "trials"), &n);
	(void)sw_buf_addf(&c->out, "%-8s%" PRIu64 " trial%s, ", "front", n, n == 1 ? "" : "s");
	sw_pareto_text(c, pareto);
}

static void show_sweep(struct sw_cli *c, struct sw_reply *r)
{
	struct sw_view v;
	const cJSON *created = sw_json_get(r->result, "created_ms");
	char when[32] = "-";

	sw_view_init(&v, c->sweep);
	v.head = cJSON_DetachItemFromObjectCaseSensitive(r->tree, "result");
	if (cJSON_IsNumber(created))
		sw_fmt_time((int64_t)created->valuedouble, when);
	header_line(c, &v, 0);
	metric_line(c, &v);
	(void)sw_buf_adds(&c->out, ", seed ");
	sw_fmt_value(&c->out, sw_json_get(v.head, "seed"), true, c->look.utf8);
	(void)sw_buf_addf(&c->out, ", created %s\n", when);
	header_line(c, &v, 1);
	if (cJSON_IsObject(sw_json_get(v.head, "pareto")))
		front_line(c, sw_json_get(v.head, "pareto"));
	else
		header_line(c, &v, 2);
	print_rungs(c, sw_json_get(v.head, "rungs"));
	(void)sw_buf_adds(&c->out, "spec\n");
	if (sw_json_get(v.head, "spec") != NULL)
		sw_fmt_json(&c->out, sw_json_get(v.head, "spec"), "  ", c->look.utf8);
	sw_view_fini(&v);
}

static void print_attempts(struct sw_cli *c, const cJSON *attempts)
{
	const cJSON *a;
	struct sw_grid g;
	const bool utf8 = c->look.utf8;

	sw_grid_init(&g);
	sw_grid_col(&g, "attempt", true, 0);
	sw_grid_col(&g, "slot", true, 0);
	sw_grid_col(&g, "state", false, 0);
	sw_grid_col(&g, "started", false, 1);
	sw_grid_col(&g, "seconds", true, 0);
	sw_grid_col(&g, "cause", false, 0);
	cJSON_ArrayForEach (a, attempts) {
		const cJSON *from = sw_json_get(a, "started_ms"), *to = sw_json_get(a, "ended_ms");
		const cJSON *state = sw_json_get(a, "state");
		char text[32] = "-";

		sw_grid_row(&g);
		sw_grid_add_value(&g, sw_json_get(a, "attempt"), utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(a, "slot"), utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, state, utf8,
				  cJSON_IsString(state) ? sw_tint_state(state->valuestring)
							: SW_TINT_NONE);
		if (cJSON_IsNumber(from))
			sw_fmt_time((int64_t)from->valuedouble, text);
		sw_grid_addf(&g, "%s", text);
		if (cJSON_IsNumber(from) && cJSON_IsNumber(to))
			sw_grid_addf(&g, "%.1f", (to->valuedouble - from->valuedouble) / 1e3);
		else
			sw_grid_addf(&g, "-");
		sw_grid_add_value(&g, sw_json_get(a, "cause"), utf8, SW_TINT_NONE);
	}
	print_grid(c, &g);
}

/* One page of reports as a table: step by step what was reported, and what was decided. */
static void print_reports(struct sw_cli *c, const cJSON *reports)
{
	struct sw_names metrics = {.n = 0};
	const cJSON *r, *m;
	struct sw_grid g;

	cJSON_ArrayForEach (r, reports) {
		cJSON_ArrayForEach (m, sw_json_get(r, "metrics")) {
			sw_names_add(&metrics, m->string);
		}
	}
	sw_names_sort(&metrics);
	sw_grid_init(&g);
	sw_grid_col(&g, "attempt", true, 300);
	sw_grid_col(&g, "seq", true, 300);
	sw_grid_col(&g, "step", true, 0);
	for (size_t i = 0; i < metrics.n; i++)
		sw_grid_col(&g, metrics.name[i], true, 1 + (int)i);
	sw_grid_col(&g, "decision", false, 0);
	cJSON_ArrayForEach (r, reports) {
		sw_grid_row(&g);
		sw_grid_add_value(&g, sw_json_get(r, "attempt"), c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "seq"), c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "step"), c->look.utf8, SW_TINT_NONE);
		for (size_t i = 0; i < metrics.n; i++)
			sw_grid_add_value(&g,
					  sw_json_get(sw_json_get(r, "metrics"), metrics.name[i]),
					  c->look.utf8, SW_TINT_NONE);
		sw_grid_add_value(&g, sw_json_get(r, "decision"), c->look.utf8, SW_TINT_NONE);
	}
	print_grid(c, &g);
}

static int all_reports(struct sw_cli *c)
{
	char params[160], after[64] = "";
	int status = SW_EXIT_DONE;
	bool more = true;

	while (status == SW_EXIT_DONE && more) {
		struct sw_reply r = SW_REPLY_INIT;
		const cJSON *next;

		(void)snprintf(params, sizeof params,
			       "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 "%s%s%s}", c->sweep,
			       c->trial, after[0] != '\0' ? ",\"after\":\"" : "", after,
			       after[0] != '\0' ? "\"" : "");
		status = sw_cli_fetch(c, "trial.reports", params, &r);
		if (status == SW_EXIT_DONE)
			print_reports(c, sw_json_get(r.result, "reports"));
		next = sw_json_get(r.result, "next");
		more = cJSON_IsString(next) &&
		       snprintf(after, sizeof after, "%s", next->valuestring) < (int)sizeof after;
		sw_reply_fini(&r);
		if (status == SW_EXIT_DONE)
			status = sw_cli_flush(c);
	}
	return status;
}

static int show_trial(struct sw_cli *c, const struct sw_reply *r)
{
	uint64_t attempt = 0;

	(void)sw_json_u64(sw_json_get(r->result, "attempt"), &attempt);
	(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 ", attempt %" PRIu64 ", ", c->sweep,
			  c->trial, attempt);
	sw_trial_text(c, r->result, NULL);
	(void)sw_buf_adds(&c->out, "\n");
	print_attempts(c, sw_json_get(r->result, "attempts"));
	(void)sw_buf_adds(&c->out, "\n");
	return all_reports(c);
}

int sw_verb_show(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	int status = sw_cli_call_ref(c, c->trial != 0 ? "trial.get" : "sweep.get", &r);

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		if (c->trial != 0)
			status = show_trial(c, &r);
		else
			show_sweep(c, &r);
	}
	sw_reply_fini(&r);
	return status;
}
