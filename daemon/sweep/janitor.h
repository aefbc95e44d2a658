/*
 * daemon/sweep/janitor.h — the files of checkpoints go: those that nobody needs any more, on
 * libuv's pool, and at start (janitor_start.c) what a crash left behind.
 */
#ifndef SW_DAEMON_SWEEP_JANITOR_H
#define SW_DAEMON_SWEEP_JANITOR_H

#include "daemon/sweep/checkpoint.h"
#include <dirent.h>

struct sw_daemon;
struct sw_running;

/* Removes them in the background, after the commit of what made them unneeded. */
void sw_janitor_remove(struct sw_daemon *d, const struct sw_checkpoint *v, size_t n);
/* The worker of a trial that is over writes nothing more: a program's own folder goes if it is not
 * kept, and if the sweep has ended, so do files of the epochs that the worker was ahead of the
 * decision. */
void sw_janitor_late(struct sw_daemon *d, int64_t sweep, uint64_t trial);
/* Removes what is over the sweep's max_mb, the same way. */
void sw_janitor_shrink(struct sw_running *live);
/* At start, before the loop: what belongs to no stored trial, and what is not needed. */
void sw_janitor_start(struct sw_daemon *d);
/* Any thread. Removes all files of a sweep, but the checkpoints of the trial `kept` (0: none), and
 * adds to *bytes what went. SW_IO: something is left; err names the first, and why. It ends early
 * when the daemon stops. */
SW_NODISCARD sw_status sw_janitor_erase(const struct sw_daemon *d, int64_t sweep, uint64_t kept,
					int64_t *bytes, struct sw_err *err);
void sw_janitor_free(struct sw_daemon *d); /* after the loop has ended */

/* --- what janitor.c and janitor_start.c share --- */

/* Files of `trial` from one step to another stay. */
struct sw_janitor_one {
	uint64_t trial, from, to;
};

struct sw_janitor_keeps {
	struct sw_janitor_one *v; /* by trial, where it says what stays */
	size_t n, cap;
};

/* Adds at the end; dies without memory. */
void sw_janitor_keep(struct sw_janitor_keeps *k, uint64_t trial, uint64_t from, uint64_t to);
int sw_janitor_by_trial(const void *a, const void *b); /* qsort's order */
/* Of the sweep's trials that have ended, and of programs that end. v is the caller's. */
struct sw_janitor_keeps sw_janitor_keeps_of_ended(const struct sw_running *live);

/* "12-27.ckpt"; or what is no checkpoint yet: a worker's file under way, ".tmp-12-27-Ab3dEf",
 * and the folders of a program, "12.live-1" and "12.resume" (worker/exec/folder.h), as if of the
 * last step. */
bool sw_janitor_read_name(const char *name, struct sw_checkpoint *out, bool *whole);
/* Opens a folder; at: of the one that path lies in, AT_FDCWD: path is taken as it is. Negative:
 * errno is ENOENT, or what is wrong with it, which is logged. */
int sw_janitor_folder(int at, const char *path);
/* The folder of a sweep's checkpoints (0: the one that holds the sweeps'), for the caller to close;
 * NULL: there is none. A link is logged and not followed: what it leads to is not the daemon's to
 * delete. */
DIR *sw_janitor_open(const struct sw_daemon *d, int64_t sweep);
/* Removes what does not stay, of trials up to `last`, then the folder if it is empty. */
void sw_janitor_clean(const struct sw_daemon *d, int64_t sweep, const struct sw_janitor_keeps *k,
		      uint64_t last);

#endif
