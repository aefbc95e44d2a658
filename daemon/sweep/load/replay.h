/*
 * daemon/sweep/load/replay.h — a sweep's state machine rebuilt from its stored events.
 *
 * The stored events and reports, fed in their order to a new state machine, must lead to the
 * decisions that were stored with them. Recovery (daemon/sweep/load/recover.c) goes on from what
 * comes out; `sweepd replay` (daemon/verify/verify.c) watches each step and compares all that the
 * step left behind.
 *
 * Threads  None of its own: runs wherever its sw_db may be read, inside one read.
 * Memory   The state machine's, and one row at a time.
 */
#ifndef SW_DAEMON_SWEEP_LOAD_REPLAY_H
#define SW_DAEMON_SWEEP_LOAD_REPLAY_H

#include "base/status.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/budget.h"
#include "daemon/sweep/edit.h"
#include "sched/sweep/sweep.h"
#include "spec/spec.h"
#include "store/rows.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_db;
struct sw_replay;

/* A watch of a replay. Each function may set r->rc and r->err, which ends it. */
struct sw_replay_watch {
	/* Event at_ev was read; next_ev is the number that was due. NULL: nobody asks. */
	void (*arrived)(struct sw_replay *r);
	/* The event is about to make a trial whose values depend on the history. NULL: they are
	 * read back from the store, with what the sampler knew and its stored state. */
	void (*suggest)(struct sw_replay *r, struct sw_event *e);
	/* The step was taken; r->actions holds what it wants done. event, report: its row, one of
	 * them NULL. NULL: the report's verdict alone is checked. */
	void (*stepped)(struct sw_replay *r, const struct sw_event *e,
			const struct sw_row_event *event, const struct sw_row_report *report);
};

/* Zero it, set sweep (and watch), sw_replay_run(), then sw_replay_fini(). */
struct sw_replay {
	int64_t sweep;
	const struct sw_replay_watch *watch; /* NULL: nobody */
	void *user;                          /* the watch's */

	/* The result; spec and sched may be taken (set them to NULL). */
	struct sw_spec *spec;
	struct sw_sweep *sched;
	uint64_t next_ev;            /* the number after the last event */
	bool metric_seen;            /* some report carried the metric */
	struct sw_settings settings; /* those of the spec, then of its edits */
	struct sw_budget budget;     /* how long it ran */
	sw_status rc;
	struct sw_err err;
	bool refused;             /* rc is the state machine's refusal of event at_ev */
	uint64_t at_ev, at_trial; /* the event being taken; 0: none yet */

	/* The replay's own, for the watch to look at. */
	struct sw_db *db;
	uint64_t seed;
	struct sw_actions actions;
	struct sw_plan_priors priors;
	struct sw_space *space;          /* that they are of; NULL: no priors */
	struct sw_suggestion suggestion; /* of the trial being made; its state is borrowed */
	uint64_t state_trial;            /* whose suggestion left the stored state; 0: none */
	unsigned char *state;
	size_t state_n;
};

/* Reads the sweep's row, its priors, its events and reports, and feeds them. The result is r->rc:
 * SW_NOT_FOUND, SW_IO (a row that is damaged), SW_NOMEM, SW_INTERNAL (the replay decides otherwise
 * than what is stored), or the state machine's refusal. O(events log trials), and a suggestion for
 * each trial where the watch makes them again. */
void sw_replay_run(struct sw_replay *r, struct sw_db *db);
void sw_replay_fini(struct sw_replay *r);

#endif
