#include "daemon/sweep/place.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/ask.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/live.h"
#include "daemon/sweep/need.h"
#include "daemon/sweep/recheck.h"
#include "daemon/sweep/spare.h"
#include "daemon/sweep/suggest.h"
#include <stdint.h>
#include <stdio.h>

bool sw_place_short(const struct sw_live *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const struct sw_daemon *d = live->d;
	const struct sw_slot *bad = NULL;
	const char *why;
	char waits[80];

	for (size_t i = 0; i < d->slot_n; i++) {
		const struct sw_slot *s = &d->slots[i];

		if (sw_room_takes(s, &need) == 0 || sw_spare_waits(s, live, waits, sizeof waits))
			continue;
		if (s->state != SW_SLOT_DOWN && sw_gpus_may_begin(s->d, s, &why))
			return false;
		bad = s;
	}
	if (bad != NULL) {
		const char *cause = sw_slot_cause(bad);

		(void)snprintf(out, cap, "waits for a slot: %s %s%s%s", bad->device.name,
			       bad->state == SW_SLOT_DOWN ? "is down" : "takes no trial",
			       *cause != '\0' ? ": " : "", cause);
	} else if (d->slot_n == 0) {
		(void)snprintf(out, cap, "waits for a slot: this daemon has none (--devices none)");
	} else if (need.precision) {
		(void)snprintf(out, cap,
			       "waits for a slot that computes in %s: none of the %zu does",
			       sw_need_precision(live), d->slot_n);
	} else if (need.cpu_slots > 1) {
		(void)snprintf(out, cap, "waits for %u CPU slots: this daemon has fewer",
			       need.cpu_slots);
	} else if (need.gpu <= 0.0 && need.cores > 1) {
		(void)snprintf(out, cap, "waits for %u cores: the CPU slots have fewer together",
			       need.cores);
	} else {
		(void)snprintf(out, cap, "waits for a %s: none of the %zu slots %s",
			       need.gpu > 0.0 ? "GPU" : "CPU slot", d->slot_n,
			       need.gpu > 0.0 ? "has one" : "is one");
	}
	return true;
}

bool sw_place_hinders(const struct sw_slot *s, const struct sw_live *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const int64_t kept_for = s->worker->kept_for;

	*out = '\0';
	if (!sw_room_is_free(s))
		return false;
	if (sw_spare_waits(s, live, out, cap))
		return true;
	switch (sw_room_for(s, &need)) {
	case SW_ROOM_LARGER:
		(void)snprintf(out, cap, "too small, it waits for a larger one");
		break;
	case SW_ROOM_ALONE:
		(void)snprintf(out, cap, "after its worker's end trials run alone there");
		break;
	case SW_ROOM_LANES:
		(void)snprintf(out, cap, "it takes %u %s, %u free", sw_room_takes(s, &need),
			       s->device.gpu ? "lanes" : "CPU slots", sw_room_lanes(s));
		break;
	case SW_ROOM_BYTES:
		(void)snprintf(out, cap, "too few bytes are free for its %lld MiB",
			       (long long)(live->bytes >> 20));
		break;
	case SW_ROOM_DOWN:
		(void)snprintf(out, cap, "it takes %u CPU slots, and others are down",
			       sw_room_takes(s, &need));
		break;
	case SW_ROOM_YES:
		if (kept_for != 0 && kept_for != live->sweep)
			(void)snprintf(out, cap, "kept for sweep %lld", (long long)kept_for);
		break;
	}
	return *out != '\0';
}

/* --- work --- */

#define PICKS 64

struct picks {
	struct sw_live *live[PICKS];
	struct sw_share share[PICKS];
	size_t n;
};

/* Does a core that is left over wait for other trials than this sweep's? */
static bool is_spared(const struct sw_slot *s, struct sw_live *live)
{
	char why[80];

	if (s->device.spare || s->device.lanes > 1) /* a core's speed, and what lanes share */
		sw_recheck(live);
	return sw_spare_waits(s, live, why, sizeof why);
}

static bool suits(const struct sw_slot *s, const struct sw_live *live)
{
	const struct sw_room_need need = sw_need_of_next(live);

	return sw_room_takes(s, &need) > 0;
}

