/* Is there anything to try? Looks at all points if they are few, else at draws, then a walk from
 * the last of them. */
#include "sched/num/rng.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <stdio.h>

uint64_t sw_space_points(const struct sw_space *s)
{
	uint64_t points = 1;

	for (size_t i = 0; i < s->n; i++) {
		const uint64_t levels = s->v[i].levels;

		if (levels == 0 || levels > SW_SPACE_PROBES / points)
			return 0;
		points *= levels;
	}
	return points;
}

void sw_space_point(const struct sw_space *s, uint64_t number, struct sw_value *values)
{
	for (size_t i = s->n; i-- > 0; number /= s->v[i].levels)
		values[i] = sw_space_level(s, i, number % s->v[i].levels);
}

uint64_t sw_space_number(const struct sw_space *s, const struct sw_value *values)
{
	uint64_t number = 0;

	for (size_t i = 0; i < s->n; i++)
		number = number * s->v[i].levels +
			 (uint64_t)(sw_space_index_of(&s->v[i], values[i]) - s->v[i].k_lo);
	return number;
}

static void probe_at(const struct sw_space *s, uint64_t seed, bool all, uint64_t k,
		     struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];

	if (!all) {
		for (size_t i = 0; i < s->n; i++)
			unit[i] = sw_rng_unit(seed, SW_RNG_SAMPLE, k + 1, (uint32_t)i);
		sw_space_decode(s, unit, values);
		return;
	}
	sw_space_point(s, k, values);
}

/* Counts the constraints that the point breaks; false: none. */
static bool count_broken(const struct sw_space *s, const struct sw_value *values, uint32_t *broken)
{
	bool active[SW_SPACE_MAX_PARAMS], any = false;

	sw_space_active(s, values, active);
	for (size_t i = 0; i < s->n_constraints; i++) {
		const bool breaks = sw_space_is_broken(s, &s->constraints[i], values, active, NULL);

		broken[i] += breaks;
		any = any || breaks;
	}
	return any;
}

static sw_status no_point(uint64_t n, uint32_t breaks, size_t worst, bool is_all,
			  struct sw_err *err)
{
	char ptr[48];

	(void)snprintf(ptr, sizeof ptr, "/constraints/%zu", worst);
	if (is_all)
		return sw_err_at(err, SW_INVALID, ptr,
				 "no point of the space meets the constraints: of all its %llu "
				 "this one breaks %lu",
				 (unsigned long long)n, (unsigned long)breaks);
	return sw_err_at(err, SW_INVALID, ptr,
			 "no point was found that meets the constraints, by %llu draws and a walk "
			 "from the last of them; of the draws this one breaks %lu",
			 (unsigned long long)n, (unsigned long)breaks);
}

sw_status sw_space_probe(const struct sw_space *s, uint64_t seed, struct sw_probe *found,
			 struct sw_err *err)
{
	struct sw_probe own, *const p = found != NULL ? found : &own;
	uint32_t broken[SW_SPACE_MAX_CONSTRAINTS] = {0};
	const uint64_t points = sw_space_points(s), n = points > 0 ? points : SW_SPACE_PROBES;
	size_t worst = 0;

	p->is_rare = false;
	/* Each point is one then, so nobody has to look; found->values is not set. */
	if (s->n_constraints == 0)
		return SW_OK;
	/* If all points can be looked at, finding none is a proof. */
	for (uint64_t k = 0; k < n; k++) {
		probe_at(s, seed, points > 0, k, p->values);
		if (!count_broken(s, p->values, broken))
			return SW_OK;
	}
	/* Every draw failed: samplers that read this go to the walk after one. */
	p->is_rare = true;
	if (points == 0 && sw_space_repair(s, seed, 0, NULL, p->values))
		return SW_OK;
	/* The one that most points break is the best guess at what is too strict. */
	for (size_t i = 1; i < s->n_constraints; i++)
		if (broken[i] > broken[worst])
			worst = i;
	return no_point(n, broken[worst], worst, points > 0, err);
}
