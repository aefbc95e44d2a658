#include "sched/sampler.h"
#include "base/fault.h"
#include "sched/sampler_internal.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct sampler_ops *const all[] = {
	[SW_SAMPLER_RANDOM] = &sw_sampler_random_ops,
	[SW_SAMPLER_GRID] = &sw_sampler_grid_ops,
};

#define ALL_N (sizeof all / sizeof all[0])

sw_status sw_sampler_find(const char *name, enum sw_sampler_kind *out)
{
	for (size_t i = 0; i < ALL_N; i++) {
		if (strcmp(name, all[i]->name) == 0) {
			*out = (enum sw_sampler_kind)i;
			return SW_OK;
		}
	}
	return SW_INVALID;
}

sw_status sw_sampler_create(struct sw_sampler **out, enum sw_sampler_kind kind,
			    const struct sw_space *space, uint64_t seed, struct sw_err *err)
{
	assert((size_t)kind < ALL_N);
	*out = NULL;
	struct sw_sampler *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
	*s = (struct sw_sampler){.ops = all[kind], .space = space, .seed = seed};
	const sw_status rc = s->ops->start(s, err);
	if (rc != SW_OK) {
		sw_sampler_destroy(s);
		return rc;
	}
	*out = s;
	return SW_OK;
}

void sw_sampler_destroy(struct sw_sampler *s)
{
	free(s);
}

uint64_t sw_sampler_points(const struct sw_sampler *s)
{
	return s->points;
}

sw_status sw_sampler_next(struct sw_sampler *s, uint64_t trial, struct sw_value *values)
{
	assert(trial >= 1);
	if (s->points != 0 && trial > s->points)
		return SW_EXHAUSTED;
	s->ops->point(s, trial, values);
	return SW_OK;
}
