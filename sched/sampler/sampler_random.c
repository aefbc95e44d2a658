/* Random search: each coordinate of each trial is a draw of its own, so order never matters. A
 * point that breaks a constraint is drawn again, from the draws that follow. */
#include "sched/num/rng.h"
#include "sched/sampler/sampler_internal.h"

static void point(const struct sw_sampler *s, uint64_t made, uint32_t attempt,
		  struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];
	const size_t n = sw_space_size(s->space);
	const uint32_t first = attempt * (uint32_t)n;

	for (size_t i = 0; i < n; i++)
		unit[i] = sw_rng_unit(s->seed, SW_RNG_SAMPLE, made, first + (uint32_t)i);
	sw_space_decode(s->space, unit, values);
}

const struct sw_sampler_ops sw_sampler_random_ops = {.name = "random", .point = point};
