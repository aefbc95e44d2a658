#include "sched/sweep/samplers.h"
#include "sched/sampler/sampler_internal.h"
#include <assert.h>
#include <string.h>

static const struct sw_sampler_ops *const all[SW_SAMPLER_KIND_N] = {
#define SW_ROW(name, KIND) &sw_sampler_##name##_ops,
	SW_SAMPLERS(SW_ROW)
#undef SW_ROW
};

sw_status sw_samplers_find(const char *name, enum sw_sampler_kind *out)
{
	for (size_t i = 0; i < SW_SAMPLER_KIND_N; i++) {
		if (strcmp(all[i]->name, name) == 0) {
			*out = (enum sw_sampler_kind)i;
			return SW_OK;
		}
	}
	return SW_INVALID;
}

const char *sw_samplers_name(enum sw_sampler_kind kind)
{
	assert((size_t)kind < SW_SAMPLER_KIND_N);
	return all[kind]->name;
}

sw_status sw_samplers_create(struct sw_sampler **out, const struct sw_sampler_config *config,
			     struct sw_err *err)
{
	assert((size_t)config->kind < SW_SAMPLER_KIND_N);
	return sw_sampler_make(out, all[config->kind], config, err);
}
