/*
 * cli/view.h — what a watcher knows of one sweep: the last header, and a bounded list of trials.
 *
 * Fed with the results of sweep.watch. Trials are merged by number; those that have not ended stay,
 * and of the ended ones the latest. A message with "reset": true is a snapshot: the trials it does
 * not have are forgotten.
 * Memory   The struct is the caller's (init/fini); it takes the trees that it is fed with.
 */
#ifndef SW_CLI_VIEW_H
#define SW_CLI_VIEW_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_VIEW_MAX 500 /* trials kept */

struct sw_view_row {
	uint64_t trial;
	uint64_t change; /* number of the message that brought it last */
	int64_t at_us;   /* when that came */
	int rank;        /* 0 RUNNING, 1 PAUSED, 2 PENDING, 3 ended */
	cJSON *json;     /* owned */
};

struct sw_view {
	uint64_t sweep;
	cJSON *head; /* the last message without its trials; NULL before the first */
	struct sw_view_row *rows;
	size_t n, cap;
	uint64_t changes;   /* messages so far */
	int64_t at_us;      /* monotonic time of the last message */
	int64_t lost_at_us; /* when the daemon went away; 0: it is there */
	uint64_t drawn;     /* changes when it was last printed (for its printer) */
};

void sw_view_init(struct sw_view *v, uint64_t sweep);
void sw_view_fini(struct sw_view *v);

/* Takes message (an object of sweep.watch's shape), whatever the result. SW_PARSE: not that shape;
 * the view then stays as it was. SW_NOMEM: some trials may be missing. O(n log n) in the trials. */
SW_NODISCARD sw_status sw_view_merge(struct sw_view *v, cJSON *message, int64_t now_us);

/* Did the daemon pause the sweep? Its cause says why. */
bool sw_view_halted(const struct sw_view *v);
/* Has the sweep ended, or halted? False before the first message. */
bool sw_view_ended(const struct sw_view *v);

uint64_t sw_view_count(const struct sw_view *v, const char *state);
uint64_t sw_view_ended_n(const struct sw_view *v); /* trials that have ended */
/* Did it come to its end by a budget or its cap, and all that it tried failed? */
bool sw_view_all_failed(const struct sw_view *v);

/* The states in the order they are shown in, and whether one is an end. */
#define SW_STATE_N 8
extern const char *const sw_states[SW_STATE_N];
bool sw_view_is_end(const char *state);

#endif
