/* sched/pruner/pruners.h — every kind of pruner there is: their list, and how one is made. */
#ifndef SW_SCHED_PRUNER_PRUNERS_H
#define SW_SCHED_PRUNER_PRUNERS_H

#include "sched/pruner/pruner.h"

/* NONE is a pruner too: it lets everything go on. The configuration is one that the spec takes, but
 * for "/brackets": SW_INVALID, there are fewer rungs. */
SW_NODISCARD sw_status sw_pruners_create(struct sw_pruner **out,
					 const struct sw_pruner_config *config, uint64_t seed,
					 struct sw_err *err);

#endif
