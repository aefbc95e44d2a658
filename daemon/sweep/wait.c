#include "daemon/sweep/wait.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/sweep/running.h"
#include <stdlib.h>

struct sw_wait *sw_wait_add(struct sw_waits *waits, struct sw_call *call)
{
	struct sw_wait *w = sw_calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	w->call = call;
	w->since_us = call->d->clock->mono_us();
	/* A zeroed struct is an empty list: its tail is set with the first. */
	if (waits->head == NULL)
		waits->tail = &waits->head;
	*waits->tail = w;
	waits->tail = &w->next;
	waits->n++;
	return w;
}

struct sw_call *sw_wait_take(struct sw_waits *waits, struct sw_wait **at)
{
	struct sw_wait *w = *at;

	if (w == NULL)
		return NULL;
	struct sw_call *call = w->call;
	*at = w->next;
	/* The last one goes: the next to come has to be hung where this one hung. */
	if (waits->tail == &w->next)
		waits->tail = at;
	waits->n--;
	free(w);
	return call;
}

void sw_wait_refuse_all(struct sw_daemon *d, enum sw_wait_reason why, const char *line)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_waits *waits = &d->sweep.sweeps[i]->waits[why];

		while (waits->head != NULL)
			sw_call_refuse(sw_wait_take(waits, &waits->head), SW_BUSY, "", "%s", line);
	}
}

size_t sw_wait_n(const struct sw_daemon *d, enum sw_wait_reason why)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		n += d->sweep.sweeps[i]->waits[why].n;
	return n;
}
