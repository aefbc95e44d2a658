#include "daemon/sweep/search/suggest_queue.h"
#include "base/memory.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sw_suggest_queue_free(struct sw_suggestion *one)
{
	if (one != NULL)
		sw_suggestion_fini(one);
	free(one);
}

void sw_suggest_queue_drop(struct sw_suggest_queue *q)
{
	for (size_t i = 0; i < q->n; i++)
		sw_suggest_queue_free(q->v[i]);
	q->n = 0;
}

void sw_suggest_queue_fini(struct sw_suggest_queue *q)
{
	sw_suggest_queue_drop(q);
	free(q->v);
	*q = (struct sw_suggest_queue){.v = NULL};
}

sw_status sw_suggest_queue_push(struct sw_suggest_queue *q, struct sw_suggestion *one,
				uint64_t trial, uint64_t made)
{
	if (!sw_array_reserve(&q->v, &q->cap, q->n + 1, sizeof(struct sw_suggestion *)))
		return SW_NOMEM;
	if (q->n == 0) {
		/* Kept with the queue, as trial and as suggestion: by both it is found out later
		 * who was handed out and whether another trial came between. */
		q->first = trial;
		q->first_made = made;
	}
	q->v[q->n++] = one;
	return SW_OK;
}

bool sw_suggest_queue_trim(struct sw_suggest_queue *q, uint64_t trial, uint64_t made)
{
	const uint64_t gone = trial - q->first;

	if (q->n == 0 || gone == 0)
		return true;
	/* An enqueued trial raises the trials' number but not the suggestions'. */
	if (made - q->first_made != gone) {
		sw_suggest_queue_drop(q);
		return false;
	}
	/* The sweep can only have taken suggestions that it was given from here. */
	assert(gone <= q->n);
	for (size_t i = 0; i < gone; i++)
		sw_suggest_queue_free(q->v[i]);
	memmove(q->v, q->v + gone, (q->n - gone) * sizeof(struct sw_suggestion *));
	q->n -= gone;
	q->first += gone;
	q->first_made += gone;
	return true;
}
