#include "daemon/sweep/need.h"
#include "daemon/daemon.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <string.h>

struct sw_room_need sw_need_of_spec(const struct sw_spec *spec)
{
	const bool cpus = spec->cpu_slots > 0;

	/* A trainer's trial uses the cores of its slots, whatever they are. */
	return (struct sw_room_need){
		.pool = spec->gpu > 1   ? SW_POOL_GPUS
			: spec->gpu > 0 ? SW_POOL_GPU
			: cpus          ? SW_POOL_CPUS
			: spec->gpu < 0 ? SW_POOL_CORES
					: SW_POOL_ANY,
		.units = spec->gpu > 0           ? spec->gpu
			 : cpus                  ? spec->cpu_slots
			 : spec->command != NULL ? spec->cpu
						 : 0,
		.precision = spec->precision != NULL,
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
	if (live->d->config.pilots.max > 0 && !need.files) { /* only they may not see any */
		const uint64_t next = sw_sweep_next_trial(live->sched);

		need.files = next != 0 && sw_sweep_from(live->sched, next) != 0;
	}
	return need;
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
