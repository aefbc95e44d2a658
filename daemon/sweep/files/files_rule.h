/*
 * daemon/sweep/files/files_rule.h — which of the files in a sweep's folder stay: the one rule.
 *
 * Needed are, of a trial that runs or waits to run again, the last checkpoint and the one before it
 * (for when the last is damaged); of a paused one the last; what a child goes on from (pbt); and of
 * trials that have ended what the spec's "checkpoint" says: the best one's and the last one's, all,
 * or none, within max_mb, the worst going first. A trainer's last file has its best weights, too; a
 * program's best one stays beside its last. A program's own folder goes with the trial's
 * checkpoints. What a worker may still write, or end, stays whole until it asks for the next trial.
 *
 * Pure
 */
#ifndef SW_DAEMON_SWEEP_FILES_FILES_RULE_H
#define SW_DAEMON_SWEEP_FILES_FILES_RULE_H

#include "proto/checkpoint_path.h"
#include "sched/sweep/trial.h"
#include "spec/spec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_file {
	uint64_t trial, step; /* step 0: a program's own folder */
	uint64_t inode;       /* as it was listed */
	uint64_t bytes;       /* of one that stays, where max_bytes is set */
	bool whole;           /* false: it is being written, or a program works in it */
	bool heir;            /* a child that has none of its own yet goes on from it */
	bool stays;           /* sw_files_judge() */
	char name[SW_CHECKPOINT_NAME_MAX];
};

/* A trial that has files, as its row says. */
struct sw_files_trial {
	uint64_t trial;
	size_t at, n; /* its files: v[at .. at + n] */
	bool known;   /* it has a row */
	bool held;    /* by a worker that has not asked for the next trial yet */
	bool has_value;
	enum sw_trial_state state;
	int64_t ended_ms;
	double value;  /* the best of the metric; of several the last of the first one */
	uint64_t last; /* the step that it goes on from, or ended with; 0: none */
	uint64_t best; /* of a program's best checkpoint; 0: none, or none is kept */
};

struct sw_files {
	struct sw_spec_checkpoint spec; /* what its sweep keeps */
	bool program, maximize;
	uint64_t most;     /* so many checkpoints of ended trials; 0: any number */
	struct sw_file *v; /* by trial and step */
	size_t n, cap;
	struct sw_files_trial *trials; /* by trial */
	size_t trial_n;
};

/* Puts the files in order and finds their trials, of which nothing is known yet. False: no
 * memory. */
SW_NODISCARD bool sw_files_group(struct sw_files *f);
struct sw_files_trial *sw_files_find(const struct sw_files *f, uint64_t trial); /* NULL: no files */
/* NULL: it is not there. */
struct sw_file *sw_files_at(const struct sw_files *f, uint64_t trial, uint64_t step);
/* Decides which files stay, whatever room they take. */
void sw_files_judge(struct sw_files *f);
/* Lets files of ended trials go until the rest is within spec.max_mb and `most`. False: it is not,
 * for the best trial's, and those that open trials go on from, are over max_mb. *bytes: of the
 * rest. SW_NOMEM. */
SW_NODISCARD sw_status sw_files_shrink(struct sw_files *f, bool *over, uint64_t *bytes);
void sw_files_fini(struct sw_files *f);

#endif
