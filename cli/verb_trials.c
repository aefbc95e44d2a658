/* cli/verb_trials.c — all trials of a sweep: a table, CSV, or the pages as they came. */
#include "base/memory.h"
#include "base/term.h"
#include "cli/csv.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdlib.h>

#define PAGE      500
#define TABLE_MAX 20 /* pages in a table: it is held in memory, and read by a person */

/* Page of trials after `after`; *next is 0 after the last one. */
static int fetch_page(struct sw_cli *c, uint64_t *next, struct sw_reply *r)
{
	const uint64_t after = *next;
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 4096);
	sw_jw_init_obj(&w, &b);
	sw_jw_kint(&w, "sweep", (int64_t)c->sweep);
	sw_jw_kint(&w, "after", (int64_t)after);
	sw_jw_kint(&w, "limit", PAGE);
	sw_cli_state(c, &w);
	sw_jw_obj_end(&w);
	const int status = sw_cli_call_written(c, "trial.list", &b, r);
	/* A next that does not rise would never end. */
	if (!sw_json_u64(sw_json_get(r->result, "next"), next) || *next <= after)
		*next = 0;
	return status;
}

static int print_pages(struct sw_cli *c)
{
	uint64_t next = 0;
	int status;

	do {
		struct sw_reply r = SW_REPLY_INIT;

		status = fetch_page(c, &next, &r);
		if (status == SW_EXIT_DONE)
			status = sw_cli_flush(c);
		sw_client_reply_fini(&r);
	} while (status == SW_EXIT_DONE && next != 0);
	return status;
}

/* A file or a pipe gets every byte (RFC 4180 quotes what must be). A terminal would obey some of
 * them: there all but line ends and tabs is made harmless. */
static int flush_csv(struct sw_cli *c, struct sw_buf *rows)
{
	if (rows->failed != SW_OK)
		c->out.failed = rows->failed;
	else if (rows->len > 0 && c->look.width > 0)
		sw_term_add_lines(&c->out, rows->data, c->look.utf8);
	else if (rows->len > 0)
		(void)sw_buf_add(&c->out, rows->data, rows->len);
	sw_buf_clear(rows);
	return sw_cli_flush(c);
}

/* Two passes over the pages: the columns must be known before the first row, and a sweep may be
 * longer than memory. */
static int print_csv(struct sw_cli *c, const cJSON *spec)
{
	struct sw_csv csv;
	struct sw_buf rows;
	int status = SW_EXIT_DONE;

	sw_buf_init(&rows, c->out.max);
	sw_csv_init(&csv, spec);
	for (int pass = 0; pass < 2 && status == SW_EXIT_DONE; pass++) {
		uint64_t next = 0;

		if (pass == 1)
			sw_csv_header(&csv, &rows);
		do {
			struct sw_reply r = SW_REPLY_INIT;
			const cJSON *t;

			status = fetch_page(c, &next, &r);
			cJSON_ArrayForEach (t, sw_json_get(r.result, "trials")) {
				if (pass == 0)
					sw_csv_learn(&csv, t);
				else
					sw_csv_row(&csv, t, &rows);
			}
			sw_client_reply_fini(&r);
			if (status == SW_EXIT_DONE)
				status = flush_csv(c, &rows);
		} while (status == SW_EXIT_DONE && next != 0);
	}
	sw_csv_fini(&csv);
	sw_buf_fini(&rows);
	return status;
}

static int print_table(struct sw_cli *c, const struct sw_reply *sweep)
{
	struct sw_reply pages[TABLE_MAX] = {SW_REPLY_INIT};
	const cJSON **trials = sw_malloc(sizeof(cJSON *) * PAGE * TABLE_MAX);
	size_t n = 0, n_pages = 0;
	uint64_t next = 0;
	int status = SW_EXIT_DONE;

	if (trials == NULL) {
		sw_cli_say(c, "out of memory");
		return SW_EXIT_REFUSED;
	}

	while (status == SW_EXIT_DONE && n_pages < TABLE_MAX && (n_pages == 0 || next != 0)) {
		const cJSON *t;

		status = fetch_page(c, &next, &pages[n_pages]);
		cJSON_ArrayForEach (t, sw_json_get(pages[n_pages].result, "trials")) {
			if (n < (size_t)PAGE * TABLE_MAX)
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
		return print_pages(c);
	status = sw_cli_fetch_ref(c, "sweep.get", 0, &sweep);
	if (status == SW_EXIT_DONE)
		status = c->args.given & SW_OPT_CSV
				 ? print_csv(c, sw_json_get(sweep.result, "spec"))
				 : print_table(c, &sweep);
	sw_client_reply_fini(&sweep);
	return status;
}
