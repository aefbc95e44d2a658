/* cli/verb_rm.c — sweeps that have ended are deleted, one after the other. */
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>

/* "1.2 GB" */
static const char *write_bytes(double n, char out[32])
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	size_t i = 0;

	for (; n >= 1000 && i + 1 < sizeof units / sizeof units[0]; i++)
		n /= 1000;
	(void)snprintf(out, 32, "%.*f %s", i > 0 && n < 10 ? 1 : 0, n, units[i]);
	return out;
}

static int remove_one(struct sw_cli *c, uint64_t sweep)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[80], size[32];

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"keep_best\":%s}", sweep,
		       c->args.given & SW_OPT_KEEP_BEST ? "true" : "false");
	const int status = sw_cli_call(c, "sweep.delete", params, &r);
	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		const cJSON *kept = sw_json_get(r.result, "kept");

		(void)sw_buf_addf(&c->out, "sweep %" PRIu64 " deleted", sweep);
		if (cJSON_IsNumber(kept))
			(void)sw_buf_addf(&c->out, " but for trial %" PRIu64 "/%.0f", sweep,
					  kept->valuedouble);
		(void)sw_buf_addf(
			&c->out, ": %s freed\n",
			write_bytes(cJSON_GetNumberValue(sw_json_get(r.result, "bytes")), size));
	}
	sw_client_reply_fini(&r);
	return status;
}

int sw_verb_rm(struct sw_cli *c)
{
	uint64_t sweeps[SW_ARGS_MAX] = {c->sweep}, trial = 0;
	int status = SW_EXIT_DONE;

	/* As long as the sweep is large; Ctrl-C ends the waiting alone. */
	c->reply_ms = -1;
	/* All words are read before the first sweep goes. */
	for (size_t i = 1; i < c->args.n_words && status == SW_EXIT_DONE; i++) {
		status = sw_cli_ref(c, c->args.word[i], &sweeps[i], &trial);
		if (status == SW_EXIT_DONE && trial != 0)
			status = sw_cli_usage(c, "rm: expected a sweep such as 1, not '%s'",
					      c->args.word[i]);
	}
	for (size_t i = 0; i < c->args.n_words && status == SW_EXIT_DONE; i++) {
		size_t first = 0;

		while (sweeps[first] != sweeps[i])
			first++;
		if (first == i) /* `rm 2 2` means one */
			status = remove_one(c, sweeps[i]);
	}
	return status;
}
