/* daemon/sweep/search/suggest_internal.h — what suggest.c (the queue and its job) and
 * suggest_wait.c (who waits) share. */
#ifndef SW_DAEMON_SWEEP_SEARCH_SUGGEST_INTERNAL_H
#define SW_DAEMON_SWEEP_SEARCH_SUGGEST_INTERNAL_H

#include "daemon/sweep/search/suggest.h"
#include "daemon/sweep/search/suggest_queue.h"
#include "sched/space/history.h"
#include <uv.h>

struct sw_suggester {
	struct sw_running *live;
	struct sw_suggest_queue queue;
	int64_t since_us;  /* since when a slot waits; 0: none does */
	int64_t handed_us; /* when a prepared one was handed out last */

	/* The job's own while busy, the loop's otherwise. */
	struct sw_sampler *sampler; /* NULL: made with the next chain */
	struct sw_history history;  /* the sweep's as the chain knows it, then the chain's trials */
	uint64_t real;              /* how many of its trials are the sweep's for certain */
	bool chain;                 /* the rest are those of the queue, up to its end */
	uint64_t epoch;             /* sw_sweep_epoch() that all this is of */
	bool is_void;               /* it has risen: sampler and history are to be made anew */
	uint64_t made;              /* the number of the suggestion in work */
	struct sw_suggestion *out;
	sw_status rc;
	struct sw_err err;

	uv_work_t work;
	bool busy;
	bool fresh_start; /* the job in work begins a chain */
	unsigned drawn;   /* suggestions of the present chain made after it went stale */
};

/* suggest.c */
void sw_suggest_serve(struct sw_suggester *s); /* answers the asks that can be answered */
void sw_suggest_plan(struct sw_suggester *s);  /* begins what is worth doing now, if anything is */

/* suggest_wait.c */
struct sw_waits *sw_suggest_asks(const struct sw_suggester *s); /* those that wait for one */
uint64_t sw_suggest_count(const struct sw_call *call);          /* how many it asks for */
int64_t sw_suggest_oldest(const struct sw_suggester *s);        /* since when; 0: nobody waits */
bool sw_suggest_is_late(const struct sw_suggester *s, int64_t since_us);
/* Some are prepared, nobody waits for more, and one was just handed out: the client that took it
 * may come for the next, and the model would compete with all that it takes to answer. The timer
 * comes back. */
bool sw_suggest_rests(struct sw_suggester *s);
void sw_suggest_arm(struct sw_suggester *s); /* the timer of those who become late */

#endif
