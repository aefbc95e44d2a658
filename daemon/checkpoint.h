/*
 * daemon/checkpoint.h — the files that trials go on from: where they are, and when they go.
 *
 *   <state>/checkpoints/<sweep>/<trial>-<step>.ckpt
 *
 * Workers write them before they report the step; the daemon makes the folder (0700) and deletes
 * what nobody needs any more: an older one once a newer one is recorded, all of a trial's when it
 * has ended, but the last of a COMPLETED one; never one that an open trial goes on from, its own or
 * (pbt) its parent's. Files go after the commit of what made them unneeded, on libuv's pool. What a
 * crash left behind goes at the next start.
 */
#ifndef SW_DAEMON_CHECKPOINT_H
#define SW_DAEMON_CHECKPOINT_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_action;
struct sw_actions;
struct sw_change;
struct sw_daemon;
struct sw_host;

/* One file. trial 0: none; as something to remove, all of an ended sweep's up to trial `step`. */
struct sw_checkpoint {
	int64_t sweep;
	uint64_t trial, step;
};

/* Open trials that have no checkpoint of their own yet and go on from another's. */
struct sw_heirs {
	struct sw_heir {
		uint64_t child, from, step;
	} * v;
	size_t n, cap;
};

/* The path of the sweep's folder; `make`: it is there after SW_OK. */
SW_NODISCARD sw_status sw_checkpoint_folder(struct sw_host *h, bool make, char *out, size_t cap,
					    struct sw_err *err);

/* What the trial's next attempt goes on from. None: from scratch, or a client keeps its own. */
struct sw_checkpoint sw_checkpoint_of(const struct sw_host *h, uint64_t trial);

/* A step has made a trial; a step has been taken, before which the trial of the event (0: none)
 * stood at `before`: notes in the change what nobody needs any more. */
void sw_checkpoint_created(struct sw_host *h, const struct sw_action *create);
void sw_checkpoint_stepped(struct sw_change *c, struct sw_host *h, uint64_t trial,
			   const struct sw_checkpoint *before, const struct sw_actions *step);
/* A sweep was rebuilt: who needs another's. */
void sw_checkpoint_recovered(struct sw_host *h);

/* After the commit: removes them, in the background. */
void sw_checkpoint_remove(struct sw_daemon *d, const struct sw_checkpoint *v, size_t n);
/* At start, before the loop: what belongs to no stored trial, and what is not needed. */
void sw_checkpoint_clean(struct sw_daemon *d);
void sw_checkpoint_free(struct sw_daemon *d); /* after the loop has ended */

#endif
