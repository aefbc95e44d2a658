/*
 * spec/spec.h — the sweep spec: JSON in, a checked plain struct out. docs/spec.md lists every key.
 *
 * What is checked here is form: known keys (the nearest one suggested), types, which keys go
 * together, names. What the numbers mean (ranges, rungs, grids) is checked by sched, and all that
 * stands below "trainer" by a worker (trainer/check.h): it passes unread but for the epochs, the
 * precision, and which parameters the model names. Every error has the JSON pointer of the field
 * inside the spec.
 * Memory   The struct owns the tree it was read from; strings and arrays point into it.
 */
#ifndef SW_SPEC_SPEC_H
#define SW_SPEC_SPEC_H

#include "base/pruning.h"
#include "base/space.h"
#include "base/status.h"
#include "proto/form.h"
#include "proto/json.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SPEC_MAX_NAME       64    /* bytes of a sweep's or metric's name */
#define SW_SPEC_MAX_PARAM_NAME 128   /* bytes of a parameter's, with those of its groups */
#define SW_SPEC_MAX_RANKS      64    /* slots of one trial */
#define SW_SPEC_MAX_GROUPS     256   /* groups of parameters */
#define SW_SPEC_MAX_WHEN       20000 /* values that all the conditions list */
#define SW_SPEC_MAX_TEXT       1000  /* bytes of a constraint */
#define SW_SPEC_MAX_METRICS    8
#define SW_SPEC_MAX_WEIGHT     1e6
#define SW_SPEC_MAX_TIME_S     1e9
#define SW_SPEC_MAX_GPU_HOURS  1e6
#define SW_SPEC_MAX_EXECUTOR   10   /* bytes of an executor's name */
#define SW_SPEC_MAX_OPTIONS    4096 /* bytes of its options, with the NUL */

#define SW_SPEC_SHAPE_USUAL 1 /* of jobs with the daemon's own options */

#define SW_SPEC_MAX_INIT 1000
#define SW_SPEC_MAX_WARM 64

#define SW_SPEC_MAX_WARNINGS 16 /* more are dropped: nobody reads them */

/* {"opt": {"parameters": {...}}}: a group. In the JSON of a trial it is an object again. */
struct sw_spec_group {
	const char *key;
	const struct sw_spec_group *parent; /* NULL: stands at the top */
	const cJSON *when;                  /* or NULL; what it says holds for all inside */
};

struct sw_spec_value {
	const cJSON *v;
	size_t i;
};

/* One parameter, after W&B's defaults: "value" makes a constant, "values" a categorical, "min" and
 * "max" an int_uniform if both are integers, else a uniform, and with "q" a q_uniform. Aliases are
 * resolved. W&B's log_uniform, inv_log_uniform and q_log_uniform, whose bounds are exponents of e,
 * are the _values form here, with values for min and max. "probabilities" gives weights. */
struct sw_spec_param {
	const char *name;                  /* with its groups': "opt.wd" */
	const char *key;                   /* its own: "wd" */
	const struct sw_spec_group *group; /* NULL: stands at the top */
	const cJSON *when;                 /* its own, or NULL */
	bool wrong;                        /* it has a fault: only its name is known */
	enum sw_dist dist;
	bool has_min, has_max, has_q;
	bool integers; /* a number that it draws is written as 4; else as 4.0 */
	double min, max;
	double q;              /* default 1 */
	double mu, sigma;      /* default 0, 1 */
	const cJSON *values;   /* categorical: the array, each value once */
	cJSON *merged;         /* that array where the spec's lists a value twice; owned, or NULL */
	const cJSON *value;    /* constant: any JSON value */
	const double *weights; /* or NULL; as many as values */
	size_t n_values;
	struct sw_spec_value *sorted; /* the values, for sw_spec_value_find() */
};

/* child is active only where parent is active and has one of the values. */
struct sw_spec_cond {
	size_t child, parent;
	const struct sw_spec_group *group; /* whose "when" says so; NULL: the child's own */
	const cJSON *allowed;              /* an array of them, or the one (n is 1) */
	size_t n;
};

