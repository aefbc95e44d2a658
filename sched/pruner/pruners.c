#include "sched/pruner/pruners.h"
#include "sched/pruner/pruner_internal.h"
#include <assert.h>

static sw_status make_none(struct sw_pruner **out, const struct sw_pruner_config *config,
			   struct sw_err *err)
{
	static const struct sw_pruner_ops none_ops = {.size = sizeof(struct sw_pruner)};

	return sw_pruner_new(out, &none_ops, config, NULL, 0, 0, err);
}

/* clang-format off */
static sw_pruner_make *const makers[SW_PRUNER_KIND_N] = {
	make_none,
#define SW_ROW(name, KIND) sw_##name##_make,
	SW_PRUNERS(SW_ROW, SW_ROW)
#undef SW_ROW
};
/* clang-format on */

sw_status sw_pruners_create(struct sw_pruner **out, const struct sw_pruner_config *config,
			    uint64_t seed, struct sw_err *err)
{
	*out = NULL;
	assert((unsigned)config->kind < SW_PRUNER_KIND_N);
	const sw_status rc = makers[config->kind](out, config, err);
	if (rc != SW_OK)
		return rc;
	assert(*out != NULL);
	(*out)->seed = seed;
	return SW_OK;
}
