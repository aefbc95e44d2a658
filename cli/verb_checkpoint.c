/* cli/verb_checkpoint.c — `checkpoint 1/7 --out F`: the daemon says where the state lies,
 * sweep-worker makes a safetensors file of it; of a program it is a folder, which is named.
 * `fit 1/7 --out F`: sweep-worker trains it once more, on all rows. `predict F DATA`: what such a
 * file, or the best trial of a sweep, makes of rows. */
#include "cli/beside.h"
#include "cli/client.h"
#include "cli/verb.h"
#include "proto/job.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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

/* The job of the trial, once more: to its best epoch, if it has one. */
static sw_status write_fit(const struct sw_cli *c, const cJSON *sweep, const cJSON *trial,
			   struct sw_buf *out, struct sw_err *err)
{
	struct sw_spec *spec = NULL;
	const sw_status rc = sw_spec_read(&spec, sw_json_get(sweep, "spec"), err);
	struct sw_buf params;
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
	/* with several metrics no trial is the best */
	const bool stops = (c->args.given & SW_OPT_EPOCHS) == 0 && spec->n_metrics <= 1;
	const double best = sw_json_number(sw_json_get(trial, "best"), "step", 0);
	const uint64_t seed = (uint64_t)sw_json_number(sweep, "seed", 0);
	const struct sw_job job = {.sweep = c->sweep,
				   .trial = c->trial,
				   .seed = seed,
				   .data_seed = seed,
				   .trainer = spec->trainer,
				   .max_t = sw_spec_max_t(spec),
				   .until = stops ? (uint64_t)best : 0};

	/* sw_job_write() takes the parameters as text, as the daemon has them stored. */
	sw_buf_init(&params, out->max);
	sw_jw_init(&w, &params);
	sw_jw_cjson(&w, sw_json_get(trial, "params"));
	if (params.failed == SW_OK)
		sw_job_write(out, &job, params.data);
	else
		out->failed = params.failed;
	sw_buf_fini(&params);
	sw_spec_destroy(spec);
	return out->failed;
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
	    write_fit(c, sweep.result, trial.result, &input, &err) != SW_OK) {
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

/* The weights of the best trial of the sweep that the first word names, or of the trial, as a model
 * that no name leads to and that ends with *fd: nothing is left behind when this is interrupted. An
 * exit status. */
static int open_model(struct sw_cli *c, int *fd)
{
	const char *tmp = getenv("TMPDIR");
	struct sw_reply r = SW_REPLY_INIT;
	char folder[PATH_MAX], file[PATH_MAX + 16];
	int status = sw_cli_ref(c, c->args.word[0], &c->sweep, &c->trial);

	if (status == SW_EXIT_DONE)
		status = choose_trial(c);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "trial.checkpoint", c->trial, &r);
	const char *path = sw_json_text(r.result, "path", NULL);
	(void)snprintf(folder, sizeof folder, "%s/sweep-XXXXXX",
		       tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (status != SW_EXIT_DONE || path == NULL || mkdtemp(folder) == NULL) {
		if (status == SW_EXIT_DONE)
			sw_cli_say(c, "%s: %s", folder, strerror(errno));
		sw_client_reply_fini(&r);
		return SW_EXIT_REFUSED;
	}
	(void)snprintf(file, sizeof file, "%s/model", folder);
	status = sw_beside_worker(c, (const char *const[]){"export", path, file, "quiet", NULL},
				  NULL, NULL);
	*fd = status == SW_EXIT_DONE ? open(file, O_RDONLY) : -1; /* which the worker has, too */
	(void)unlink(file);
	(void)rmdir(folder);
	sw_client_reply_fini(&r);
	return *fd >= 0 ? SW_EXIT_DONE : SW_EXIT_REFUSED;
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
		status = open_model(c, &fd);
		(void)snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", fd);
		model = by_fd;
	}
	if (status == SW_EXIT_DONE)
		status = sw_beside_worker(c,
					  (const char *const[]){"predict", model, c->args.word[1],
								c->args.format, NULL},
					  NULL, NULL);
	if (fd >= 0)
		(void)close(fd);
	return status;
}
