/*
 * sched/pruner/pruner_internal.h — the table of functions that each pruner fills in. Its object
 * begins with a struct sw_pruner, so that the one is cast to the other.
 */
#ifndef SW_SCHED_PRUNER_PRUNER_INTERNAL_H
#define SW_SCHED_PRUNER_PRUNER_INTERNAL_H

#include "sched/pruner/pruner.h"
#include "sched/pruner/rungs.h"

/* A pruner's functions, as sched/pruner/pruner.h describes each. NULL: the pruner has no such thing
 * (the answer is 0, or nothing is done). Questions about rungs are answered by
 * sched/pruner/pruner.c from the object's rungs. */
struct sw_pruner_ops {
	size_t size;                       /* of the object */
	void (*fini)(struct sw_pruner *p); /* frees what it owns beside its rungs */
	/* *out is a CONTINUE that judged nothing, step > t->step. */
	sw_status (*report)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			    uint64_t step, double value, bool last, struct sw_judgement *out);
	/* The trial has left the queue already. */
	void (*ended)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
		      bool completed);
	uint64_t (*next)(const struct sw_pruner *p);
	uint64_t (*next_n)(const struct sw_pruner *p, uint64_t most);
	void (*resumed)(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t);
	uint64_t (*until)(const struct sw_pruner *p, const struct sw_prune_trial *t);
	void (*turn)(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		     struct sw_pruner_turn *out);
	double (*rung_cutoff)(const struct sw_pruner *p, uint32_t bracket, size_t k);
	void (*explain)(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX]);
	void (*invariant)(const struct sw_pruner *p); /* beside that of its rungs */
};

struct sw_pruner {
	const struct sw_pruner_ops *ops;
	struct sw_pruner_config config; /* its own part of it is what counts */
	uint64_t seed;
	uint64_t pending, unmade; /* pbt: who waits outside the queue */
	struct sw_rungs rungs;    /* its n is 0 where there are none */
};

/* Each asserts what schema.json and spec/read/pruner.c hold of its part of the configuration, and
 * makes the object with sw_pruner_new(). */
typedef sw_status sw_pruner_make(struct sw_pruner **out, const struct sw_pruner_config *config,
				 struct sw_err *err);
#define SW_ROW(name, KIND) sw_pruner_make sw_##name##_make;
SW_PRUNERS(SW_ROW, SW_ROW)
#undef SW_ROW

/* An object of ops->size bytes, all 0 but its table and its configuration; n rungs are copied into
 * it, where it has any. */
SW_NODISCARD sw_status sw_pruner_new(struct sw_pruner **out, const struct sw_pruner_ops *ops,
				     const struct sw_pruner_config *config,
				     const uint64_t *rung_step, size_t n, uint32_t brackets,
				     struct sw_err *err);

/* Optuna's intervals, from step `warmup` on: is this the first report at or above the last of the
 * steps warmup + k * interval that it has reached? before: the report before it; 0: none. */
bool sw_pruner_in_interval(uint64_t step, uint64_t before, uint64_t warmup, uint64_t interval);

#endif
