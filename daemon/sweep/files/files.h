/*
 * daemon/sweep/files/files.h — the files of trials go when nobody needs them.
 *
 * A step that may leave files behind marks its sweep once it is stored; a start marks all. Soon
 * after, and once a second at most, one pass goes over the marked sweep's folder: what the rows in
 * the store no longer call for (daemon/sweep/files/files_rule.h) is removed, whatever left it
 * there: a newer checkpoint, an end, a crash, a worker that was ahead of a decision, a budget.
 *
 *   list    the names in the folder           libuv's pool
 *   read    the rows of their trials          the store's reader, so many at a time
 *   hold    what workers still write or end   the loop
 *   remove  what does not stay                libuv's pool
 *
 * The order is why nothing goes that is needed. What is listed was written before the rows are
 * read: of a trial that was handed out since, nothing is in the list, and what has come under a
 * listed name since is another file. Children are read after the trials that they go on from, so
 * one that is made in between goes on from a file that its donor's row called for. And a row says
 * less of a trial than the daemon knows only until its commit, which marks the sweep again.
 */
#ifndef SW_DAEMON_SWEEP_FILES_FILES_H
#define SW_DAEMON_SWEEP_FILES_FILES_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_change;
struct sw_daemon;
struct sw_event;
struct sw_files_pass;
struct sw_running;

/* d->sweep.files */
struct sw_files_work {
	struct sw_files_pass *pass; /* NULL: none has been yet */
	bool busy;
	int64_t *marked; /* sweeps, in the order of their marks */
	size_t n, cap;
};

/* live->files */
struct sw_files_of {
	bool marked;
	unsigned storing; /* steps that will mark it once they are stored */
	int64_t due_us;   /* no pass begins before that */
	bool over;        /* the log has said that it is over its max_mb */
	/* The best value that a trial has reported, and the trial; 0: none is known. A better one
	 * is in a checkpoint when it is reported, so that the best trial has its weights on the
	 * disk when it is stopped. */
	uint64_t record_trial;
	double record;
};

/* A step has been taken, c->actions came of it. */
void sw_files_stepped(struct sw_change *c, struct sw_running *live, const struct sw_event *event);
/* At start: marks every sweep that has a folder, be the sweep there or not. */
void sw_files_start(struct sw_daemon *d);
void sw_files_tick(struct sw_daemon *d, int64_t now_us);
void sw_files_free(struct sw_daemon *d); /* after the loop has ended */

/* Any thread. Removes all files of a sweep, but the checkpoints of the trial `spared` (0: none),
 * and adds to *bytes what went. SW_IO: something is left; err names the first, and why. It ends
 * early when the daemon stops. */
SW_NODISCARD sw_status sw_files_erase(const struct sw_daemon *d, int64_t sweep, uint64_t spared,
				      int64_t *bytes, struct sw_err *err);

#endif
