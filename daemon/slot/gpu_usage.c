#include "daemon/slot/gpu_usage.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"

/* The part of the time from `from` to `to` in which the slot's trial ran. */
static double ran_part(const struct sw_slot *s, int64_t from, int64_t to)
{
	/* A trial that began after the reading has used nothing of it. */
	if (s->state != SW_SLOT_BUSY || to <= from || s->busy_since_us >= to)
		return 0.0;
	return s->busy_since_us <= from ? 1.0
					: (double)(to - s->busy_since_us) / (double)(to - from);
}

/* Joules of a card in a time: by its counter, else by its power. */
static double millijoules(const struct sw_nvml_card *last, const struct sw_nvml_card *now,
			  double seconds)
{
	if (last->energy_mj >= 0 && now->energy_mj >= last->energy_mj)
		return (double)(now->energy_mj - last->energy_mj);
	return now->power_mw > 0 ? (double)now->power_mw * seconds : 0.0;
}

/* The trial that has the GPU as one of several, from a slot of another; NULL: none. */
static struct sw_slot *leader_elsewhere(const struct sw_slot *slots)
{
	struct sw_slot *lead = slots->holder >= 0 ? &slots->d->slot.slots[slots->holder] : NULL;

	return lead != NULL && lead->worker != slots->worker ? lead : NULL;
}

/* On all GPUs of a trial, by the last reading of each. */
static int64_t bytes_on_gpus(const struct sw_slot *s)
{
	struct sw_daemon *d = s->d;
	int64_t bytes = 0;

	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_card *c = sw_gpus_card(d, d->slot.workers[i].slots);

		if (c != NULL && sw_room_has(s, &d->slot.workers[i]))
			bytes += c->ours;
	}
	return bytes;
}

void sw_gpu_usage_add(struct sw_slot *slots, size_t n, const struct sw_card *card,
		      const struct sw_nvml_card *last, int64_t last_us)
{
	const int64_t now_us = card->taken_us;
	const double seconds = (double)(now_us - last_us) / 1e6;
	const double all = millijoules(last, &card->now, seconds);
	struct sw_slot *lead = leader_elsewhere(slots);
	double lanes = 0.0;

	/* All of this GPU is that trial's, whose slot is another worker's. */
	if (lead != NULL) {
		slots = lead;
		n = 1;
	}
	/* Nothing is known of this time; the next reading goes on from itself. */
	if (card->now.health != SW_NVML_OK || seconds <= 0.0)
		return;
	for (size_t i = 0; i < n; i++)
		/* NVML counts by card and not by trial, so the use of a time is shared among those
		 * that ran in it, by lanes and by how long each did. */
		lanes += ran_part(&slots[i], last_us, now_us) * slots[i].lanes_used;
	for (size_t i = 0; lanes > 0.0 && i < n; i++) {
		struct sw_gpu_usage *u = &slots[i].usage;
		const double ran = ran_part(&slots[i], last_us, now_us);

		if (ran <= 0.0)
			continue;
		const double share = ran * slots[i].lanes_used / lanes;
		const int64_t bytes = slots[i].lanes_used > slots[i].worker->slot_n
					      ? bytes_on_gpus(&slots[i])
					      : (int64_t)((double)card->ours * share);
		u->any = true;
		/* There is a reading every few seconds: a peak in between is not seen. */
		u->peak = bytes > u->peak ? bytes : u->peak;
		u->millijoules += all * share;
		if (card->now.util >= 0) {
			u->seconds += ran * seconds;
			u->util_seconds += ran * seconds * card->now.util;
		}
	}
}

/* Adds the use of one of its GPUs since the last reading. */
static void add_tail(struct sw_gpu_usage *u, const struct sw_slot *s, const struct sw_card *card,
		     double part)
{
	const int64_t now_us = s->d->clock->mono_us();

	/* Never read, or ill: nothing can be added. */
	if (card == NULL || card->taken_us == 0 || card->now.health != SW_NVML_OK)
		return;
	const int64_t from = s->busy_since_us > card->taken_us ? s->busy_since_us : card->taken_us;
	const double seconds = now_us > from ? (double)(now_us - from) / 1e6 : 0.0;
	/* By the power at the last reading: the counter is read again only after the row is
	 * written. */
	if (card->now.power_mw > 0)
		u->millijoules += (double)card->now.power_mw * seconds * part;
	if (card->now.util >= 0) {
		u->seconds += seconds;
		u->util_seconds += seconds * card->now.util;
	}
	u->any = true;
}

struct sw_gpu_usage sw_gpu_usage_end(const struct sw_slot *s)
{
	struct sw_gpu_usage u = s->usage;
	struct sw_daemon *d = s->d;
	const struct sw_worker *w = s->worker;
	unsigned lanes = 0;

	for (unsigned k = 0; k < w->slot_n; k++)
		if (w->slots[k].state == SW_SLOT_BUSY)
			lanes += w->slots[k].lanes_used;
	for (size_t i = 0; lanes > 0 && i < d->slot.worker_n; i++)
		if (sw_room_has(s, &d->slot.workers[i]))
			add_tail(&u, s, sw_gpus_card(d, d->slot.workers[i].slots),
				 (double)s->lanes_used / lanes);
	return u;
}
