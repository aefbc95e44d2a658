#include "daemon/slot/room.h"
#include "base/gpu.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/slot.h"
#include <stddef.h>
#include <string.h>

bool sw_room_is_free(const struct sw_slot *s)
{
	/* A program that is told to end keeps its memory until it has. */
	return s->state == SW_SLOT_IDLE && s->holder < 0 && !s->program;
}

/* Slots of which a trial may have several: lanes of one GPU, or CPU slots. */
static bool are_together(const struct sw_slot *a, const struct sw_slot *b)
{
	const struct sw_device_kind *k = a->device.kind;

	return a->worker == b->worker || (k == b->device.kind && k->several && !k->gpu);
}

unsigned sw_room_lanes(const struct sw_slot *s)
{
	const struct sw_daemon *d = s->d;
	unsigned n = 0;
	bool busy = false;

	for (size_t k = 0; k < d->slot.slot_n; k++) {
		if (!are_together(s, &d->slot.slots[k]))
			continue;
		n += sw_room_is_free(&d->slot.slots[k]);
		busy = busy || d->slot.slots[k].state == SW_SLOT_BUSY;
	}
	return s->device.kind->gpu && busy && s->worker->solo > 0 ? 0 : n;
}

bool sw_room_has_precision(const struct sw_slot *s)
{
	return s->device.kind->gpu &&
	       (s->device.capability == 0 || s->device.capability >= SW_ROOM_PRECISION);
}

/* --- several whole GPUs --- */

/* May it be one of those that the trial has? */
static bool is_gpu_for(const struct sw_worker *w, const struct sw_room_need *need)
{
	const struct sw_slot *s = w->slots;

	return s->device.kind->gpu && s->device.kind->several &&
	       (!need->precision || sw_room_has_precision(s));
}

static bool is_gpu_free(const struct sw_worker *w)
{
	const char *why;

	for (unsigned k = 0; k < w->slot_n; k++)
		if (!sw_room_is_free(&w->slots[k]))
			return false;
	return sw_gpus_may_begin(w->slots->d, w->slots, &why);
}

/* One that is hot, or awaits memory, is soon back; one that is down or held may never be, and no
 * more may one whose worker ends again and again. */
bool sw_room_comes_back(const struct sw_worker *w)
{
	const struct sw_card *c = sw_gpus_card(w->slots->d, w->slots);

	return w->losses.out[0] == '\0' && w->early <= SW_WORKER_EARLY_MAX &&
	       (c == NULL || (c->state != SW_CARD_DOWN && c->state != SW_CARD_HELD));
}

enum gpus_which { GPUS_ALL, GPUS_THAT_COME_BACK, GPUS_FREE };

static unsigned count_gpus(const struct sw_daemon *d, const struct sw_room_need *need,
			   enum gpus_which which)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];

		n += is_gpu_for(w, need) &&
		     (which == GPUS_ALL ||
		      (which == GPUS_FREE ? is_gpu_free(w) : sw_room_comes_back(w)));
	}
	return n;
}

unsigned sw_room_gpus(const struct sw_daemon *d, const struct sw_room_need *need)
{
	return count_gpus(d, need, GPUS_FREE);
}

bool sw_room_has(const struct sw_slot *s, const struct sw_worker *w)
{
	return w == s->worker || (w->slots->device.kind->gpu && w->slots->holder == s->index);
}

struct sw_worker *sw_room_gpu(const struct sw_slot *s, unsigned rank)
{
	const struct sw_daemon *d = s->d;

	for (size_t i = 0; rank > 0 && i < d->slot.worker_n; i++)
		if (&d->slot.workers[i] != s->worker && sw_room_has(s, &d->slot.workers[i]) &&
		    --rank == 0)
			return &d->slot.workers[i];
	return rank == 0 ? s->worker : NULL;
}

static enum sw_room room_on_gpus(const struct sw_slot *s, const struct sw_room_need *need)
{
	if (is_gpu_free(s->worker) && count_gpus(s->d, need, GPUS_FREE) >= need->gpus)
		return SW_ROOM_YES;
	return count_gpus(s->d, need, GPUS_THAT_COME_BACK) >= need->gpus ? SW_ROOM_LANES
									 : SW_ROOM_DOWN;
}

static void hold_gpu(struct sw_slot *s, struct sw_worker *w)
{
	for (unsigned k = 0; k < w->slot_n; k++) {
		/* Its own slot has the trial itself. */
		if (&w->slots[k] == s)
			continue;
		w->slots[k].holder = s->index;
		s->lanes_used++;
	}
}