/* The sweeps that have work for the slot. */
static void gather_picks(struct sw_daemon *d, const struct sw_slot *s, struct picks *p)
{
	p->n = 0;
	for (size_t i = 0; i < d->sweep_n; i++) {
		struct sw_live *live = d->sweeps[i];

		if (live->driven || live->ended_ms != 0 || live->sched == NULL ||
		    !sw_sweep_has_work(live->sched))
			continue;
		/* Again once it is ready: which trial is next may be known only then. */
		if (!suits(s, live) || is_spared(s, live) || !sw_suggest_ready(live, 1) ||
		    !suits(s, live))
			continue;
		if (p->n == PICKS) { /* keep the one that would be served */
			p->live[0] = p->live[sw_share_pick(p->share, p->n)];
			p->share[0] = p->live[0]->share;
			p->n = 1;
		}
		p->live[p->n] = live;
		p->share[p->n++] = live->share;
	}
}

/* Is a GPU being cleared for this sweep, another than the worker's? */
static bool is_cleared_elsewhere(const struct sw_daemon *d, const struct sw_live *live,
				 const struct sw_worker *than)
{
	for (size_t i = 0; i < d->worker_n; i++) {
		const struct sw_worker *w = &d->workers[i];
		const char *why;

		if (w->kept_for == live->sweep && w != than && w->proc != NULL &&
		    sw_gpus_may_begin(live->d, w->slots, &why))
			return true;
	}
	return false;
}

/* The sweep that the slot's next trial is of; NULL: none, or the lanes are kept for one. */
static struct sw_live *pick_sweep(struct sw_daemon *d, const struct sw_slot *s)
{
	struct picks p;

	gather_picks(d, s, &p);
	/* Decided anew each time: the sweep that it was kept for may have ended, or be served. */
	s->worker->kept_for = 0;
	while (p.n > 0) {
		const size_t best = sw_share_pick(p.share, p.n);
		struct sw_live *live = p.live[best];
		const struct sw_room_need need = sw_need_of_next(live);
		const enum sw_room room = sw_room_for(s, &need);

		if (room == SW_ROOM_YES)
			return live;
		/* Its turn, and waiting here helps. If others got the free lanes meanwhile, a trial
		 * that takes several would never find them free together. One GPU is cleared for
		 * it; CPU slots are all together. */
		if ((room == SW_ROOM_LANES || room == SW_ROOM_BYTES) &&
		    !(s->device.gpu && is_cleared_elsewhere(d, live, s->worker))) {
			s->worker->kept_for = live->sweep;
			return NULL;
		}
		p.n--;
		p.live[best] = p.live[p.n];
		p.share[best] = p.share[p.n];
	}
	return NULL;
}

/* Gives the slot a trial. True: look for another sweep's at once. *moved: what is next of the sweep
 * may suit slots that this trial did not. */
static bool feed_slot(struct sw_daemon *d, struct sw_slot *s, bool *moved)
{
	struct sw_call *call = s->next;
	struct sw_live *live = pick_sweep(d, s);

	if (live == NULL)
		return false;
	/* This trial's, which is the next one no more once it is out. */
	const struct sw_room_need need = sw_need_of_next(live);
	s->next = NULL; /* the hand-out answers it */
	if (sw_ask_hand_out(live, s, call)) {
		*moved = *moved || live->spec->precision_param >= 0;
		sw_room_take(s, &need);
		return false;
	}
	s->next = call;
	/* If it says that it has work and gave none, it waits for a suggestion: it would be picked
	 * again, and again give none. */
	return !sw_sweep_has_work(live->sched);
}

/* Trials for those of a worker's slots that ask for one. */
static void feed_worker(struct sw_daemon *d, const struct sw_worker *w, bool *moved)
{
	const char *why;

	for (unsigned k = 0; k < w->slot_n; k++) {
		struct sw_slot *s = &w->slots[k];

		if (s->holder >= 0 || s->next == NULL || !sw_gpus_may_begin(d, s, &why))
			continue;
		while (s->next != NULL && feed_slot(d, s, moved))
			continue;
		if (s->next != NULL)
			return; /* nothing for it: nor for the other lanes of its GPU */
	}
}

void sw_place_flush(struct sw_daemon *d)
{
	if (!d->slots_due)
		return;
	for (bool moved = !d->draining && d->phase == SW_UP; moved;) {
		moved = false;
		for (size_t i = 0; i < d->worker_n; i++)
			feed_worker(d, &d->workers[i], &moved);
	}
	/* Cleared last, because each trial that was handed out has set it again. */
	d->slots_due = false;
}

/* LOST counts against the trial, which runs again only so often; RELEASE does not. */
static void on_lost(struct sw_daemon *d, const struct sw_slot_lost *lost)
{
	sw_driver_attempt_over(
		d->sweeps[lost->sweep - 1], lost->blamed ? SW_EVENT_LOST : SW_EVENT_RELEASE,
		(uint64_t)lost->trial, (uint32_t)lost->attempt, lost->cause, lost->heard_ms);
}

const struct sw_slot_events sw_place_events = {
	.lost = on_lost,
};
