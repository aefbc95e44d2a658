#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>

/* "2026-11-21 10:31:07  attempt 1  text" */
static void print_line(struct sw_cli *c, const cJSON *line)
{
	const cJSON *time = sw_json_get(line, "time_ms");
	char when[32] = "-";

	if (cJSON_IsNumber(time))
		sw_fmt_time((int64_t)time->valuedouble, when);
	(void)sw_buf_addf(&c->out, "%s  attempt ", when);
	sw_fmt_value(&c->out, sw_json_get(line, "attempt"), true, c->look.utf8);
	(void)sw_buf_adds(&c->out, "  ");
	sw_fmt_value(&c->out, sw_json_get(line, "text"), true, c->look.utf8);
	(void)sw_buf_adds(&c->out, "\n");
}

int sw_verb_log(struct sw_cli *c)
{
	uint64_t after = 0, next = 0;
	int status;
	bool more;

	do {
		struct sw_reply r = SW_REPLY_INIT;
		const cJSON *lines, *line;
		char params[128];

		(void)snprintf(params, sizeof params,
			       "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 ",\"after\":%" PRIu64
			       "}",
			       c->sweep, c->trial, after);
		status = sw_cli_call(c, "trial.log", params, &r);
		lines = sw_json_get(r.result, "lines");
		if (!(c->args.given & SW_OPT_JSON))
			cJSON_ArrayForEach (line, lines) {
				print_line(c, line);
			}
		if (status == SW_EXIT_DONE && after == 0 && cJSON_IsArray(lines) &&
		    lines->child == NULL && !(c->args.given & SW_OPT_JSON))
			(void)sw_buf_adds(&c->out, "no log lines\n");
		/* `next` stands also after the last page, for who comes back later. */
		more = cJSON_IsArray(lines) && lines->child != NULL &&
		       sw_json_u64(sw_json_get(r.result, "next"), &next) && next > after;
		more = more && cJSON_GetArraySize(lines) >= 1000;
		after = next;
		sw_client_reply_fini(&r);
		if (status == SW_EXIT_DONE)
			status = sw_cli_flush(c);
	} while (status == SW_EXIT_DONE && more);
	return status;
}
