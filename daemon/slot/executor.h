/*
 * daemon/slot/executor.h — how worker processes are started: a table. Each worker has its own: fork
 * and exec, or jobs of a cluster's scheduler (daemon/pilot/pilot.h), and nothing else knows which.
 *
 * Nothing outside an executor may assume that a worker shares the daemon's machine, clock or files.
 * Memory   A sw_proc belongs to the executor; it is freed after `ended` was called, or by forget().
 */
#ifndef SW_DAEMON_SLOT_EXECUTOR_H
#define SW_DAEMON_SLOT_EXECUTOR_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct sw_daemon;
struct sw_proc; /* one started worker */

/* The worker ended, for good. cause: "exit:1", "signal:9", or "lost" when nobody can say. said: the
 * last line that it printed, "" for none; untrusted text. */
typedef void sw_ended_cb(void *user, const char *cause, const char *said);

struct sw_executor {
	/* Starts argv (NULL-terminated, argv[0] the program) and writes a handle by which a later
	 * daemon can find it again. env: "NAME=value" beside, or instead of, what a worker sees of
	 * the daemon's; NULL-terminated. log: a file for what it prints. It does nothing before
	 * tell(), and ends if the daemon does so first. */
	sw_status (*start)(uv_loop_t *loop, char *const argv[], char *const env[], const char *log,
			   sw_ended_cb *ended, void *user, struct sw_proc **out, char *handle,
			   size_t handle_cap, struct sw_err *err);
	/* Gives a started worker its standard input, a few bytes that others may not see. Once. */
	void (*tell)(struct sw_proc *p, const char *input);
	/* Finds a worker that an earlier daemon started. SW_NOT_FOUND: it is gone. */
	sw_status (*adopt)(uv_loop_t *loop, const char *handle, sw_ended_cb *ended, void *user,
			   struct sw_proc **out, struct sw_err *err);
	/* Ends one that an earlier daemon started and that no slot wants. False: it is gone.
	 * d: the daemon. */
	bool (*dismiss)(struct sw_daemon *d, const char *handle);
	/* Asks it to end, or ends it (hard) with everything it started. `ended` follows. */
	void (*stop)(struct sw_proc *p, bool hard);
	/* No further callback; the worker itself is left alone. */
	void (*forget)(struct sw_proc *p);
	long (*pid)(const struct sw_proc *p); /* 0: no process number to show */
};

#define SW_PILOT_HANDLE "pilot " /* how those of sw_daemon_slot.pilots begin */

extern const struct sw_executor sw_executor_local;

#endif
