/* daemon/sweep/run/suggest_why.h — how a suggestion came about, as it is stored with its trial. */
#ifndef SW_DAEMON_SWEEP_RUN_SUGGEST_WHY_H
#define SW_DAEMON_SWEEP_RUN_SUGGEST_WHY_H

#include "base/buf.h"
#include "sched/sampler/sampler.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_spec;

/* Writes one JSON object. seen: observations there are now. */
void sw_suggest_why(const struct sw_suggestion *s, uint64_t seen, const struct sw_spec *spec,
		    struct sw_buf *out);

#endif
