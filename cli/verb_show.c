/* cli/verb_show.c — `show 1`: a sweep on one screen, with --spec whole; `show 1/7`: a trial with
 * its reports. */
#include "cli/header.h"
#include "cli/model_text.h"
#include "cli/pareto_text.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>

static void print_grid(struct sw_cli *c, struct sw_grid *g)
{
	if (g->n_rows > 0 && sw_table_print(&c->out, g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
	sw_grid_fini(g);
}

static void header_line(struct sw_cli *c, const struct sw_view *v, int line)
{
	const struct sw_look whole = {.utf8 = c->look.utf8, .color = c->look.color};
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	const bool there = sw_header_line(&b, v, line, c->look.utf8, v->at_us);
	if (b.failed != SW_OK)
		c->out.failed = b.failed;
	else if (there)
		sw_header_mark_print(&c->out, b.data, &whole);
	sw_buf_fini(&b);
}

#define RUNGS_SHOWN 6 /* without --spec, so that all fits 24 lines */
#define EDITS_SHOWN 2
#define NAMES_SHOWN 8

static void print_rungs(struct sw_cli *c, const cJSON *rungs, bool whole)
{
	static const struct sw_grid_head heads[] = {
		{"bracket", true, 0}, {"rung", true, 0}, {"n", true, 0}, {"cutoff", true, 0}};
	static const char *const keys[] = {"bracket", "step", "n", "cutoff", NULL};
	const cJSON *r;
	struct sw_grid g;

	sw_grid_heads(&g, heads, sizeof heads / sizeof heads[0]);
	const int n = cJSON_GetArraySize(rungs);
	cJSON_ArrayForEach (r, rungs) {
		if (!whole && g.n_rows == RUNGS_SHOWN)
			break;
		sw_grid_row(&g);
		sw_grid_add_members(&g, r, keys, c->look.utf8);
	}
	print_grid(c, &g);
	if (r != NULL)
		(void)sw_buf_addf(&c->out, "        and %d more; --spec shows all\n",
				  n - RUNGS_SHOWN);
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

	if (!cJSON_IsArray(list) && !cJSON_IsString(sw_json_get(v->head, "metric"))) {
		(void)sw_buf_adds(&c->out, "metric  none: trials are not compared");
		return;
	}
	if (!cJSON_IsArray(list)) {
		labelled(c, "metric", sw_json_get(v->head, "metric"));
		(void)sw_buf_adds(&c->out, " (");
		sw_fmt_value(&c->out, sw_json_get(v->head, "goal"), false, c->look.utf8);
		(void)sw_buf_adds(&c->out, ")");
		return;
	}
	cJSON_ArrayForEach (m, list) {
		if (m == list->child)
			labelled(c, "metrics", sw_json_get(m, "name"));
		else
			sw_fmt_value(&c->out, sw_json_get(m, "name"), true, c->look.utf8);
		(void)sw_buf_adds(&c->out, " (");
		sw_cli_text(c, sw_json_text(m, "goal", "minimize"));
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

/* "limits  12.5s of 1h, 0.1 of 2 GPU hours, target 0.95, at most 4 at once, weight 3": what is
 * set. */
static void limits_line(struct sw_cli *c, const struct sw_view *v)
{
	const cJSON *budget = sw_json_get(v->head, "budget");
	const cJSON *time = sw_json_get(budget, "time_s"), *gpu = sw_json_get(budget, "gpu_hours");
	const cJSON *used = sw_json_get(budget, "time_used_s");
	const cJSON *target = sw_json_get(v->head, "target");
	const double weight = sw_view_number(v, "weight", 1.0);
	const double most = sw_view_number(v, "max_concurrent", 0.0);
	const char *sep = "limits  ";
	char text[32];

	if (cJSON_IsNumber(time) && cJSON_IsNumber(used)) {
		sw_fmt_duration(used->valuedouble, text);
		(void)sw_buf_addf(&c->out, "%s%s of ", sep, text);
		sw_fmt_duration(time->valuedouble, text);
		(void)sw_buf_adds(&c->out, text);
		sep = ", ";
	}
	if (cJSON_IsNumber(gpu)) {
		(void)sw_buf_adds(&c->out, sep);
		sw_fmt_value(&c->out, sw_json_get(budget, "gpu_used_hours"), true, c->look.utf8);
		(void)sw_buf_adds(&c->out, " of ");
		sw_fmt_value(&c->out, gpu, true, c->look.utf8);
		(void)sw_buf_adds(&c->out, " GPU hours");
		sep = ", ";
	}
	if (cJSON_IsNumber(target)) {
		(void)sw_buf_addf(&c->out, "%starget ", sep);
		sw_fmt_value(&c->out, target, true, c->look.utf8);
		sep = ", ";
	}
	if (most > 0.0) {
		(void)sw_buf_addf(&c->out, "%sat most %.0f at once", sep, most);
		sep = ", ";
	}
	if (weight < 1.0 || weight > 1.0) {
		(void)sw_buf_addf(&c->out, "%sweight %.10g", sep, weight);
		sep = ", ";
	}
	if (sep[0] == ',')
		(void)sw_buf_adds(&c->out, "\n");
}

/* The edits of the sweep: by whom, what, and when. */
static void print_edits(struct sw_cli *c, const cJSON *edits, bool whole)
{
	const int n = cJSON_GetArraySize(edits), skip = whole ? 0 : n - EDITS_SHOWN;
	const cJSON *edit;
	int i = 0;

	if (n > 0)
		(void)sw_buf_adds(&c->out, "edits\n");
	if (skip > 0)
		(void)sw_buf_addf(&c->out, "  %d earlier; --spec shows all\n", skip);
	cJSON_ArrayForEach (edit, edits) {
		if (i++ < skip)
			continue;
		const cJSON *time = sw_json_get(edit, "time_ms"), *uid = sw_json_get(edit, "uid");
		const struct passwd *who = cJSON_IsNumber(uid) ? getpwuid((uid_t)uid->valuedouble)
							       : NULL;
		char when[32] = "-";

		if (cJSON_IsNumber(time))
			sw_fmt_time((int64_t)time->valuedouble, when);
		(void)sw_buf_addf(&c->out, "  %s by ", when);
		if (who != NULL) {
			sw_cli_text(c, who->pw_name);
		} else {
			(void)sw_buf_adds(&c->out, "uid ");
			sw_fmt_value(&c->out, uid, true, c->look.utf8);
		}
		(void)sw_buf_adds(&c->out, "\n");
		sw_verb_edit_text(c, sw_json_get(edit, "changes"), "    ");
	}
}

/* "tags    baseline good", "note    ...": what a person wrote on it. */
static void annotation_lines(struct sw_cli *c, const struct sw_view *v)
{
	const cJSON *tags = sw_json_get(v->head, "tags"), *note = sw_json_get(v->head, "note"),
		    *tag;

	cJSON_ArrayForEach (tag, tags) {
		if (tag == tags->child)
			(void)sw_buf_addf(&c->out, "%-8s", "tags");
		sw_cli_text(c, cJSON_IsString(tag) ? tag->valuestring : "");
		(void)sw_buf_adds(&c->out, tag->next != NULL ? " " : "\n");
	}
	if (!cJSON_IsString(note))
		return;
	labelled(c, "note", note);
	(void)sw_buf_adds(&c->out, "\n");
}

/* "params  lr, width, depth; `sweep show 1 --spec` has the spec" */
static void params_line(struct sw_cli *c, const cJSON *params)
{
	const cJSON *p;
	int i = 0;

	(void)sw_buf_addf(&c->out, "%-8s", "params");
	cJSON_ArrayForEach (p, params) {
		if (i++ == NAMES_SHOWN) {
			(void)sw_buf_addf(&c->out, " and %d more",
					  cJSON_GetArraySize(params) - NAMES_SHOWN);
			break;
		}
		if (i > 1)
			(void)sw_buf_adds(&c->out, ", ");
		sw_cli_text(c, p->string);
	}
	(void)sw_buf_addf(&c->out, "; `sweep show %" PRIu64 " --spec` has the spec\n", c->sweep);
}

static void show_sweep(struct sw_cli *c, struct sw_reply *r)
{
	struct sw_view v;
	const cJSON *created = sw_json_get(r->result, "created_ms"), *spec;
	const bool whole = (c->args.given & SW_OPT_SPEC) != 0;
	char when[32] = "-";

	sw_view_init(&v, c->sweep);
	v.head = cJSON_DetachItemFromObjectCaseSensitive(r->tree, "result");
	if (cJSON_IsNumber(created))
		sw_fmt_time((int64_t)created->valuedouble, when);
	header_line(c, &v, 0);
	header_line(c, &v, 1);
	metric_line(c, &v);
	(void)sw_buf_adds(&c->out, ", seed ");
	sw_fmt_value(&c->out, sw_json_get(v.head, "seed"), true, c->look.utf8);
	(void)sw_buf_addf(&c->out, ", created %s\n", when);
	annotation_lines(c, &v);
	header_line(c, &v, 2);
	limits_line(c, &v);
	if (cJSON_IsObject(sw_json_get(v.head, "pareto")))
		front_line(c, sw_json_get(v.head, "pareto"));
	else
		header_line(c, &v, 4);
	spec = sw_json_get(v.head, "spec");
	if (!whole)
		params_line(c, sw_json_get(spec, "parameters"));
	print_rungs(c, sw_json_get(v.head, "rungs"), whole);
	print_edits(c, sw_json_get(v.head, "edits"), whole);
	if (whole) {
		(void)sw_buf_adds(&c->out, "spec\n");
		if (spec != NULL)
			sw_fmt_json(&c->out, spec, "  ", c->look.utf8);
		sw_model_text(c, spec);
	}
	sw_view_fini(&v);
}

/* Did NVML say something of one of them? */
static bool any_gpu(const cJSON *attempts)
{
	const cJSON *a;

	cJSON_ArrayForEach (a, attempts) {
		if (cJSON_IsNumber(sw_json_get(a, "joules")))
			return true;
	}
	return false;
}

/* Most memory, mean utilisation, energy. */
static void add_usage(struct sw_grid *g, const cJSON *attempt)
{
	static const struct {
		const char *key, *unit;
		double in;
	} cells[] = {
		{"gpu_bytes", " MiB", 1048576.0}, {"gpu_util", "%", 1.0}, {"joules", " J", 1.0}};

	for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
		const cJSON *v = sw_json_get(attempt, cells[i].key);

		if (cJSON_IsNumber(v))
			sw_grid_addf(g, "%.*f%s", v->valuedouble < 10 && i == 2 ? 2 : 0,
				     v->valuedouble / cells[i].in, cells[i].unit);
		else
			sw_grid_addf(g, "-");
	}
}

static void print_attempts(struct sw_cli *c, const cJSON *attempts)
{
	static const struct sw_grid_head heads[] = {
		{"attempt", true, 0},  {"slot", true, 0},    {"state", false, 0},
		{"started", false, 1}, {"seconds", true, 0}, {"from step", true, 2},
		{"peak", true, 3},     {"util", true, 4},    {"energy", true, 5}};
	const bool gpu = any_gpu(attempts);
	const cJSON *a;
	struct sw_grid g;
	const bool utf8 = c->look.utf8;

	/* The last three before the cause are of a GPU. */
	sw_grid_heads(&g, heads, gpu ? 9 : 6);
	sw_grid_col(&g, "cause", false, 0);
	cJSON_ArrayForEach (a, attempts) {
		const cJSON *from = sw_json_get(a, "started_ms"), *to = sw_json_get(a, "ended_ms");
		const cJSON *state = sw_json_get(a, "state");
		char text[32] = "-";

		sw_grid_row(&g);
		sw_grid_add_members(&g, a, (const char *const[]){"attempt", "slot", NULL}, utf8);
		sw_grid_add_value(&g, state, utf8,
				  cJSON_IsString(state) ? sw_grid_tint(state->valuestring)
							: SW_TINT_NONE);
		if (cJSON_IsNumber(from))
			sw_fmt_time((int64_t)from->valuedouble, text);
		sw_grid_addf(&g, "%s", text);
		if (cJSON_IsNumber(from) && cJSON_IsNumber(to))
			sw_grid_addf(&g, "%.1f", (to->valuedouble - from->valuedouble) / 1e3);
		else
			sw_grid_addf(&g, "-");
		sw_grid_add_value(&g, sw_json_get(a, "resume_step"), utf8, SW_TINT_NONE);
		if (gpu)
			add_usage(&g, a);
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
			sw_trial_grid_name(&metrics, m->string);
		}
	}
	sw_trial_grid_names_sort(&metrics);
	sw_grid_init(&g);
	sw_grid_col(&g, "attempt", true, 300);
	sw_grid_col(&g, "seq", true, 300);
	sw_grid_col(&g, "step", true, 0);
	for (size_t i = 0; i < metrics.n; i++)
		sw_grid_col(&g, metrics.name[i], true, 1 + (int)i);
	sw_grid_col(&g, "decision", false, 0);
	cJSON_ArrayForEach (r, reports) {
		sw_grid_row(&g);
		sw_grid_add_members(&g, r, (const char *const[]){"attempt", "seq", "step", NULL},
				    c->look.utf8);
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
		sw_client_reply_fini(&r);
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
	if (cJSON_IsNumber(sw_json_get(r->result, "parent"))) {
		(void)sw_buf_adds(&c->out, "a changed copy of trial ");
		sw_fmt_value(&c->out, sw_json_get(r->result, "parent"), true, c->look.utf8);
		(void)sw_buf_adds(&c->out, ", ");
	}
	sw_trial_text(c, r->result, NULL);
	(void)sw_buf_adds(&c->out, "\n");
	print_attempts(c, sw_json_get(r->result, "attempts"));
	(void)sw_buf_adds(&c->out, "\n");
	return all_reports(c);
}

int sw_verb_show(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;

	if (c->trial != 0 && (c->args.given & SW_OPT_SPEC))
		return sw_cli_usage(c, "show: --spec is of a sweep, not of a trial");
	int status = sw_cli_call_ref(c, c->trial != 0 ? "trial.get" : "sweep.get", &r);

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		if (c->trial != 0)
			status = show_trial(c, &r);
		else
			show_sweep(c, &r);
	}
	sw_client_reply_fini(&r);
	return status;
}
