#include "daemon/sweep/want.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/keep.h"
#include "daemon/sweep/need.h"
#include "daemon/sweep/running.h"

#define SWEEPS_MOST 64 /* whose needs are looked at: the others have their turn later */

/* The first slot of a pilot; the others are as it is. */
static const struct sw_slot *find_pilot(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (d->slot.slots[i].device.away)
			return &d->slot.slots[i];
	return NULL;
}

/* Is it free, or will it be before long? A pilot that is out of sight with a trial is BUSY. */
static bool is_coming(const struct sw_slot *s)
{
	const char *why;

	return s->holder < 0 && (s->state == SW_SLOT_IDLE || s->state == SW_SLOT_STARTING) &&
	       sw_slot_may_begin(s, &why);
}

size_t sw_want_slots(struct sw_daemon *d, size_t most, bool *any)
{
	const struct sw_slot *pilot = find_pilot(d);
	struct sw_room_need need[SWEEPS_MOST];
	size_t n = 0, wanted = 0;

	*any = false;
	if (pilot == NULL || sw_keep_full(d) != NULL)
		return 0;
	for (size_t i = 0; i < d->sweep.sweep_n && n < SWEEPS_MOST; i++) {
		const struct sw_running *live = d->sweep.sweeps[i];

		if (live->driven || live->ended_ms != 0 || live->sched == NULL ||
		    !sw_sweep_has_work(live->sched))
			continue;
		need[n] = sw_need_of_next(live);
		if (sw_room_takes(pilot, &need[n]) == 0 || (need[n].files && d->slot.pilots_blind))
			continue;
		/* Slots that are free take their part of them, too. */
		wanted += (size_t)sw_sweep_could_begin(live->sched, most + d->slot.slot_n);
		n++;
	}
	*any = wanted > 0;
	for (size_t i = 0; i < d->slot.slot_n && wanted > 0; i++) {
		bool suits = false;

		for (size_t k = 0; k < n && !suits && is_coming(&d->slot.slots[i]); k++)
			suits = sw_room_takes(&d->slot.slots[i], &need[k]) > 0;
		wanted -= suits;
	}
	return wanted < most ? wanted : most;
}
