/*
 * Learning curves. Each is a pure function of the plan, the trial's values and the step: a trial
 * that starts over, or goes on from a checkpoint, measures the same again.
 *
 *   POWER      an end of its own, come down to by a power law
 *   CROSSING   who starts best ends worst: the first rungs mislead
 *   NOISY      POWER, and noise as large as the differences
 *   PLATEAU    nothing for half the time, then down
 *   DIVERGING  POWER; one in five becomes NaN or infinite at some step
 *   TIES       a few whole numbers: most values are equal
 */
#include "tests/sim/sim.h"
#include <string.h>

/* Two numbers in [0, 1) and a hash that stand for the values. */
static uint64_t identity(const struct sim_plan *p, const struct sw_value *v)
{
	uint64_t h = p->seed;

	for (size_t i = 0; i < p->params; i++) {
		uint64_t bits;

		memcpy(&bits, &v[i].number, sizeof bits);
		h = sim_hash(h, bits, v[i].choice);
	}
	return h;
}

double sim_curve_at(const struct sim_plan *p, const struct sw_value *v, uint64_t step)
{
	uint64_t state = identity(p, v);
	const double end = sim_unit(&state), start = sim_unit(&state);
	const double at = (double)step / p->epochs;
	const bool breaks = sim_below(&state, 5) == 0;
	const uint64_t broken = 1 + sim_below(&state, p->epochs);
	uint64_t noise = sim_hash(state, step, 1);
	double y = end + start * pow((double)step, -0.7);

	switch (p->curve) {
	case SIM_CURVE_CROSSING:
		y = end * at + (1 - end) * 2 * (1 - at);
		break;
	case SIM_CURVE_NOISY:
		y += sim_unit(&noise) - 0.5;
		break;
	case SIM_CURVE_PLATEAU:
		y = at < 0.5 ? 1 + 0.01 * start : end;
		break;
	case SIM_CURVE_DIVERGING:
		if (breaks && step >= broken)
			y = sim_below(&noise, 2) == 0 ? NAN : INFINITY;
		break;
	case SIM_CURVE_TIES:
		y = floor(4 * y);
		break;
	default:
		break;
	}
	return p->sweep.maximize ? -y : y;
}
