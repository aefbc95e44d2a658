#include "cli/model.h"
#include "cli/sweep_text.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <string.h>

/* {"sweep": 1, "scope": "all", "n": 5} */
static int ask_best(struct sw_cli *c, struct sw_reply *r)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	if (c->args.scope != NULL)
		sw_jw_kstr(&w, "scope", c->args.scope);
	if (c->args.given & SW_OPT_N)
		sw_jw_kint(&w, "n", (int64_t)c->args.n);
	sw_jw_obj_end(&w);
	return sw_cli_call_written(c, "sweep.best", &b, r);
}

static void print_table(struct sw_cli *c, const cJSON *trials, const struct sw_reply *sweep)
{
	const cJSON *list[1000] = {NULL}, *t;
	size_t n = 0;

	cJSON_ArrayForEach (t, trials) {
		if (n < sizeof list / sizeof list[0])
			list[n++] = t;
	}
	sw_trial_text_table(c, sweep->result, list, n, false);
}

/* "5 trials that no other beats, hypervolume ...", and those trials as a table. */
static void print_front(struct sw_cli *c, const cJSON *trials, const cJSON *pareto,
			const struct sw_reply *sweep)
{
	const uint64_t n = sw_json_uint(pareto, "trials");

	if (n == 1)
		(void)sw_buf_adds(&c->out, "1 trial that beats all others, ");
	else
		(void)sw_buf_addf(&c->out, "%" PRIu64 " trials that no other beats, ", n);
	sw_sweep_text_pareto(c, pareto);
	print_table(c, trials, sweep);
}

/* "trial 1/7  val_accuracy = 0.9806 at step 9 (maximize)", then what belongs to it. A mean is of no
 * one step. */
static void print_one(struct sw_cli *c, const cJSON *trial, const struct sw_reply *sweep)
{
	(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 "  ", c->sweep,
			  sw_json_uint(trial, "trial"));
	sw_cli_text(c, sw_json_text(sweep->result, "metric", "value"));
	sw_cli_put(c, " = ", sw_json_get(trial, "value"), "");
	if (c->args.scope == NULL || strstr(c->args.scope, "avg") == NULL)
		sw_cli_put(c, " at step ", sw_json_get(trial, "step"), "");
	sw_cli_put(c, " (", sw_json_get(sweep->result, "goal"), "");
	if (c->args.scope != NULL)
		(void)sw_buf_addf(&c->out, ", %s", c->args.scope);
	(void)sw_buf_adds(&c->out, ")\n");
	sw_trial_text(c, trial, sw_json_get(sweep->result, "spec"));
}

/* A share of the rows is kept from all trials, and judges the one that was chosen: once none is to
 * come, or the choice would be made by it. Why it cannot is said, and the trial is the best all the
 * same. */
static void print_test(struct sw_cli *c, const cJSON *trial, const cJSON *sweep)
{
	const cJSON *of = sw_json_get(sw_json_get(sweep, "spec"), "trainer");
	const cJSON *test = sw_json_get(sw_json_get(sw_json_get(of, "dataset"), "split"), "test");
	const char *state = sw_json_text(sweep, "state", "");

	if (!cJSON_IsNumber(test) || strcmp(state, "RUNNING") == 0 || strcmp(state, "PAUSED") == 0)
		return;
	if (c->args.host != NULL) {
		(void)sw_buf_adds(&c->out, "test part: ask on the daemon's machine\n");
		return;
	}
	c->trial = sw_json_uint(trial, "trial");
	(void)sw_model_test(c, sweep);
}

static const char *none_text(const struct sw_reply *sweep)
{
	return cJSON_IsString(sw_json_get(sweep->result, "metric"))
		       ? "no trial has a value yet\n"
		       : "the sweep names no metric, so no trial is the best; `sweep trials` has "
			 "them all\n";
}

int sw_verb_best(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT, sweep = SW_REPLY_INIT;
	const cJSON *trials;
	int status = ask_best(c, &r);

	if (status != SW_EXIT_DONE || (c->args.given & SW_OPT_JSON))
		goto out;
	status = sw_cli_fetch_ref(c, "sweep.get", 0, &sweep);
	if (status != SW_EXIT_DONE)
		goto out;
	trials = sw_json_get(r.result, "trials");
	if (!cJSON_IsArray(trials) || trials->child == NULL) {
		(void)sw_buf_adds(&c->out, none_text(&sweep));
		goto out;
	}
	if (cJSON_IsObject(sw_json_get(r.result, "pareto")))
		print_front(c, trials, sw_json_get(r.result, "pareto"), &sweep);
	else if (c->args.given & SW_OPT_N)
		print_table(c, trials, &sweep);
	else {
		print_one(c, trials->child, &sweep);
		print_test(c, trials->child, sweep.result);
	}
out:
	sw_client_reply_fini(&sweep);
	sw_client_reply_fini(&r);
	return status;
}
