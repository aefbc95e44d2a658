#include "daemon/sweep/pace.h"

void sw_pace_estimate(struct sw_pace *p, double flops, int64_t launches)
{
	const double core = flops / SW_PACE_CORE_FLOPS + (double)launches * SW_PACE_CALL_S;
	const double lane = flops / SW_PACE_GPU_FLOPS + (double)launches * SW_PACE_LAUNCH_S;

	p->estimate = launches > 0 ? core / lane : 0;
}

void sw_pace_add(struct sw_pace *p, bool gpu, double seconds, double steps)
{
	p->seconds[gpu] += seconds;
	p->steps[gpu] += steps;
}

double sw_pace_ratio(const struct sw_pace *p, bool *measured)
{
	const double core = p->seconds[0] * p->steps[1], lane = p->seconds[1] * p->steps[0];

	*measured = core > 0 && lane > 0;
	return *measured ? core / lane : p->estimate;
}

bool sw_pace_suits_core(const struct sw_pace *p, uint64_t left, unsigned lanes)
{
	bool measured;
	const double ratio = sw_pace_ratio(p, &measured);
	double turns = SW_PACE_MOST; /* trials that a lane has before it, with this one */

	if (lanes > 0 && (double)left / lanes < turns)
		turns = (double)left / lanes;
	if (turns < 1)
		turns = 1;
	return ratio > 0 && ratio <= turns;
}
