/* cli/verb_state.c — the verbs that change a state and print the new one: pause, resume, cancel,
 * extend. */
#include "cli/verb.h"
#include "proto/json.h"

/* "sweep 1 PAUSED", "trial 1/7 CANCELLED" */
static void print_state(struct sw_cli *c, const cJSON *result)
{
	const cJSON *cap = sw_json_get(result, "run_cap");

	sw_cli_subject(c);
	sw_cli_put(c, " ", sw_json_get(result, "state"), "");
	sw_cli_put(c, cap != NULL ? ", run cap " : "", cap, "\n");
}

int sw_verb_pause(struct sw_cli *c)
{
	return sw_cli_answer(c, "sweep.pause", NULL, print_state);
}

int sw_verb_resume(struct sw_cli *c)
{
	return sw_cli_answer(c, "sweep.resume", NULL, print_state);
}

int sw_verb_cancel(struct sw_cli *c)
{
	return sw_cli_answer(c, c->trial != 0 ? "trial.cancel" : "sweep.cancel", NULL, print_state);
}

int sw_verb_extend(struct sw_cli *c)
{
	struct sw_buf params;
	struct sw_jw w;

	if (!(c->args.given & SW_OPT_RUN_CAP))
		return sw_cli_usage(c, "extend: --run-cap N is missing");
	sw_cli_begin(c, &params, &w);
	sw_jw_kint(&w, "run_cap", (int64_t)c->args.run_cap);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "sweep.extend", &params, print_state);
}
