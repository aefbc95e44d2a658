#include "spec/spec.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/read/read.h"
#include "spec/warn/warn.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const known_keys[] = {
	"name",       "description",    "method",      "seed",
	"metric",     "metrics",        "parameters",  "early_terminate",
	"run_cap",    "max_concurrent", "retries",     "lease_s",
	"resources",  "trainer",        "constraints", "init",
	"warm_start", "refine",         "shuffle",     "suggest_wait_ms",
	"plateau",    "time_budget_s",  "gpu_hours",   "weight",
	"checkpoint", "command",        "program",     "run",
	"parallel",
};

#define DRIVE "give \"command\", or drive the trials yourself by ask, report and tell"

static const struct sw_spec_hint hints[] = {
	{"job", NULL, DRIVE},
	{"image_uri", NULL, DRIVE},
	{"points_to_evaluate", "init", NULL},
	{"enqueue", "init", NULL},
	{"$schema", NULL, NULL},
	{"project", NULL, NULL},
	{"entity", NULL, NULL},
	{"controller", NULL, NULL},
	{"apiVersion", NULL, NULL},
	{"kind", NULL, NULL},
	{"num_samples", "run_cap", NULL},
	{"n_trials", "run_cap", NULL},
	{"max_trials", "run_cap", NULL},
	{"count", "run_cap", NULL},
	{"space", "parameters", NULL},
	{"search_space", "parameters", NULL},
	{"config", "parameters", NULL},
	{"param_space", "parameters", NULL},
	{"scheduler", "early_terminate", NULL},
	{"pruner", "early_terminate", NULL},
	{"sampler", "method", NULL},
	{"search_alg", "method", NULL},
	{"mode", "metric", NULL},
	{"goal", "metric", NULL},
	{"direction", "metric", NULL},
	{"objective", "metric", NULL},
	{"objectives", "metrics", NULL},
	{"directions", "metrics", NULL},
	{"max_failures", "retries", NULL},
	{"max_concurrent_trials", "max_concurrent", NULL},
	{"n_jobs", "max_concurrent", NULL},
	{"timeout", "time_budget_s", NULL},
	{"target", "metric", NULL},
	{"priority", "weight", NULL},
	{"resources_per_trial", "resources", NULL},
	{"checkpoint_config", "checkpoint", NULL},
	{"checkpoints", "checkpoint", NULL},
};

/* --- one reader for each key at the top, called in this file's order --- */

static sw_status read_name(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	return sw_spec_read_label(v, "name", &s->name, err);
}

static sw_status read_description(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)s;
	return cJSON_IsString(v) ? SW_OK : sw_spec_must_be(v, "description", "a string", err);
}

static sw_status read_seed(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	s->has_seed = true;
	return sw_spec_read_u64(v, "seed", 0, (uint64_t)SW_JSON_MAX_INT, &s->seed, err);
}

static sw_status read_retries(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	return sw_spec_read_u64(v, "retries", 0, 100, &s->retries, err);
}

static sw_status read_lease(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsNumber(v))
		return sw_spec_must_be(v, "lease_s", "a number of seconds", err);
	if (v->valuedouble <= 0 || v->valuedouble > 1e9)
		return sw_spec_key_wrong("lease_s", err, "must be above 0 and at most 1e9 seconds");
	s->lease_s = v->valuedouble;
	return SW_OK;
}

static sw_status read_trainer(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "trainer", "an object", err);
	s->trainer = v;
	const sw_status rc = sw_spec_trainer_check(s, err);
	if (rc == SW_OK)
		sw_spec_trainer_precision(s);
	return rc;
}

/* The order matters: trainer needs the parameters, early_terminate the trainer's epochs
 * and run_cap, and several metrics rule out what comes after them. */
