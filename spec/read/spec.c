#include "spec/spec.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/read/read.h"
#include "spec/warn/warn.h"
#include <stddef.h>
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
	"parallel",   "executor",
};

/* W&B Launch's queues and jobs are on its server. */
#define LAUNCH "it is W&B Launch's; give \"program\" or \"command\""

static const struct sw_spec_hint hints[] = {
	{"job", NULL, LAUNCH},
	{"image_uri", NULL, LAUNCH},
	{"launch", NULL, LAUNCH},
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
	{"scheduler", NULL, NULL},
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

static sw_status read_lease(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsNumber(v))
		return sw_spec_must_be(v, "lease_s", "a number of seconds", err);
	if (v->valuedouble <= 0 || v->valuedouble > 1e9)
		return sw_spec_key_wrong("lease_s", err, "must be above 0 and at most 1e9 seconds");
	s->lease_s = v->valuedouble;
	return SW_OK;
}

/* W&B's engine "wandb" is its own search, which "method" names. */
static sw_status read_scheduler(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *engine = sw_json_get(v, "engine");

	(void)s;
	if (engine == NULL)
		return sw_spec_key_wrong("scheduler", err,
					 "is not supported by this version: " LAUNCH
					 "; a pruner is \"early_terminate\"");
	if (cJSON_GetArraySize(v) > 1 || !cJSON_IsString(engine) ||
	    strcmp(engine->valuestring, "wandb") != 0)
		return sw_spec_key_wrong("scheduler", err,
					 "is not supported by this version, but for {\"engine\": "
					 "\"wandb\"}: \"method\" says how to search");
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

/* clang-format off */
/* Numbers whose key is the name of their field. */
#define AT(name) .key = #name, .field = offsetof(struct sw_spec, name)
#define COUNT(name, least, most) {AT(name), .count = true, .min = (least), .max = (most)}
#define REAL(name, most) {AT(name), .max = (most)}
/* clang-format on */

/* The order matters: trainer needs the parameters, early_terminate the trainer's epochs
 * and run_cap, and several metrics rule out what comes after them. */
static const struct key_reader {
	const char *key;
	const char *missing; /* not NULL: the key is required, and this is the line's end */
	const char *instead; /* another key that may stand for it */
	bool (*spared)(const struct sw_spec *s); /* not NULL: this spec may lack it after all */
	sw_status (*read)(struct sw_spec *s, const cJSON *v, struct sw_err *err);
	/* read NULL: a number, a uint64_t from min to max, or a double above 0. */
	size_t field;
	bool count;
	double min, max;
} readers[] = {
	{.key = "scheduler", .read = read_scheduler},
	{.key = "name", .read = read_name},
	{.key = "description", .read = read_description},
	{.key = "method", .read = sw_spec_method_read},
	{.key = "seed", .read = read_seed},
	{.key = "metric",
	 .missing =
		 "is missing: {\"name\": ..., \"goal\": \"minimize\"} (only random, grid and sobol "
		 "go without, where no \"trainer\", \"early_terminate\" or \"plateau\" is)",
	 .instead = "metrics",
	 .spared = sw_spec_metric_spared,
	 .read = sw_spec_metric_read},
	{.key = "metrics", .read = sw_spec_metrics_read},
	{.key = "parameters",
	 .missing = "is missing: what to search over",
	 .read = sw_spec_parameters_read},
	{.key = "constraints", .read = sw_spec_constraints_read},
	{.key = "init", .read = sw_spec_init_read},
	{.key = "warm_start", .read = sw_spec_warm_start_read},
	{.key = "refine", .read = sw_spec_refine_check},
	{.key = "shuffle", .read = sw_spec_shuffle_read},
	COUNT(suggest_wait_ms, 0, 60000),
	{.key = "run_cap", .read = sw_spec_run_cap_read},
	COUNT(max_concurrent, 1, 1000000),
	REAL(time_budget_s, SW_SPEC_MAX_TIME_S),
	REAL(gpu_hours, SW_SPEC_MAX_GPU_HOURS),
	REAL(weight, SW_SPEC_MAX_WEIGHT),
	{.key = "plateau", .read = sw_spec_plateau_read},
	COUNT(retries, 0, 100),
	{.key = "lease_s", .read = read_lease},
	{.key = "resources", .read = sw_spec_resources_read},
	{.key = "parallel", .read = sw_spec_parallel_read},
	{.key = "executor", .read = sw_spec_executor_read},
	{.key = "trainer", .read = read_trainer},
	{.key = "program", .read = sw_spec_program_read},
	{.key = "command", .read = sw_spec_command_read},
	{.key = "run", .read = sw_spec_run_read},
	{.key = "checkpoint", .read = sw_spec_checkpoint_read},
	{.key = "early_terminate", .read = sw_spec_early_terminate_read},
};

const struct sw_spec_keys *sw_spec_top_keys(void)
{
	static const struct sw_spec_keys keys = {known_keys, SW_SPEC_N(known_keys), hints,
						 SW_SPEC_N(hints)};

	return &keys;
}

static sw_status read_number(struct sw_spec *s, const struct key_reader *r, const cJSON *v,
			     struct sw_err *err)
{
	void *field = (char *)s + r->field;

	return r->count
		       ? sw_spec_read_u64(v, r->key, (uint64_t)r->min, (uint64_t)r->max, field, err)
		       : sw_spec_read_real(v, r->key, 0, true, r->max, field, err);
}

static sw_status read_all(struct sw_spec *s, struct sw_err *err)
{
	sw_status rc = sw_spec_check_keys(s->tree, sw_spec_top_keys(), err);
	for (size_t i = 0; rc == SW_OK && i < SW_SPEC_N(readers); i++) {
		const cJSON *v = sw_json_get(s->tree, readers[i].key);
		if (v != NULL)
			rc = readers[i].read != NULL ? readers[i].read(s, v, err)
						     : read_number(s, &readers[i], v, err);
		else if (readers[i].missing != NULL &&
			 (readers[i].instead == NULL ||
			  sw_json_get(s->tree, readers[i].instead) == NULL) &&
			 (readers[i].spared == NULL || !readers[i].spared(s)))
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
	/* Stored specs without a method were searched by it, so this default must not change. */
	s->method = "bayes";
	s->retries = 2;
	s->suggest_wait_ms = 50;
	s->cpu = 1;
	s->weight = 1;
	s->job_shape = SW_SPEC_SHAPE_USUAL;
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

sw_status sw_spec_parse(struct sw_spec **out, const char *text, size_t len, struct sw_err *err)
{
	cJSON *tree = NULL;
	sw_status rc = sw_json_parse(&tree, text, len, err);

	*out = NULL;
	if (rc == SW_OK)
		rc = sw_spec_read(out, tree, err);
	cJSON_Delete(tree);
	return rc;
}

void sw_spec_destroy(struct sw_spec *s)
{
	if (s == NULL)
		return;
	sw_spec_space_fini(s);
	cJSON_Delete(s->usual_command);
	free(s->job_options);
	cJSON_Delete(s->tree);
	free(s);
}
