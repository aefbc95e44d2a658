#include "daemon/sweep/want.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/keep.h"
#include "daemon/sweep/need.h"
#include "daemon/sweep/running.h"

#define SWEEPS_MOST SW_JOB_SHAPES /* whose needs are looked at: the others have their turn later */

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

/* Those that have trials to give out, in the order in which they would be served. */
static size_t gather_sweeps(const struct sw_daemon *d, const struct sw_running *out[SWEEPS_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < d->sweep.sweep_n && n < SWEEPS_MOST; i++) {
		const struct sw_running *live = d->sweep.sweeps[i];
		size_t at = n;

		if (live->driven || live->ended_ms != 0 || live->sched == NULL ||
		    !sw_sweep_has_work(live->sched))
			continue;
		for (; at > 0 && sw_share_before(&live->claim.share, &out[at - 1]->claim.share);
		     at--)
			out[at] = out[at - 1];
		out[at] = live;
		n++;
	}
	return n;
}

/* Would its next trial go to a pilot, of whatever shape those are that there are? */
static bool suits_pilots(const struct sw_daemon *d, const struct sw_slot *pilot,
			 struct sw_room_need need)
{
	if (need.shape == SW_ROOM_NO_PILOT || (need.files && d->slot.pilots_blind))
		return false;
	need.shape = 0;
	return sw_room_takes(pilot, &need) > 0;
}

size_t sw_want_slots(struct sw_daemon *d, size_t most, struct sw_job_want out[SW_JOB_SHAPES])
{
	const struct sw_running *sweeps[SWEEPS_MOST];
	const struct sw_slot *pilot = find_pilot(d);
	struct sw_room_need need[SWEEPS_MOST];
	size_t of[SWEEPS_MOST], n = 0, shapes = 0;

	if (pilot == NULL || sw_keep_full(d) != NULL)
		return 0;
	const size_t all = gather_sweeps(d, sweeps);
	for (size_t i = 0; i < all; i++) {
		/* Slots that are free take their part of them, too. */
		const uint64_t could =
			sw_sweep_could_begin(sweeps[i]->sched, most + d->slot.slot_n);

		need[n] = sw_need_of_next(sweeps[i]);
		if (could == 0 || !suits_pilots(d, pilot, need[n]))
			continue;
		for (of[n] = 0; of[n] < shapes && out[of[n]].id != need[n].shape;)
			of[n]++;
		if (of[n] == shapes)
			out[shapes++] = (struct sw_job_want){
				.id = need[n].shape, .options = sweeps[i]->spec->job_options};
		out[of[n++]].n += (size_t)could;
	}
	for (size_t i = 0; i < d->slot.slot_n; i++)
		for (size_t k = 0; k < n && is_coming(&d->slot.slots[i]); k++)
			if (out[of[k]].n > 0 && sw_room_takes(&d->slot.slots[i], &need[k]) > 0) {
				out[of[k]].n--;
				break;
			}
	return shapes;
}