static const struct {
	const char *key;
	const char *missing; /* not NULL: the key is required, and this is the line's end */
	const char *instead; /* another key that may stand for it */
	sw_status (*read)(struct sw_spec *s, const cJSON *v, struct sw_err *err);
} readers[] = {
	{"name", NULL, NULL, read_name},
	{"description", NULL, NULL, read_description},
	{"method", "is missing: \"random\", \"bayes\" or another", NULL, sw_spec_method_read},
	{"seed", NULL, NULL, read_seed},
	{"metric", "is missing: {\"name\": ..., \"goal\": \"minimize\"}", "metrics",
	 sw_spec_metric_read},
	{"metrics", NULL, NULL, sw_spec_metrics_read},
	{"parameters", "is missing: what to search over", NULL, sw_spec_parameters_read},
	{"constraints", NULL, NULL, sw_spec_constraints_read},
	{"init", NULL, NULL, sw_spec_init_read},
	{"warm_start", NULL, NULL, sw_spec_warm_start_read},
	{"refine", NULL, NULL, sw_spec_refine_check},
	{"shuffle", NULL, NULL, sw_spec_shuffle_read},
	{"suggest_wait_ms", NULL, NULL, sw_spec_suggest_wait_read},
	{"run_cap", NULL, NULL, sw_spec_run_cap_read},
	{"max_concurrent", NULL, NULL, sw_spec_max_concurrent_read},
	{"time_budget_s", NULL, NULL, sw_spec_time_budget_read},
	{"gpu_hours", NULL, NULL, sw_spec_gpu_hours_read},
	{"weight", NULL, NULL, sw_spec_weight_read},
	{"plateau", NULL, NULL, sw_spec_plateau_read},
	{"retries", NULL, NULL, read_retries},
	{"lease_s", NULL, NULL, read_lease},
	{"resources", NULL, NULL, sw_spec_resources_read},
	{"parallel", NULL, NULL, sw_spec_parallel_read},
	{"trainer", NULL, NULL, read_trainer},
	{"program", NULL, NULL, sw_spec_program_read},
	{"command", NULL, NULL, sw_spec_command_read},
	{"run", NULL, NULL, sw_spec_run_read},
	{"checkpoint", NULL, NULL, sw_spec_checkpoint_read},
	{"early_terminate", NULL, NULL, sw_spec_early_terminate_read},
};

const struct sw_spec_keys *sw_spec_top_keys(void)
{
	static const struct sw_spec_keys keys = {known_keys, SW_SPEC_N(known_keys), hints,
						 SW_SPEC_N(hints)};

	return &keys;
}

static sw_status read_all(struct sw_spec *s, struct sw_err *err)
{
	sw_status rc = sw_spec_check_keys(s->tree, sw_spec_top_keys(), err);
	for (size_t i = 0; rc == SW_OK && i < SW_SPEC_N(readers); i++) {
		const cJSON *v = sw_json_get(s->tree, readers[i].key);
		if (v != NULL)
			rc = readers[i].read(s, v, err);
		else if (readers[i].missing != NULL &&
			 (readers[i].instead == NULL ||
			  sw_json_get(s->tree, readers[i].instead) == NULL))
			rc = sw_spec_key_wrong(readers[i].key, err, readers[i].missing);
	}
	/* What concerns several keys is checked when all have been read. */
	if (rc == SW_OK)
		rc = sw_spec_resources_check(s, err);
	if (rc == SW_OK)
		rc = sw_spec_command_check(s, err);
	if (rc == SW_OK)
		sw_spec_warn_all(s);
	return rc;
}

sw_status sw_spec_read(struct sw_spec **out, const cJSON *spec, struct sw_err *err)
{
	*out = NULL;
	if (!cJSON_IsObject(spec))
		return sw_err_set(err, SW_INVALID, "a sweep spec must be an object, not %s",
				  sw_spec_kind(spec));
	struct sw_spec *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	s->name = "sweep";
	s->retries = 2;
	s->suggest_wait_ms = 50;
	s->cpu = 1;
	s->weight = 1;
	s->precision_param = -1;
	s->refused = (struct sw_err)SW_ERR_INIT;
	/* The struct points into a copy of its own, whatever becomes of the caller's tree. */
	s->tree = cJSON_Duplicate(spec, 1);
	const sw_status rc = s->tree != NULL ? read_all(s, err)
					     : sw_err_set(err, SW_NOMEM, "out of memory");
	if (rc == SW_OK)
		*out = s;
	else
		sw_spec_destroy(s);
	return rc;
}

void sw_spec_destroy(struct sw_spec *s)
{
	if (s == NULL)
		return;
	sw_spec_space_fini(s);
	cJSON_Delete(s->usual_command);
	cJSON_Delete(s->tree);
	free(s);
}
