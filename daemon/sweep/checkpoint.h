/*
 * daemon/sweep/checkpoint.h — the files that trials go on from: where they are, and when they go.
 *
 *   <state>/checkpoints/<sweep>/<trial>-<step>.ckpt      of a program a folder
 *   <state>/checkpoints/<sweep>/<trial>.dir              its own (SWEEPD_TRIAL_DIR), as of step 0
 *
 * Workers write them before they report the step; the daemon makes the folder (0700) and deletes
 * what nobody needs any more. Needed are, of a trial that runs or waits to run again, the last one
 * and the one before it (for when the last is damaged); of a paused one the last; what a child goes
 * on from (pbt); and of trials that have ended what the spec's "checkpoint" says: the best one's
 * and the last one's, all, or none, within max_mb, the worst going first. A trainer's last file has
 * its best weights, too; a program's best one stays beside its last. Files go after the commit
 * of what made them unneeded, on libuv's pool (daemon/sweep/janitor.c). Leftovers of a crash
 * go at the next start.
 */
#ifndef SW_DAEMON_SWEEP_CHECKPOINT_H
#define SW_DAEMON_SWEEP_CHECKPOINT_H

#include "base/status.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_CHECKPOINT_FOLDER     "checkpoints"
#define SW_CHECKPOINT_FOLDER_MAX (PATH_MAX + 64) /* bytes of a sweep's */

struct sw_action;
struct sw_actions;
struct sw_event;
struct sw_running;

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

/* The files of a sweep's trials that the state machine does not know of. */
struct sw_keeping {
	/* Trials that have not ended and have reported or have files; by trial. */
	struct sw_keeping_open {
		uint64_t trial;
		uint64_t before; /* the step of the checkpoint before its last; 0: none */
		uint64_t best;   /* of a program's best one; 0: none, or none is kept */
		double best_value;
		bool has_value;
		bool doubted; /* its last value is not believed: it is not the best now */
		bool gone;    /* it has ended: its place goes with many others */
		double value; /* the best of the metric; of several the last of the first one */
	} * open;
	size_t open_n, open_cap, gone_n;
	/* Trials that have ended whose file stays, in the order of their ends. A program's may
	 * have three: the last, the best, its own folder (step 0). */
	struct sw_keeping_ended {
		uint64_t trial, step;
		bool completed, has_value;
		double value;
	} * ended;
	size_t ended_n, ended_cap;
	/* The best value that a trial has reported: a better one is in a checkpoint when it is
	 * reported, so that the best trial has its weights on the disk when it is stopped. */
	bool has_record;
	double record;
};

/* The path of the sweep's folder, be it there or not. */
void sw_checkpoint_folder(const struct sw_running *live, char out[SW_CHECKPOINT_FOLDER_MAX]);
SW_NODISCARD sw_status sw_checkpoint_make_folder(struct sw_running *live, struct sw_err *err);

/* The file that the trial's next attempt goes on from. None: from scratch, or a client keeps its
 * own. */
struct sw_checkpoint sw_checkpoint_of(const struct sw_running *live, uint64_t trial);

/* Files of a sweep that nobody goes on from once a step is stored. v is the caller's. */
struct sw_unneeded {
	struct sw_running *live;
	struct sw_checkpoint *v;
	size_t n, cap;
	bool shrink; /* the sweep's files may be over its max_mb */
};

/* A step has made a trial; a step has been taken, before which the trial of the event (0: none)
 * stood at `before`: adds what nobody needs any more. */
void sw_checkpoint_created(struct sw_running *live, const struct sw_action *create);
void sw_checkpoint_stepped(struct sw_unneeded *out, const struct sw_event *event,
			   const struct sw_checkpoint *before, const struct sw_actions *step);
/* A sweep was rebuilt: notes which trials need another's. */
void sw_checkpoint_recovered(struct sw_running *live);

/* The trial's place in live->files.keeping.open, made if it is not there. Die without memory. */
struct sw_keeping_open *sw_checkpoint_open(struct sw_running *live, uint64_t trial);
void sw_checkpoint_ended(struct sw_running *live, const struct sw_keeping_ended *file);
/* A trial has reported the value, which may be the sweep's record. */
void sw_checkpoint_record(struct sw_running *live, double value);
/* The place in live->files.keeping.ended of the best one, whole: of those with a checkpoint;
 * ended_n: none has a value. */
size_t sw_checkpoint_best(const struct sw_running *live, bool whole);
/* Has the trial of a sweep that goes on ended, and keeps nothing? */
bool sw_checkpoint_goes(const struct sw_running *live, uint64_t trial);
/* The step of a program's best checkpoint that is kept; 0: it has none, or it is a trainer's. */
uint64_t sw_checkpoint_best_of(const struct sw_running *live, uint64_t trial);
/* Does a child of the population that has not its own yet go on from this one? */
bool sw_checkpoint_has_heir(const struct sw_running *live, uint64_t trial, uint64_t step);

#endif