/* Takes, of the GPUs that are free, those that are linked best with the slot's own. */
static void take_gpus(struct sw_slot *s, const struct sw_room_need *need)
{
	struct sw_daemon *d = s->d;

	hold_gpu(s, s->worker);
	for (unsigned n = 1; n < need->gpus; n++) {
		struct sw_worker *best = NULL;
		int link, most = -1;

		for (size_t i = 0; i < d->slot.worker_n; i++) {
			struct sw_worker *w = &d->slot.workers[i];

			if (w == s->worker || !is_gpu_for(w, need) || !is_gpu_free(w))
				continue;
			link = sw_gpus_link(d, s, w->slots);
			if (link > most) {
				most = link;
				best = w;
			}
		}
		if (best != NULL) /* there is one: sw_room_for() has counted them */
			hold_gpu(s, best);
	}
}

/* A slot without a job may have one of any shape. */
static bool has_shape(const struct sw_slot *s, const struct sw_room_need *need)
{
	return need->shape == 0 || (need->shape != SW_ROOM_NO_PILOT && s->worker->proc == NULL) ||
	       need->shape == s->worker->shape;
}

unsigned sw_room_takes(const struct sw_slot *s, const struct sw_room_need *need)
{
	const struct sw_daemon *d = s->d;
	unsigned lanes = sw_device_lanes(&s->device, need->gpu), all = 0;

	if (need->gpus > 1)
		return is_gpu_for(s->worker, need) && count_gpus(d, need, GPUS_ALL) >= need->gpus
			       ? s->device.lanes
			       : 0;
	/* A pilot is one slot, and others are elsewhere. */
	if (s->device.kind->away &&
	    (!has_shape(s, need) || (need->files && s->worker->no_files) || need->cpu_slots > 1 ||
	     (!s->device.kind->gpu && need->cores > s->device.cores)))
		return 0;
	/* It computes in fp32 alone. */
	if (need->precision && !sw_room_has_precision(s))
		return 0;
	if (need->alone && s->device.kind->gpu && lanes > 0)
		lanes = s->device.lanes;
	/* Lanes of one GPU; or a trial that wants the other kind of slot. */
	if (s->device.kind->gpu || lanes == 0)
		return lanes;
	/* One slot has cores enough. */
	if (need->cpu_slots == 0 && need->cores <= s->device.cores)
		return lanes;
	for (size_t k = 0; k < d->slot.slot_n; k++)
		all += are_together(s, &d->slot.slots[k]);
	const unsigned n = need->cpu_slots ? need->cpu_slots
					   : (need->cores - 1) / s->device.cores + 1;
	return n <= all ? n : 0;
}

bool sw_room_other_shape(const struct sw_slot *s, const struct sw_room_need *need)
{
	struct sw_room_need any = *need;

	any.shape = 0;
	return s->device.kind->away && !has_shape(s, need) && sw_room_takes(s, &any) > 0;
}

/* Bytes of the slot's GPU that trials may have, all of them together; INT64_MAX: not known. A
 * worker has its context and its code once, for all of its lanes, and arenas leave some bytes
 * free. */
static int64_t capacity_of(const struct sw_slot *s)
{
	const struct sw_card *c = sw_gpus_card(s->d, s);

	if (c == NULL || c->now.total <= 0)
		return INT64_MAX;
	return c->now.total - c->strangers - c->rest - SW_GPU_CONTEXT_BYTES -
	       sw_gpu_stays(c->now.total);
}

/* Is there a GPU that has room for what this one has not? If none has, all go through it in parts,
 * the largest as well as the others: none is worth waiting for. */
static bool is_larger_elsewhere(const struct sw_slot *s, int64_t bytes)
{
	const struct sw_daemon *d = s->d;

	/* It fits here, once there is room. */
	if (bytes <= capacity_of(s))
		return false;
	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];
		const struct sw_card *c = sw_gpus_card(s->d, w->slots);

		if (c != NULL && sw_room_comes_back(w) && bytes <= capacity_of(w->slots))
			return true;
	}
	return false;
}

/* Has one of the worker's first n lanes a trial of this sweep? */
static bool has_trial_of(const struct sw_worker *w, unsigned n, int64_t sweep)
{
	for (unsigned k = 0; k < n; k++)
		if (w->slots[k].state == SW_SLOT_BUSY && w->slots[k].sweep == sweep)
			return true;
	return false;
}

