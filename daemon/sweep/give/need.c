#include "daemon/sweep/give/need.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <stdio.h>
#include <string.h>

struct sw_room_need sw_need_of_spec(const struct sw_spec *spec)
{
	/* A trainer's trial uses the cores of its slots, whatever they are. */
	return (struct sw_room_need){
		.gpu = spec->gpu,
		.gpus = spec->gpu > 1 ? (unsigned)spec->gpu : 0,
		.cores = spec->command != NULL ? spec->cpu : 0,
		.cpu_slots = spec->cpu_slots,
		.precision = spec->precision != NULL,
		.trains = spec->trainer != NULL,
		.files = spec->command != NULL ||
			 sw_json_get(sw_json_get(spec->trainer, "dataset"), "path") != NULL,
	};
}

/* A stored sweep may be for an executor that this daemon was started without. */
static uint64_t need_shape(const struct sw_running *live)
{
	const char *executor = live->spec->executor;

	return executor == NULL || strcmp(executor, live->d->config.pilots.executor) == 0
		       ? live->spec->job_shape
		       : SW_ROOM_NO_PILOT;
}

struct sw_room_need sw_need_of_next(const struct sw_running *live)
{
	struct sw_room_need need = sw_need_of_spec(live->spec);

	need.bytes = live->bytes;
	need.data_bytes = live->data_bytes;
	need.sweep = live->sweep;
	need.shape = need_shape(live);
	const uint64_t next = sw_sweep_next_trial(live->sched);
	need.alone = next != 0 && live->runs[next - 1].alone;
	/* A trial that goes on from a checkpoint needs the daemon's files even if its spec names
	 * none. Only pilots may not see any. */
	if (live->d->config.pilots.max > 0 && !need.files)
		need.files = next != 0 && sw_sweep_from(live->sched, next) != 0;
	return need;
}

sw_status sw_need_gang(const struct sw_daemon *d, const struct sw_spec *spec, struct sw_err *err)
{
	const struct sw_room_need need = sw_need_of_spec(spec);

	/* Without any slot the trials wait, as ever. Refused at submission, since no slot that may
	 * come later could serve it; a GPU that is down for now is another matter. */
	if ((need.gpus <= 1 && need.cpu_slots <= 1) || d->config.pilots.max == 0 ||
	    sw_spec_driven(spec))
		return SW_OK;
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (!d->slot.slots[i].device.kind->away)
			return SW_OK;
	return sw_err_at(err, SW_INVALID, "/resources",
			 "a trial takes %u %s, which must be of one machine: a pilot is one slot, "
			 "and this daemon has no others",
			 need.gpus > 1 ? need.gpus : need.cpu_slots,
			 need.gpus > 1 ? "GPUs" : "CPU slots");
}

sw_status sw_need_executor(const struct sw_daemon *d, const struct sw_spec *spec,
			   struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "/executor";

	/* `sweepd validate` stands for any daemon. */
	if (spec->executor == NULL || d->config.validate ||
	    strcmp(spec->executor, d->config.pilots.executor) == 0)
		return SW_OK;
	sw_json_pointer_add(ptr, sizeof ptr, spec->executor);
	return sw_err_at(err, SW_INVALID, ptr,
			 "this daemon has no executor \"%s\": start it with --executor %s "
			 "--max-workers N",
			 spec->executor, spec->executor);
}

/* --- the slots that a precision rules out --- */

/* Counts, of the slots that would do but for the precision, those that lack it; *known: such a
 * GPU. */
static size_t count_without_precision(const struct sw_daemon *d, const struct sw_spec *spec,
				      size_t *all, const struct sw_slot **known)
{
	struct sw_room_need need = sw_need_of_spec(spec);
	size_t n = 0;

	/* So that slots are counted as fp32 would have them, then those of them that lack it. */
	need.precision = false;
	*all = 0;
	*known = NULL;
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *slot = &d->slot.slots[i];

		if (sw_room_takes(slot, &need) == 0)
			continue;
		++*all;
		if (sw_room_has_precision(slot))
			continue;
		n++;
		if (slot->device.kind->gpu && *known == NULL)
			*known = slot;
	}
	return n;
}

sw_status sw_need_check(const struct sw_daemon *d, const struct sw_spec *spec, struct sw_err *err)
{
	char has[96] = "there is no GPU";
	const struct sw_slot *known;
	size_t all;
	const size_t n = count_without_precision(d, spec, &all, &known);

	/* fp32; or some slot will do; or none would in fp32 either, which has a warning of its
	 * own. */
	if (spec->precision == NULL || n < all || all == 0)
		return SW_OK;
	if (known != NULL)
		(void)snprintf(has, sizeof has, "%s has %.1f", known->device.name,
			       known->device.capability / 10.0);
	return sw_err_at(err, SW_INVALID, "/trainer/precision",
			 "no slot computes in %s: that takes a GPU of compute capability %.1f, and "
			 "%s",
			 spec->precision, SW_ROOM_PRECISION / 10.0, has);
}

bool sw_need_warning(const struct sw_daemon *d, const struct sw_spec *spec, char *out, size_t cap)
{
	const struct sw_slot *known;
	size_t all;
	const size_t n = count_without_precision(d, spec, &all, &known);

	if (spec->precision == NULL || n == 0)
		return false;
	(void)snprintf(out, cap,
		       "/trainer/precision: %zu of %zu slots lack %s (a CPU has fp32 alone, a GPU "
		       "needs compute capability %.1f): its trials will go to the others",
		       n, all, spec->precision, SW_ROOM_PRECISION / 10.0);
	return true;
}
