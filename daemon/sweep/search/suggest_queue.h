/*
 * daemon/sweep/search/suggest_queue.h — suggestions that wait to be handed out, those of
 * consecutive trials.
 *
 * Memory   Owns the suggestions that were pushed. Zeroed is empty.
 * Threads  None of its own.
 */
#ifndef SW_DAEMON_SWEEP_SEARCH_SUGGEST_QUEUE_H
#define SW_DAEMON_SWEEP_SEARCH_SUGGEST_QUEUE_H

#include "base/status.h"
#include "sched/sampler/sampler.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_suggest_queue {
	struct sw_suggestion **v; /* [n], for trials first, first + 1, ... */
	size_t n, cap;
	uint64_t first, first_made; /* trial and number of v[0]; meaningless while n is 0 */
};

void sw_suggest_queue_free(struct sw_suggestion *one); /* one from the heap; NULL is allowed */
void sw_suggest_queue_drop(struct sw_suggest_queue *q);
void sw_suggest_queue_fini(struct sw_suggest_queue *q);

/* Takes one. trial, made: the next trial that needs a suggestion and the number of that, which an
 * empty queue begins with. SW_NOMEM. */
SW_NODISCARD sw_status sw_suggest_queue_push(struct sw_suggest_queue *q, struct sw_suggestion *one,
					     uint64_t trial, uint64_t made);

/* Drops what was handed out before that trial. If a trial came that the queue did not know (the
 * user enqueued it) all of it goes, for the suggestions took other trials for pending: then
 * false. */
bool sw_suggest_queue_trim(struct sw_suggest_queue *q, uint64_t trial, uint64_t made);

#endif
