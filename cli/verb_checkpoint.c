/* cli/verb_checkpoint.c — `checkpoint 1/7 --out F`: the daemon says where the state lies,
 * sweep-worker makes a safetensors file of it; of a program it is a folder, which is named.
 * `fit 1/7 --out F`: sweep-worker trains it once more, on all rows. `predict F DATA`: what such a
 * file makes of rows, without a daemon. */
#include "cli/verb.h"
#include "cli/worker.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <inttypes.h>
#include <stdio.h>

/* A program's own files are in a folder, whose form is the program's. */
static int say_folder(struct sw_cli *c, const cJSON *path, const cJSON *step)
{
	const char *where = cJSON_IsString(path) ? path->valuestring : "?";

	if (c->args.out != NULL) {
		sw_cli_say(c, "the trial is a program's: copy its folder, %s", where);
		return SW_EXIT_REFUSED;
	}
	if (c->args.given & SW_OPT_JSON)
		return SW_EXIT_DONE;
	(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 " after step ", c->sweep, c->trial);
	sw_fmt_value(&c->out, step, true, c->look.utf8);
	(void)sw_buf_adds(&c->out, ": ");
	sw_cli_text(c, where);
	(void)sw_buf_adds(&c->out, "\n");
	return SW_EXIT_DONE;
}

int sw_verb_checkpoint(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	const cJSON *path;
	int status;

	status = sw_worker_trial(c);
	if (status == SW_EXIT_DONE)
		status = sw_cli_call_ref(c, "trial.checkpoint", &r);
	path = sw_json_get(r.result, "path");
	if (status == SW_EXIT_DONE && cJSON_IsTrue(sw_json_get(r.result, "folder"))) {
		status = say_folder(c, path, sw_json_get(r.result, "step"));
	} else if (status == SW_EXIT_DONE && c->args.out == NULL) {
		status = sw_cli_usage(c, "checkpoint needs --out FILE");
	} else if (status == SW_EXIT_DONE && cJSON_IsString(path)) {
		/* it says what it has exported, unless JSON is printed here */
		const char *const words[] = {"export", path->valuestring, c->args.out,
					     c->args.given & SW_OPT_JSON ? "quiet" : NULL, NULL};

		status = sw_worker_run(c, words, NULL);
	}
	sw_client_reply_fini(&r);
	return status;
}

/* The input that sweep-worker fit reads (worker/fit.h). */
static sw_status write_fit(const struct sw_cli *c, const cJSON *sweep, const cJSON *trial,
			   struct sw_buf *out, struct sw_err *err)
{
	struct sw_spec *spec = NULL;
	const sw_status rc = sw_spec_read(&spec, sw_json_get(sweep, "spec"), err);
	struct sw_jw w;

	if (rc != SW_OK)
		return rc;
	if (spec->trainer == NULL) {
		const bool driven = sw_spec_driven(spec);

		sw_spec_destroy(spec);
		return sw_err_set(err, SW_INVALID,
				  "sweep %" PRIu64
				  " has no trainer: fit it with the program that %s",
				  c->sweep, driven ? "drove it" : "its trials are");
	}
	sw_jw_init_obj(&w, out);
	sw_jw_key(&w, "trainer");
	sw_jw_cjson(&w, spec->trainer);
	sw_jw_key(&w, "params");
	sw_jw_cjson(&w, sw_json_get(trial, "params"));
	sw_jw_kint(&w, "sweep", (int64_t)c->sweep);
	sw_jw_kint(&w, "trial", (int64_t)c->trial);
	const bool given = (c->args.given & SW_OPT_EPOCHS) != 0;
	/* with several metrics no trial is the best */
	const double stop = !given && spec->n_metrics <= 1
				    ? sw_json_number(sw_json_get(trial, "best"), "step", 0)
				    : 0;

	sw_jw_kint(&w, "seed", (int64_t)sw_json_number(sweep, "seed", 0));
	sw_jw_kint(&w, "epochs", given ? (int64_t)c->args.epochs : 0);
	sw_jw_kint(&w, "stop", (int64_t)stop);
	sw_jw_kint(&w, "max_t", (int64_t)sw_spec_max_t(spec));
	sw_jw_kstr(&w, "out", c->args.out);
	sw_jw_obj_end(&w);
	sw_spec_destroy(spec);
	return out->failed;
}

int sw_verb_fit(struct sw_cli *c)
{
	struct sw_reply sweep = SW_REPLY_INIT, trial = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf input;
	int status;

	if (c->args.out == NULL)
		return sw_cli_usage(c, "fit needs --out FILE");
	sw_buf_init(&input, (size_t)16 * 1024 * 1024);
	status = sw_worker_trial(c);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "sweep.get", 0, &sweep);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "trial.get", c->trial, &trial);
	if (status == SW_EXIT_DONE &&
	    write_fit(c, sweep.result, trial.result, &input, &err) != SW_OK) {
		sw_cli_say(c, "%s", *err.msg ? err.msg : "no memory");
		status = SW_EXIT_REFUSED;
	}
	if (status == SW_EXIT_DONE)
		status = sw_worker_run(c, (const char *const[]){"fit", NULL}, input.data);
	sw_buf_fini(&input);
	sw_client_reply_fini(&trial);
	sw_client_reply_fini(&sweep);
	return status;
}

int sw_verb_predict(struct sw_cli *c)
{
	const char *const words[] = {"predict", c->args.word[0], c->args.word[1], c->args.format,
				     NULL};

	return sw_worker_run(c, words, NULL);
}
