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

static void print_removed(struct sw_cli *c, const cJSON *result)
{
	const cJSON *kept = sw_json_get(result, "kept");
	char size[32];

	sw_cli_subject(c);
	(void)sw_buf_adds(&c->out, " deleted");
	if (cJSON_IsNumber(kept))
		(void)sw_buf_addf(&c->out, " but for trial %" PRIu64 "/%.0f", c->sweep,
				  kept->valuedouble);
	(void)sw_buf_addf(&c->out, ": %s freed\n",
			  write_bytes(sw_json_number(result, "bytes", 0), size));
}

static int remove_one(struct sw_cli *c, uint64_t sweep)
{
	struct sw_buf params;
	struct sw_jw w;

	c->sweep = sweep;
	sw_cli_begin(c, &params, &w);
	sw_jw_kbool(&w, "keep_best", (c->args.given & SW_OPT_KEEP_BEST) != 0);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "sweep.delete", &params, print_removed);
}

int sw_verb_rm(struct sw_cli *c)
{
	uint64_t sweeps[SW_ARGS_MAX];
	size_t n;
	/* All words are read before the first sweep goes. */
	int status = sw_cli_sweeps(c, sweeps, &n);

	/* As long as the sweep is large; Ctrl-C ends the waiting alone. */
	c->reply_ms = -1;
	for (size_t i = 0; i < n && status == SW_EXIT_DONE; i++)
		status = remove_one(c, sweeps[i]);
	return status;
}
