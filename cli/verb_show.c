/* cli/verb_show.c — `show 1`: a sweep on one screen, with --spec whole; `show 1/7`: a trial with
 * its reports. */
#include "cli/header.h"
#include "cli/pages.h"
#include "cli/sweep_text.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>

static void header_line(struct sw_cli *c, const struct sw_view *v, int line)
{
	const struct sw_look whole = {.utf8 = c->look.utf8, .color = c->look.color};

	sw_header_print(&c->out, v, line, &whole, v->at_us);
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

	sw_grid_heads(&g, c->look.utf8, heads, sizeof heads / sizeof heads[0]);
	const int n = cJSON_GetArraySize(rungs);
	cJSON_ArrayForEach (r, rungs) {
		if (!whole && g.n_rows == RUNGS_SHOWN)
			break;
		sw_grid_row(&g);
		sw_grid_add_members(&g, r, keys);
	}
	sw_table_print(&c->out, &g, &c->look);
	if (r != NULL)
		(void)sw_buf_addf(&c->out, "        and %d more; --spec shows all\n",
				  n - RUNGS_SHOWN);
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
		sw_cli_put(c, "metric  ", sw_json_get(v->head, "metric"), " (");
		sw_cli_put(c, "", sw_json_get(v->head, "goal"), ")");
		return;
	}
	cJSON_ArrayForEach (m, list) {
		sw_cli_put(c, m == list->child ? "metrics " : ", ", sw_json_get(m, "name"), " (");
		sw_cli_text(c, sw_json_text(m, "goal", "minimize"));
		(void)sw_buf_adds(&c->out, ")");
	}
}

/* In the place of the best: "front   4 trials, hypervolume 52.65 from loss 14.3, acc 13.5" */
static void front_line(struct sw_cli *c, const cJSON *pareto)
{
	const uint64_t n = sw_json_uint(pareto, "trials");

	(void)sw_buf_addf(&c->out, "front   %" PRIu64 " trial%s, ", n, n == 1 ? "" : "s");
	sw_sweep_text_pareto(c, pareto);
}

/* "limits  12.5s of 1h, 0.1 of 2 GPU hours, target 0.95, at most 4 at once, weight 3": what is
 * set. */
static void limits_line(struct sw_cli *c, const struct sw_view *v)
{
	const cJSON *budget = sw_json_get(v->head, "budget");
	const cJSON *time = sw_json_get(budget, "time_s"), *gpu = sw_json_get(budget, "gpu_hours");
	const cJSON *used = sw_json_get(budget, "time_used_s");
	const cJSON *target = sw_json_get(v->head, "target");
	const double weight = sw_json_number(v->head, "weight", 1.0);
	const double most = sw_json_number(v->head, "max_concurrent", 0.0);
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
		sw_cli_put(c, sep, sw_json_get(budget, "gpu_used_hours"), " of ");
		sw_cli_put(c, "", gpu, " GPU hours");
		sep = ", ";
	}
	if (cJSON_IsNumber(target)) {
		(void)sw_buf_adds(&c->out, sep);
		sw_cli_put(c, "target ", target, "");
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
		const cJSON *uid = sw_json_get(edit, "uid");
		const struct passwd *who = cJSON_IsNumber(uid) ? getpwuid((uid_t)uid->valuedouble)
							       : NULL;
		char when[32];

		sw_fmt_time(sw_json_get(edit, "time_ms"), when);
		(void)sw_buf_addf(&c->out, "  %s by ", when);
		if (who != NULL)
			sw_cli_text(c, who->pw_name);
		else
			sw_cli_put(c, "uid ", uid, "");
		(void)sw_buf_adds(&c->out, "\n");
		sw_verb_edit_text(c, sw_json_get(edit, "changes"), "    ");
	}
}

/* "tags    baseline good", "note    ...": what a person wrote on it. */
static void annotation_lines(struct sw_cli *c, const struct sw_view *v)
{
	const cJSON *tags = sw_json_get(v->head, "tags"), *note = sw_json_get(v->head, "note"),
		    *tag;

	cJSON_ArrayForEach (tag, tags)
		sw_cli_put(c, tag == tags->child ? "tags    " : " ", tag,
			   tag->next != NULL ? "" : "\n");
	if (cJSON_IsString(note))
		sw_cli_put(c, "note    ", note, "\n");
}

