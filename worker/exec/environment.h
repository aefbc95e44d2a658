/*
 * worker/exec/environment.h — makes the environment of a trial's program: sweepd's own
 * variables, the spec's run.env, its devices, then what came with its submission (job->env_file),
 * or, if nothing did, its worker's own. Of two with one name the first counts.
 *
 * Errors   A failure latches in `failed`; nothing is NULL before sw_environment_fini().
 */
#ifndef SW_WORKER_EXEC_ENVIRONMENT_H
#define SW_WORKER_EXEC_ENVIRONMENT_H

#include "worker/exec/folder.h"
#include <stdbool.h>
#include <stddef.h>

struct sw_launchers; /* worker/exec/launcher.h */

/* The place in the machine where a program runs. */
struct sw_site {
	const char *socket;             /* the daemon's: a path */
	const char *device;             /* "cpu:0", "gpu:1", as the worker numbers it */
	const char *name;               /* as people do, with the lane */
	unsigned cores;                 /* of the slot */
	bool pilot;                     /* it is a job of a cluster's */
	struct sw_launchers *launchers; /* of its lane; NULL: programs start cold */
};

struct sw_environment {
	char **list; /* "NAME=value", owned; list[n] is NULL */
	size_t n, cap;
	bool failed; /* no memory */
	bool unread; /* the file that came with its submission is damaged */
};

/* The path of the file with the parameters that wandb reads; the caller writes it before the
 * program starts: WANDB_SWEEP_PARAM_PATH, unless run.env has another. */
void sw_environment_yaml(const struct sw_job *job, char path[PATH_MAX]);

/* The folder in which the program runs: run.cwd, or its own. */
const char *sw_environment_cwd(const struct sw_job *job);

/* params: JSON text. */
void sw_environment_make(struct sw_environment *e, const struct sw_job *job,
			 const struct sw_site *site, const char *params,
			 const struct sw_folder *folder);
void sw_environment_fini(struct sw_environment *e);

/* In place of what the name had; NULL: nothing. */
void sw_environment_set(struct sw_environment *e, const char *name, const char *value);
void sw_environment_set_number(struct sw_environment *e, const char *name, uint64_t value);
const char *sw_environment_get(const struct sw_environment *e, const char *name); /* or NULL */

#endif
