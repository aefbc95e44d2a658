/* cli/verb_state.c — the verbs that change a state and print the new one: pause, resume, cancel,
 * extend. */
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>

/* "sweep 1 PAUSED", "trial 1/7 CANCELLED" */
static void print_state(struct sw_cli *c, const cJSON *result)
{
	if (c->trial != 0)
		(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 " ", c->sweep, c->trial);
	else
		(void)sw_buf_addf(&c->out, "sweep %" PRIu64 " ", c->sweep);
	sw_fmt_value(&c->out, sw_json_get(result, "state"), false, c->look.utf8);
	if (sw_json_get(result, "run_cap") != NULL) {
		(void)sw_buf_adds(&c->out, ", run cap ");
		sw_fmt_value(&c->out, sw_json_get(result, "run_cap"), true, c->look.utf8);
	}
	(void)sw_buf_adds(&c->out, "\n");
}

/* Says what was answered, and ends the answer. */
static int say_state(struct sw_cli *c, int status, struct sw_reply *r)
{
	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON))
		print_state(c, r->result);
	sw_client_reply_fini(r);
	return status;
}

static int change_state(struct sw_cli *c, const char *method)
{
	struct sw_reply r = SW_REPLY_INIT;

	return say_state(c, sw_cli_call_ref(c, method, &r), &r);
}

int sw_verb_pause(struct sw_cli *c)
{
	return change_state(c, "sweep.pause");
}

int sw_verb_resume(struct sw_cli *c)
{
	return change_state(c, "sweep.resume");
}

int sw_verb_cancel(struct sw_cli *c)
{
	return change_state(c, c->trial != 0 ? "trial.cancel" : "sweep.cancel");
}

int sw_verb_extend(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[96];

	if (!(c->args.given & SW_OPT_RUN_CAP))
		return sw_cli_usage(c, "extend: --run-cap N is missing");
	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"run_cap\":%" PRIu64 "}",
		       c->sweep, c->args.run_cap);
	return say_state(c, sw_cli_call(c, "sweep.extend", params, &r), &r);
}