/* "params  lr, width, depth; `sweep show 1 --spec` has the spec" */
static void params_line(struct sw_cli *c, const cJSON *params)
{
	const cJSON *p;
	int i = 0;

	(void)sw_buf_adds(&c->out, "params  ");
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
	const cJSON *spec = sw_json_get(r->result, "spec");
	const bool whole = (c->args.given & SW_OPT_SPEC) != 0;
	char when[32];

	sw_view_init(&v, c->sweep);
	/* The view takes what it is given, and the reply must not free it again. */
	v.head = cJSON_DetachItemFromObjectCaseSensitive(r->tree, "result");
	sw_fmt_time(sw_json_get(v.head, "created_ms"), when);
	header_line(c, &v, 0);
	header_line(c, &v, 1);
	metric_line(c, &v);
	sw_cli_put(c, ", seed ", sw_json_get(v.head, "seed"), "");
	(void)sw_buf_addf(&c->out, ", created %s\n", when);
	annotation_lines(c, &v);
	header_line(c, &v, 2);
	limits_line(c, &v);
	if (cJSON_IsObject(sw_json_get(v.head, "pareto")))
		front_line(c, sw_json_get(v.head, "pareto"));
	else
		header_line(c, &v, 4);
	if (!whole)
		params_line(c, sw_json_get(spec, "parameters"));
	print_rungs(c, sw_json_get(v.head, "rungs"), whole);
	print_edits(c, sw_json_get(v.head, "edits"), whole);
	if (whole) {
		(void)sw_buf_adds(&c->out, "spec\n");
		if (spec != NULL)
			sw_fmt_json(&c->out, spec, "  ", c->look.utf8);
		sw_sweep_text_model(c, spec);
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

	/* The last three before the cause are of a GPU. */
	sw_grid_heads(&g, c->look.utf8, heads, gpu ? 9 : 6);
	sw_grid_col(&g, "cause", false, 0);
	cJSON_ArrayForEach (a, attempts) {
		const cJSON *from = sw_json_get(a, "started_ms"), *to = sw_json_get(a, "ended_ms");

		sw_grid_row(&g);
		sw_grid_add_members(&g, a, (const char *const[]){"attempt", "slot", NULL});
		sw_grid_add_state(&g, a);
		sw_grid_add_time(&g, from);
		if (cJSON_IsNumber(from) && cJSON_IsNumber(to))
			sw_grid_addf(&g, "%.1f", /* its clock may have been set back */
				     fmax(0, to->valuedouble - from->valuedouble) / 1e3);
		else
			sw_grid_addf(&g, "-");
		sw_grid_add_member(&g, a, "resume_step");
		if (gpu)
			add_usage(&g, a);
		sw_grid_add_member(&g, a, "cause");
	}
	sw_table_print(&c->out, &g, &c->look);
}

/* One page of reports as a table: step by step what was reported, and what was decided. */
static int print_reports(void *arg, const cJSON *reports)
{
	struct sw_cli *c = arg;
	struct sw_names metrics = {.n = 0};
	const cJSON *r, *m;
	struct sw_grid g;

	cJSON_ArrayForEach (r, reports) {
		cJSON_ArrayForEach (m, sw_json_get(r, "metrics")) {
			sw_trial_grid_name(&metrics, m->string);
		}
	}
	sw_trial_grid_names_sort(&metrics);
	sw_grid_init(&g, c->look.utf8);
	sw_grid_col(&g, "attempt", true, 300);
	sw_grid_col(&g, "seq", true, 300);
	sw_grid_col(&g, "step", true, 0);
	for (size_t i = 0; i < metrics.n; i++)
		sw_grid_col(&g, metrics.name[i], true, 1 + (int)i);
	sw_grid_col(&g, "decision", false, 0);
	cJSON_ArrayForEach (r, reports) {
		sw_grid_row(&g);
		sw_grid_add_members(&g, r, (const char *const[]){"attempt", "seq", "step", NULL});
		for (size_t i = 0; i < metrics.n; i++)
			sw_grid_add_member(&g, sw_json_get(r, "metrics"), metrics.name[i]);
		sw_grid_add_member(&g, r, "decision");
	}
	sw_table_print(&c->out, &g, &c->look);
	return sw_cli_flush(c);
}

static int show_trial(struct sw_cli *c, const struct sw_reply *r)
{
	const cJSON *parent = sw_json_get(r->result, "parent");
	const cJSON *left = sw_json_get(r->result, "left_why");
	struct sw_pages_place at = {0, 0};

	sw_cli_subject(c);
	sw_cli_put(c, ", attempt ", sw_json_get(r->result, "attempt"), ", ");
	if (cJSON_IsNumber(parent))
		sw_cli_put(c, "a changed copy of trial ", parent, ", ");
	sw_trial_text(c, r->result, NULL);
	if (cJSON_IsString(left)) {
		sw_cli_put(c, "left out  ", sw_json_get(r->result, "left_out"), "");
		sw_cli_put(c, " of its reports, the first: ", left, "\n");
	}
	(void)sw_buf_adds(&c->out, "\n");
	print_attempts(c, sw_json_get(r->result, "attempts"));
	(void)sw_buf_adds(&c->out, "\n");
	return sw_pages_reports(c, c->trial, &at, print_reports, c);
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
