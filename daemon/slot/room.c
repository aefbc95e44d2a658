#include "daemon/slot/room.h"
#include "base/gpu.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/slot.h"
#include <math.h>
#include <string.h>

/* --- what a trial may need --- */

#define FEW_CORES "the CPU slots have fewer together"
#define FEW_HERE  "this daemon has fewer"

static const struct sw_room_kind kinds[] = {
	[SW_POOL_ANY] = {true, true, false, "CPU slots", "CPU slot", "is one", "cores", FEW_CORES},
	[SW_POOL_CORES] = {false, true, false, "CPU slots", "CPU slot", "is one", "cores",
			   FEW_CORES},
	[SW_POOL_CPUS] = {false, true, false, "CPU slots", "CPU slot", "is one", "CPU slots",
			  FEW_HERE},
	[SW_POOL_GPU] = {true, false, false, "lanes", "GPU", "has one", NULL, NULL},
	[SW_POOL_GPUS] = {true, false, true, "GPUs", NULL, NULL, "GPUs", FEW_HERE},
};

const struct sw_room_kind *sw_room_kind(const struct sw_room_need *need)
{
	return &kinds[need->pool];
}

unsigned sw_room_units(const struct sw_slot *s, const struct sw_room_need *need)
{
	/* a third of three lanes is one, whatever the last bit of the product says */
	const double lanes = ceil(need->units * s->device.lanes - 1e-9);
	const unsigned n = (unsigned)need->units;

	if (s->device.gpu ? !kinds[need->pool].gpu : !kinds[need->pool].cpu)
		return 0;
	switch (need->pool) {
	case SW_POOL_GPU:
		return lanes > 1.0 ? (unsigned)lanes : 1;
	case SW_POOL_ANY:
	case SW_POOL_CORES:
		return s->device.gpu || n <= s->device.cores ? 1 : (n - 1) / s->device.cores + 1;
	default:
		return n > 1 ? n : 1;
	}
}

/* --- the units of a pool --- */

bool sw_room_is_free(const struct sw_slot *s)
{
	return s->state == SW_SLOT_IDLE && s->holder < 0;
}

/* A CPU slot of this machine. */
static bool is_core(const struct sw_slot *s)
{
	return !s->device.gpu && !s->device.away;
}

/* The GPUs of pilots are on several machines. */
static bool is_whole_gpu(const struct sw_slot *s)
{
	return s->device.gpu && !s->device.away && strncmp(s->device.uuid, "MIG-", 4) != 0;
}

/* Is slot o a unit, or the first lane of one, of the pool that slot s has for the need? */
static bool is_unit(const struct sw_slot *s, const struct sw_slot *o, bool whole)
{
	if (whole)
		return is_whole_gpu(s) && is_whole_gpu(o) && o == o->worker->slots;
	return o->worker == s->worker || (is_core(s) && is_core(o));
}

static bool is_unit_free(const struct sw_slot *o, bool whole)
{
	const char *why;

	for (unsigned k = 0; k < (whole ? o->worker->slot_n : 1); k++)
		if (!sw_room_is_free(&o[k]))
			return false;
	return !whole || sw_gpus_may_begin(o->d, o, &why);
}

/* One that is hot, or awaits memory, is soon back; one that is down or held may never be, and no
 * more may one whose worker ends again and again. */
bool sw_room_comes_back(const struct sw_worker *w)
{
	const struct sw_card *c = sw_gpus_card(w->slots->d, w->slots);

	return w->losses.out[0] == '\0' && w->early <= SW_WORKER_EARLY_MAX &&
	       (c == NULL || (c->state != SW_CARD_DOWN && c->state != SW_CARD_HELD));
}

static bool has_precision(const struct sw_slot *s)
{
	return s->device.gpu &&
	       (s->device.capability == 0 || s->device.capability >= SW_ROOM_PRECISION);
}

/* The units of the slot's pool, in r. True: there are enough. *precise: of these that precision. */
static bool count_units(const struct sw_slot *s, const struct sw_room_need *need, struct sw_room *r,
			unsigned *precise)
{
	const bool whole = kinds[need->pool].whole;
	const bool own = !whole && (r->units == 1 || !is_core(s)); /* all are its worker's */
	const struct sw_slot *o = own ? s->worker->slots : s->d->slot.slots;
	const size_t n = own ? s->worker->slot_n : s->d->slot.slot_n;
	unsigned all = 0;

	*precise = 0;
	for (size_t i = 0; i < n; i++, o++) {
		if (!is_unit(s, o, whole))
			continue;
		all++;
		/* It is none for this trial. */
		if (need->precision && !has_precision(o))
			continue;
		++*precise;
		r->free += is_unit_free(o, whole);
		if (o->holder < 0 && (o->state == SW_SLOT_STARTING ||
				      (o->state == SW_SLOT_BUSY && o->units < r->units)))
			r->soon = false;
		if (whole ? sw_room_comes_back(o->worker) : o->state != SW_SLOT_DOWN)
			r->left++;
		else
			r->missing = o;
	}
	return all >= r->units;
}

/* --- bytes --- */

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

