#include "cli/pareto_text.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "cli/trial_text.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* {"sweep": 1, "scope": "all", "n": 5} */
static int ask(struct sw_cli *c, struct sw_reply *r)
{
	struct sw_buf b;
	struct sw_jw w;
	int status = SW_EXIT_REFUSED;

	sw_buf_init(&b, 4096);
	sw_jw_init_obj(&w, &b);
	sw_jw_kint(&w, "sweep", (int64_t)c->sweep);
	if (c->args.scope != NULL)
		sw_jw_kstr(&w, "scope", c->args.scope);
	if (c->args.given & SW_OPT_N)
		sw_jw_kint(&w, "n", (int64_t)c->args.n);
	sw_jw_obj_end(&w);
	if (b.failed != SW_OK)
		sw_cli_say(c, "%s", sw_status_str(b.failed));
	else
		status = sw_cli_call(c, "sweep.best", b.data, r);
	sw_buf_fini(&b);
	return status;
}

/* What the sweep itself knows: the metric, the order of its parameters. The answer may be missing:
 * the trial is then shown without. */
static void table(struct sw_cli *c, const cJSON *trials, const struct sw_reply *sweep)
{
	const cJSON *metric = sw_json_get(sweep->result, "metric");
	const cJSON *list[1000] = {NULL}, *t;
	struct sw_grid g;
	size_t n = 0;
	cJSON *names = sw_trial_text_parameters(sw_json_get(sweep->result, "spec"));
	const struct sw_trial_grid how = {
		.sweep = c->sweep,
		.parameters = names,
		.metric = cJSON_IsString(metric) ? metric->valuestring : NULL,
		.metrics = sw_json_get(sw_json_get(sweep->result, "spec"), "metrics"),
		.utf8 = c->look.utf8,
	};

	cJSON_ArrayForEach (t, trials) {
		if (n < sizeof list / sizeof list[0])
			list[n++] = t;
	}
	sw_grid_init(&g);
	sw_trial_grid_fill(&g, &how, list, n);
	if (sw_table_print(&c->out, &g, &c->look) != SW_OK)
		c->out.failed = SW_NOMEM;
	sw_grid_fini(&g);
	cJSON_Delete(names);
}

/* "5 trials that no other beats, hypervolume ...", and those trials as a table. */
static void front(struct sw_cli *c, const cJSON *trials, const cJSON *pareto,
		  const struct sw_reply *sweep)
{
	uint64_t n = 0;

	(void)sw_json_u64(sw_json_get(pareto, "trials"), &n);
	if (n == 1)
		(void)sw_buf_adds(&c->out, "1 trial that beats all others, ");
	else
		(void)sw_buf_addf(&c->out, "%" PRIu64 " trials that no other beats, ", n);
	sw_pareto_text(c, pareto);
	table(c, trials, sweep);
}

/* "trial 1/7  val_accuracy = 0.9806 at step 9 (maximize)", then what belongs to it. A mean is of no
 * one step. */
static void one(struct sw_cli *c, const cJSON *trial, const struct sw_reply *sweep)
{
	const cJSON *metric = sw_json_get(sweep->result, "metric");
	const cJSON *goal = sw_json_get(sweep->result, "goal");
	struct sw_buf *b = &c->out;
	uint64_t number = 0;

	(void)sw_json_u64(sw_json_get(trial, "trial"), &number);
	(void)sw_buf_addf(b, "trial %" PRIu64 "/%" PRIu64 "  ", c->sweep, number);
	sw_cli_text(c, cJSON_IsString(metric) ? metric->valuestring : "value");
	(void)sw_buf_adds(b, " = ");
	sw_fmt_value(b, sw_json_get(trial, "value"), true, c->look.utf8);
	if (c->args.scope == NULL || strstr(c->args.scope, "avg") == NULL) {
		(void)sw_buf_adds(b, " at step ");
		sw_fmt_value(b, sw_json_get(trial, "step"), true, c->look.utf8);
	}
	(void)sw_buf_adds(b, " (");
	sw_cli_text(c, cJSON_IsString(goal) ? goal->valuestring : "best");
	if (c->args.scope != NULL)
		(void)sw_buf_addf(b, ", %s", c->args.scope);
	(void)sw_buf_adds(b, ")\n");
	sw_trial_text(c, trial, sw_json_get(sweep->result, "spec"));
}

int sw_verb_best(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT, sweep = SW_REPLY_INIT;
	const cJSON *trials;
	char params[64];
	int status = ask(c, &r);

	if (status != SW_EXIT_DONE || (c->args.given & SW_OPT_JSON))
		goto out;
	trials = sw_json_get(r.result, "trials");
	if (!cJSON_IsArray(trials) || trials->child == NULL) {
		(void)sw_buf_adds(&c->out, "no trial has a value yet\n");
		goto out;
	}
	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 "}", c->sweep);
	status = sw_cli_fetch(c, "sweep.get", params, &sweep);
	if (status != SW_EXIT_DONE)
		goto out;
	if (cJSON_IsObject(sw_json_get(r.result, "pareto")))
		front(c, trials, sw_json_get(r.result, "pareto"), &sweep);
	else if (c->args.given & SW_OPT_N)
		table(c, trials, &sweep);
	else
		one(c, trials->child, &sweep);
out:
	sw_client_reply_fini(&sweep);
	sw_client_reply_fini(&r);
	return status;
}
