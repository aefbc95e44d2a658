#include "daemon/sweep/need.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/suggest.h"
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
		.precision = spec->precision != NULL && spec->precision_param < 0,
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
	need.precision = sw_need_precision(live) != NULL;
	if (live->d->config.pilots.max > 0 && !need.files) { /* only they may not see any */
		const uint64_t next = sw_sweep_next_trial(live->sched);

		need.files = next != 0 && sw_sweep_from(live->sched, next) != 0;
	}
	return need;
}

const char *sw_need_precision(const struct sw_running *live)
{
	const struct sw_spec *spec = live->spec;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool active[SW_SPACE_MAX_PARAMS];
	struct sw_suggestion *ready;

	/* The same for all trials; NULL where any slot will do. */
	if (spec->precision_param < 0)
		return spec->precision;
	const size_t i = (size_t)spec->precision_param;
	const struct sw_spec_param *p = &spec->params[i];

	/* The next trial is not known yet: any slot may ask, and is looked at again. */
	if (!sw_suggest_peek(live, &ready) || sw_sweep_next(live->sched, ready, values) != SW_OK)
		return NULL;
	sw_space_active(sw_sweep_space(live->sched), values, active);
	/* Without the parameter the trainer's default counts, which is fp32. */
	if (!active[i])
		return NULL;
	const cJSON *v = p->value != NULL ? p->value
					  : cJSON_GetArrayItem(p->values, (int)values[i].choice);
	return sw_spec_is_precise(v) ? v->valuestring : NULL;
}

sw_status sw_need_gang(const struct sw_daemon *d, const struct sw_spec *spec, struct sw_err *err)
{
	const struct sw_room_need need = sw_need_of_spec(spec);

	/* Without any slot the trials wait, as ever. */
	if ((need.gpus <= 1 && need.cpu_slots <= 1) || d->config.pilots.max == 0 ||
	    sw_spec_driven(spec))
		return SW_OK;
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (!d->slot.slots[i].device.away)
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

/* Of the slots that would do but for the precision those that lack it; *known: such a GPU. */
static size_t count_without_precision(const struct sw_daemon *d, const struct sw_spec *spec,
				      size_t *all, const struct sw_slot **known)
{
	struct sw_room_need need = sw_need_of_spec(spec);
	size_t n = 0;

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
		if (slot->device.gpu && *known == NULL)
			*known = slot;
	}
	return n;
}

sw_status sw_need_check(const struct sw_daemon *d, const struct sw_spec *spec, struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "/trainer/precision", has[96] = "there is no GPU";
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
	if (spec->precision_param >= 0)
		sw_spec_param_pointer(&spec->params[spec->precision_param], ptr, sizeof ptr);
	return sw_err_at(err, SW_INVALID, ptr,
			 "no slot computes in %s%s: that takes a GPU of compute capability %.1f, "
			 "and %s",
			 spec->precision,
			 spec->precision_param >= 0 ? ", which is one of its values" : "",
			 SW_ROOM_PRECISION / 10.0, has);
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
		       "needs compute capability %.1f): its trials%s will go to the others",
		       n, all, spec->precision, SW_ROOM_PRECISION / 10.0,
		       spec->precision_param >= 0 ? " that are not in fp32" : "");
	return true;
}
