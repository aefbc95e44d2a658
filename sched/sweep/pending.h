/*
 * sched/sweep/pending.h — the trials that wait for another attempt, lowest number first: a binary
 * heap.
 *
 * Memory   init/fini; the struct is the caller's. Only sw_pending_reserve() can fail.
 * Stale    A trial that is cancelled while it waits stays inside until it comes up; the caller
 *          skips it then. A trial is inside at most once: it leaves before it can come back.
 */
#ifndef SW_SCHED_SWEEP_PENDING_H
#define SW_SCHED_SWEEP_PENDING_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

struct sw_pending {
	uint64_t *v; /* v[i] < v[2i + 1], v[2i + 2] */
	size_t n, cap;
};

void sw_pending_init(struct sw_pending *h);
void sw_pending_fini(struct sw_pending *h);

/* Makes room for one more. Amortised O(1). SW_NOMEM: nothing changed. */
SW_NODISCARD sw_status sw_pending_reserve(struct sw_pending *h);

void sw_pending_push(struct sw_pending *h,
		     uint64_t trial);          /* asserts that there is room; O(log n) */
uint64_t sw_pending_pop(struct sw_pending *h); /* asserts n > 0; O(log n) */

#endif
