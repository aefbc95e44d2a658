/* cli/verb_checkpoint.c — `checkpoint 1/7 --out F`: the daemon says where the state lies,
 * sweep-worker makes a safetensors file of it. */
#include "cli/verb.h"
#include "proto/json.h"
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* $SWEEPD_WORKER, else the program beside this one. */
static void worker_path(char out[PATH_MAX + 16])
{
	const char *given = getenv("SWEEPD_WORKER");
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (given != NULL && *given != '\0') {
		(void)snprintf(out, PATH_MAX + 16, "%s", given);
		return;
	}
	self[n < 0 ? 0 : n] = '\0';
	(void)snprintf(out, PATH_MAX + 16, "%s/sweep-worker", n < 0 ? "." : dirname(self));
}

/* Runs `sweep-worker export FROM TO`, which says itself what is wrong. */
static int export_file(struct sw_cli *c, const char *from, const char *to)
{
	char worker[PATH_MAX + 16], verb[] = "export", *source = strdup(from), *target = strdup(to);
	char *argv[] = {worker, verb, source, target, NULL};
	int status = -1, rc = ENOMEM;
	pid_t pid;

	worker_path(worker);
	if (source != NULL && target != NULL)
		rc = posix_spawn(&pid, worker, NULL, NULL, argv, environ);
	if (rc != 0)
		sw_cli_say(c, "cannot run %s: %s", worker, strerror(rc));
	else
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	free(source);
	free(target);
	return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SW_EXIT_DONE
									: SW_EXIT_REFUSED;
}

/* The best trial of the sweep. */
static int find_best(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[64];
	int status;

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 "}", c->sweep);
	status = sw_cli_fetch(c, "sweep.best", params, &r);
	if (status == SW_EXIT_DONE) {
		const cJSON *trials = sw_json_get(r.result, "trials");

		if (!cJSON_IsArray(trials) ||
		    !sw_json_u64(sw_json_get(trials->child, "trial"), &c->trial)) {
			sw_cli_say(c, "no trial has a value yet");
			status = SW_EXIT_REFUSED;
		}
	}
	sw_reply_fini(&r);
	return status;
}

int sw_verb_checkpoint(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	const cJSON *path, *step;
	int status = SW_EXIT_DONE;

	if (c->args.out == NULL) {
		sw_cli_say(c, "checkpoint needs --out FILE");
		return SW_EXIT_USAGE;
	}
	if (c->trial == 0)
		status = find_best(c);
	if (status == SW_EXIT_DONE)
		status = sw_cli_call_ref(c, "trial.checkpoint", &r);
	path = sw_json_get(r.result, "path");
	step = sw_json_get(r.result, "step");
	if (status == SW_EXIT_DONE && cJSON_IsString(path)) {
		status = export_file(c, path->valuestring, c->args.out);
		if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
			(void)sw_buf_addf(&c->out, "trial %" PRIu64 "/%" PRIu64 " after step ",
					  c->sweep, c->trial);
			sw_fmt_value(&c->out, step, true, c->look.utf8);
			(void)sw_buf_adds(&c->out, " -> ");
			sw_cli_text(c, c->args.out);
			(void)sw_buf_adds(&c->out, "\n");
		}
	}
	sw_reply_fini(&r);
	return status;
}
