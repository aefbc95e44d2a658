#include "daemon/sweep/spare.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/live.h"
#include "daemon/sweep/need.h"
#include <math.h>
#include <stdio.h>

/* Lanes that trials of the sweep go to, now or soon. */
static unsigned count_lanes(const struct sw_live *live)
{
	const struct sw_room_need need = sw_need_of_next(live);
	const struct sw_daemon *d = live->d;
	unsigned n = 0;

	for (size_t i = 0; i < d->slot_n; i++) {
		const struct sw_slot *s = &d->slots[i];

		n += s->device.gpu && sw_room_takes(s, &need) > 0 && sw_room_comes_back(s->worker);
	}
	return n;
}

/* Trials that are not begun; UINT64_MAX: there is no end to them. */
static uint64_t count_left(const struct sw_live *live)
{
	const uint64_t cap = sw_sweep_run_cap(live->sched), made = sw_sweep_trial_n(live->sched);
	uint64_t counts[SW_TRIAL_STATE_N];

	sw_sweep_counts(live->sched, counts);
	if (cap == 0)
		return UINT64_MAX;
	return (cap > made ? cap - made : 0) + counts[SW_TRIAL_PENDING];
}

bool sw_spare_waits(const struct sw_slot *s, const struct sw_live *live, char *why, size_t cap)
{
	bool measured;

	if (!s->device.spare || live->spec->gpu < 0.0)
		return false;
	if (live->spec->command != NULL) {
		(void)snprintf(why, cap, "a program goes there with resources.gpu 0");
		return true;
	}
	if (live->sched == NULL ||
	    sw_pace_suits_core(&live->pace, count_left(live), count_lanes(live)))
		return false;
	(void)snprintf(why, cap, "%s",
		       sw_pace_ratio(&live->pace, &measured) > 0 ? "GPUs end its trials sooner"
								 : "a core's speed is not known");
	return true;
}

static void write_sweep(const struct sw_live *live, struct sw_jw *w)
{
	bool measured;
	const double ratio = sw_pace_ratio(&live->pace, &measured);
	const unsigned lanes = count_lanes(live);
	char line[240], when[80] = "cores take none of its trials";

	if (ratio > 0 && ratio <= (lanes > 0 ? 1 : SW_PACE_MOST))
		(void)snprintf(when, sizeof when, "cores take its trials");
	else if (ratio > 0 && ratio <= SW_PACE_MOST)
		(void)snprintf(when, sizeof when,
			       "cores take its trials while %.0f or more are left",
			       ceil(ratio * lanes));
	if (ratio > 0)
		(void)snprintf(
			line, sizeof line,
			"sweep %lld: a core takes %.3g times the seconds of a GPU's lane (%s): %s",
			(long long)live->sweep, ratio, measured ? "measured" : "estimated", when);
	else
		(void)snprintf(line, sizeof line, "sweep %lld: a core's speed is not known: %s",
			       (long long)live->sweep, when);
	sw_jw_str(w, line);
}

void sw_spare_write(struct sw_daemon *d, struct sw_jw *w)
{
	size_t lanes = 0, spare = 0;
	char line[160];

	for (size_t i = 0; i < d->slot_n; i++) {
		lanes += d->slots[i].device.gpu;
		spare += d->slots[i].device.spare;
	}
	sw_jw_karr(w, "auto");
	if (spare > 0) {
		(void)snprintf(
			line, sizeof line,
			"auto: %zu lane%s of GPUs, and %zu core%s beside them for small nets and "
			"for resources.gpu 0",
			lanes, lanes == 1 ? "" : "s", spare, spare == 1 ? "" : "s");
		sw_jw_str(w, line);
	}
	for (size_t i = 0; spare > 0 && i < d->sweep_n; i++) {
		const struct sw_live *live = d->sweeps[i];

		if (!live->driven && live->ended_ms == 0 && live->sched != NULL &&
		    live->spec->trainer != NULL &&
		    (live->spec->precision == NULL || live->spec->precision_param >= 0) &&
		    live->spec->gpu == 0.0)
			write_sweep(live, w);
	}
	sw_jw_arr_end(w);
}
