#include "cli/pages.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>

/* Pages of a filter are counted by rows, those of all trials by the last one's number. */
int sw_pages_next(struct sw_cli *c, uint64_t *next, struct sw_reply *r)
{
	const bool chosen = (c->args.given & (SW_OPT_FILTER | SW_OPT_SORT)) != 0;
	const uint64_t before = *next;
	struct sw_buf b;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	sw_jw_kint(&w, chosen ? "skip" : "after", (int64_t)before);
	sw_jw_kint(&w, "limit", SW_PAGES_TRIALS);
	sw_cli_state(c, &w);
	if (c->args.given & SW_OPT_SORT)
		sw_jw_kstr(&w, "sort", c->args.sort);
	sw_jw_obj_end(&w);
	const int status = sw_cli_call_written(c, "trial.list", &b, r);
	*next = sw_json_uint(r->result, "next");
	if (chosen)
		*next = before + (uint64_t)cJSON_GetArraySize(sw_json_get(r->result, "trials"));
	/* A next that does not rise would never end. */
	if (*next <= before || (chosen && *next >= sw_json_uint(r->result, "total")))
		*next = 0;
	return status;
}

int sw_pages_trials(struct sw_cli *c, int (*on_trial)(void *arg, const cJSON *trial), void *arg)
{
	uint64_t next = 0;
	int status;

	do {
		struct sw_reply r = SW_REPLY_INIT;

		status = sw_pages_next(c, &next, &r);
		for (const cJSON *t = cJSON_GetArrayItem(sw_json_get(r.result, "trials"), 0);
		     t != NULL && status == SW_EXIT_DONE; t = t->next)
			status = on_trial(arg, t);
		sw_client_reply_fini(&r);
	} while (status == SW_EXIT_DONE && next != 0);
	return status;
}

int sw_pages_reports(struct sw_cli *c, uint64_t trial, struct sw_pages_place *at,
		     int (*on_page)(void *arg, const cJSON *reports), void *arg)
{
	int status;
	bool more;

	do {
		const struct sw_pages_place before = *at;
		struct sw_reply r = SW_REPLY_INIT;
		char params[192];

		(void)snprintf(params, sizeof params,
			       "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 ",\"after\":\"%" PRIu64
			       ".%" PRIu64 "\"}",
			       c->sweep, trial, at->attempt, at->seq);
		status = sw_cli_fetch(c, "trial.reports", params, &r);
		const cJSON *reports = sw_json_get(r.result, "reports");
		const cJSON *last = cJSON_GetArrayItem(reports, cJSON_GetArraySize(reports) - 1);
		if (last != NULL) {
			at->attempt = sw_json_uint(last, "attempt");
			at->seq = sw_json_uint(last, "seq");
		}
		if (status == SW_EXIT_DONE)
			status = on_page(arg, reports);
		/* Pages of nothing would never end. */
		more = cJSON_IsString(sw_json_get(r.result, "next")) &&
		       (at->attempt != before.attempt || at->seq != before.seq);
		sw_client_reply_fini(&r);
	} while (status == SW_EXIT_DONE && more);
	return status;
}
