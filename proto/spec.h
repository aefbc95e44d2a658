/*
 * proto/spec.h — the sweep spec: JSON in, a checked plain struct out. docs/spec.md lists every key.
 *
 * What is checked here is form: known keys (the nearest one suggested), types, which keys go
 * together, names. What the numbers mean (ranges, rungs, grids) is checked by sched, and the model
 * and the data by the worker. Every error has the JSON pointer of the field inside the spec.
 * Memory   The struct owns the tree it was read from; strings and arrays point into it.
 */
#ifndef SW_PROTO_SPEC_H
#define SW_PROTO_SPEC_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SPEC_MAX_NAME   64    /* bytes of a sweep's, parameter's or metric's name */
#define SW_SPEC_MAX_PARAMS 256   /* parameters of a sweep */
#define SW_SPEC_MAX_VALUES 10000 /* values of one parameter */

#define SW_SPEC_MAX_WARNINGS 16 /* more are dropped: nobody reads them */

/* One parameter. `dist` is the W&B name after defaults were applied (W&B's rules: "value" makes a
 * constant, "values" a categorical, "min" and "max" int_uniform when both are integers and uniform
 * otherwise, with "q" q_uniform), aliases resolved to one of:
 *   constant categorical int_uniform uniform log_uniform_values inv_log_uniform_values q_uniform
 *   q_log_uniform_values pow2 normal q_normal log_normal q_log_normal
 * W&B's log_uniform, inv_log_uniform and q_log_uniform, whose bounds are exponents of e, arrive
 * here as the _values form with min and max turned into values. "probabilities" gives weights. */
struct sw_spec_param {
	const char *name;
	const char *dist;
	bool has_min, has_max, has_q;
	double min, max;
	double q;              /* default 1 */
	double mu, sigma;      /* default 0, 1 */
	const cJSON *values;   /* categorical: the array */
	const cJSON *value;    /* constant: any JSON value */
	const double *weights; /* or NULL; as many as values */
	size_t n_values;
};

struct sw_spec_asha {
	uint64_t grace_period;     /* default 1 */
	uint64_t max_t;            /* default: the trainer's epochs, else 100 */
	uint64_t reduction_factor; /* default 4, as Ray's */
	uint64_t brackets;         /* default 1 */
	uint64_t min_results;      /* default: reduction_factor */
};

struct sw_spec {
	cJSON *tree;        /* the whole spec as it was given; owned */
	const char *name;   /* default "sweep" */
	const char *method; /* "random", "grid"; required */
	uint64_t seed;      /* below 2^53; has_seed false: the daemon draws one */
	bool has_seed;
	const char *metric;           /* required */
	bool maximize;                /* default minimize */
	struct sw_spec_param *params; /* in the order of the spec; at least one */
	size_t n_params;
	bool has_asha;
	struct sw_spec_asha asha;
	uint64_t run_cap;        /* 0: none given */
	uint64_t max_concurrent; /* 0: none given */
	uint64_t retries;        /* default 2 */
	double lease_s;          /* 0: none */
	bool needs_gpu;          /* resources.gpu >= 1 */
	unsigned cpu;            /* resources.cpu, default 1; no effect yet */
	const cJSON *trainer;    /* NULL: the client drives the trials by ask, report and tell */
	size_t n_warnings;       /* what is allowed, but likely a mistake */
	struct sw_err warnings[SW_SPEC_MAX_WARNINGS];
};

/* spec: borrowed; a copy is kept. *out is the caller's on SW_OK. */
SW_NODISCARD sw_status sw_spec_read(struct sw_spec **out, const cJSON *spec, struct sw_err *err);
void sw_spec_destroy(struct sw_spec *s); /* NULL is allowed */

/* The index of a parameter by name, or -1. */
int sw_spec_param_find(const struct sw_spec *s, const char *name);

#endif
