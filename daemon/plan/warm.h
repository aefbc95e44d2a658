/*
 * daemon/plan/warm.h — "warm_start": the finished trials of earlier sweeps, for the sampler to
 * learn from.
 *
 * They are copied when the sweep is submitted, and stored with it: what the earlier sweeps do later
 * changes nothing. A trial counts when it COMPLETED with a value and its parameters lie in the new
 * space; parameters that the new sweep does not have are left out.
 */
#ifndef SW_DAEMON_PLAN_WARM_H
#define SW_DAEMON_PLAN_WARM_H

#include "base/status.h"
#include "daemon/plan/plan.h"
#include <stddef.h>
#include <stdint.h>

#define SW_WARM_MAX ((size_t)2000) /* all of them together, in their order */

struct sw_db;
struct sw_tx;

struct sw_warm {
	size_t n_metrics;
	struct sw_plan_priors priors;
	struct sw_warm_from {
		int64_t sweep, trial;
		char *params; /* as JSON */
	} * from;             /* [priors.n]: what it is a copy of */
	size_t cap;
	size_t outside; /* trials left out because they lie outside the new space */
};

/* Reads the store: a reader's thread. Errors at "/warm_start/<i>": no such sweep, another metric, a
 * parameter that it lacks, no finished trial. */
SW_NODISCARD sw_status sw_warm_read(struct sw_warm *w, const struct sw_spec *spec, struct sw_db *db,
				    struct sw_err *err);
void sw_warm_store(const struct sw_warm *w, int64_t sweep, struct sw_tx *tx);
void sw_warm_fini(struct sw_warm *w);

#endif
