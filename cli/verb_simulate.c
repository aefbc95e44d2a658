/* cli/verb_simulate.c — `simulate 12 --early-terminate FILE`: what another pruner would have
 * done. */
#include "cli/spec_file.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>

/* The object of the file, or its "early_terminate": {"sweep": 12, "early_terminate": {...}}. */
static sw_status write_params(const struct sw_cli *c, struct sw_buf *b, const cJSON *file,
			      struct sw_err *err)
{
	const cJSON *inner = sw_json_get(file, "early_terminate");
	struct sw_jw w;

	if (inner == NULL && sw_json_get(file, "parameters") != NULL)
		return sw_err_set(err, SW_INVALID, "%s: a spec without \"early_terminate\"",
				  c->args.early_terminate);
	sw_cli_begin(c, b, &w);
	if (c->args.given & SW_OPT_WORKERS)
		sw_jw_kint(&w, "workers", (int64_t)c->args.workers);
	sw_jw_key(&w, "early_terminate");
	sw_jw_cjson(&w, inner != NULL ? inner : file);
	sw_jw_obj_end(&w);
	return SW_OK;
}

/* "trial 12/7, val_accuracy 0.9806" */
static void add_trial(struct sw_cli *c, const cJSON *metric, const cJSON *t)
{
	const uint64_t trial = sw_json_uint(t, "trial");

	if (trial == 0) {
		(void)sw_buf_adds(&c->out, "no trial has a value");
		return;
	}
	(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64, c->sweep, trial);
	sw_cli_put(c, ", ", metric, " ");
	sw_cli_put(c, "", sw_json_get(t, "value"), "");
}

static void print_result(struct sw_cli *c, const cJSON *r)
{
	const uint64_t cut_short = sw_json_uint(r, "short");
	const cJSON *best = sw_json_get(r, "best"), *metric = sw_json_get(r, "metric");
	char wall[32], recorded[32];
	struct sw_buf *b = &c->out;

	(void)sw_buf_addf(b, "resource   %" PRIu64 " of %" PRIu64 " steps",
			  sw_json_uint(r, "resource"), sw_json_uint(r, "recorded"));
	if (cJSON_IsNumber(sw_json_get(r, "saved")))
		(void)sw_buf_addf(b, ": %s%.1f%% saved", cut_short > 0 ? "at most " : "",
				  100 * sw_json_number(r, "saved", -1));
	sw_fmt_duration(sw_json_number(r, "wall_s", -1), wall);
	sw_fmt_duration(sw_json_number(r, "recorded_wall_s", -1), recorded);
	(void)sw_buf_addf(b, "\nwall time  about %s with %" PRIu64 " at once (recorded: %s)\n",
			  wall, sw_json_uint(r, "workers"), recorded);
	(void)sw_buf_addf(b,
			  "trials     %" PRIu64 ": %" PRIu64 " stopped, %" PRIu64
			  " completed, %" PRIu64 " failed",
			  sw_json_uint(r, "trials"), sw_json_uint(r, "stopped"),
			  sw_json_uint(r, "completed"), sw_json_uint(r, "failed"));
	if (cut_short > 0)
		(void)sw_buf_addf(b,
				  ", %" PRIu64
				  " short: their stored curves end before this pruner would have "
				  "stopped them",
				  cut_short);
	(void)sw_buf_adds(b, "\nbest       ");
	add_trial(c, metric, best);
	if (cJSON_IsObject(best))
		(void)sw_buf_adds(b, cJSON_IsTrue(sw_json_get(best, "survived"))
					     ? ": would have survived"
					     : ": would have been stopped");
	(void)sw_buf_adds(b, "\nchosen     ");
	add_trial(c, metric, sw_json_get(r, "chosen"));
	(void)sw_buf_adds(b, "\n");
}

int sw_verb_simulate(struct sw_cli *c)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf params;
	cJSON *file;

	if (!(c->args.given & SW_OPT_EARLY_TERMINATE))
		return sw_cli_usage(c, "simulate: --early-terminate FILE is missing");
	sw_status rc = sw_spec_file_read(&file, c->args.early_terminate, true, NULL, &err);
	if (rc == SW_OK)
		rc = write_params(c, &params, file, &err);
	cJSON_Delete(file);
	if (rc == SW_OK)
		return sw_cli_answer(c, "sweep.simulate", &params, print_result);
	sw_cli_say(c, "%s", err.msg[0] != '\0' ? err.msg : sw_status_str(rc));
	return SW_EXIT_REFUSED;
}
