#include "sched/sweep/pending.h"
#include "base/memory.h"
#include <assert.h>
#include <stdlib.h>

void sw_pending_init(struct sw_pending *h)
{
	*h = (struct sw_pending){.v = NULL};
}

void sw_pending_fini(struct sw_pending *h)
{
	free(h->v);
	sw_pending_init(h);
}

sw_status sw_pending_reserve(struct sw_pending *h)
{
	return sw_array_reserve(&h->v, &h->cap, h->n + 1, sizeof *h->v) ? SW_OK : SW_NOMEM;
}

void sw_pending_push(struct sw_pending *h, uint64_t trial)
{
	/* Callers reserve before they change anything, so that this cannot fail. */
	assert(h->n < h->cap);
	size_t i = h->n++;
	for (; i > 0 && h->v[(i - 1) / 2] > trial; i = (i - 1) / 2)
		h->v[i] = h->v[(i - 1) / 2];
	h->v[i] = trial;
}

uint64_t sw_pending_pop(struct sw_pending *h)
{
	assert(h->n > 0);
	const uint64_t top = h->v[0];
	const uint64_t last = h->v[--h->n];
	size_t i = 0;
	for (size_t child = 1; child < h->n; child = 2 * i + 1) {
		if (child + 1 < h->n && h->v[child + 1] < h->v[child])
			child++;
		if (last <= h->v[child])
			break;
		h->v[i] = h->v[child];
		i = child;
	}
	if (h->n > 0)
		h->v[i] = last;
	return top;
}
