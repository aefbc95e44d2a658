/*
 * daemon/api/lookup.h — a read for an answer: run on the store's reader thread, answered on the
 * loop.
 *
 * A question is a struct of its own whose first member is a lookup. Its `work` sees only the store
 * and what the question copied before it began: no live sweep, no slot.
 */
#ifndef SW_DAEMON_API_LOOKUP_H
#define SW_DAEMON_API_LOOKUP_H

#include "base/buf.h"
#include "base/status.h"
#include "proto/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_call;
struct sw_db;
struct sw_row_trial;
struct sw_running;

struct sw_lookup {
	struct sw_call *call;
	void (*work)(struct sw_db *db, struct sw_lookup *q); /* reader's thread */
	void (*done)(struct sw_lookup *q); /* loop: completes the answer; NULL: `work` wrote it */
	void (*fini)(struct sw_lookup *q); /* loop: frees what the question holds; NULL: nothing */
	struct sw_running *live;           /* for done alone */
	int64_t sweep, trial, now_ms;
	bool maximize;  /* as the sweep does */
	bool is_long;   /* no few rows by their keys: SW_READ_LONG */
	struct sw_jw w; /* writes out: the members of the answer, an object that is open */
	struct sw_buf out;
	sw_status rc;
	struct sw_err err;
};

/* A zeroed question of that size for this call: sweep and trial are taken from its parameters.
 * NULL: the call was answered with an error. */
void *sw_lookup_create(struct sw_call *call, struct sw_running *live, size_t size,
		       void (*work)(struct sw_db *db, struct sw_lookup *q));
/* Frees one that will not run: its call was answered. */
void sw_lookup_drop(struct sw_lookup *q);
/* For sw_read_trial() and its like, whose arg is the question: writes the trial. */
bool sw_lookup_write_trial(const struct sw_row_trial *row, void *q);
/* Runs it. Takes it. */
void sw_lookup_run(struct sw_lookup *q);

#endif
