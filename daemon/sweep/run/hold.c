#include "daemon/sweep/run/hold.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include <stdlib.h>

#define RELEASE_MAX 1000                   /* trials of a sweep that one tick gives back */
#define DEAF_US     ((int64_t)1000 * 1000) /* between two ticks */

struct held {
	int64_t sweep;
	uint64_t trial;
};

struct sw_holds { /* a connection's */
	struct held *v;
	size_t n, cap;
};

/* --- connections --- */

/* NULL: the sweep has ended, and left memory. */
static struct sw_run *run_of(const struct sw_daemon *d, const struct held *held)
{
	struct sw_run *runs = d->sweep.sweeps[held->sweep - 1]->runs;

	return runs != NULL ? &runs[held->trial - 1] : NULL;
}

/* Drops trials that ended or went to another connection. The list only grows until then. */
static void compact_holds(struct sw_conn *c)
{
	struct sw_holds *all = c->holds;
	size_t n = 0;

	/* Most connections hold nothing. */
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->n; i++) {
		const struct sw_run *run = run_of(c->d, &all->v[i]);

		/* By serial and not by address: a later connection may lie where this one lay, and
		 * would inherit its trials. */
		if (run != NULL && run->conn == c->serial)
			all->v[n++] = all->v[i];
	}
	all->n = n;
}

static void add_held(struct sw_conn *c, struct held held)
{
	if (c->holds == NULL)
		c->holds = sw_daemon_calloc(1, sizeof *c->holds, "note who holds a trial");
	struct sw_holds *all = c->holds;

	if (all->n == all->cap) {
		compact_holds(c);
		/* Grown while it is half full, or it would soon be gone through again. So a
		 * compaction frees half of the list or the list grows: O(1) a trial over time. */
		if ((all->n > all->cap / 2 || all->cap == 0) &&
		    !sw_array_reserve(&all->v, &all->cap, all->cap + 1, sizeof *all->v))
			sw_daemon_die("note who holds a trial", SW_NOMEM);
	}
	all->v[all->n++] = held;
}

void sw_hold_take(struct sw_conn *c, struct sw_running *live, uint64_t trial)
{
	struct sw_run *run = &live->runs[trial - 1];

	/* A slot's trial is its worker's; and what has ended is held by nobody. */
	if (!live->driven || sw_sweep_trial(live->sched, trial)->state != SW_TRIAL_RUNNING)
		return;
	/* Before the connection is looked at: the lease begins anew also for a client that
	 * closed. */
	run->heard_us = live->d->clock->mono_us();
	if (c->closing) { /* it asked, and was gone before it could be answered */
		run->conn = 0;
	} else if (run->conn != c->serial) {
		add_held(c, (struct held){.sweep = live->sweep, .trial = trial});
		run->conn = c->serial;
	}
}

bool sw_hold_any(struct sw_conn *c)
{
	compact_holds(c);
	return c->holds != NULL && c->holds->n > 0;
}

void sw_hold_drop_conn(struct sw_conn *c)
{
	const int64_t now_us = c->d->clock->mono_us();
	struct sw_holds *all = c->holds;

	if (all == NULL)
		return;
	/* Afterwards the list has only trials that this connection holds: run_of() is not NULL for
	 * them. */
	compact_holds(c);
	for (size_t i = 0; i < all->n; i++) {
		const struct sw_running *live = c->d->sweep.sweeps[all->v[i].sweep - 1];
		struct sw_run *run = run_of(c->d, &all->v[i]);

		run->conn = 0;
		/* A lease goes by what was said, not by who listens. */
		if (live->settings.lease_s <= 0)
			run->heard_us = now_us;
	}
	free(all->v);
	free(all);
	c->holds = NULL;
}

/* --- time --- */

int64_t sw_hold_idle_min(const struct sw_running *live)
{
	uint64_t counts[SW_TRIAL_STATE_N];

	if (!live->driven || live->sched == NULL || live->state != SW_SWEEP_RUNNING)
		return 0;
	sw_sweep_counts(live->sched, counts);
	return counts[SW_TRIAL_RUNNING] > 0
		       ? 0
		       : (live->d->clock->mono_us() - live->asked_us) / 60000000;
}

/* Gives back the overdue trials of one sweep. A trial that is heard of is due later, so no scan is
 * needed before the one that was silent longest is due. */
static void release_overdue(struct sw_running *live, int64_t now_us)
{
	const bool lease = live->settings.lease_s > 0;
	const int64_t limit_us =
		(int64_t)((lease ? live->settings.lease_s : SW_HOLD_GRACE_S) * 1e6);
	const uint64_t n = sw_sweep_trial_n(live->sched);
	unsigned released = 0;
	bool first = true;
	int64_t heard_us = now_us; /* the earliest */

	/* No trial can be overdue before that. */
	if (now_us < live->hold_us)
		return;
	for (uint64_t trial = live->oldest; trial <= n; trial++) {
		const struct sw_trial *t = sw_sweep_trial(live->sched, trial);
		const struct sw_run *run = &live->runs[trial - 1];

		/* The run of ended trials at the front is skipped by every later scan; on_start()
		 * moves the mark back if an older one is resumed. */
		if (first && sw_trial_ended((enum sw_trial_state)t->state)) {
			live->oldest = trial + 1;
			continue;
		}
		first = false;
		/* It waits, or its client is connected. A lease runs for connected clients, too. */
		if (t->state != SW_TRIAL_RUNNING || (!lease && run->conn != 0))
			continue;
		if (now_us - run->heard_us <= limit_us)
			heard_us = run->heard_us < heard_us ? run->heard_us : heard_us;
		else if (released++ == RELEASE_MAX)
			return; /* the next tick goes on */
		else
			sw_driver_attempt_over(live, SW_EVENT_RELEASE, trial, t->attempt,
					       lease ? "lease expired" : "client gone", 0);
	}
	live->hold_us = heard_us + limit_us;
}

/* Moves all deadlines by the time in which nothing could be heard: no grace and no lease ran. */
static void shift_deadlines(struct sw_running *live, int64_t us)
{
	/* All by the same amount: who was silent longest before still is. */
	live->hold_us += us;
	live->asked_us += us;
	for (uint64_t trial = live->oldest; trial <= sw_sweep_trial_n(live->sched); trial++)
		live->runs[trial - 1].heard_us += us;
}

void sw_hold_tick(struct sw_daemon *d, int64_t now_us)
{
	const int64_t since_us = now_us - d->sweep.hold_tick_us;
	/* The process was stopped, or the machine; or nothing can be stored. While nothing can be
	 * stored a client's report is refused: its silence is not its fault. */
	const bool deaf = since_us > DEAF_US || sw_store_stuck(d->store) != NULL ||
			  !sw_store_has_room(d->store);

	d->sweep.hold_tick_us = now_us;
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (!live->driven || live->sched == NULL || live->ended_ms != 0)
			continue;
		if (deaf)
			shift_deadlines(live, since_us);
		else
			release_overdue(live, now_us);
	}
}
