/* spec/read/read.h — the rules of a spec across its keys, one reader for each part; spec.c calls
 * them in order, when the part has passed the check against schema.json. Pointers in errors are
 * relative to what a function was given; its caller puts its own pointer in front (sw_err_prefix).
 * Internal to spec/. */
#ifndef SW_SPEC_READ_READ_H
#define SW_SPEC_READ_READ_H

#include "spec/keys.h"
#include "spec/query.h"

/* Notes what is wrong with the keys of one parameter (name, body) at ptr. */
void sw_spec_param_check(const cJSON *v, const char *ptr, struct sw_faults *f);
/* Reads one that passed into *p. Weights are the caller's to free. A likely mistake goes to
 * *warning. */
SW_NODISCARD sw_status sw_spec_param_read(struct sw_spec_param *p, const cJSON *v,
					  struct sw_err *warning, struct sw_err *err);

/* Refuses a whole number of 2^53 or more, of which a double loses digits, in v or deep inside. */
SW_NODISCARD sw_status sw_spec_check_exact(const cJSON *v, const char *ptr, struct sw_err *err);
/* The list under `key` and "probabilities" (spec/read/values.c); none is no error. */
SW_NODISCARD sw_status sw_spec_values_read(struct sw_spec_param *p, const cJSON *v, const char *key,
					   struct sw_err *err);
SW_NODISCARD sw_status sw_spec_weights_read(struct sw_spec_param *p, const cJSON *v,
					    struct sw_err *err);
/* After both: a value that is listed twice becomes one, of the weight of both. */
SW_NODISCARD sw_status sw_spec_values_merge(struct sw_spec_param *p, struct sw_err *warning,
					    struct sw_err *err);

/* "parameters": fills params and groups, then conds. Notes the faults of each parameter. Errors and
 * warnings are relative to the spec. */
SW_NODISCARD sw_status sw_spec_parameters_read(struct sw_spec *s, const cJSON *v,
					       struct sw_err *err);
/* The conditions of the parameters that have been read. */
SW_NODISCARD sw_status sw_spec_when_read(struct sw_spec *s, struct sw_err *err);
/* "constraints", read after "parameters". Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_constraints_read(struct sw_spec *s, const cJSON *v,
						struct sw_err *err);
/* Frees params, groups, conds and constraints. */
void sw_spec_space_fini(struct sw_spec *s);

/* "metric" and "metrics". Errors are relative to the spec. */
/* Does the search compare no trials, so that a spec without both is whole? */
bool sw_spec_metric_spared(const struct sw_spec *s);
SW_NODISCARD sw_status sw_spec_metric_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_metrics_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);

/* What the search starts from (spec/read/search.c). Errors are relative to the
 * spec. */
SW_NODISCARD sw_status sw_spec_init_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_warm_start_read(struct sw_spec *s, const cJSON *v,
					       struct sw_err *err);
SW_NODISCARD sw_status sw_spec_shuffle_check(struct sw_spec *s, const cJSON *v, struct sw_err *err);

/* "early_terminate", read after "trainer". Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_early_terminate_read(struct sw_spec *s, const cJSON *v,
						    struct sw_err *err);
/* As far as it has been read: its keys have filled *out. */
struct sw_spec_pruner_reading {
	struct sw_pruner_config *out;
	const struct sw_spec *spec;
	const struct sw_form *form; /* the type's */
	const cJSON *v;
};
/* What the keys of "pbt" mean together, and with the space (spec/read/pbt.c). */
SW_NODISCARD sw_status sw_spec_pbt_rules(struct sw_spec_pruner_reading *r, struct sw_err *err);

/* When a sweep ends (spec/read/budget.c). Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_plateau_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);

/* "resources" and "parallel" (spec/read/resources.c), and whether they suit each other and what
 * runs the trials, all of which have been read. Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_resources_read(struct sw_spec *s, const cJSON *v,
					      struct sw_err *err);
SW_NODISCARD sw_status sw_spec_parallel_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_resources_check(const struct sw_spec *s, struct sw_err *err);

/* "executor" (spec/read/executor.c). Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_executor_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);

/* "checkpoint", read after "trainer". Errors are relative to the spec. */
SW_NODISCARD sw_status sw_spec_checkpoint_read(struct sw_spec *s, const cJSON *v,
					       struct sw_err *err);

/* "command", "program" and "run" (spec/read/command.c), and whether they suit each other. Errors
 * are relative to the spec. */
SW_NODISCARD sw_status sw_spec_command_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_program_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_run_read(struct sw_spec *s, const cJSON *v, struct sw_err *err);
SW_NODISCARD sw_status sw_spec_command_check(struct sw_spec *s, struct sw_err *err);

#endif
