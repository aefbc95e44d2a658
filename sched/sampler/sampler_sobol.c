/* Quasi-random search: scrambled Sobol points, each by its number. A point that breaks a constraint
 * is replaced by random ones, so that those that keep it stay points of the sequence, each once. */
#include "sched/num/sobol.h"
#include "sched/sampler/sampler_internal.h"

/* NOLINTNEXTLINE(misc-redundant-expression): the two are equal today */
_Static_assert(SW_SPACE_MAX_PARAMS <= SW_SOBOL_DIMS, "each parameter has a dimension");

static void point(const struct sw_sampler *s, uint64_t made, uint32_t attempt,
		  struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];

	if (attempt > 0) {
		sw_sampler_random_ops.point(s, made, attempt, values);
		return;
	}
	sw_sobol_point(s->seed, made - 1, sw_space_size(s->space), unit);
	sw_space_decode(s->space, unit, values);
}

const struct sw_sampler_ops sw_sampler_sobol_ops = {.name = "sobol", .point = point};
