/* cli/verb_trials.c — all trials of a sweep: a table, CSV, or the pages as JSON. */
#include "base/memory.h"
#include "cli/csv.h"
#include "cli/pages.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdlib.h>

#define TABLE_PAGES 20 /* it is held in memory, and read by a person */
#define TABLE_MAX   ((size_t)SW_PAGES_TRIALS * TABLE_PAGES)
#define CHUNK       ((size_t)1 << 16) /* bytes of CSV that are gathered before they are written */

/* With --json a page has been printed when its trials are looked at. */
static int on_printed(void *c, const cJSON *trial)
{
	(void)trial;
	return sw_cli_flush(c);
}

/* Rows on their way to the output. */
struct rows {
	struct sw_cli *c;
	struct sw_csv *csv;
	struct sw_buf text;
};

static int flush_rows(struct rows *r)
{
	sw_cli_rows(r->c, &r->text);
	return sw_cli_flush(r->c);
}

static int on_row(void *arg, const cJSON *trial)
{
	struct rows *r = arg;

	sw_csv_row(r->csv, trial, &r->text);
	return r->text.len > CHUNK || r->text.failed != SW_OK ? flush_rows(r) : SW_EXIT_DONE;
}

int sw_verb_trials_csv(struct sw_cli *c, struct sw_csv *csv)
{
	struct rows r = {.c = c, .csv = csv};

	sw_buf_init(&r.text, c->out.max);
	sw_csv_header(csv, &r.text);
	int status = sw_pages_trials(c, on_row, &r);
	if (status == SW_EXIT_DONE)
		status = flush_rows(&r);
	sw_buf_fini(&r.text);
	return status;
}

static int on_learn(void *csv, const cJSON *trial)
{
	sw_csv_learn(csv, trial);
	return SW_EXIT_DONE;
}

/* Two walks over the trials: the columns must be known before the first row, and a sweep may be
 * longer than memory. */
static int print_csv(struct sw_cli *c, const cJSON *spec)
{
	struct sw_csv csv;

	sw_csv_init(&csv, spec);
	int status = sw_pages_trials(c, on_learn, &csv);
	if (status == SW_EXIT_DONE)
		status = sw_verb_trials_csv(c, &csv);
	sw_csv_fini(&csv);
	return status;
}

static int print_table(struct sw_cli *c, const struct sw_reply *sweep)
{
	struct sw_reply pages[TABLE_PAGES] = {SW_REPLY_INIT};
	const cJSON **trials = sw_malloc(sizeof(cJSON *) * TABLE_MAX);
	size_t n = 0, n_pages = 0;
	uint64_t next = 0;
	int status = SW_EXIT_DONE;

	if (trials == NULL) {
		sw_cli_say(c, "out of memory");
		return SW_EXIT_REFUSED;
	}

	/* Pages stay until the table is made: its rows borrow from them. */
	while (status == SW_EXIT_DONE && n_pages < TABLE_PAGES && (n_pages == 0 || next != 0)) {
		const cJSON *t;

		status = sw_pages_next(c, &next, &pages[n_pages]);
		cJSON_ArrayForEach (t, sw_json_get(pages[n_pages].result, "trials")) {
			if (n < TABLE_MAX)
				trials[n++] = t;
		}
		n_pages++;
	}
	if (status == SW_EXIT_DONE && n == 0)
		(void)sw_buf_adds(&c->out, "no trials\n");
	else if (status == SW_EXIT_DONE)
		sw_trial_text_table(c, sweep->result, trials, n, true);
	if (status == SW_EXIT_DONE && next != 0)
		(void)sw_buf_addf(&c->out,
				  "... and more; `sweep trials %" PRIu64 " --csv` has all\n",
				  c->sweep);
	for (size_t i = 0; i < n_pages; i++)
		sw_client_reply_fini(&pages[i]);
	free(trials);
	return status;
}

int sw_verb_trials(struct sw_cli *c)
{
	struct sw_reply sweep = SW_REPLY_INIT;
	int status;

	if (c->args.given & SW_OPT_JSON)
		return sw_pages_trials(c, on_printed, c);
	status = sw_cli_fetch_ref(c, "sweep.get", 0, &sweep);
	if (status == SW_EXIT_DONE)
		status = c->args.given & SW_OPT_CSV
				 ? print_csv(c, sw_json_get(sweep.result, "spec"))
				 : print_table(c, &sweep);
	sw_client_reply_fini(&sweep);
	return status;
}
