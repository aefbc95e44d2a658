#include "trainer/prepare.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include "trainer/allowance.h"
#include "trainer/file/label.h"
#include "trainer/net/net.h"
#include <stdlib.h>
#include <string.h>

/* Does the model take a number from the trial's parameters? */
static bool is_drawn(const cJSON *v, const cJSON *params)
{
	if (cJSON_IsString(v))
		return sw_param_value(params, v->valuestring) != NULL;
	for (v = v ? v->child : NULL; v; v = v->next)
		if (is_drawn(v, params))
			return true;
	return false;
}

/* Takes the data set from the lanes' cache, or reads it. */
static sw_status prepare_data(struct sw_prepared *p, const struct sw_runner *r,
			      const struct sw_job *j, struct sw_err *err)
{
	const struct sw_data_want want = {.classes = p->trainer.classes,
					  .val_fraction = p->trainer.val_fraction,
					  .split_seed = p->trainer.split_seed,
					  .scale = p->trainer.scale,
					  .all = p->all,
					  .test = p->test,
					  .device_bytes = sw_allowance_of_data(r),
					  .most = r->streams ? 0 : r->memory,
					  .sum = j->data_sum};

	return sw_data_cache_hold(r->cache, r->q, sw_json_get(j->trainer, "dataset"), want,
				  &p->data, err);
}

/* Compiles the model and cuts it into its stages. */
static sw_status prepare_model(struct sw_prepared *p, const struct sw_runner *r,
			       const struct sw_job *j, struct sw_err *err)
{
	const struct sw_task task = sw_net_task(p->data, p->trainer.classes);
	const cJSON *model = sw_json_get(j->trainer, "model");
	size_t first[SW_STAGES_MAX + 1];
	sw_status rc = sw_allowance_of_trial(r, p->data, &p->trainer, err);

	if (rc != SW_OK)
		return rc;
	rc = sw_model_compile(&p->model, model, j->params, &task, err);
	if (rc == SW_OK && p->trainer.stages > 1)
		rc = sw_stages_cut(&p->model, &p->trainer, first, err);
	/* a model of fixed numbers fails in every trial: then it is no point of the space that is
	 * impossible, but the spec that is wrong */
	p->impossible = rc != SW_OK && is_drawn(model, j->params);
	return rc;
}

sw_status sw_prepare(struct sw_prepared *p, const struct sw_runner *r, const struct sw_job *j,
		     struct sw_err *err)
{
	const char *prefix = "";
	sw_status rc =
		sw_trainer_resolve(&p->trainer, j->trainer, j->params, j->max_t, j->data_seed, err);

	/* Blamed on the point if the fault lies in one of its parameters, else on the spec, which
	 * all trials share. */
	p->impossible = rc == SW_INVALID && strncmp(err->ptr, "/parameters/", 12) == 0;
	p->trainer.stages = j->stages > 1 ? j->stages : 1;
	p->trainer.microbatches = j->microbatches;
	/* The job counts threads, the trainer the ranks that share a batch: each of those is a
	 * pipeline. */
	p->trainer.ranks = j->ranks / p->trainer.stages;
	p->trainer.sync_batchnorm = j->sync_batchnorm;
	if (rc == SW_OK) {
		prefix = "/trainer/dataset";
		rc = prepare_data(p, r, j, err);
	}
	if (rc == SW_OK) {
		prefix = "/trainer/model";
		rc = prepare_model(p, r, j, err);
	}
	/* Last: the label says what the data set turned out to be. */
	if (rc == SW_OK && j->checkpoint_dir) {
		prefix = "/trainer";
		rc = sw_label_make(&p->label, j->trainer, j->params, p->data, err);
		p->model.label = p->label;
	}
	if (rc != SW_OK)
		sw_err_prefix(err, prefix);
	return rc;
}

void sw_prepared_release(struct sw_prepared *p, const struct sw_runner *r)
{
	sw_data_cache_release(r->cache, p->data);
	free(p->label);
	p->data = NULL;
	p->label = NULL;
}
