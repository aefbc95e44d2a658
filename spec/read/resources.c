/* "resources" and "parallel": the slots that a trial takes, and how they work on it together. */
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <math.h>

sw_status sw_spec_resources_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const bool gpu = sw_json_get(v, "gpu") != NULL;

	sw_form_fill(&sw_form_resources, v, s);
	if (s->cpu_slots > 0 && (gpu || sw_json_get(v, "cpu") != NULL))
		return sw_err_at(
			err, SW_INVALID, "/resources/cpu_slots",
			"\"cpu_slots\" must be alone: whole CPU slots, with all their cores");
	/* A part of a GPU is shared with others; half of a second one would tie two of them to a
	 * trial. */
	if (s->gpu > 1 && s->gpu != floor(s->gpu))
		return sw_err_at(err, SW_INVALID, "/resources/gpu", "\"gpu\" must be %s",
				 sw_form_find(&sw_form_resources, "gpu")->must);
	/* Before 0 becomes -1: a 0 that was written keeps the trial off GPUs, nothing written lets
	 * it take any slot. */
	s->needs_gpu = s->gpu > 0;
	/* CPU slots say that the trial takes no GPU, as 0 does. */
	if (!s->needs_gpu && (gpu || s->cpu_slots > 0))
		s->gpu = -1;
	return SW_OK;
}

/* --- "parallel": errors are relative to it --- */

static sw_status check_parallel(const struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	/* With one stage nothing is to be overlapped. */
	if (s->stages <= 1 && s->microbatches != 0)
		return sw_spec_key_wrong("microbatches", err,
					 "needs a \"pipeline\" of 2 stages or more");
	if (sw_json_get(v, "data") == NULL && sw_json_get(v, "pipeline") == NULL)
		return sw_err_set(
			err, SW_INVALID,
			"\"parallel\" needs \"data\", how many slots share each batch, or "
			"\"pipeline\", how many share the layers");
	if (s->sync_batchnorm && s->stages > 1)
		return sw_spec_key_wrong("sync_batchnorm", err, "is not for a pipeline");
	if (s->sync_batchnorm && s->data_ranks < 2)
		return sw_spec_key_wrong("sync_batchnorm", err, "needs \"data\" of 2 or more");
	if (sw_spec_ranks(s) <= SW_SPEC_MAX_RANKS)
		return SW_OK;
	return sw_spec_at_key(err, "pipeline",
			      "%u stages of %u data ranks are %u ranks: at most %d", s->stages,
			      s->data_ranks, sw_spec_ranks(s), SW_SPEC_MAX_RANKS);
}

sw_status sw_spec_parallel_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	sw_form_fill(&sw_form_parallel, v, s);
	const sw_status rc = check_parallel(s, v, err);
	sw_err_prefix(err, "/parallel");
	/* The more micro-batches a step has, the less of it each stage waits; with four for each
	 * stage, the default, a sixth to a fifth. */
	if (s->stages > 1 && s->microbatches == 0)
		s->microbatches = 4 * s->stages;
	return rc;
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
