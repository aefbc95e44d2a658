#include "daemon/sweep/place.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/ask.h"
#include "daemon/sweep/claim.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/keep.h"
#include "daemon/sweep/need.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/suggest.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Does the trial take several slots, which are of one machine? */
static bool is_gang(const struct sw_room_need *need)
{
	return need->units > 1.0 && (need->pool == SW_POOL_CPUS || need->pool == SW_POOL_GPUS);
}

/* By the slot that is nearest to taking a trial. */
static void say_short(const struct sw_spec *spec, const struct sw_room_need *need,
		      const struct sw_slot *at, const struct sw_room *r, char *out, size_t cap)
{
	const struct sw_room_kind *kind = sw_room_kind(need);
	const struct sw_config *config = &at->d->config;
	const char *cause = sw_slot_cause(r->is == SW_ROOM_DOWN ? r->missing : at);

	if (r->is == SW_ROOM_DOWN)
		(void)snprintf(out, cap, "%u %s, %u %s left: %s%s%s", r->units, kind->unit, r->left,
			       r->left == 1 ? "is" : "are",
			       kind->whole ? r->missing->device.card : r->missing->device.name,
			       *cause != '\0' ? ": " : " is down", cause);
	else if (r->is == SW_ROOM_OFF && at->device.away && *cause == '\0')
		(void)snprintf(out, cap, "a slot: a pilot is about to be asked for");
	else if (r->is == SW_ROOM_OFF)
		(void)snprintf(out, cap, "a slot: %s %s%s%s", at->device.name,
			       at->state == SW_SLOT_DOWN ? "is down" : "takes no trial",
			       *cause != '\0' ? ": " : "", cause);
	else if (r->is == SW_ROOM_SHAPE && need->shape == SW_ROOM_NO_PILOT)
		(void)snprintf(out, cap, "a slot: its \"executor\" is %s, and this daemon has %s",
			       spec->executor, config->pilots.executor);
	else if (r->is == SW_ROOM_SHAPE)
		(void)snprintf(out, cap,
			       "a slot: the pilots have other options, and serve other sweeps");
	else if (r->is == SW_ROOM_BLIND)
		(void)snprintf(out, cap,
			       "a slot: pilots do not see the files of %.120s, and its trials need "
			       "files",
			       config->state);
	else if (r->is == SW_ROOM_NO_PRECISION)
		(void)snprintf(out, cap,
			       "a slot that computes in %s: none of the %zu does, it takes a GPU "
			       "of compute capability %.1f",
			       spec->precision, at->d->slot.slot_n, SW_ROOM_PRECISION / 10.0);
	else if (is_gang(need) && at->device.away)
		(void)snprintf(out, cap,
			       "%g %s, which must be of one machine: a pilot is one slot, and this "
			       "daemon has no others",
			       need->units, kind->many);
	else if (need->units > 1.0)
		(void)snprintf(out, cap, "%g %s: %s", need->units, kind->many, kind->few);
	else
		(void)snprintf(out, cap, "a %s: none of the %zu slots %s", kind->one,
			       at->d->slot.slot_n, kind->is);
}

enum sw_room_is sw_place_nearest(struct sw_daemon *d, const struct sw_spec *spec,
				 const struct sw_room_need *need, char *out, size_t cap)
{
	const struct sw_job_shape *sh = sw_job_shape_find(d, need->shape);
	struct sw_room best = {.is = SW_ROOM_FEW};
	const struct sw_slot *at = NULL;
	bool pilots = false;

	for (size_t i = 0; i < d->slot.slot_n && (at == NULL || best.is >= SW_ROOM_DOWN); i++) {
		const struct sw_slot *s = &d->slot.slots[i];
		const struct sw_room r = sw_room_for(s, need);

		pilots = pilots || (s->device.away && r.is <= SW_ROOM_SHAPE);
		if (at == NULL || r.is < best.is) {
			at = s;
			best = r;
		}
	}
	if (at == NULL)
		(void)snprintf(out, cap, "a slot: this daemon has none (--devices none)");
	else if (pilots && sh != NULL && sh->why[0] != '\0')
		(void)snprintf(out, cap, "a slot: %s", sh->why);
	else
		say_short(spec, need, at, &best, out, cap);
	return best.is;
}

sw_status sw_place_check(struct sw_daemon *d, const struct sw_spec *spec, struct sw_err *err)
{
	const struct sw_room_need need = sw_need_of_spec(spec);
	char line[320];
	const enum sw_room_is is = sw_place_nearest(d, spec, &need, line, sizeof line);
	const bool gang = is == SW_ROOM_FEW && is_gang(&need) && d->config.pilots.max > 0 &&
			  d->slot.slots->device.away;

	/* `sweepd validate` stands for any daemon. */
	if (sw_spec_driven(spec) || (!gang && (is != SW_ROOM_NO_PRECISION || d->config.validate)))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, gang ? "/resources" : "/trainer/precision",
			 "its trials would wait for %s", line);
}

bool sw_place_short(const struct sw_running *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const int n = snprintf(out, cap, "waits for ");

	return sw_place_nearest(live->d, live->spec, &need, out + n, cap - (size_t)n) >=
	       SW_ROOM_DOWN;
}

