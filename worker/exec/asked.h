/*
 * worker/exec/asked.h — starts a trial's program from its job, its site, its parameters and its
 * folder.
 *
 * Memory   Borrows site, session and job.
 */
#ifndef SW_WORKER_EXEC_ASKED_H
#define SW_WORKER_EXEC_ASKED_H

#include "worker/exec/ranks.h"
#include "worker/link/session.h"

struct sw_asked {
	const struct sw_site *site;
	struct sw_session *session;
	const struct sw_job *job;
	bool going;    /* the session said last that the trial goes on */
	cJSON *params; /* the job's, or smaller ones */
	char mark[80]; /* the program's entry of the environment that its job names */
	struct sw_folder folder;
};

/* Finds the folder and copies the parameters. SW_NOMEM; a child of another trial cannot be started
 * without its parent's checkpoint. */
SW_NODISCARD sw_status sw_asked_open(struct sw_asked *a, struct sw_err *err);

/* Starts the program, once for each rank. After an error, ranks that were started still run. */
SW_NODISCARD sw_status sw_asked_start(struct sw_asked *a, struct sw_ranks *r, struct sw_err *err);

void sw_asked_close(struct sw_asked *a);

#endif
