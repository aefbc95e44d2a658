#include "trainer/predictor.h"
#include "base/memory.h"
#include "kernels/backend.h"
#include "trainer/data/data_raw.h"
#include "trainer/file/checkpoint_format.h"
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST                                                                                  \
	((size_t)256) /* of a batch; fewer where they are large (trainer/model/layout.h) */

static sw_status no_memory(const struct sw_predictor *p, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory for the model of %s", p->file.show);
}

/* --- weights --- */

/* set: float[weights_n], running: float[running_n], both with the net's gaps. */
static sw_status tensors(const struct sw_predictor *p, float *set, float *running,
			 struct sw_err *err)
{
	struct sw_checkpoint_tensor t[CHECKPOINT_TENSORS];
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < p->model.ops_n; i++) {
		const struct sw_op *op = &p->model.op[i];
		const size_t n = sw_checkpoint_tensors(&p->model, i, t);
		/* weight, bias, mean, variance: those that it has, in this order */
		float *const to[] = {set + op->w, set + op->b, running + op->mean,
				     running + op->var};
		const bool has[] = {op->w_n > 0, op->b_n > 0, op->kind == SW_OP_BATCHNORM,
				    op->kind == SW_OP_BATCHNORM};

		for (size_t k = 0, at = 0; rc == SW_OK && k < 4 && at < n; k++)
			if (has[k])
				rc = sw_safetensors_read(&p->file, &t[at++], to[k], err);
	}
	return rc;
}

/* Reads the tensors and puts them onto the device. */
static sw_status weights(struct sw_predictor *p, struct sw_err *err)
{
	const struct sw_model *m = &p->model;
	float *all = sw_calloc(m->weights_n + m->running_n + 1, sizeof *all);
	sw_status rc = all ? tensors(p, all, all + m->weights_n, err) : no_memory(p, err);

	if (rc == SW_OK) {
		rc = sw_net_set_upload(&p->net, 0, all);
		if (rc == SW_OK && m->running_n)
			rc = sw_net_set_upload(&p->net, SW_NET_RUNNING, all + m->weights_n);
		if (rc != SW_OK)
			(void)sw_err_set(err, rc, "the weights do not get to the device");
	}
	free(all);
	return rc;
}

/* --- the net --- */

/* Compiles the model of the metadata, which names no parameters. */
static sw_status compile(struct sw_predictor *p, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;

	p->data = (struct sw_data){.input = p->want.shape,
				   .features = sw_shape_count(&p->want.shape),
				   .classes = p->classes ? p->outputs : 0,
				   .labels = p->labels,
				   .vocab = p->want.vocab,
				   .train = {.rows = 1},
				   /* The layout takes its rows of an evaluation from these;
				    * batch_memory() sets what came of it. */
				   .val = {.rows = ROWS_MOST}};
	const struct sw_task task = sw_net_task(&p->data, p->classes);
	const sw_status rc = sw_model_compile(&p->model, p->list, NULL, &task, &why);

	if (rc == SW_OK)
		return SW_OK;
	return sw_err_set(err, rc, "%s: the model in its metadata is none: %s%s%s", p->file.show,
			  why.ptr, *why.ptr ? ": " : "", why.msg);
}

/* Makes the net, for evaluation alone: its batch to train on is one row. */
static sw_status make_net(struct sw_predictor *p, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	sw_status rc;

	p->trainer = (struct sw_trainer){.classes = p->classes, .batch_size = 1, .epochs = 1};
	p->data.ops = p->ops;
	rc = sw_net_create(&p->net, p->ops, p->q, &p->model, &p->trainer, &p->data, NULL, 0, &why);
	return rc == SW_OK ? SW_OK : sw_err_set(err, rc, "%s: %s", p->file.show, why.msg);
}

/* --- a batch's memory --- */

/* As the data set's own loader makes scale and shift of mean and deviation
 * (trainer/data/data.c). */
static sw_status channels(struct sw_predictor *p, char *at)
{
	const size_t c = p->want.shape.c;
	float *both = sw_malloc(2 * c * sizeof *both);
	sw_status rc;

	if (!both)
		return SW_NOMEM;
	for (size_t i = 0; i < c; i++) {
		both[i] = (float)(1.0 / p->std[i]);
		/* floats are less their mean already */
		both[c + i] = p->want.bytes ? (float)(-p->mean[i] / p->std[i]) : 0;
	}
	p->data.scale = (const float *)(void *)at;
	p->data.shift = p->data.scale + c;
	rc = p->ops->upload(p->q, at, both, 2 * c * sizeof *both);
	free(both);
	return rc;
}

