/*
 * sched/pruner/pruner_internal.h — the table of functions that each pruner fills in. Its object
 * begins with a struct sw_pruner, so that the one is cast to the other.
 */
#ifndef SW_SCHED_PRUNER_PRUNER_INTERNAL_H
#define SW_SCHED_PRUNER_PRUNER_INTERNAL_H

#include "sched/pruner/pruner.h"

/* What sched/pruner/pruner.h says of each. NULL: the pruner has no such thing (the answer is 0, or
 * nothing is done); destroy and report are never NULL. */
struct sw_pruner_ops {
	void (*destroy)(struct sw_pruner *p);
	uint32_t (*bracket)(const struct sw_pruner *p, uint64_t trial);
	void (*begin)(const struct sw_pruner *p, struct sw_prune_trial *t, uint64_t resume_step);
	/* *out is a CONTINUE that judged nothing. */
	sw_status (*report)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			    uint64_t step, double value, bool last, struct sw_judgement *out);
	void (*ended)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
		      bool completed);
	uint64_t (*next)(const struct sw_pruner *p);
	uint64_t (*next_n)(const struct sw_pruner *p, uint64_t most);
	void (*resumed)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t);
	uint64_t (*until)(const struct sw_pruner *p, const struct sw_prune_trial *t);
	uint64_t (*every)(const struct sw_pruner *p);
	void (*place)(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		      struct sw_pruner_place *out);
	uint32_t (*bracket_n)(const struct sw_pruner *p);
	size_t (*rung_n)(const struct sw_pruner *p, uint32_t bracket);
	uint64_t (*rung_step)(const struct sw_pruner *p, uint32_t bracket, size_t k);
	uint64_t (*rung_count)(const struct sw_pruner *p, uint32_t bracket, size_t k);
	double (*rung_cutoff)(const struct sw_pruner *p, uint32_t bracket, size_t k);
	void (*explain)(const struct sw_pruner *p, const struct sw_judgement *j, char *to,
			size_t size);
	size_t (*bytes)(const struct sw_pruner *p);
	void (*invariant)(const struct sw_pruner *p);
};

struct sw_pruner {
	const struct sw_pruner_ops *ops;
	enum sw_pruner_kind kind;
	uint64_t seed;
	uint64_t pending, unmade; /* pbt: who waits outside the queue */
};

/* Each checks its part of the configuration, and makes the object with `ops` set. */
typedef sw_status (*sw_pruner_make)(struct sw_pruner **out, const struct sw_pruner_config *config,
				    struct sw_err *err);
sw_status sw_pruner_make_asha(struct sw_pruner **out, const struct sw_pruner_config *config,
			      struct sw_err *err);
sw_status sw_pruner_make_promote(struct sw_pruner **out, const struct sw_pruner_config *config,
				 struct sw_err *err);
sw_status sw_pruner_make_hyperband(struct sw_pruner **out, const struct sw_pruner_config *config,
				   struct sw_err *err);
sw_status sw_pruner_make_median(struct sw_pruner **out, const struct sw_pruner_config *config,
				struct sw_err *err);
sw_status sw_pruner_make_patience(struct sw_pruner **out, const struct sw_pruner_config *config,
				  struct sw_err *err);
sw_status sw_pruner_make_threshold(struct sw_pruner **out, const struct sw_pruner_config *config,
				   struct sw_err *err);
sw_status sw_pruner_make_pbt(struct sw_pruner **out, const struct sw_pruner_config *config,
			     struct sw_err *err);

/* Optuna's intervals, from step `warmup` on: is this the first report at or above the last of the
 * steps warmup + k * interval that it has reached? before: the report before it; 0: none. */
bool sw_first_in_interval(uint64_t step, uint64_t before, uint64_t warmup, uint64_t interval);

sw_status sw_pruner_no_memory(struct sw_err *err); /* SW_NOMEM, said */

#endif
