/* sched/sweep/samplers.h — every kind of sampler there is: their list, and how one is made. */
#ifndef SW_SCHED_SWEEP_SAMPLERS_H
#define SW_SCHED_SWEEP_SAMPLERS_H

#include "sched/sampler/sampler.h"

/* By the name that a spec uses (base/sampling.h). SW_INVALID: there is none. */
SW_NODISCARD sw_status sw_samplers_find(const char *name, enum sw_sampler_kind *out);
const char *sw_samplers_name(enum sw_sampler_kind kind);

/* A sampler that was made has a suggestion for each trial: where constraints leave nothing, or
 * nothing that can be found, it is refused here (sw_space_probe()). Equal points may come again.
 * SW_INVALID with a pointer like "/2/q" (index of the parameter, key) when a grid meets a parameter
 * that has no finite list of values; SW_TOO_BIG when the grid has over 10^9 points. Destroyed by
 * sw_sampler_destroy(). */
SW_NODISCARD sw_status sw_samplers_create(struct sw_sampler **out,
					  const struct sw_sampler_config *config,
					  struct sw_err *err);

#endif
