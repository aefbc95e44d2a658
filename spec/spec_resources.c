/* "resources" and "parallel": the slots that a trial takes, and how they work on it together. */
#include "proto/json.h"
#include "spec/spec_internal.h"
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

static sw_status parallel_fields(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"data", "transport", "sync_batchnorm"};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), NULL, 0};
	const cJSON *how = sw_json_get(v, "transport");
	uint64_t ranks = 0;

	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK && sw_json_get(v, "data") == NULL)
		rc = sw_spec_key_wrong("data", err,
				       "is missing: how many slots share each batch of a trial");
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "data", 1, SW_SPEC_MAX_RANKS, &ranks, err);
	s->data_ranks = (unsigned)ranks;
	if (rc == SW_OK)
		rc = sw_spec_key_bool(v, "sync_batchnorm", &s->sync_batchnorm, err);
	if (rc == SW_OK && s->sync_batchnorm && ranks < 2)
		rc = sw_spec_key_wrong("sync_batchnorm", err, "needs \"data\" of 2 or more");
	if (rc != SW_OK || how == NULL)
		return rc;
	s->transport = cJSON_GetStringValue(how);
	if (s->transport == NULL ||
	    (strcmp(s->transport, "shm") != 0 && strcmp(s->transport, "tcp") != 0))
		return sw_spec_key_wrong("transport", err, "must be \"shm\" or \"tcp\"");
	return SW_OK;
}

sw_status sw_spec_parallel_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "parallel", "an object like {\"data\": 2}", err);
	const sw_status rc = parallel_fields(s, v, err);
	sw_err_prefix(err, "/parallel");
	return rc;
}

/* --- both, and what runs the trials --- */

static sw_status gpus_check(const struct sw_spec *s, struct sw_err *err)
{
	if (s->gpu != (double)s->data_ranks)
		return sw_err_at(err, SW_INVALID, "/parallel/data",
				 "\"data\" is %u and \"gpu\" is %g: each rank has one GPU",
				 s->data_ranks, s->gpu);
	if (s->transport != NULL)
		return sw_err_at(err, SW_INVALID, "/parallel/transport",
				 "\"transport\" is for CPU slots: GPUs exchange gradients by NCCL");
	return SW_OK;
}

sw_status sw_spec_resources_check(const struct sw_spec *s, struct sw_err *err)
{
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
	/* ranks would have different numbers of parts, and no pairs of them */
	if (s->sync_batchnorm && cJSON_GetNumberValue(sw_json_get(s->trainer, "micro_batch")) > 0)
		return sw_err_at(err, SW_INVALID, "/trainer/micro_batch",
				 "\"micro_batch\" does not go with \"sync_batchnorm\": each rank's "
				 "rows are one part");
	if (s->needs_gpu)
		return gpus_check(s, err);
	if (s->cpu_slots == 0)
		return sw_err_at(err, SW_INVALID, "/parallel",
				 "\"parallel\" needs a slot for each rank: \"resources\": "
				 "{\"cpu_slots\": %u} or {\"gpu\": %u}",
				 s->data_ranks, s->data_ranks);
	if (s->cpu_slots != s->data_ranks)
		return sw_err_at(err, SW_INVALID, "/parallel/data",
				 "\"data\" is %u and \"cpu_slots\" is %u: each rank has one slot",
				 s->data_ranks, s->cpu_slots);
	return SW_OK;
}
