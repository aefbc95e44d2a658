/*
 * worker/exec/exec.h — a trial that is the user's own program: run, heard, stopped, told.
 *
 *   start -> [line -> report -> answer] ... -> its end -> the end of all that it left -> finish
 *              at `until`: the working folder becomes a checkpoint before the report
 *              told to stop or pause: the answer, SIGTERM to the whole tree, grace, SIGKILL
 *              out of memory: again with a halved parameter, in the same attempt
 *
 * A program reports by the socket SWEEPD_METRICS_FD, a JSON object a line, each answered when the
 * daemon has it: {"decision": "continue"}. Or by lines on stdout that are objects with the metric
 * in them; those are not answered.
 *
 * Bounds   64 KiB of each of its three streams; of what it prints 2 files of 256 KiB are kept.
 *          While many of its reports wait, its stdout is not read, so that it waits too.
 */
#ifndef SW_WORKER_EXEC_EXEC_H
#define SW_WORKER_EXEC_EXEC_H

#include "worker/exec/environment.h"
#include "worker/link/session.h"

/* Runs a job that has a command, and finishes or releases it in the session. Nothing of it is left
 * when this returns. */
void sw_exec_job(const struct sw_site *site, struct sw_session *s, const struct sw_job *job);

#endif
