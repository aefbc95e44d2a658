#include "daemon/sweep/ask_wait.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/sweep/ask.h"
#include "daemon/sweep/live.h"
#include <stdlib.h>

struct sw_asking {
	struct sw_asking *next;
	struct sw_call *call;
};

static int64_t ends_us(const struct sw_call *call)
{
	return call->since_us + (int64_t)(sw_call_num(call, "wait_s", 0.0) * 1e6);
}

bool sw_asks_keep(struct sw_live *live, struct sw_call *call)
{
	struct sw_asks *all = &live->asks;

	if (sw_call_gone(call) || live->ended_ms != 0 || live->d->draining ||
	    live->d->phase != SW_UP || all->n == SW_ASKS_MAX ||
	    live->d->clock->mono_us() >= ends_us(call))
		return false;
	struct sw_asking *a = sw_calloc(1, sizeof *a);
	if (a == NULL)
		return false;
	a->call = call;
	if (all->head == NULL)
		all->tail = &all->head;
	*all->tail = a;
	all->tail = &a->next;
	all->n++;
	return true;
}

/* Takes the entry at *at out of the list. */
static struct sw_call *take_asking(struct sw_asks *all, struct sw_asking **at)
{
	struct sw_asking *a = *at;
	struct sw_call *call = a->call;

	*at = a->next;
	if (all->tail == &a->next)
		all->tail = at;
	all->n--;
	free(a);
	return call;
}

void sw_asks_changed(struct sw_live *live)
{
	if (live->asks.n == 0 || live->asks.dirty)
		return;
	live->asks.dirty = true;
	live->asks.next_dirty = live->d->asks_dirty;
	live->d->asks_dirty = live;
}

/* Serves only those that wait now: one that finds nothing is kept again, at the end of the list,
 * and would be met for ever. */
static void serve_asking(struct sw_live *live)
{
	for (size_t n = live->asks.n; n > 0 && live->asks.n > 0; n--) {
		if (live->ended_ms == 0 && !sw_sweep_has_work(live->sched))
			return;
		sw_ask_answer(live, take_asking(&live->asks, &live->asks.head));
	}
}

void sw_asks_flush(struct sw_daemon *d)
{
	struct sw_live *live = d->asks_dirty, *next;

	d->asks_dirty = NULL; /* what changes from here on is for the next turn */
	for (; live != NULL; live = next) {
		next = live->asks.next_dirty;
		live->asks.dirty = false;
		serve_asking(live);
	}
	if (d->asks_dirty != NULL)
		(void)uv_async_send(&d->store_wake);
}

void sw_asks_tick(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->sweep_n; i++) {
		struct sw_asks *all = &d->sweeps[i]->asks;

		for (struct sw_asking **at = &all->head; *at != NULL;) {
			if (now_us < ends_us((*at)->call) && !sw_call_gone((*at)->call))
				at = &(*at)->next;
			else
				sw_ask_answer_now(d->sweeps[i], take_asking(all, at));
		}
	}
}

void sw_asks_refuse_all(struct sw_daemon *d, const char *why)
{
	for (size_t i = 0; i < d->sweep_n; i++) {
		struct sw_asks *all = &d->sweeps[i]->asks;

		while (all->head != NULL)
			sw_call_refuse(take_asking(all, &all->head), SW_BUSY, "", "%s", why);
	}
}

size_t sw_asks_waiting(const struct sw_daemon *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sweep_n; i++)
		n += d->sweeps[i]->asks.n;
	return n;
}
