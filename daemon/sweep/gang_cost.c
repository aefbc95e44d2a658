#include "daemon/sweep/gang_cost.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/pace.h"
#include "spec/spec.h"
#include <stddef.h>

enum way { OVER_SHM, OVER_NCCL };

static enum way way_of(const struct sw_spec *spec)
{
	return spec->gpu > 1 ? OVER_NCCL : OVER_SHM;
}

/* Of so many bytes, from rank to rank or summed. */
static double exchange_s(enum way way, double bytes)
{
	static const double wait_s[] = SW_GANG_COST_WAIT_S, bytes_s[] = SW_GANG_COST_BYTES_S;

	return wait_s[way] + bytes / bytes_s[way];
}

/* A step of the heaviest stage, with its wait for the others; the sum of gradients is not in it.
 * flops_s, call_s: a second's operations, and what a call takes. */
static double pipeline_s(const struct sw_spec *spec, const struct sw_speccheck *facts,
			 double flops_s, double call_s)
{
	const double parts = (double)facts->parts * spec->data_ranks;
	const double work = facts->stage_flops / parts / flops_s;
	const double calls = (double)facts->launches / spec->stages * call_s;
	const double pass = exchange_s(way_of(spec), (double)facts->cut_bytes / parts);

	return ((double)facts->parts + spec->stages - 1) * (work + calls + 2 * pass);
}

bool sw_gang_cost_of(const struct sw_spec *spec, const struct sw_speccheck *facts, unsigned cores,
		     struct sw_gang_cost *out)
{
	const bool gpu = spec->gpu > 1, staged = spec->stages > 1;

	if (sw_spec_ranks(spec) <= 1 || facts->launches <= 0 || (!gpu && cores == 0) ||
	    (staged && (!(facts->stage_flops > 0) || facts->parts <= 0)))
		return false;
	const double call_s = gpu ? SW_PACE_LAUNCH_S : SW_PACE_CALL_S;
	const double flops_s = gpu ? SW_PACE_GPU_FLOPS : SW_PACE_CORE_FLOPS * cores;
	const double work = facts->flops / flops_s, calls = (double)facts->launches * call_s;

	*out = (struct sw_gang_cost){.ranks = sw_spec_ranks(spec)};
	if (staged) {
		out->stages = spec->stages;
		out->heaviest = facts->stage_flops / facts->flops;
		out->bubble = (spec->stages - 1.0) / ((double)facts->parts + spec->stages - 1.0);
	}
	out->alone_s = work + calls;
	out->gang_s = staged ? pipeline_s(spec, facts, flops_s, call_s)
			     : work / spec->data_ranks + calls;
	if (spec->data_ranks > 1) /* the gradients of a stage, among its ranks */
		out->gang_s += exchange_s(way_of(spec),
					  (double)facts->parameters * sizeof(float) / spec->stages);
	return true;
}
