#include "daemon/sweep/gang_cost.h"
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/pace.h"
#include "spec/spec.h"
#include <stddef.h>
#include <string.h>

bool sw_gang_cost_of(const struct sw_spec *spec, const struct sw_speccheck *facts, unsigned cores,
		     struct sw_gang_cost *out)
{
	static const double wait_s[] = SW_GANG_COST_WAIT_S, bytes_s[] = SW_GANG_COST_BYTES_S;

	const bool gpu = spec->gpu > 1;

	if (spec->data_ranks <= 1 || facts->launches <= 0 || (!gpu && cores == 0))
		return false;
	const int way = gpu                                                              ? 2
			: spec->transport != NULL && strcmp(spec->transport, "tcp") == 0 ? 1
											 : 0;
	const double calls = (double)facts->launches * (gpu ? SW_PACE_LAUNCH_S : SW_PACE_CALL_S);
	const double work = facts->flops / (gpu ? SW_PACE_GPU_FLOPS : SW_PACE_CORE_FLOPS * cores);
	const double sum = wait_s[way] + (double)facts->parameters * sizeof(float) / bytes_s[way];

	out->ranks = spec->data_ranks;
	out->alone_s = work + calls;
	out->gang_s = work / spec->data_ranks + calls + sum;
	return true;
}
