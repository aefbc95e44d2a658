/* "resources" and "parallel": the slots that a trial takes, and how they work on it together. */
#include "proto/json.h"
#include "spec/read/read.h"
#include <math.h>
#include <string.h>

/* --- "resources": errors are relative to it --- */

static sw_status read_gpu(struct sw_spec *s, const cJSON *gpu, struct sw_err *err)
{
	const double n = cJSON_IsNumber(gpu) ? gpu->valuedouble : -1;

	if (!(n >= 0) || n > SW_SPEC_MAX_RANKS || (n > 1 && n != floor(n)))
		return sw_spec_key_wrong("gpu", err,
					 "must be a part of a GPU, 0 to 1, or a whole number of "
					 "GPUs, at most 64");
	s->needs_gpu = n > 0;
	s->gpu = s->needs_gpu ? n : -1;
	return SW_OK;
}

static sw_status resource_fields(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"cpu", "gpu", "cpu_slots"};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), NULL, 0};
	const cJSON *gpu = sw_json_get(v, "gpu");
	uint64_t cpu = s->cpu, slots = 0;

	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "cpu", 1, 1024, &cpu, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "cpu_slots", 1, SW_SPEC_MAX_RANKS, &slots, err);
	s->cpu = (unsigned)cpu;
	s->cpu_slots = (unsigned)slots;
	if (rc == SW_OK && slots > 0 && (gpu != NULL || sw_json_get(v, "cpu") != NULL))
		return sw_spec_key_wrong("cpu_slots", err,
					 "must be alone: whole CPU slots, with all their cores");
	/* CPU slots say that the trial takes no GPU. */
	if (slots > 0)
		s->gpu = -1;
	return rc != SW_OK || gpu == NULL ? rc : read_gpu(s, gpu, err);
}

sw_status sw_spec_resources_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "resources", "an object like {\"gpu\": 1, \"cpu\": 2}",
				       err);
	const sw_status rc = resource_fields(s, v, err);
	sw_err_prefix(err, "/resources");
	return rc;
}

/* --- "parallel": errors are relative to it --- */

/* The more micro-batches a step has, the less of it each stage waits; with four for each stage, the
 * default, a sixth to a fifth. */
static sw_status read_microbatches(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	uint64_t n = 4 * (uint64_t)s->stages;

	/* With one stage nothing is to be overlapped. */
	if (s->stages <= 1)
		return sw_json_get(v, "microbatches") == NULL
			       ? SW_OK
			       : sw_spec_key_wrong("microbatches", err,
						   "needs a \"pipeline\" of 2 stages or more");
	const sw_status rc = sw_spec_key_u64(v, "microbatches", 1, 1024, &n, err);
	s->microbatches = (unsigned)n;
	return rc;
}

static sw_status read_sync(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_key_bool(v, "sync_batchnorm", &s->sync_batchnorm, err);

	/* Not asked for: each rank has the statistics of its own rows. */
	if (rc != SW_OK || !s->sync_batchnorm)
		return rc;
	if (s->stages > 1)
		return sw_spec_key_wrong("sync_batchnorm", err, "is not for a pipeline");
	return s->data_ranks > 1
		       ? SW_OK
		       : sw_spec_key_wrong("sync_batchnorm", err, "needs \"data\" of 2 or more");
}

static sw_status parallel_fields(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"data", "pipeline", "microbatches", "sync_batchnorm"};
	static const struct sw_spec_hint hints[] = {{"stages", "pipeline", NULL},
						    {"micro_batch", "microbatches", NULL}};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), hints, SW_SPEC_N(hints)};
	uint64_t data = 1, stages = 1;

	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK && sw_json_get(v, "data") == NULL && sw_json_get(v, "pipeline") == NULL)
		rc = sw_err_set(err, SW_INVALID,
				"\"parallel\" needs \"data\", how many slots share each batch, or "
				"\"pipeline\", how many share the layers");
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "data", 1, SW_SPEC_MAX_RANKS, &data, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "pipeline", 1, SW_SPEC_MAX_RANKS, &stages, err);
	s->data_ranks = (unsigned)data;
	s->stages = (unsigned)stages;
	if (rc == SW_OK)
		rc = read_microbatches(s, v, err);
	if (rc == SW_OK)
		rc = read_sync(s, v, err);
	if (rc == SW_OK && sw_spec_ranks(s) > SW_SPEC_MAX_RANKS)
		rc = sw_spec_at_key(err, "pipeline",
				    "%u stages of %u data ranks are %u ranks: at most %d",
				    s->stages, s->data_ranks, sw_spec_ranks(s), SW_SPEC_MAX_RANKS);
	return rc;
}

