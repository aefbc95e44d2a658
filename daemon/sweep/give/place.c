#include "daemon/sweep/give/place.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/ask.h"
#include "daemon/sweep/give/claim.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* If fewer GPUs are left than a trial of several takes, one of those that do not soon come back;
 * NULL: there are enough. */
static const struct sw_slot *find_missing(const struct sw_daemon *d,
					  const struct sw_room_need *need, unsigned *left)
{
	const struct sw_slot *missing = NULL;

	*left = 0;
	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_slot *s = d->slot.workers[i].slots;

		if (sw_room_takes(s, need) == 0)
			continue;
		if (sw_room_comes_back(s->worker))
			++*left;
		else
			missing = s;
	}
	return *left < need->gpus ? missing : NULL;
}

bool sw_place_short(const struct sw_running *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const struct sw_daemon *d = live->d;
	const struct sw_slot *bad = NULL, *missing;
	const struct sw_job_shape *sh = sw_job_shape_find(live->d, need.shape);
	const char *why;
	bool away = false, others = false;
	unsigned left;

	missing = need.gpus > 1 ? find_missing(d, &need, &left) : NULL;
	if (missing != NULL) {
		(void)snprintf(out, cap, "waits for %u GPUs, %u %s left: %s: %s", need.gpus, left,
			       left == 1 ? "is" : "are", missing->device.card,
			       sw_slot_cause(missing));
		return true;
	}
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *s = &d->slot.slots[i];

		if (sw_room_takes(s, &need) == 0) {
			others = others || sw_room_other_shape(s, &need);
			continue;
		}
		/* A pilot that is out of sight is as little a slot as one that is asked for. */
		away = away || s->device.kind->away;
		if ((s->device.kind->away ? s->conn != NULL : s->state != SW_SLOT_DOWN) &&
		    sw_slot_may_begin(s, &why) && sw_room_for(s, &need) != SW_ROOM_SHUT)
			return false;
		if (bad == NULL || !s->device.kind->away)
			bad = s;
	}
	if ((bad == NULL || bad->device.kind->away) && need.files && sh != NULL && sh->blind) {
		(void)snprintf(out, cap,
			       "waits for a slot: pilots do not see the files of %.120s, and its "
			       "trials need files",
			       d->config.state);
	} else if ((away || others) && sh != NULL && sh->why[0] != '\0') {
		(void)snprintf(out, cap, "waits for a slot: %s", sh->why);
	} else if (away && bad->device.kind->away && *sw_slot_cause(bad) == '\0') {
		(void)snprintf(out, cap, "waits for a slot: a pilot is about to be asked for");
	} else if (bad != NULL) {
		const char *cause = sw_slot_cause(bad);

		(void)snprintf(out, cap, "waits for a slot: %s %s%s%s", bad->device.name,
			       bad->state == SW_SLOT_DOWN ? "is down" : "takes no trial",
			       *cause != '\0' ? ": " : "", cause);
	} else if (need.shape == SW_ROOM_NO_PILOT && d->config.pilots.max > 0) {
		(void)snprintf(out, cap,
			       "waits for a slot: its \"executor\" is %s, and this daemon has %s",
			       live->spec->executor, d->config.pilots.executor);
	} else if (others) {
		(void)snprintf(
			out, cap,
			"waits for a slot: the pilots have other options, and serve other sweeps");
	} else if (d->slot.slot_n == 0) {
		(void)snprintf(out, cap, "waits for a slot: this daemon has none (--devices none)");
	} else if (need.precision) {
		(void)snprintf(out, cap,
			       "waits for a slot that computes in %s: none of the %zu does",
			       live->spec->precision, d->slot.slot_n);
	} else if (need.cpu_slots > 1) {
		(void)snprintf(out, cap, "waits for %u CPU slots: this daemon has fewer",
			       need.cpu_slots);
	} else if (need.gpus > 1) {
		(void)snprintf(out, cap, "waits for %u GPUs: this daemon has fewer", need.gpus);
	} else if (need.gpu <= 0.0 && need.cores > 1) {
		(void)snprintf(out, cap, "waits for %u cores: the CPU slots have fewer together",
			       need.cores);
	} else {
		(void)snprintf(out, cap, "waits for a %s: none of the %zu slots %s",
			       need.gpu > 0.0 ? "GPU" : "CPU slot", d->slot.slot_n,
			       need.gpu > 0.0 ? "has one" : "is one");
	}
	return true;
}

