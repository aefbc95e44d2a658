/*
 * daemon/slot/gpu_usage.c — what each trial used of its GPU.
 *
 * NVML counts by the card. Between two readings its energy is shared among the trials that ran, by
 * their lanes and the time that each ran of it; utilisation is the card's own, whoever made it.
 */
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/supervisor.h"

/* The part of the time from `from` to `to` in which the slot's trial ran. */
static double part(const struct sw_slot *s, int64_t from, int64_t to)
{
	if (s->state != SW_SLOT_BUSY || to <= from || s->busy_since_us >= to)
		return 0.0;
	return s->busy_since_us <= from ? 1.0
					: (double)(to - s->busy_since_us) / (double)(to - from);
}

static bool is_on(const struct sw_slot *s, size_t card)
{
	return s->device.gpu && s->device.index == card;
}

/* Joules of a card in a time: by its counter, else by its power. */
static double millijoules(const struct sw_nvml_card *last, const struct sw_nvml_card *now,
			  double seconds)
{
	if (last->energy_mj >= 0 && now->energy_mj >= last->energy_mj)
		return (double)(now->energy_mj - last->energy_mj);
	return now->power_mw > 0 ? (double)now->power_mw * seconds : 0.0;
}

void sw_gpu_usage_add(struct sw_daemon *d, size_t card, const struct sw_nvml_card *last,
		      int64_t last_us)
{
	const struct sw_card *c = &d->gpus->card[card];
	const int64_t now_us = c->taken_us;
	const double seconds = (double)(now_us - last_us) / 1e6;
	const double all = millijoules(last, &c->now, seconds);
	double lanes = 0.0;

	if (c->now.health != SW_NVML_OK || seconds <= 0.0)
		return;
	for (size_t i = 0; i < d->slot_n; i++)
		if (is_on(&d->slots[i], card))
			lanes += part(&d->slots[i], last_us, now_us) * d->slots[i].lanes_used;
	for (size_t i = 0; lanes > 0.0 && i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];
		struct sw_gpu_usage *u = &s->usage;
		const double ran = is_on(s, card) ? part(s, last_us, now_us) : 0.0;

		if (ran <= 0.0)
			continue;
		const double share = ran * s->lanes_used / lanes;
		const int64_t bytes = (int64_t)((double)c->ours * share);
		u->any = true;
		u->peak = bytes > u->peak ? bytes : u->peak;
		u->millijoules += all * share;
		if (c->now.util >= 0) {
			u->seconds += ran * seconds;
			u->util_seconds += ran * seconds * c->now.util;
		}
	}
}

struct sw_gpu_usage sw_gpu_usage_end(struct sw_daemon *d, const struct sw_slot *s)
{
	const struct sw_card *c = sw_gpus_card(d, s);
	struct sw_gpu_usage u = s->usage;
	const int64_t now_us = d->clock->mono_us();
	unsigned lanes = 0;

	if (c == NULL || c->taken_us == 0 || c->now.health != SW_NVML_OK)
		return u;
	for (size_t i = 0; i < d->slot_n; i++)
		if (is_on(&d->slots[i], s->device.index) && d->slots[i].state == SW_SLOT_BUSY)
			lanes += d->slots[i].lanes_used;
	const int64_t from = s->busy_since_us > c->taken_us ? s->busy_since_us : c->taken_us;
	const double seconds = now_us > from ? (double)(now_us - from) / 1e6 : 0.0;
	if (c->now.power_mw > 0 && lanes > 0)
		u.millijoules += (double)c->now.power_mw * seconds * s->lanes_used / lanes;
	if (c->now.util >= 0) {
		u.seconds += seconds;
		u.util_seconds += seconds * c->now.util;
	}
	u.any = true;
	return u;
}
