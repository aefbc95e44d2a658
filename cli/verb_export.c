/* cli/verb_export.c — `export 1 --to csv --out DIR`: a sweep as files for other tools: its
 * trials and their curves as CSV, or all of it as one JSON document. */
#include "base/csv.h"
#include "cli/csv.h"
#include "cli/out_file.h"
#include "cli/pages.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK ((size_t)1 << 16) /* bytes that are gathered before they are written */

struct exporter {
	struct sw_cli *c;
	struct sw_out_file file;
	struct sw_csv csv;
	uint64_t trials, reports; /* how many were written */
	uint64_t trial;           /* that is being written */
	bool comma;               /* one is due before the next element of JSON */
};

/* --- where it goes --- */

static int cannot_write(const struct sw_cli *c)
{
	sw_cli_say(c, "cannot write %s: %s", c->args.out, strerror(errno));
	return SW_EXIT_REFUSED;
}

/* From now on output goes to the file --out, or one in that folder. */
static int open_output(struct exporter *e, const char *name)
{
	struct sw_cli *c = e->c;
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s%s", c->args.out, name);
	if (!sw_out_file_open(&e->file, path))
		return cannot_write(c);
	c->to = e->file.to;
	c->look.width = 0; /* a file gets every byte */
	return SW_EXIT_DONE;
}

static int close_output(struct exporter *e, int status)
{
	const int flushed = sw_cli_flush(e->c);

	e->c->to = NULL;
	if (status == SW_EXIT_DONE)
		status = flushed;
	if (!sw_out_file_close(&e->file, status == SW_EXIT_DONE) && status == SW_EXIT_DONE)
		status = cannot_write(e->c);
	return status;
}

static int flush_chunk(struct sw_cli *c)
{
	return c->out.len > CHUNK || c->out.failed != SW_OK ? sw_cli_flush(c) : SW_EXIT_DONE;
}

/* The reports of a trial, and the count of both. */
static int each_report(struct exporter *e, const cJSON *trial,
		       int (*on_page)(void *arg, const cJSON *reports))
{
	struct sw_pages_place at = {0, 0};
	int status = SW_EXIT_DONE;

	e->trial = sw_json_uint(trial, "trial");
	e->trials++;
	/* A trial that never reported costs no call. */
	if (sw_json_number(trial, "step", 0) > 0)
		status = sw_pages_reports(e->c, e->trial, &at, on_page, e);
	return status;
}

/* --- CSV --- */

static int on_reports_csv(void *arg, const cJSON *reports)
{
	struct exporter *e = arg;
	struct sw_buf *out = &e->c->out;
	const cJSON *r, *m;

	cJSON_ArrayForEach (r, reports) {
		cJSON_ArrayForEach (m, sw_json_get(r, "metrics")) {
			(void)sw_buf_addf(out, "%" PRIu64 ",", e->trial);
			sw_csv_value(out, sw_json_get(r, "attempt"));
			sw_csv_value(out, sw_json_get(r, "step"));
			sw_csv_field(out, m->string);
			(void)sw_buf_adds(out, ",");
			sw_csv_value(out, m);
			sw_csv_value(out, sw_json_get(r, "time_ms"));
			sw_csv_end(out);
		}
		e->reports++;
	}
	return flush_chunk(e->c);
}

/* The first walk over the trials: their curves, and the names of their columns. */
static int on_trial_csv(void *arg, const cJSON *trial)
{
	struct exporter *e = arg;

	sw_csv_learn(&e->csv, trial);
	return each_report(e, trial, on_reports_csv);
}

