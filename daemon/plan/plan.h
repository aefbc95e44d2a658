/* daemon/plan/plan.h — from a spec (proto) to the scheduler's configuration (sched), and values
 * back to JSON. */
#ifndef SW_DAEMON_PLAN_PLAN_H
#define SW_DAEMON_PLAN_PLAN_H

#include "base/buf.h"
#include "base/status.h"
#include "sched/pruner/pruner.h"
#include "sched/sweep/sweep.h"
#include "spec/spec.h"

/* Trials of earlier sweeps in this sweep's space, with their metrics as they were reported. */
struct sw_plan_priors {
	struct sw_value *values; /* [n][parameters] */
	double *y;               /* [n][metrics] */
	size_t n, cap;
};

/* Builds the state machine of a spec. seed is used where the spec has none; priors (NULL: none) are
 * what its sampler learns from beforehand, copied. Errors carry pointers into the spec
 * ("/parameters/lr/min"). *out is the caller's. */
SW_NODISCARD sw_status sw_plan_build(struct sw_sweep **out, const struct sw_spec *spec,
				     uint64_t seed, const struct sw_plan_priors *priors,
				     struct sw_err *err);

/* Notes each parameter whose range the space does not take. Those that are known to be wrong are
 * passed over. SW_NOMEM. */
SW_NODISCARD sw_status sw_plan_ranges(const struct sw_spec *spec, struct sw_faults *f);

/* The search space alone: sealed. *out is the caller's on SW_OK. */
SW_NODISCARD sw_status sw_plan_space(struct sw_space **out, const struct sw_spec *spec,
				     struct sw_err *err);

/* A pruner as sched wants it, for which lower is better: where the metric is maximized, a
 * threshold's bounds turn round. */
struct sw_pruner_config sw_plan_pruner(const struct sw_pruner_config *p, bool maximize);

/* --- values and JSON (daemon/plan/plan_params.c) --- */

/* A number of a parameter that draws numbers: 4, or of one that draws reals 4.0, which is another
 * value to many programs. Whoever writes one does it by this. */
void sw_plan_number(struct sw_jw *w, const struct sw_spec_param *p, double v);

/* Appends the parameters of a trial as a JSON object: the active ones, in the order of the spec,
 * those of a group in an object of the group's name. O(n) in the parameters. */
void sw_plan_params(const struct sw_spec *spec, const struct sw_space *space,
		    const struct sw_value *values, struct sw_buf *out);

/* The way back: params is an object as sw_plan_params() writes it, or with the names of grouped
 * parameters in full ("opt.wd": 0.1). values[n]: what was given; for the rest the value at the
 * middle of the unit interval. given[n]: which were; a constant counts as given. A value one
 * rounding beside its grid (0.1 + 0.2 for 0.3) is moved onto it; any other comes back bit for bit.
 * SW_INVALID with a pointer into params: no object, a name that no parameter has, one given twice,
 * a value that the parameter lacks, or a parameter that is not active for sure by what is
 * given. Constraints are not looked at. */
SW_NODISCARD sw_status sw_plan_read(const struct sw_spec *spec, const struct sw_space *space,
				    const cJSON *params, struct sw_value *values, bool *given,
				    struct sw_err *err);

/* The first parameter that is active and was not given, or n: then the point is whole. */
size_t sw_plan_missing(const struct sw_space *space, const struct sw_value *values,
		       const bool *given);

/* Do the constraints hold at a whole point? SW_INVALID without a pointer, with the text of the one
 * that does not. */
SW_NODISCARD sw_status sw_plan_feasible(const struct sw_spec *spec, const struct sw_space *space,
					const struct sw_value *values, struct sw_err *err);

/* One parameter's value from JSON, checked and put onto its grid. SW_INVALID without a pointer. */
SW_NODISCARD sw_status sw_plan_value(const struct sw_spec *spec, const struct sw_space *space,
				     size_t i, const cJSON *v, struct sw_value *out,
				     struct sw_err *err);

/* --- what a search starts from (daemon/plan/plan_search.c) --- */

/* A whole point from JSON: what is given is kept, the rest is drawn at random by (seed, number).
 * The constraints hold. Errors as sw_plan_read() and sw_plan_feasible(). */
SW_NODISCARD sw_status sw_plan_point(const struct sw_spec *spec, const struct sw_space *space,
				     const cJSON *params, uint64_t seed, uint64_t number,
				     struct sw_value *values, struct sw_err *err);
/* *out: values[spec->n_init][n], the caller's to free; NULL if there are no points. Errors at
 * "/init/<i>...". */
SW_NODISCARD sw_status sw_plan_init(const struct sw_spec *spec, const struct sw_space *space,
				    uint64_t seed, struct sw_value **out, struct sw_err *err);

void sw_plan_priors_fini(struct sw_plan_priors *p);
/* Both copy. */
SW_NODISCARD sw_status sw_plan_priors_add(struct sw_plan_priors *p, const struct sw_space *space,
					  const struct sw_value *values, const double *y,
					  size_t n_metrics);
/* From the texts that the store keeps. */
SW_NODISCARD sw_status sw_plan_priors_read(struct sw_plan_priors *p, const struct sw_spec *spec,
					   const struct sw_space *space, const char *params,
					   const char *y_text, struct sw_err *err);

#endif
