#include "bench/lib/train_job.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "proto/json.h"
#include "trainer/data/shuffle.h"
#include <stdlib.h>
#include <string.h>

#define SGD "\"optimizer\":\"sgd\",\"lr\":0.001,\"momentum\":0.9"

static const struct {
	const char *name, *spec;
} nets[] = {
	{"lenet-cifar",
	 "{\"dataset\":{\"format\":\"synthetic\",\"image\":[3,32,32],\"rows\":2560,\"classes\":10},"
	 "\"model\":{\"preset\":\"lenet-cifar\",\"l1\":120,\"l2\":84}," SGD "}"},
	{"resnet18",
	 "{\"dataset\":{\"format\":\"synthetic\",\"image\":[3,32,32],\"rows\":2560,\"classes\":10},"
	 "\"model\":{\"preset\":\"resnet18-cifar\"}," SGD "}"},
	{"resnet50", "{\"dataset\":{\"format\":\"synthetic\",\"image\":[3,224,224],\"rows\":320,"
		     "\"classes\":1000},"
		     "\"model\":{\"preset\":\"resnet50\"}," SGD "}"},
	{"transformer",
	 "{\"dataset\":{\"format\":\"synthetic\",\"tokens\":128,\"vocab\":1000,\"rows\":2560,"
	 "\"classes\":8},"
	 "\"model\":{\"preset\":\"transformer-encoder\",\"outputs\":8,\"layers\":4,\"heads\":4,"
	 "\"width\":256,\"hidden\":1024,\"dropout\":0}," SGD "}"},
	/* of images: all pixels are inputs, as they are the peers' */
	{"mlp",
	 "{\"dataset\":{\"format\":\"synthetic\",\"image\":[1,8,8],\"rows\":1797,\"classes\":10},"
	 "\"model\":[\"flatten\",{\"linear\":64},\"relu\",{\"linear\":32},\"relu\",{\"linear\":10}]"
	 "," SGD "}"},
};

static sw_status load_data(struct train_job *job, const cJSON *spec, struct sw_err *err)
{
	const cJSON *dataset = sw_json_get(spec, "dataset");
	cJSON *none = cJSON_CreateObject();
	struct sw_data_source source;
	sw_status status = sw_trainer_resolve(&job->trainer, spec, none, 0, 1, err);

	cJSON_Delete(none);
	const struct sw_data_want want = {.classes = job->trainer.classes,
					  .val_fraction = job->trainer.val_fraction,
					  .split_seed = job->trainer.split_seed,
					  .scale = job->trainer.scale};

	if (job->borrowed)
		return status;
	if (status == SW_OK)
		status = sw_data_source_read(&source, dataset, err);
	if (status == SW_OK)
		status = sw_data_load(&job->data, &source, want, &job->ops, job->q, err);
	return status;
}

static sw_status make(struct train_job *job, enum sw_precision precision, const cJSON *spec,
		      struct sw_err *err)
{
	sw_status status = job->ops.queue_create(&job->q);

	if (status == SW_OK)
		status = load_data(job, spec, err);
	if (status != SW_OK)
		return status;
	job->trainer.precision = precision;
	const struct sw_task task = sw_net_task(&job->data, job->trainer.classes);

	job->order = sw_malloc(job->data.train.rows * sizeof *job->order);
	if (!job->order)
		return SW_NOMEM;
	status = sw_model_compile(&job->model, sw_json_get(spec, "model"), NULL, &task, err);
	if (status == SW_OK)
		status = sw_net_create(&job->net, &job->ops, job->q, &job->model, &job->trainer,
				       &job->data, NULL, 1, err);
	job->flops = sw_model_flops(&job->model);
	job->at = job->data.train.rows;
	return status;
}

sw_status train_job_make(struct train_job *job, const struct sw_ops *ops,
			 enum sw_precision precision, const struct train_job *like, const char *net,
			 size_t batch, struct sw_err *err)
{
	cJSON *spec = NULL;
	sw_status status = SW_NOMEM;

	memset(job, 0, sizeof *job);
	job->ops = *ops;
	job->borrowed = like != NULL;
	if (like)
		job->data = like->data;
	for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
		if (strcmp(nets[i].name, net) == 0)
			spec = cJSON_Parse(nets[i].spec);
	if (!spec)
		return sw_err_set(err, SW_NOT_FOUND, "there is no net \"%s\"", net);
	if (cJSON_AddNumberToObject(spec, "batch_size", (double)batch))
		status = make(job, precision, spec, err);
	cJSON_Delete(spec);
	if (status != SW_OK)
		train_job_free(job);
	return status;
}

void train_job_free(struct train_job *job)
{
	sw_net_destroy(&job->net);
	if (job->data.ops && !job->borrowed)
		sw_data_fini(&job->data);
	free(job->order);
	job->ops.queue_destroy(job->q);
}

sw_status train_job_step(struct train_job *job)
{
	const size_t rows = job->data.train.rows;
	sw_status status = SW_OK;

	if (job->at + job->net.at.batch >
	    rows) { /* whole batches alone: the peers have no others */
		sw_shuffle(job->order, rows, 1, SW_PHILOX_SHUFFLE, ++job->epoch);
		status = sw_net_order(&job->net, job->order, rows);
		if (status == SW_OK)
			status = sw_net_metrics_zero(&job->net);
		job->at = 0;
	}
	if (status == SW_OK)
		status = sw_net_train(&job->net, &job->data, job->at, &job->at);
	return status;
}