void sw_place_hinders(const struct sw_slot *s, const struct sw_room *r,
		      const struct sw_running *live, char *out, size_t cap)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const int64_t kept_for = s->worker->kept_for;
	char kept[60] = "";

	*out = '\0';
	/* The trial that holds it is shown instead. */
	if (!sw_room_is_free(s))
		return;
	if (kept_for != 0)
		(void)snprintf(kept, sizeof kept, " for %lld s",
			       (long long)(live->d->clock->mono_us() -
					   live->d->sweep.sweeps[kept_for - 1]->claim.kept_us) /
				       1000000);
	if (r->is == SW_ROOM_UNITS || r->is == SW_ROOM_SOON || r->is == SW_ROOM_DOWN)
		(void)snprintf(out, cap, "it takes %u %s, %u free%s%s%s", r->units,
			       sw_room_kind(&need)->unit, r->free,
			       r->is == SW_ROOM_DOWN ? ", and others are down" : "",
			       kept_for == live->sweep ? ", kept for it" : "",
			       kept_for == live->sweep ? kept : "");
	else if (r->is == SW_ROOM_LARGER)
		(void)snprintf(out, cap, "too small, it waits for a larger one");
	else if (r->is == SW_ROOM_ALONE)
		(void)snprintf(out, cap, "after its worker's end trials run alone there");
	else if (r->is == SW_ROOM_BYTES)
		(void)snprintf(out, cap, "too few bytes are free for its %lld MiB",
			       (long long)(live->bytes >> 20));
	else if (r->is == SW_ROOM_SHAPE)
		(void)snprintf(out, cap, "its job has other options");
	else if (r->is == SW_ROOM_YES && kept_for != 0 && kept_for != live->sweep)
		(void)snprintf(out, cap, "kept for sweep %lld%s", (long long)kept_for, kept);
}

/* --- work --- */

int64_t sw_place_keep_us(void)
{
	const char *given = getenv("SWEEPD_KEEP_MS");
	char *end;
	const long long ms = given != NULL ? strtoll(given, &end, 10) : -1;

	return ms >= 0 && *end == '\0' && ms * 1000 <= SW_PLACE_KEEP_US ? ms * 1000
									: SW_PLACE_KEEP_US;
}

#define PICKS 64

struct picks {
	struct sw_claim claim[PICKS];
	size_t n;
};

static bool suits(const struct sw_slot *s, const struct sw_running *live)
{
	const struct sw_room_need need = sw_need_of_next(live);

	return sw_room_suits(s, &need);
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
			live->claim.short_us = live->claim.kept_us = 0;
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

/* Are as many other GPUs as its trial takes being cleared for this sweep? CPU slots are kept all
 * together. */
static bool is_cleared_elsewhere(const struct sw_running *live, const struct sw_slot *s,
				 unsigned gpus)
{
	const struct sw_daemon *d = live->d;
	unsigned n = 0;

	for (size_t i = 0; s->device.gpu && i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];
		const char *why;

		n += w->kept_for == live->sweep && w != s->worker && w->proc != NULL &&
		     sw_gpus_may_begin(live->d, w->slots, &why);
	}
	return n >= gpus;
}

static enum sw_claim_room room_of_claim(void *who, void *user)
{
	const struct sw_running *live = who;
	const struct sw_room_need need = sw_need_of_next(live);
	const struct sw_room r = sw_room_for(user, &need);

	if (r.is == SW_ROOM_YES)
		return SW_CLAIM_FITS;
	return (r.is == SW_ROOM_UNITS || r.is == SW_ROOM_BYTES) &&
			       !is_cleared_elsewhere(live, user,
						     sw_room_kind(&need)->whole ? r.units : 1)
		       ? SW_CLAIM_SHORT
		       : SW_CLAIM_OTHER;
}

/* The sweep that the slot's next trial is of; NULL: none, or the slot is kept for one. */
static struct sw_running *pick_sweep(struct sw_daemon *d, struct sw_slot *s)
{
	const int64_t now_us = d->clock->mono_us();
	struct sw_running *live;
	struct picks p;
	void *kept;

	gather_picks(d, s, &p);
	/* Decided anew each time: the sweep that it was kept for may have ended, or be served. */
	s->worker->kept_for = 0;
	live = sw_claim_pick(p.claim, p.n, room_of_claim, s, now_us, d->sweep.keep_us, &kept);
	if (kept != NULL) {
		struct sw_running *for_it = kept;

		s->worker->kept_for = for_it->sweep;
		if (for_it->claim.kept_us == 0)
			for_it->claim.kept_us = now_us;
	}
	return live;
}

/* Gives the slot a trial. True: look for another sweep's at once. */
static bool feed_slot(struct sw_daemon *d, struct sw_slot *s)
{
	struct sw_call *call = s->next;
	struct sw_running *live = pick_sweep(d, s);

	/* No sweep has work for it, or it is kept for one. */
	if (live == NULL)
		return false;
	/* This trial's, which is the next one no more once it is out. */
	const struct sw_room_need need = sw_need_of_next(live);
	s->next = NULL; /* the hand-out answers it */
	if (sw_ask_hand_out(live, s, &need, call)) {
		live->claim.short_us = live->claim.kept_us = 0;
		return false;
	}
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
		while (s->next != NULL && feed_slot(d, s))
			continue;
		if (s->next != NULL && s->state != SW_SLOT_BUSY)
			return; /* nothing for it: nor for the other lanes of its GPU */
	}
}

/* Trials that waited for the end of their attempt before may begin. */
static void give_kept_jobs(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		struct sw_slot *s = &d->slot.slots[i];

		if (s->state == SW_SLOT_BUSY && s->next != NULL &&
		    sw_slot_ending(d, s->sweep, s->trial) == NULL)
			sw_ask_give_kept(s);
	}
}

void sw_place_flush(struct sw_daemon *d)
{
	/* Nothing has changed for slots in this turn. */
	if (!d->slot.due)
		return;
	give_kept_jobs(d);
	if (!d->draining && sw_keep_full(d) == NULL && d->phase == SW_UP)
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
