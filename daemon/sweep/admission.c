#include "daemon/sweep/admission.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/supervisor.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/host.h"
#include "daemon/sweep/suggest.h"
#include "daemon/sweep/work.h"
#include <stdint.h>
#include <stdio.h>

bool sw_admission_short(const struct sw_daemon *d, double gpu, char *out, size_t cap)
{
	const struct sw_slot *bad = NULL;
	const char *why;

	for (size_t i = 0; i < d->slot_n; i++) {
		const struct sw_slot *s = &d->slots[i];

		if (sw_device_lanes(&s->device, gpu) == 0)
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
	} else {
		(void)snprintf(out, cap, "waits for a %s: none of the %zu slots %s",
			       gpu > 0.0 ? "GPU" : "CPU slot", d->slot_n,
			       gpu > 0.0 ? "has one" : "is one");
	}
	return true;
}

/* --- lanes --- */

static bool is_free(const struct sw_slot *s)
{
	return s->state == SW_SLOT_IDLE && s->holder < 0;
}

/* The lanes of the slot's GPU that no trial has; none beside one that is to run alone. */
static unsigned free_lanes(const struct sw_slot *s)
{
	const struct sw_slot *lead = &s->d->slots[s->lead];
	unsigned n = 0;
	bool busy = false;

	for (unsigned k = 0; k < lead->device.lanes; k++) {
		n += is_free(&lead[k]);
		busy = busy || lead[k].state == SW_SLOT_BUSY;
	}
	return busy && lead->solo > 0 ? 0 : n;
}

/* The slot's trial has n lanes: the slot's own and the next ones that are free. */
static void hold(struct sw_slot *s, unsigned n)
{
	struct sw_slot *lead = &s->d->slots[s->lead];

	s->lanes_used = 1;
	for (unsigned k = 0; k < lead->device.lanes && s->lanes_used < n; k++)
		if (&lead[k] != s && lead[k].state != SW_SLOT_BUSY && lead[k].holder < 0) {
			lead[k].holder = s->index;
			s->lanes_used++;
		}
}

void sw_admission_adopted(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];

		if (s->state == SW_SLOT_BUSY)
			hold(s, sw_device_lanes(&s->device, d->hosts[s->sweep - 1]->spec->gpu));
	}
}

/* --- memory --- */

/* Bytes of the slot's GPU that trials may have, all of them together; INT64_MAX: not known. */
static int64_t capacity(const struct sw_slot *s)
{
	const struct sw_card *c = sw_gpus_card(s->d, s);

	return c != NULL && c->now.total > 0 ? c->now.total - c->strangers - c->rest : INT64_MAX;
}

/* Is there a GPU that has room for what this one has not? Where none has, all go through it in
 * parts, the largest as well as the others: none is worth waiting for. */
static bool larger_elsewhere(const struct sw_slot *s, int64_t bytes)
{
	const struct sw_daemon *d = s->d;

	if (bytes <= capacity(s))
		return false;
	for (size_t i = 0; i < d->slot_n; i += d->slots[i].device.lanes) {
		const struct sw_slot *o = &d->slots[i];
		const struct sw_card *c = sw_gpus_card(s->d, o);

		if (c != NULL && c->state != SW_CARD_DOWN && c->state != SW_CARD_HELD &&
		    o->early <= SW_SLOT_EARLY_MAX && bytes <= capacity(o))
			return true;
	}
	return false;
}

/* Are so many bytes free beside the trials that run there? One that is alone may have what there
 * is: a batch that does not fit goes through in parts. Under --gpu-memory each lane has its own. */
static bool has_room(const struct sw_slot *s, int64_t bytes)
{
	const struct sw_slot *lead = &s->d->slots[s->lead];
	const int64_t all = capacity(s);
	int64_t taken = 0;
	bool alone = true;

	for (unsigned k = 0; k < lead->device.lanes; k++) {
		if (lead[k].state != SW_SLOT_BUSY)
			continue;
		alone = false;
		taken += s->d->hosts[lead[k].sweep - 1]->bytes;
	}
	return alone || bytes == 0 || s->d->config.gpu_memory != 0 || all == INT64_MAX ||
	       bytes <= all - taken;
}