/* "parallel" is read before the trainer, so that this line comes before one of the trainer's. */
static sw_status check_micro_batch(const struct sw_spec *s, struct sw_err *err)
{
	const cJSON *trainer = sw_json_get(s->tree, "trainer");
	const char *ptr = sw_json_get(trainer, "micro_batch") != NULL ? "/trainer/micro_batch"
			  : sw_spec_param_find(s, "micro_batch") >= 0 ? "/parameters/micro_batch"
								      : NULL;

	/* Nobody asked for parts of a batch. */
	if (trainer == NULL || ptr == NULL)
		return SW_OK;
	/* Ranks could have different numbers of parts, and statistics are over one part of each. */
	if (s->sync_batchnorm)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"micro_batch\" does not go with \"sync_batchnorm\": each rank's "
				 "rows are one part");
	/* Each data rank may take its rows in parts. */
	if (s->stages <= 1)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr,
			 "\"micro_batch\" is not for a pipeline: give parallel.microbatches, the "
			 "number of parts that a batch goes through it in");
}

sw_status sw_spec_parallel_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "parallel", "an object like {\"data\": 2}", err);
	const sw_status rc = parallel_fields(s, v, err);
	sw_err_prefix(err, "/parallel");
	return rc == SW_OK ? check_micro_batch(s, err) : rc;
}

/* --- both, and what runs the trials --- */

/* Are there as many slots as ranks? n: by a key of "resources". */
static sw_status ranks_check(const struct sw_spec *s, double n, const char *key, const char *what,
			     struct sw_err *err)
{
	const cJSON *parallel = sw_json_get(s->tree, "parallel");
	const bool data = sw_json_get(parallel, "data") != NULL,
		   stages = sw_json_get(parallel, "pipeline") != NULL;

	/* Each rank has a slot of its own. */
	if (n == (double)sw_spec_ranks(s))
		return SW_OK;
	if (data && stages)
		return sw_err_at(err, SW_INVALID, "/parallel",
				 "\"data\" %u times \"pipeline\" %u is %u, and \"%s\" is %g: each "
				 "rank has one %s",
				 s->data_ranks, s->stages, sw_spec_ranks(s), key, n, what);
	return sw_err_at(err, SW_INVALID, data ? "/parallel/data" : "/parallel/pipeline",
			 "\"%s\" is %u and \"%s\" is %g: each rank has one %s",
			 data ? "data" : "pipeline", sw_spec_ranks(s), key, n, what);
}

static sw_status slots_check(const struct sw_spec *s, struct sw_err *err)
{
	if (s->needs_gpu)
		return ranks_check(s, s->gpu, "gpu", "GPU", err);
	if (s->cpu_slots == 0)
		return sw_err_at(err, SW_INVALID, "/parallel",
				 "\"parallel\" needs a slot for each rank: \"resources\": "
				 "{\"cpu_slots\": %u} or {\"gpu\": %u}",
				 sw_spec_ranks(s), sw_spec_ranks(s));
	return ranks_check(s, s->cpu_slots, "cpu_slots", "slot", err);
}

sw_status sw_spec_resources_check(const struct sw_spec *s, struct sw_err *err)
{
	/* Without "parallel" only a program can use several slots: the trainer would not know
	 * how. */
	if (s->data_ranks == 0 && s->command == NULL && s->gpu > 1)
		return sw_err_at(err, SW_INVALID, "/resources/gpu",
				 "several GPUs need \"command\" or \"program\", or, with a "
				 "trainer, \"parallel\"");
	if (s->data_ranks == 0)
		return s->command != NULL || s->cpu_slots == 0
			       ? SW_OK
			       : sw_err_at(err, SW_INVALID, "/resources/cpu_slots",
					   "\"cpu_slots\" needs \"command\" or \"program\", or, "
					   "with a trainer, \"parallel\"");
	if (s->command != NULL)
		return sw_err_at(err, SW_INVALID, "/parallel",
				 "\"parallel\" is for \"trainer\": a program has ranks by "
				 "\"run\": {\"launch\": \"rank\"}");
	if (s->trainer == NULL)
		return sw_err_at(err, SW_INVALID, "/parallel", "\"parallel\" needs \"trainer\"");
	return slots_check(s, err);
}