static size_t row_bytes(const struct sw_predictor *p)
{
	return p->data.features * (p->data.val.u8 ? 1 : 4);
}

/* Takes the memory of a batch, on the host and on the device. */
static sw_status batch_memory(struct sw_predictor *p, struct sw_err *err)
{
	const size_t rows = p->net.at.eval_batch;
	const bool image = p->want.shape.kind == SW_SHAPE_IMAGE, lengths = p->want.pad >= 0;
	const enum sw_raw_kind kind = image && p->want.bytes                  ? SW_RAW_U8
				      : p->want.shape.kind == SW_SHAPE_TOKENS ? SW_RAW_TOKEN
									      : SW_RAW_FLOAT;
	struct sw_data_part *val = &p->data.val;
	sw_status rc;
	char *at;

	val->rows = rows;
	/* By the data set's own functions, so that rows lie as the net expects them. */
	sw_data_place_bytes(&p->data, kind == SW_RAW_U8, lengths);
	if (p->ops->alloc(&p->memory, p->data.bytes) != SW_OK)
		return no_memory(p, err);
	at = sw_data_part_place(&p->data, kind, lengths, val, p->memory);
	p->x = sw_malloc(rows * row_bytes(p));
	p->length = sw_malloc(rows * sizeof *p->length);
	p->z = sw_malloc(rows * p->labels * p->outputs * sizeof *p->z);
	if (!p->x || !p->length || !p->z)
		return no_memory(p, err);
	/* the labels: the loss is not used */
	rc = p->ops->zero(p->q, val->label ? (void *)val->label : (void *)val->target,
			  rows * p->labels * sizeof *val->label);
	if (rc == SW_OK && image)
		rc = channels(p, at);
	return rc == SW_OK ? SW_OK : no_memory(p, err);
}

sw_status sw_predictor_open(struct sw_predictor *p, const char *path, unsigned cores,
			    struct sw_err *err)
{
	sw_status rc;

	p->file.fd = -1;
	rc = sw_safetensors_open(&p->file, path, err);
	if (rc == SW_OK)
		rc = sw_predictor_label(p, err);
	if (rc == SW_OK)
		rc = compile(p, err);
	if (rc == SW_OK)
		rc = sw_backend_open("cpu", cores, &p->ops, err);
	if (rc == SW_OK && p->ops->queue_create(&p->q) != SW_OK)
		rc = no_memory(p, err);
	if (rc == SW_OK)
		rc = make_net(p, err);
	if (rc == SW_OK)
		rc = weights(p, err);
	return rc == SW_OK ? batch_memory(p, err) : rc;
}

void sw_predictor_close(struct sw_predictor *p)
{
	if (p->memory)
		p->ops->free(p->memory);
	sw_net_destroy(&p->net);
	if (p->q)
		p->ops->queue_destroy(p->q);
	sw_safetensors_close(&p->file);
	sw_encoder_fini(&p->table);
	cJSON_Delete(p->list);
	cJSON_Delete(p->names);
	free(p->mean);
	free(p->std);
	free(p->x);
	free(p->length);
	free(p->z);
}

/* Numbers as training scaled them; they are less their mean already. */
static void scale(const struct sw_predictor *p, size_t n)
{
	const size_t features = p->data.features;
	float *x = (float *)(void *)p->x;

	for (size_t i = 0; i < n; i++)
		for (size_t f = 0; f < features; f++)
			x[i * features + f] = (float)((double)x[i * features + f] / p->std[f]);
}

sw_status sw_predictor_run(struct sw_predictor *p, size_t n, struct sw_err *err)
{
	sw_status rc;

	if (p->want.shape.kind == SW_SHAPE_FLAT && p->mean)
		scale(p, n);
	rc = p->ops->upload(p->q, p->memory, p->x, n * row_bytes(p));
	if (rc == SW_OK && p->data.val.length)
		rc = p->ops->upload(p->q, p->data.val.length, p->length, n * sizeof *p->length);
	if (rc == SW_OK)
		rc = sw_net_metrics_zero(&p->net);
	if (rc == SW_OK)
		rc = sw_net_eval(&p->net, &p->data, 0, n);
	if (rc == SW_OK)
		rc = p->ops->download(p->q, p->z, sw_net_output(&p->net),
				      n * p->labels * p->outputs * sizeof *p->z);
	if (rc == SW_OK)
		return SW_OK;
	return sw_err_set(err, rc, "%s: %s", p->file.show, sw_status_str(rc));
}
