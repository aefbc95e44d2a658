/* cli/verb_checkpoint.c — `checkpoint 1/7 --out F`: the daemon says where the state lies,
 * sweep-worker makes a safetensors file of it; of a program it is a folder, which is named.
 * `fit 1/7 --out F`: sweep-worker trains it once more, on all rows. `predict F DATA`: what such a
 * file, or the best trial of a sweep, makes of rows. */
#include "cli/beside.h"
#include "cli/client.h"
#include "cli/model.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* If only a sweep is named, c->trial becomes its best trial. Returns an exit status. */
static int choose_trial(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	int status;

	if (c->trial != 0)
		return SW_EXIT_DONE;
	status = sw_cli_fetch_ref(c, "sweep.best", 0, &r);
	if (status == SW_EXIT_DONE) {
		const cJSON *trials = sw_json_get(r.result, "trials");

		if (!cJSON_IsArray(trials) ||
		    !sw_json_u64(sw_json_get(trials->child, "trial"), &c->trial)) {
			sw_cli_say(c, "no trial has a value yet");
			status = SW_EXIT_REFUSED;
		}
	}
	sw_client_reply_fini(&r);
	return status;
}

/* --- the verbs --- */

/* With --host: the files that it reads are there. */
static int say_far(const struct sw_cli *c)
{
	sw_cli_say(c, "%s reads files of %s: run it there, and copy what it wrote", c->args.verb,
		   c->args.host);
	return SW_EXIT_REFUSED;
}

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
	sw_cli_subject(c);
	sw_cli_put(c, " after step ", step, ": ");
	sw_cli_text(c, where);
	(void)sw_buf_adds(&c->out, "\n");
	return SW_EXIT_DONE;
}

int sw_verb_checkpoint(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	const cJSON *path;
	int status;

	if (c->args.host != NULL && c->args.out != NULL)
		return say_far(c); /* without --out the path that is printed is one there */
	status = choose_trial(c);
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

		status = sw_beside_worker(c, words, NULL, NULL);
	}
	sw_client_reply_fini(&r);
	return status;
}

int sw_verb_fit(struct sw_cli *c)
{
	struct sw_reply sweep = SW_REPLY_INIT, trial = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf input;
	char number[24];
	const bool given = (c->args.given & SW_OPT_EPOCHS) != 0;
	int status;

	if (c->args.out == NULL)
		return sw_cli_usage(c, "fit needs --out FILE");
	(void)snprintf(number, sizeof number, "%" PRIu64, (uint64_t)c->args.epochs);
	if (c->args.host != NULL)
		return say_far(c);
	sw_buf_init(&input, (size_t)16 * 1024 * 1024);
	status = choose_trial(c);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "sweep.get", 0, &sweep);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "trial.get", c->trial, &trial);
	if (status == SW_EXIT_DONE &&
	    sw_model_job(c, sweep.result, trial.result, &input, &err) != SW_OK) {
		sw_cli_say(c, "%s", *err.msg ? err.msg : "no memory");
		status = SW_EXIT_REFUSED;
	}
	if (status == SW_EXIT_DONE)
		status = sw_beside_worker(
			c, (const char *const[]){"fit", c->args.out, given ? number : NULL, NULL},
			input.data, NULL);
	sw_buf_fini(&input);
	sw_client_reply_fini(&trial);
	sw_client_reply_fini(&sweep);
	return status;
}

/* MODEL is a file, or what names a sweep or a trial. */
int sw_verb_predict(struct sw_cli *c)
{
	const char *model = c->args.word[0], *end = strrchr(model, '.');
	char by_fd[32];
	int fd = -1, status = SW_EXIT_DONE;

	if (access(model, F_OK) != 0 && (end == NULL || strcmp(end, ".safetensors") != 0)) {
		if (c->args.host != NULL)
			return say_far(c);
		status = sw_cli_ref(c, model, &c->sweep, &c->trial);
		if (status == SW_EXIT_DONE)
			status = choose_trial(c);
		if (status == SW_EXIT_DONE)
			status = sw_model_open(c, &fd);
		(void)snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", fd);
		model = by_fd;
	}
	if (status == SW_EXIT_DONE)
		status = sw_beside_worker(
			c,
			(const char *const[]){"predict", model, c->args.word[1],
					      c->args.format ? c->args.format : "",
					      c->args.given & SW_OPT_PROBA ? "proba" : NULL, NULL},
			NULL, NULL);
	if (fd >= 0)
		(void)close(fd);
	return status;
}