struct sw_spec_constraint {
	const char *text;
	struct sw_constraint rule; /* its terms are owned */
};

/* The sweep ends when the best `top` completed trials no longer differ. */
struct sw_spec_plateau {
	uint64_t top;      /* default 10, at least 2; 0: no plateau was asked for */
	double std;        /* default 0.001 */
	uint64_t patience; /* default 0 */
};

/* Which checkpoints of its trials a sweep keeps (docs/checkpoint.md). */
enum sw_spec_keep {
	SW_SPEC_KEEP_BEST_AND_LAST, /* of trials that have ended: the best one's, the last one's */
	SW_SPEC_KEEP_ALL,
	SW_SPEC_KEEP_NONE /* none are written either, but for trials that pause */
};

struct sw_spec_checkpoint {
	uint64_t every; /* epochs; 0: by time */
	enum sw_spec_keep keep;
	uint64_t max_mb; /* of a million bytes; 0: no budget */
};

struct sw_spec_metric {
	const char *name;
	bool maximize;      /* default minimize */
	bool has_reference; /* of several metrics: where their hypervolume is measured from */
	double reference;
};

struct sw_spec {
	cJSON *tree;              /* the whole spec as it was given; owned */
	struct sw_faults *faults; /* while it is read */
	const char *name;         /* default "sweep" */
	const char *method;       /* of base/sampling.h */
	uint64_t seed;            /* below 2^53; has_seed false: the daemon draws one */
	bool has_seed;
	size_t n_metrics; /* 0: trials are not compared; 1: "metric"; more: "metrics" */
	struct sw_spec_metric metrics[SW_SPEC_MAX_METRICS];
	const char *metric; /* the first's name; NULL: it has none */
	bool maximize;      /* of the first */
	/* In the order of the spec, those of a group together; at least one. */
	struct sw_spec_param *params;
	size_t n_params;
	struct sw_spec_group *groups;
	size_t n_groups;
	struct sw_spec_cond *conds; /* in the order of the children */
	size_t n_conds;
	struct sw_spec_constraint *constraints;
	size_t n_constraints;
	struct sw_pruner_config pruner; /* "early_terminate" */
	bool has_target;                /* metric.target; of one metric only */
	double target;
	struct sw_spec_plateau plateau;
	const cJSON *init; /* the user's points, tried first: objects; NULL: none */
	size_t n_init;
	uint64_t warm_start[SW_SPEC_MAX_WARM]; /* sweeps to learn from */
	size_t n_warm_start;
	bool shuffle;             /* grid */
	uint64_t suggest_wait_ms; /* default 50 */
	uint64_t run_cap;         /* 0: none given */
	uint64_t max_concurrent;  /* 0: none given */
	double time_budget_s;     /* 0: none given */
	double gpu_hours;         /* 0: none given */
	double weight;            /* default 1 */
	uint64_t retries;         /* default 2 */
	double lease_s;           /* 0: none */
	bool needs_gpu;           /* resources.gpu > 0 */
	double gpu;   /* resources.gpu: the part of one, or how many; 0: not given; -1: it is 0 */
	unsigned cpu; /* resources.cpu: cores of a program, default 1 */
	unsigned cpu_slots;    /* resources.cpu_slots: whole CPU slots; 0: not given */
	unsigned data_ranks;   /* parallel.data: ranks that share a batch; 0: no "parallel" */
	unsigned stages;       /* parallel.pipeline, of each of them; 0: no "parallel" */
	unsigned microbatches; /* parallel.microbatches: of a pipeline of several stages; else 0 */
	bool sync_batchnorm;   /* parallel.sync_batchnorm: statistics of all ranks' rows */
	bool visible_uuid;     /* run.visible "uuid" */
	bool launch_ranks;     /* run.launch "rank": a process for each of them, or for each GPU */
	struct sw_spec_checkpoint checkpoint;
	const char *executor; /* the name in "executor"; NULL: not given */
	/* Its options over the daemon's own, or NULL: lines key=value in the order of the keys, of
	 * which `time` is in seconds; an empty value takes the daemon's away. Owned. */
	char *job_options;
	/* The same number for the same options, from 1 to 2^62 + 1; SW_SPEC_SHAPE_USUAL without
	 * any. */
	uint64_t job_shape;
	/* One of trainer and command runs the trials. If both are NULL a client does, by ask,
	 * report and tell. */
	const cJSON *trainer;
	const char *precision; /* the trainer's, a word; NULL: fp32 */
	const cJSON *command;  /* of the spec, or usual_command */
	const char *program;   /* of a command: for ${program}; NULL: none */
	const cJSON *run;      /* of a command: cwd (always), env, on_oom, and limits */
	cJSON *usual_command;  /* what "program" alone stands for; owned */
	size_t n_warnings;     /* what is allowed, but likely a mistake */
	struct sw_err warnings[SW_SPEC_MAX_WARNINGS];
};