static int export_csv(struct exporter *e, const cJSON *spec)
{
	struct sw_cli *c = e->c;

	if (mkdir(c->args.out, 0777) != 0 && errno != EEXIST)
		return cannot_write(c);
	sw_csv_init(&e->csv, spec);
	int status = open_output(e, "/curves.csv");
	if (status == SW_EXIT_DONE) {
		(void)sw_buf_adds(&c->out, "trial,attempt,step,metric,value,time_ms\n");
		/* curves.csv first: its walk also finds the columns that trials.csv must know
		 * before its first row. */
		status = close_output(e, sw_pages_trials(c, on_trial_csv, e));
	}
	if (status == SW_EXIT_DONE)
		status = open_output(e, "/trials.csv");
	if (status == SW_EXIT_DONE)
		status = close_output(e, sw_verb_trials_csv(c, &e->csv));
	sw_csv_fini(&e->csv);
	return status;
}

/* --- JSON --- */

static void add_element(struct exporter *e, const cJSON *v)
{
	struct sw_jw w;

	if (e->comma)
		(void)sw_buf_adds(&e->c->out, ",\n");
	e->comma = true;
	sw_jw_init(&w, &e->c->out);
	sw_jw_cjson(&w, v);
}

static int on_reports_json(void *arg, const cJSON *reports)
{
	struct exporter *e = arg;
	const cJSON *r;

	cJSON_ArrayForEach (r, reports) {
		add_element(e, r);
		e->reports++;
	}
	return flush_chunk(e->c);
}

/* {"trial": 1, ..., "reports": [...]} */
static int on_trial_json(void *arg, const cJSON *trial)
{
	struct exporter *e = arg;
	struct sw_buf *out = &e->c->out;

	add_element(e, trial);
	if (out->failed == SW_OK)
		out->len--; /* its brace */
	(void)sw_buf_adds(out, ",\"reports\":[");
	e->comma = false;
	const int status = each_report(e, trial, on_reports_json);
	if (status != SW_EXIT_DONE)
		return status;
	(void)sw_buf_adds(out, "]}");
	e->comma = true;
	return flush_chunk(e->c);
}

static int export_json(struct exporter *e, const cJSON *sweep)
{
	struct sw_cli *c = e->c;
	struct sw_jw w;
	int status = open_output(e, "");

	if (status != SW_EXIT_DONE)
		return status;
	sw_jw_init_obj(&w, &c->out);
	sw_jw_key(&w, "sweep");
	sw_jw_cjson(&w, sweep);
	(void)sw_buf_adds(&c->out, ",\n\"trials\":[");
	status = sw_pages_trials(c, on_trial_json, e);
	/* Else it must not look whole. */
	if (status == SW_EXIT_DONE)
		(void)sw_buf_adds(&c->out, "]}\n");
	return close_output(e, status);
}

/* --- the verb --- */

static int check_words(const struct sw_cli *c)
{
	const char *to = c->args.to;

	if (c->args.given & SW_OPT_JSON)
		return sw_cli_usage(c, "export takes no --json; --to json writes a document");
	if (to == NULL || c->args.out == NULL)
		return sw_cli_usage(c, "export needs --to FORMAT and --out FILE");
	if (strcmp(to, "csv") != 0 && strcmp(to, "json") != 0)
		return sw_cli_usage(c, "--to is csv or json, not '%s'", to);
	return SW_EXIT_DONE;
}

int sw_verb_export(struct sw_cli *c)
{
	struct exporter e = {.c = c};
	struct sw_reply r = SW_REPLY_INIT;
	int status = check_words(c);

	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "sweep.get", 0, &r);
	if (status == SW_EXIT_DONE && strcmp(c->args.to, "csv") == 0)
		status = export_csv(&e, sw_json_get(r.result, "spec"));
	else if (status == SW_EXIT_DONE)
		status = export_json(&e, r.result);
	if (status == SW_EXIT_DONE) {
		(void)sw_buf_addf(&c->out, "%" PRIu64 " trials, %" PRIu64 " reports in ", e.trials,
				  e.reports);
		sw_cli_text(c, c->args.out);
		(void)sw_buf_adds(&c->out, "\n");
	}
	sw_client_reply_fini(&r);
	return status;
}
