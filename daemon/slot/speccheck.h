/*
 * daemon/slot/speccheck.h — what only a worker can say about a spec: all that is wrong below
 * "trainer", does the model compile, can the data be read, do they fit? Asked of `sweep-worker
 * check`, a process of its own, so that the loop never reads a data set and the daemon needs none
 * of the trainer's code. It reads the question and prints {"ok": true} with the facts below under
 * their own names, or {"ok": false, "faults": [{"pointer", "message"}]}, those of the whole spec.
 */
#ifndef SW_DAEMON_SLOT_SPECCHECK_H
#define SW_DAEMON_SLOT_SPECCHECK_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct sw_daemon;

#define SW_SPECCHECK_AT_ONCE 4  /* processes, and one for forms; further checks wait ... */
#define SW_SPECCHECK_WAITING 64 /* ... as many as this; more are SW_BUSY */

/* Of the largest configuration of the space. */
struct sw_speccheck {
	int64_t parameters; /* weights that are trained */
	int64_t bytes;      /* that a trial takes, its data set among them */
	int64_t data_bytes; /* of the data set */
	int64_t data_sum;   /* of its files (trainer/data/data.h); 0: it has none */
	double flops;       /* operations of a step */
	/* Of a pipeline, of a step: the heaviest stage's operations, and the micro-batches that
	 * there are rows for. */
	double stage_flops;
	int64_t parts;
	/* Lines for the user, and what is wrong in the whole spec: each {"pointer", "message"}.
	 * There while `done` is called; NULL: none. */
	const cJSON *warnings, *faults;
};

/* done is called once, on the loop: err->code SW_OK when the spec passed, and facts what it
 * needs; SW_INVALID: err is the first of the faults. */
typedef void sw_speccheck_cb(void *user, const struct sw_err *err,
			     const struct sw_speccheck *facts);

/* text: a spec's JSON. form: {"spec": SPEC}, or with the "ranges" of an edit, {NAME: {"min",
 * "max"}}, of which a fault points at "/ranges/NAME"; asked is then only whether each key and range
 * is right, nothing is compiled and no data is read, facts are warnings and faults alone, and it is
 * over within 5 s. Forms are looked at one at a time: edits end in the order in which they came.
 * Borrowed for the call. On any status but SW_OK done is never called. */
SW_NODISCARD sw_status sw_speccheck_start(struct sw_daemon *d, const char *text, bool form,
					  sw_speccheck_cb *done, void *user, struct sw_err *err);

/* Ends all: each is answered with SW_BUSY. No more may be started after it. */
void sw_speccheck_stop_all(struct sw_daemon *d);

#endif
