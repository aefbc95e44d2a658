#include "daemon/sweep/give/want.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/running.h"

#define SWEEPS_MOST SW_JOB_SHAPES /* whose needs are looked at: the others have their turn later */

/* The first slot of a pilot; the others are as it is. */
static const struct sw_slot *find_pilot(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (d->slot.slots[i].device.kind->away)
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

/* Would its next trial go to a pilot, of whatever shape and on whatever node those are that there
 * are? */
static bool suits_pilots(const struct sw_slot *pilot, struct sw_room_need need)
{
	if (need.shape == SW_ROOM_NO_PILOT)
		return false;
	/* Both may be had by asking for another pilot; what no pilot has (several GPUs of one
	 * machine) stays. */
	need.shape = 0;
	need.files = false;
	return sw_room_takes(pilot, &need) > 0;
}

/* Gathers those that have trials for pilots to give out, in the order in which they would be
 * served. */
static size_t gather_sweeps(const struct sw_daemon *d, const struct sw_slot *pilot,
			    const struct sw_running *out[SWEEPS_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < d->sweep.sweep_n && n < SWEEPS_MOST; i++) {
		const struct sw_running *live = d->sweep.sweeps[i];
		size_t at = n;

		if (live->driven || live->ended_ms != 0 || live->sched == NULL ||
		    !sw_sweep_has_work(live->sched) || !suits_pilots(pilot, sw_need_of_next(live)))
			continue;
		/* Sorted as they come: of levels the lower number is first, as in
		 * sw_place_next(). */
		for (; at > 0 && sw_share_before(&live->claim.share, &out[at - 1]->claim.share);
		     at--)
			out[at] = out[at - 1];
		out[at] = live;
		n++;
	}
	return n;
}

size_t sw_want_slots(struct sw_daemon *d, size_t most, struct sw_job_want out[SW_JOB_SHAPES])
{
	const struct sw_running *sweeps[SWEEPS_MOST];
	const struct sw_slot *pilot = find_pilot(d);
	struct sw_room_need need[SWEEPS_MOST];
	size_t of[SWEEPS_MOST], shapes = 0;

	if (pilot == NULL || sw_quota_full(d) != NULL)
		return 0;
	const size_t n = gather_sweeps(d, pilot, sweeps);
	for (size_t k = 0; k < n; k++) {
		need[k] = sw_need_of_next(sweeps[k]);
		const struct sw_job_shape *sh = sw_job_shape_find(d, need[k].shape);
		for (of[k] = 0; of[k] < shapes && out[of[k]].id != need[k].shape;)
			of[k]++;
		/* At most SW_JOB_SHAPES, since at most so many sweeps are looked at. */
		if (of[k] == shapes)
			out[shapes++] = (struct sw_job_want){
				.id = need[k].shape, .options = sweeps[k]->spec->job_options};
		/* It stays wanted: forgotten, it would be tried again and again. */
		if (need[k].files && sh != NULL && sh->blind)
			continue;
		/* Slots that are free take their part of them, too. */
		out[of[k]].n +=
			(size_t)sw_sweep_could_begin(sweeps[k]->sched, most + d->slot.slot_n);
	}
	for (size_t i = 0; i < d->slot.slot_n; i++)
		/* A slot that is coming is counted against the first sweep that it suits, the one
		 * that will be served first: so no job is asked for twice. */
		for (size_t k = 0; k < n && is_coming(&d->slot.slots[i]); k++)
			if (out[of[k]].n > 0 && sw_room_takes(&d->slot.slots[i], &need[k]) > 0) {
				out[of[k]].n--;
				break;
			}
	return shapes;
}
