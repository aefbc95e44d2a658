/*
 * daemon/verify/verify.h — a stored sweep held against its replay.
 *
 * All that a step leaves behind must be what is stored: each report's verdict, each decision in
 * full, bit for bit, none missing and none too many; the trial and attempt of each hand-out; each
 * trial's values, made again from what its sampler knew and the sampler's own state as it was made
 * again, never read back; how trials, attempts and the sweep ended. What comes from outside (a
 * report's value, a user's own point) is the replay's input: of it only the form can be checked,
 * and that its copies agree.
 *
 * Memory   A state machine, its history, and 32 bytes a trial.
 */
#ifndef SW_DAEMON_VERIFY_VERIFY_H
#define SW_DAEMON_VERIFY_VERIFY_H

#include "base/buf.h"
#include "base/status.h"
#include "daemon/sweep/load/replay.h"

/* The trial's row must say this when it ends. */
struct sw_verify_trial {
	uint64_t step; /* of the report that its row shows */
	double value;  /* of the last that had one */
	bool has_value, live;
};

struct sw_verify {
	int64_t sweep;
	/* Called now and then: events so far, and how many there are. NULL: nobody wants to
	 * know. */
	void (*progress)(const struct sw_verify *v, uint64_t ev);

	/* The result. */
	bool differs;       /* `line` says where first */
	struct sw_buf line; /* "sweep 3, event 812, trial 17: ..." */
	uint64_t trials, events, decisions, suggestions;
	char state[16]; /* of the stored sweep */

	/* Its own. */
	struct sw_replay replay;
	uint64_t events_n;
	struct sw_verify_trial *trial; /* [trial_cap], trial t at t - 1 */
	size_t trial_cap;
	struct sw_sampler *sampler; /* for suggestions that did not know all; NULL: none yet */
	uint64_t sampler_epoch;
	struct sw_history history;
	struct sw_suggestion made;
	uint64_t state_trial; /* the last trial whose suggestion left a state */
	struct sw_buf text;
};

void sw_verify_init(struct sw_verify *v, int64_t sweep);
void sw_verify_fini(struct sw_verify *v);

/* Inside a read of db. SW_OK whether it differs or not; else why it cannot be said. As long as the
 * replay: O(events log trials) and a suggestion for each trial. */
SW_NODISCARD sw_status sw_verify_run(struct sw_verify *v, struct sw_db *db, struct sw_err *err);

/* --- between the files of this --- */

/* Records the first difference and ends the replay. trial 0: none is meant. */
void sw_verify_differ(struct sw_verify *v, uint64_t trial, const char *fmt, ...) SW_PRINTF(3, 4);
/* Something failed that is no difference. */
void sw_verify_fail(struct sw_verify *v, sw_status rc, const struct sw_err *err);

/* Differ unless they are equal; trial 0: none is meant. made: "" for none. */
void sw_verify_text(struct sw_verify *v, uint64_t trial, const char *what, const char *stored,
		    const char *made);
void sw_verify_int(struct sw_verify *v, uint64_t trial, const char *what, int64_t stored,
		   uint64_t made);

/* Checks the rows that a step's report and actions left (daemon/verify/verify_rows.c). */
void sw_verify_report(struct sw_verify *v, const struct sw_event *e,
		      const struct sw_row_report *row);
void sw_verify_start(struct sw_verify *v, const struct sw_action *a);
void sw_verify_over(struct sw_verify *v, const struct sw_action *a, const char *state);
void sw_verify_end(struct sw_verify *v, const struct sw_action *a);
/* A trial's row as it must be after the last event; arg: the struct sw_verify. */
bool sw_verify_last(const struct sw_row_trial *row, void *arg);

/* The suggestion of the trial that an ASK is about to make (daemon/verify/verify_suggest.c). */
void sw_verify_suggest(struct sw_replay *r, struct sw_event *e);
/* A trial that was made: its values, how they came about, what the sampler kept. */
void sw_verify_created(struct sw_verify *v, const struct sw_action *a);

#endif
