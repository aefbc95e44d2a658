#include "daemon/pilot/verbs.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 64 /* behind the verb */

/* --- the program --- */

bool sw_pilot_find_program(const char *name, char *out, size_t cap)
{
	static const char *const beside[] = {"/../../executors", "/../libexec/sweepd/executors"};
	const char *given = getenv("SWEEPD_EXECUTORS");
	char self[PATH_MAX] = "", folders[2 * PATH_MAX] = "", path[PATH_MAX + 128];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	const char *bin = dirname(self);
	for (int i = -1; i < 2; i++) {
		if (i < 0 && (given == NULL || *given == '\0'))
			continue;
		const size_t len = strlen(folders);
		char folder[PATH_MAX + 64];

		(void)snprintf(folder, sizeof folder, "%s%s", i < 0 ? given : bin,
			       i < 0 ? "" : beside[i]);
		(void)snprintf(path, sizeof path, "%s/%s", folder, name);
		if (access(path, X_OK) == 0) {
			(void)snprintf(out, cap, "%s", path);
			return true;
		}
		/* Kept for the message where none has it: the user reads where it was looked
		 * for. */
		(void)snprintf(folders + len, sizeof folders - len, "%s%s", len > 0 ? ", " : "",
			       folder);
	}
	(void)snprintf(out, cap, "%s", folders);
	return false;
}

void sw_pilot_batch_name(const struct sw_daemon *d, uint64_t batch, char out[SW_PILOT_NAME])
{
	(void)snprintf(out, SW_PILOT_NAME, "%s%llu", d->pilot.prefix, (unsigned long long)batch);
}

/* --- a run --- */

const char *sw_pilot_verb_name(enum sw_pilot_verb verb)
{
	static const char *const names[] = {"submit", "list", "cancel", "check"};

	return names[verb];
}

struct run {
	struct sw_daemon *d;
	enum sw_pilot_verb verb;
	sw_errand_cb *done;
};

static void on_done(void *user, const struct sw_errand_end *result)
{
	struct run r = *(struct run *)user;

	/* Before `done`, which may run the same verb again. */
	free(user);
	r.d->pilot.run[r.verb] = NULL;
	r.done(r.d, result);
}

/* An executor is the user's own program, and sees what the daemon does: SLURM_CONF,
 * SSH_AUTH_SOCK. */
static char **make_env(char *const more[], size_t n)
{
	size_t all = 0, kept = 0;
	char **env;

	while (environ[all] != NULL)
		all++;
	env = sw_daemon_calloc(all + n + 1, sizeof *env, "run an executor");
	for (size_t i = 0; i < all; i++)
		/* A daemon that is itself started by an executor's job would pass that job's on. */
		if (strncmp(environ[i], "SWEEPD_JOB_", 11) != 0)
			env[kept++] = environ[i];
	memcpy(env + kept, more, n * sizeof *more);
	return env;
}

void sw_pilot_run(struct sw_daemon *d, const char *program, enum sw_pilot_verb verb,
		  const char *const args[], const char *prefix, uint64_t batch, sw_errand_cb *done)
{
	const struct sw_pilot_options *o = &d->config.pilots;
	char text[8][SW_PILOT_OPTIONS + 32], name[SW_PILOT_NAME] = "";
	char *argv[ARGS_MAX + 3] = {(char *)program, (char *)sw_pilot_verb_name(verb)}, *more[8];
	struct run *r = sw_daemon_calloc(1, sizeof *r, "run an executor");

	*r = (struct run){.d = d, .verb = verb, .done = done};
	for (size_t i = 0; i < ARGS_MAX && args[i] != NULL; i++)
		argv[2 + i] = (char *)args[i];
	if (batch != 0)
		sw_pilot_batch_name(d, batch, name);
	const struct sw_job_shape *sh = batch != 0 ? sw_job_shape_find(d, d->pilot.submits) : NULL;
	const size_t size = sizeof text[0];
	(void)snprintf(text[0], size, "SWEEPD_JOB_PREFIX=%s", prefix);
	(void)snprintf(text[1], size, "SWEEPD_JOB_DIR=%s/pilots", d->config.state);
	(void)snprintf(text[2], size, "SWEEPD_JOB_NAME=%s", name);
	(void)snprintf(text[3], size, "SWEEPD_JOB_TIME=%u", sh != NULL ? sh->time_s : o->time_s);
	(void)snprintf(text[4], size, "SWEEPD_JOB_GPUS=%u", o->gpus);
	(void)snprintf(text[5], size, "SWEEPD_JOB_CPUS=%u", o->cpus);
	(void)snprintf(text[6], size, "SWEEPD_JOB_MEM=%lld", (long long)(o->mem >> 20));
	(void)snprintf(text[7], size, "SWEEPD_JOB_OPTIONS=%s",
		       sh != NULL && sh->options != NULL ? sh->options : o->other);
	for (size_t i = 0; i < 8; i++)
		more[i] = text[i];
	char **env = make_env(more, 8);
	d->pilot.run[verb] = sw_errand_start(d->loop, argv, env, NULL, on_done, r);
	if (d->pilot.run[verb] == NULL)
		sw_daemon_die("run an executor", SW_NOMEM);
	free(env);
}