bool sw_admission_hinders(const struct sw_slot *s, const struct sw_host *h, char *out, size_t cap)
{
	const struct sw_slot *lead = &s->d->slots[s->lead];
	const unsigned lanes = sw_device_lanes(&s->device, h->spec->gpu), free = free_lanes(s);

	*out = '\0';
	if (!s->device.gpu || !is_free(s))
		return false;
	if (larger_elsewhere(s, h->bytes))
		(void)snprintf(out, cap, "too small, it waits for a larger one");
	else if (free == 0)
		(void)snprintf(out, cap, "after its worker's end trials run alone there");
	else if (lanes > free)
		(void)snprintf(out, cap, "it takes %u lanes, %u free", lanes, free);
	else if (!has_room(s, h->bytes))
		(void)snprintf(out, cap, "too few bytes are free for its %lld MiB",
			       (long long)(h->bytes >> 20));
	else if (lead->cleared_for != 0 && lead->cleared_for != h->sweep)
		(void)snprintf(out, cap, "kept for sweep %lld", (long long)lead->cleared_for);
	return *out != '\0';
}

/* --- work --- */

#define PICKS 64

struct picks {
	struct sw_host *host[PICKS];
	struct sw_share share[PICKS];
	size_t n;
};

/* The sweeps that have work for the slot. */
static void gather(struct sw_daemon *d, const struct sw_slot *s, struct picks *p)
{
	p->n = 0;
	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_host *h = d->hosts[i];

		if (h->driven || h->ended_ms != 0 || h->sched == NULL ||
		    !sw_sweep_has_work(h->sched) ||
		    sw_device_lanes(&s->device, h->spec->gpu) == 0 || !sw_suggest_ready(h, 1))
			continue;
		if (p->n == PICKS) { /* keep the one that would be served */
			p->host[0] = p->host[sw_share_pick(p->share, p->n)];
			p->share[0] = p->host[0]->share;
			p->n = 1;
		}
		p->host[p->n] = h;
		p->share[p->n++] = h->share;
	}
}

/* Is a GPU being cleared for this sweep, another than the slot's? */
static bool cleared_elsewhere(const struct sw_daemon *d, const struct sw_host *h,
			      const struct sw_slot *s)
{
	for (size_t i = 0; i < d->slot_n; i += d->slots[i].device.lanes) {
		const char *why;

		if (d->slots[i].cleared_for == h->sweep && (int32_t)i != s->lead &&
		    d->slots[i].proc != NULL && sw_gpus_may_begin(s->d, &d->slots[i], &why))
			return true;
	}
	return false;
}

/* The sweep that the slot's next trial is of; NULL: none, or the lanes are kept for one. */
static struct sw_host *pick(struct sw_daemon *d, const struct sw_slot *s)
{
	struct sw_slot *lead = &d->slots[s->lead];
	const unsigned free = free_lanes(s);
	struct picks p;

	gather(d, s, &p);
	lead->cleared_for = 0;
	while (p.n > 0) {
		const size_t best = sw_share_pick(p.share, p.n);
		struct sw_host *h = p.host[best];

		const bool elsewhere = larger_elsewhere(s, h->bytes);
		if (!elsewhere &&
		    (!s->device.gpu ||
		     (sw_device_lanes(&s->device, h->spec->gpu) <= free && has_room(s, h->bytes))))
			return h;
		if (!elsewhere && free > 0 && !cleared_elsewhere(d, h, s)) {
			lead->cleared_for = h->sweep;
			return NULL;
		}
		p.n--;
		p.host[best] = p.host[p.n];
		p.share[best] = p.share[p.n];
	}
	return NULL;
}

/* Whether the slot may be asked again at once. */
static bool feed_slot(struct sw_daemon *d, struct sw_slot *s)
{
	struct sw_call *call = s->next;
	struct sw_host *h = pick(d, s);

	if (h == NULL)
		return false;
	s->next = NULL;
	if (sw_work_hand_out(h, s, call)) {
		hold(s, sw_device_lanes(&s->device, h->spec->gpu));
		return false;
	}
	s->next = call; /* nothing after all; look again */
	return !sw_sweep_has_work(h->sched);
}

void sw_admission_feed(struct sw_daemon *d)
{
	const char *why;

	if (d->draining || d->phase != SW_UP)
		return;
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];

		if (s->holder >= 0 || s->next == NULL || !sw_gpus_may_begin(d, s, &why))
			continue;
		while (s->next != NULL && feed_slot(d, s))
			continue;
		if (s->next != NULL) /* nothing for it: nor for the other lanes of its GPU */
			i = (size_t)s->lead + s->device.lanes - 1;
	}
}

/* LOST counts against the trial, which runs again only so often; RELEASE does not. */
static void on_lost(struct sw_daemon *d, const struct sw_slot_lost *lost)
{
	sw_driver_attempt_over(
		d->hosts[lost->sweep - 1], lost->blamed ? SW_EVENT_LOST : SW_EVENT_RELEASE,
		(uint64_t)lost->trial, (uint32_t)lost->attempt, lost->cause, lost->heard_ms);
}

const struct sw_slot_events sw_admission_events = {
	.free = sw_admission_feed,
	.lost = on_lost,
};
