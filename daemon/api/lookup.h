/*
 * daemon/api/lookup.h — a read for an answer: run on the store's reader thread, answered on the
 * loop.
 *
 * A lookup's `work` sees only the store and what the lookup copied before it began: no host, no
 * slot.
 */
#ifndef SW_DAEMON_API_LOOKUP_H
#define SW_DAEMON_API_LOOKUP_H

#include "base/buf.h"
#include "base/status.h"
#include "proto/json.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_db;
struct sw_host;

struct sw_lookup {
	struct sw_call *call;
	void (*work)(struct sw_db *db, struct sw_lookup *q); /* reader's thread */
	void (*done)(struct sw_lookup *q); /* loop: completes the answer; NULL: `work` wrote it */
	struct sw_host *h;                 /* for done alone */
	int64_t sweep, trial, now_ms;
	/* what work may need, and what it leaves */
	int64_t a, b, limit, count, next;
	char text[64], cause[256];
	bool flag;
	bool is_long;                   /* no few rows by their keys: SW_READ_LONG */
	struct sw_jw w;                 /* writes out */
	struct sw_buf out, more, extra; /* the answer; two more pieces for done */
	sw_status rc;
	struct sw_err err;
};

/* A zeroed lookup for this call: sweep and trial are taken from its parameters. NULL: the call was
 * answered with an error. */
struct sw_lookup *sw_lookup_create(struct sw_call *call, struct sw_host *h);
/* Runs it. Takes it. */
void sw_lookup_run(struct sw_lookup *q);

#endif