/* Has one of the worker's first n lanes a trial of this sweep? 0: of any. */
static bool has_trial_of(const struct sw_worker *w, unsigned n, int64_t sweep)
{
	for (unsigned k = 0; k < n; k++)
		if (w->slots[k].state == SW_SLOT_BUSY && (sweep == 0 || w->slots[k].sweep == sweep))
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

/* --- the answer --- */

/* A slot without a job may have one of any shape. */
static bool has_shape(const struct sw_slot *s, const struct sw_room_need *need)
{
	return need->shape == 0 || (need->shape != SW_ROOM_NO_PILOT && s->worker->proc == NULL) ||
	       need->shape == s->worker->shape;
}

/* Does its node not see the daemon's files? While it has no job of that shape, as far as the last
 * one has shown. */
static bool is_blind(const struct sw_slot *s, const struct sw_room_need *need)
{
	const struct sw_job_shape *sh = sw_job_shape_find(s->d, need->shape);

	if (s->worker->proc != NULL && (need->shape == 0 || need->shape == s->worker->shape))
		return s->worker->no_files;
	return sh != NULL && sh->blind;
}

/* Is the slot such that the trial will never go there? Else SW_ROOM_YES. */
static enum sw_room_is room_ever(const struct sw_slot *s, const struct sw_room_need *need,
				 struct sw_room *r)
{
	unsigned precise;

	if (r->units == 0 || !count_units(s, need, r, &precise))
		return SW_ROOM_FEW;
	if (need->precision && (precise < r->units || !has_precision(s)))
		return SW_ROOM_NO_PRECISION;
	if (s->device.away && need->files && is_blind(s, need))
		return SW_ROOM_BLIND;
	return s->device.away && !has_shape(s, need) ? SW_ROOM_SHAPE : SW_ROOM_YES;
}

static enum sw_room_is room_now(const struct sw_slot *s, const struct sw_room_need *need,
				const struct sw_room *r)
{
	const bool whole = kinds[need->pool].whole;
	const char *why;

	if (r->units > r->free && r->units > r->left && r->left > 0)
		return SW_ROOM_DOWN;
	/* A pilot that is out of sight is no more a slot than one that is asked for. */
	if ((s->device.away ? s->conn == NULL : s->state == SW_SLOT_DOWN) || s->rest_us != 0 ||
	    !sw_gpus_may_begin(s->d, s, &why))
		return SW_ROOM_OFF;
	if (!whole && is_larger_elsewhere(s, need->bytes))
		return SW_ROOM_LARGER;
	if (s->device.gpu && s->worker->solo > 0 && has_trial_of(s->worker, s->worker->slot_n, 0))
		return SW_ROOM_ALONE;
	if (r->units > r->free || (whole && !is_unit_free(s->worker->slots, true)))
		return is_core(s) && r->soon ? SW_ROOM_SOON : SW_ROOM_UNITS;
	return has_bytes(s, need) ? SW_ROOM_YES : SW_ROOM_BYTES;
}

struct sw_room sw_room_for(const struct sw_slot *s, const struct sw_room_need *need)
{
	struct sw_room r = {.units = sw_room_units(s, need), .soon = true};

	r.is = room_ever(s, need, &r);
	if (r.is == SW_ROOM_YES)
		r.is = room_now(s, need, &r);
	return r;
}

bool sw_room_suits(const struct sw_slot *s, const struct sw_room_need *need)
{
	return sw_room_for(s, need).is < SW_ROOM_SHAPE;
}

/* --- what a trial has taken --- */

bool sw_room_has(const struct sw_slot *s, const struct sw_worker *w)
{
	return w == s->worker || (w->slots->device.gpu && w->slots->holder == s->index);
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

static void hold_unit(struct sw_slot *s, struct sw_slot *o, bool whole)
{
	for (unsigned k = 0; k < (whole ? o->worker->slot_n : 1); k++)
		if (&o[k] != s) { /* its own slot has the trial itself */
			o[k].holder = s->index;
			s->units++;
		}
}

/* Of the units beside the slot that are free the first of those that are linked best with it; NULL:
 * none is. Lanes whose worker is not up yet count: of a trial that was adopted they are its own. */
static struct sw_slot *find_unit(const struct sw_slot *s, bool whole)
{
	struct sw_slot *best = NULL;
	int most = -1;

	for (size_t k = 0; k < s->d->slot.slot_n; k++) {
		struct sw_slot *o = &s->d->slot.slots[k];

		if (o == s || !is_unit(s, o, whole) ||
		    (whole ? o->worker == s->worker || !is_unit_free(o, true)
			   : o->state == SW_SLOT_BUSY || o->holder >= 0))
			continue;
		const int link = whole ? sw_gpus_link(s->d, s, o) : 0;
		if (link > most) {
			most = link;
			best = o;
		}
	}
	return best;
}

void sw_room_take(struct sw_slot *s, const struct sw_room_need *need)
{
	const bool whole = kinds[need->pool].whole;
	const unsigned n = sw_room_units(s, need);
	struct sw_slot *o;

	s->bytes = need->bytes;
	s->data_bytes = need->data_bytes;
	s->units = 1;
	if (whole)
		hold_unit(s, s->worker->slots, true);
	for (unsigned k = 1; k < n && (o = find_unit(s, whole)) != NULL; k++)
		hold_unit(s, o, whole);
}

void sw_room_leave(struct sw_slot *s)
{
	struct sw_daemon *d = s->d;

	if (s->units > 1)
		for (size_t k = 0; k < d->slot.slot_n; k++)
			if (d->slot.slots[k].holder == s->index)
				d->slot.slots[k].holder = -1;
}
