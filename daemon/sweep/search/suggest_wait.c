/* daemon/sweep/search/suggest_wait.c — asks and slots wait for suggestions, each until its own
 * deadline. */
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest_internal.h"

#define REST_US   ((int64_t)2000)        /* after a hand-out: see sw_suggest_rests() */
#define FORGET_US ((int64_t)5 * 1000000) /* after which a silent slot no longer waits */

static int64_t wait_limit_us(const struct sw_suggester *s)
{
	return (int64_t)s->live->spec->suggest_wait_ms * 1000;
}

struct sw_waits *sw_suggest_asks(const struct sw_suggester *s)
{
	return &s->live->waits[SW_WAIT_SUGGESTION];
}

uint64_t sw_suggest_count(const struct sw_call *call)
{
	return (uint64_t)sw_call_int(call, "count", 1);
}

int64_t sw_suggest_oldest(const struct sw_suggester *s)
{
	const struct sw_wait *first = sw_suggest_asks(s)->head;
	const int64_t asks_us = first != NULL ? first->since_us : 0;

	/* 0 means that nobody waits, so it is not the earlier of two. */
	if (asks_us == 0 || s->since_us == 0)
		return asks_us + s->since_us;
	return asks_us < s->since_us ? asks_us : s->since_us;
}

bool sw_suggest_is_late(const struct sw_suggester *s, int64_t since_us)
{
	return since_us != 0 && s->live->d->clock->mono_us() - since_us >= wait_limit_us(s);
}

static int64_t rest_until(const struct sw_suggester *s)
{
	return s->handed_us + REST_US;
}

/* The next moment at which a waiter becomes late, or a rest is over. INT64_MAX: never. */
static int64_t next_deadline(const struct sw_suggester *s, int64_t now_us)
{
	const int64_t wait = wait_limit_us(s);
	/* Only what lies ahead: a waiter that is late already is served by whatever makes a
	 * suggestion for it. */
	int64_t next = s->since_us != 0 && s->since_us + wait > now_us ? s->since_us + wait
								       : INT64_MAX;

	for (const struct sw_wait *p = sw_suggest_asks(s)->head; p != NULL; p = p->next)
		if (p->since_us + wait > now_us && p->since_us + wait < next)
			next = p->since_us + wait;
	if (rest_until(s) > now_us && rest_until(s) < next)
		next = rest_until(s);
	return next;
}

static void on_deadline(uv_timer_t *timer);

/* All sweeps share the timer, so one may only bring it forward. */
static void arm(struct sw_daemon *d, uint64_t ms)
{
	if (!uv_is_active((const uv_handle_t *)&d->sweep.suggest_timer) ||
	    uv_timer_get_due_in(&d->sweep.suggest_timer) > ms)
		(void)uv_timer_start(&d->sweep.suggest_timer, on_deadline, ms, 0);
}

static void on_deadline(uv_timer_t *timer)
{
	struct sw_daemon *d = timer->data;
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_suggester *s = d->sweep.sweeps[i]->suggest;

		if (s != NULL && sw_suggest_is_late(s, sw_suggest_oldest(s))) {
			sw_suggest_serve(s);
			d->slot.due = true;
			sw_suggest_changed(s->live);
		} else if (s != NULL && s->handed_us != 0) {
			sw_suggest_plan(s); /* it may have rested */
		}
	}
	/* Only after all were served, for each may have changed who waits. */
	const int64_t now_us = d->clock->mono_us();
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		const struct sw_suggester *s = d->sweep.sweeps[i]->suggest;
		const int64_t at_us = s != NULL ? next_deadline(s, now_us) : INT64_MAX;

		next = at_us < next ? at_us : next;
	}
	if (next != INT64_MAX)
		/* One more than needed: a timer of whole milliseconds that fired early would find
		 * nobody late, and fire again at once. */
		arm(d, (uint64_t)(next - now_us) / 1000 + 1);
}

bool sw_suggest_rests(struct sw_suggester *s)
{
	struct sw_daemon *d = s->live->d;

	/* Somebody waits, or nothing is prepared: no time to rest. */
	if (s->queue.n == 0 || sw_suggest_asks(s)->n > 0 || s->since_us != 0 ||
	    d->clock->mono_us() >= rest_until(s))
		return false;
	arm(d, REST_US / 1000 + 1);
	return true;
}

/* The daemon has one timer, set to the earliest moment at which anyone becomes late. */
void sw_suggest_arm(struct sw_suggester *s)
{
	arm(s->live->d, (uint64_t)s->live->spec->suggest_wait_ms + 1);
}

void sw_suggest_wait(struct sw_running *live, struct sw_call *call)
{
	struct sw_suggester *s = live->suggest;
	struct sw_waits *asks = sw_suggest_asks(s);

	/* Each holds a message of its connection, so the list bounds memory as well as time. */
	if (asks->n == SW_SUGGEST_MAX_ASK || sw_wait_add(asks, call) == NULL) {
		sw_call_refuse(call, SW_BUSY, "", "%zu asks wait for suggestions; try again",
			       asks->n);
		return;
	}
	sw_suggest_arm(s);
	sw_suggest_plan(s);
}

void sw_suggest_tick(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_suggester *s = d->sweep.sweeps[i]->suggest;

		if (s == NULL)
			continue;
		const struct sw_wait *first = sw_suggest_asks(s)->head;
		if (first != NULL && now_us - first->since_us >= SW_SUGGEST_MAX_US)
			sw_suggest_serve(s);
		if (s->since_us != 0 && now_us - s->since_us > wait_limit_us(s) + FORGET_US)
			s->since_us = 0; /* a slot that still waits says so again */
	}
}