bool sw_place_hinders(const struct sw_slot *s, const struct sw_running *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const int64_t reserved_for = s->worker->reserved_for;
	char since[40] = "", reserved[60] = "";

	*out = '\0';
	if (reserved_for != 0) {
		/* It is in memory: numbers are given once, and structs of sweeps stay until the
		 * end. */
		const struct sw_running *o = live->d->sweep.sweeps[reserved_for - 1];

		(void)snprintf(since, sizeof since, " for %lld s",
			       (long long)(live->d->clock->mono_us() - o->claim.reserved_us) /
				       1000000);
	}
	if (reserved_for == live->sweep)
		(void)snprintf(reserved, sizeof reserved, ", kept for it%s", since);
	/* The trial that holds it is shown instead. */
	if (!sw_room_is_free(s))
		return false;
	if (sw_room_other_shape(s, &need)) {
		(void)snprintf(out, cap, "its job has other options");
		return true;
	}
	const enum sw_room room = sw_room_for(s, &need);
	if (need.gpus > 1 && room != SW_ROOM_YES && room != SW_ROOM_SHUT) {
		(void)snprintf(out, cap, "it takes %u GPUs, %u free%s", need.gpus,
			       sw_room_gpus(live->d, &need), reserved);
		return true;
	}
	switch (room) {
	case SW_ROOM_SHUT:
		(void)snprintf(out, cap, "gave a trainer's trial back, next try in %lld s",
			       (long long)(sw_room_shut_us(s, &need) - live->d->clock->mono_us()) /
				       1000000);
		break;
	case SW_ROOM_LARGER:
		(void)snprintf(out, cap, "too small, it waits for a larger one");
		break;
	case SW_ROOM_ALONE:
		(void)snprintf(out, cap, "after its worker's end trials run alone there");
		break;
	case SW_ROOM_LANES:
	case SW_ROOM_SOON:
		(void)snprintf(out, cap, "%sit takes %u %s, %u free%s",
			       need.alone ? "to run alone " : "", sw_room_takes(s, &need),
			       s->device.kind->units, sw_room_lanes(s), reserved);
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
		if (reserved_for != 0 && reserved_for != live->sweep)
			(void)snprintf(out, cap, "kept for sweep %lld%s", (long long)reserved_for,
				       since);
		break;
	}
	return *out != '\0';
}

/* --- work --- */

int64_t sw_place_reserve_us(void)
{
	const char *given = getenv("SWEEPD_RESERVE_MS");
	char *end;
	const long long ms = given != NULL ? strtoll(given, &end, 10) : -1;

	return ms >= 0 && *end == '\0' && ms * 1000 <= SW_PLACE_RESERVE_US ? ms * 1000
									   : SW_PLACE_RESERVE_US;
}

#define PICKS 64

struct picks {
	struct sw_claim claim[PICKS];
	size_t n;
};

static bool suits(const struct sw_slot *s, const struct sw_running *live)
{
	const struct sw_room_need need = sw_need_of_next(live);

	return sw_room_takes(s, &need) > 0;
}

/* Does sweepd itself give out its trials, and is it not over? */
static bool is_open(const struct sw_running *live)
{
	return !live->driven && live->ended_ms == 0 && live->sched != NULL;
}

const struct sw_running *sw_place_next(const struct sw_running *live, size_t *rivals)
{
	const struct sw_daemon *d = live->d;
	const struct sw_running *first = NULL;

	*rivals = 0;
	/* In the order of their numbers, which decides between those that are level. */
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		const struct sw_running *o = d->sweep.sweeps[i];

		if (o != live && (!is_open(o) || !sw_sweep_has_work(o->sched) ||
				  (live->spec->needs_gpu && !o->spec->needs_gpu)))
			continue;
		*rivals += o != live;
		if (first == NULL || sw_share_before(&o->claim.share, &first->claim.share))
			first = o;
	}
	return first;
}

/* The sweeps that have work for the slot. */
static void gather_picks(struct sw_daemon *d, const struct sw_slot *s, struct picks *p)
{
	p->n = 0;
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (!is_open(live))
			continue;
		if (!sw_sweep_has_work(live->sched)) { /* paused, for one: its wait is over */
			live->claim.short_us = live->claim.reserved_us = 0;
			continue;
		}
		/* Again once it is ready: which trial is next may be known only then. */
		if (!suits(s, live) || !sw_suggest_ready(live) || !suits(s, live))
			continue;
		if (p->n == PICKS) { /* keep the one that would be served */
			p->claim[0] = p->claim[sw_claim_least(p->claim, PICKS)];
			p->n = 1;
		}
		p->claim[p->n++] =
			(struct sw_claim){live, live->claim.share, &live->claim.short_us};
	}
}

/* Are as many GPUs as its trial takes, one or several, being cleared for this sweep, others than
 * the worker's? */
static bool is_cleared_elsewhere(const struct sw_daemon *d, const struct sw_running *live,
				 const struct sw_worker *than, unsigned gpus)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];
		const char *why;

		/* Only GPUs that live and may take a trial: one that went down holds no place for
		 * anybody. */
		if (w->reserved_for == live->sweep && w != than && w->proc != NULL &&
		    sw_gpus_may_begin(live->d, w->slots, &why))
			n++;
	}
	return n >= (gpus > 1 ? gpus : 1);
}