/* Are its bytes free beside the trials that run there? A sweep's data set lies there once, for all
 * of its trials. One that is alone may have what there is: a batch that does not fit goes through
 * in parts. */
static bool has_bytes(const struct sw_slot *s, const struct sw_room_need *need)
{
	const struct sw_worker *w = s->worker;
	const int64_t all = capacity_of(s);
	int64_t taken = need->bytes;
	bool alone = true;

	if (has_trial_of(w, w->slot_n, need->sweep))
		taken -= need->data_bytes;
	for (unsigned k = 0; k < w->slot_n; k++) {
		const struct sw_slot *o = &w->slots[k];

		if (o->state != SW_SLOT_BUSY)
			continue;
		alone = false;
		taken += o->bytes - (has_trial_of(w, k, o->sweep) ? o->data_bytes : 0);
	}
	return alone || need->bytes == 0 || s->d->config.gpu_memory != 0 || all == INT64_MAX ||
	       taken <= all;
}

static unsigned count_up_cpus(const struct sw_slot *s)
{
	const struct sw_daemon *d = s->d;
	unsigned n = 0;

	for (size_t k = 0; k < d->slot.slot_n; k++)
		n += are_together(s, &d->slot.slots[k]) && d->slot.slots[k].state != SW_SLOT_DOWN;
	return n;
}

/* Has each trial on CPU slots as many as this, and is no slot on its way up? */
static bool comes_at_once(const struct sw_slot *s, unsigned takes)
{
	const struct sw_daemon *d = s->d;
	bool any = false;

	for (size_t k = 0; k < d->slot.slot_n; k++) {
		const struct sw_slot *o = &d->slot.slots[k];

		if (!are_together(s, o) || o->holder >= 0 || o->state == SW_SLOT_DOWN ||
		    o->state == SW_SLOT_IDLE)
			continue;
		if (o->state == SW_SLOT_STARTING || o->lanes_used < takes)
			return false;
		any = true;
	}
	return any;
}

int64_t sw_room_shut_us(const struct sw_slot *s, const struct sw_room_need *need)
{
	return need->trains ? s->worker->shut[need->gpus > 1].until_us : 0;
}

enum sw_room sw_room_for(const struct sw_slot *s, const struct sw_room_need *need)
{
	const unsigned takes = sw_room_takes(s, need);

	if (sw_room_shut_us(s, need) != 0)
		return SW_ROOM_SHUT;
	if (need->gpus > 1)
		return room_on_gpus(s, need);
	if (!s->device.kind->gpu && (takes <= 1 || takes <= sw_room_lanes(s)))
		return SW_ROOM_YES;
	if (!s->device.kind->gpu && takes > count_up_cpus(s))
		return SW_ROOM_DOWN;
	if (!s->device.kind->gpu)
		return comes_at_once(s, takes) ? SW_ROOM_SOON : SW_ROOM_LANES;
	if (is_larger_elsewhere(s, need->bytes))
		return SW_ROOM_LARGER;
	const unsigned free = sw_room_lanes(s);
	/* The slot itself is free, so only a culprit that is sought closes the other lanes. */
	if (free == 0)
		return SW_ROOM_ALONE;
	if (takes > free)
		return SW_ROOM_LANES;
	return has_bytes(s, need) ? SW_ROOM_YES : SW_ROOM_BYTES;
}

void sw_room_take(struct sw_slot *s, const struct sw_room_need *need)
{
	struct sw_daemon *d = s->d;
	const unsigned n = sw_room_takes(s, need);

	s->bytes = need->bytes;
	s->data_bytes = need->data_bytes;
	s->lanes_used = 1;
	if (need->gpus > 1) {
		take_gpus(s, need);
		return;
	}
	/* Lanes whose worker is not up yet count: of a trial that was adopted they are its own. */
	for (size_t k = 0; k < d->slot.slot_n && s->lanes_used < n; k++) {
		struct sw_slot *o = &d->slot.slots[k];

		if (o != s && are_together(s, o) && o->state != SW_SLOT_BUSY && o->holder < 0) {
			o->holder = s->index;
			s->lanes_used++;
		}
	}
}

void sw_room_leave(struct sw_slot *s)
{
	struct sw_daemon *d = s->d;

	if (s->lanes_used > 1)
		for (size_t k = 0; k < d->slot.slot_n; k++)
			if (d->slot.slots[k].holder == s->index)
				d->slot.slots[k].holder = -1;
}