/* "refine": the ranges of the best of an earlier sweep. Whoever takes a spec resolves it, before it
 * is read, into "parameters" (daemon/plan/refine.c); in a spec that has both, it is history. */
struct sw_spec_refine {
	uint64_t of;  /* the sweep */
	uint64_t top; /* how many of its best trials span the ranges */
};
SW_NODISCARD sw_status sw_spec_refine_read(struct sw_spec_refine *out, const cJSON *refine,
					   struct sw_err *err);

/* spec: borrowed; a copy is kept. *out is the caller's on SW_OK. */
SW_NODISCARD sw_status sw_spec_read(struct sw_spec **out, const cJSON *spec, struct sw_err *err);
/* The same, with all faults. *out is what could be read beside them, to look at its parameters and
 * its command alone; the caller's. SW_NOMEM. */
SW_NODISCARD sw_status sw_spec_read_all(struct sw_spec **out, const cJSON *spec,
					struct sw_faults *f);
/* The same from a text, as the store has it. *out is NULL unless SW_OK. */
SW_NODISCARD sw_status sw_spec_parse(struct sw_spec **out, const char *text, size_t len,
				     struct sw_err *err);
void sw_spec_destroy(struct sw_spec *s); /* NULL is allowed */

/* An "early_terminate" other than the spec's own, for the same sweep; *out is zeroed first. Errors
 * are relative to it ("/max_t"). */
SW_NODISCARD sw_status sw_spec_pruner_read(struct sw_pruner_config *out, const struct sw_spec *s,
					   const cJSON *early_terminate, struct sw_err *err);
/* "5400" or "1:30:00" of a job, in seconds: from a minute to a year. */
bool sw_spec_job_time(const char *text, unsigned *out);
/* Does a client run the trials, by ask, report and tell? */
bool sw_spec_driven(const struct sw_spec *s);
/* The processes of a trial with "parallel": rank d * stages + s has stage s of the d-th part of
 * each batch. 0: no "parallel". */
static inline unsigned sw_spec_ranks(const struct sw_spec *s)
{
	return s->data_ranks * s->stages;
}
/* The step at which a trial ends by the pruner's rungs, max_t; 0: it has no rungs. */
uint64_t sw_spec_max_t(const struct sw_spec *s);

/* The index of a parameter by name, or -1. */
int sw_spec_param_find(const struct sw_spec *s, const char *name);
/* Is there a condition on it? */
bool sw_spec_param_conditional(const struct sw_spec *s, size_t i);

/* The JSON pointer of a parameter in the spec: "/parameters/opt/parameters/wd". */
void sw_spec_param_pointer(const struct sw_spec_param *p, char *ptr, size_t cap);
/* The JSON pointer of a condition: ".../when/NAME". */
void sw_spec_cond_pointer(const struct sw_spec *s, const struct sw_spec_cond *c, char *ptr,
			  size_t cap);

/* The same value: numbers by what they are, everything else by kind and content. */
bool sw_spec_same(const cJSON *a, const cJSON *b);
/* Which of p->values is the same as v; n_values: none. O(log n). */
size_t sw_spec_value_find(const struct sw_spec_param *p, const cJSON *v);

#endif