static enum sw_claim_room room_of_claim(void *who, void *user)
{
	const struct sw_running *live = who;
	const struct sw_slot *s = user;
	const struct sw_room_need need = sw_need_of_next(live);

	switch (sw_room_for(s, &need)) {
	case SW_ROOM_YES:
		return SW_CLAIM_FITS;
	case SW_ROOM_LANES:
	case SW_ROOM_BYTES:
		/* As many GPUs as it takes are cleared for it; CPU slots are all together. */
		return s->device.kind->gpu &&
				       is_cleared_elsewhere(live->d, live, s->worker, need.gpus)
			       ? SW_CLAIM_OTHER
			       : SW_CLAIM_SHORT;
	case SW_ROOM_SHUT:
	case SW_ROOM_LARGER:
	case SW_ROOM_ALONE:
	case SW_ROOM_SOON:
	case SW_ROOM_DOWN:
		break;
	}
	return SW_CLAIM_OTHER;
}

/* The sweep that the slot's next trial is of; NULL: none, or the slot is reserved for one. */
static struct sw_running *pick_sweep(struct sw_daemon *d, struct sw_slot *s)
{
	const int64_t now_us = d->clock->mono_us();
	struct sw_running *live;
	struct picks p;
	void *reserver;

	/* By value of their accounts: sw_claim_pick() moves the array, and sets short_us through a
	 * pointer into the sweep. */
	gather_picks(d, s, &p);
	/* Decided anew each time: the sweep that it was reserved for may have ended, or be
	 * served. */
	s->worker->reserved_for = 0;
	live = sw_claim_pick(p.claim, p.n, room_of_claim, s, now_us, d->sweep.reserve_us,
			     &reserver);
	if (reserver != NULL) {
		struct sw_running *for_it = reserver;

		s->worker->reserved_for = for_it->sweep;
		if (for_it->claim.reserved_us == 0)
			for_it->claim.reserved_us = now_us;
	}
	return live;
}

/* Gives the slot a trial. True: look for another sweep's at once. */
static bool feed_slot(struct sw_daemon *d, struct sw_slot *s)
{
	struct sw_call *call = s->next;
	struct sw_running *live = pick_sweep(d, s);

	/* No sweep has work for it, or it is reserved for one. */
	if (live == NULL || !sw_gpus_is_fresh(d, s))
		return false;
	/* Read before the hand-out: afterwards another trial is the next one. */
	const struct sw_room_need need = sw_need_of_next(live);
	s->next = NULL; /* the hand-out answers it */
	if (sw_ask_hand_out(live, s, &need, call)) {
		live->claim.short_us = live->claim.reserved_us = 0;
		return false;
	}
	/* None was handed out, and the call is open: it waits on. */
	s->next = call;
	/* If it says that it has work and gave none, it waits for a suggestion: it would be picked
	 * again, and again give none. */
	return !sw_sweep_has_work(live->sched);
}

/* Trials for those of a worker's slots that ask for one. */
static void feed_worker(struct sw_daemon *d, const struct sw_worker *w)
{
	const char *why;

	for (unsigned k = 0; k < w->slot_n; k++) {
		struct sw_slot *s = &w->slots[k];

		if (s->holder >= 0 || s->state == SW_SLOT_BUSY || s->next == NULL ||
		    !sw_slot_may_begin(s, &why))
			continue;
		/* It ends: feed_slot() is true only where the sweep that it picked has no work any
		 * longer. */
		while (s->next != NULL && feed_slot(d, s))
			continue;
		if (s->next != NULL && s->state != SW_SLOT_BUSY)
			return; /* nothing for it: nor for the other lanes of its GPU */
	}
}

/* Trials that waited for the end of their attempt before may begin. */
static void give_deferred_jobs(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		struct sw_slot *s = &d->slot.slots[i];

		if (s->state == SW_SLOT_BUSY && s->next != NULL &&
		    sw_slot_ending(d, s->sweep, s->trial) == NULL)
			/* Before new trials: these have their slots already. */
			sw_ask_give_deferred(s);
	}
}

void sw_place_flush(struct sw_daemon *d)
{
	/* Nothing has changed for slots in this turn. */
	if (!d->slot.due)
		return;
	give_deferred_jobs(d);
	if (!d->draining && sw_quota_full(d) == NULL && d->phase == SW_UP)
		for (size_t i = 0; i < d->slot.worker_n; i++)
			feed_worker(d, &d->slot.workers[i]);
	/* Cleared last, because each trial that was handed out has set it again. */
	d->slot.due = false;
}

/* LOST counts against the trial, which runs again only so often; RELEASE does not. */
void sw_place_lost(struct sw_daemon *d, const struct sw_slot_lost *lost)
{
	sw_driver_attempt_over(
		d->sweep.sweeps[lost->sweep - 1], lost->blamed ? SW_EVENT_LOST : SW_EVENT_RELEASE,
		(uint64_t)lost->trial, (uint32_t)lost->attempt, lost->cause, lost->heard_ms);
}
