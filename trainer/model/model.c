#include "trainer/model/model.h"
#include "trainer/model/internal.h"
#include "trainer/spec/presets.h"
#include <stdio.h>
#include <string.h>

static void summary_add(struct sw_model *m, const struct sw_op *op)
{
	const size_t n = strlen(m->summary), cap = sizeof m->summary - n;
	char *at = m->summary + n;

	if (n + 24 > sizeof m->summary)
		snprintf(at, cap, "%s", strcmp(at - 3, "...") == 0 ? "" : "-...");
	else if (op->kind == SW_OP_LINEAR)
		snprintf(at, cap, "-%zu", op->to.kind == SW_SHAPE_FLAT ? op->to.c : op->to.d);
	else if (op->kind == SW_OP_DROPOUT)
		snprintf(at, cap, "-dropout(%.3g)", (double)op->p);
	else if (op->kind == SW_OP_CONV2D)
		snprintf(at, cap, "-conv(%zu,%zu)", op->to.c, op->kernel_h);
	else if (op->kind == SW_OP_ATTENTION)
		snprintf(at, cap, "-attention(%zu)", op->heads);
	else
		snprintf(at, cap, "-%s", sw_op_name(op->kind));
}

static void summary(struct sw_model *m)
{
	const struct sw_shape *in = &m->task.input;

	if (in->kind == SW_SHAPE_IMAGE)
		snprintf(m->summary, sizeof m->summary, "%zux%zux%zu", in->c, in->h, in->w);
	else
		snprintf(m->summary, sizeof m->summary, "%zu",
			 in->kind == SW_SHAPE_TOKENS ? in->t : in->c);
	for (size_t i = 0; i < m->ops_n; i++)
		summary_add(m, &m->op[i]);
}

/* The pointer to the last linear layer, which a wrong end is blamed on. */
static void last_place(const cJSON *list, char out[160])
{
	const cJSON *v;
	size_t i = 0;

	out[0] = '\0';
	cJSON_ArrayForEach (v, list) {
		const cJSON *linear = cJSON_GetObjectItemCaseSensitive(v, "linear");

		if (linear)
			snprintf(out, 160, "/%zu/linear", i);
		i++;
	}
}

static sw_status check_end(const struct sw_model *m, const cJSON *list, struct sw_err *err)
{
	const struct sw_shape *end = sw_model_shape(m, m->ops_n);
	const size_t rows = end->kind == SW_SHAPE_TOKENS ? end->t : 1;
	const size_t width = end->kind == SW_SHAPE_TOKENS ? end->d : end->c;
	char last[160], text[80];

	last_place(list, last);
	if (m->weights_n == 0)
		return sw_err_set(err, SW_INVALID,
				  "the model has no linear layer: nothing to train");
	if (end->kind == SW_SHAPE_IMAGE || rows != m->task.labels)
		return sw_err_at(err, SW_INVALID, last,
				 "the model ends in %s, the data has %zu label%s a row%s",
				 sw_model_shape_text(end, text), m->task.labels,
				 m->task.labels == 1 ? "" : "s",
				 end->kind == SW_SHAPE_IMAGE
					 ? ": \"flatten\" and a linear layer are "
					   "missing"
				 : rows > 1 && m->task.labels == 1 ? ": \"mean_tokens\" is missing"
								   : "");
	if (width == m->task.outputs)
		return SW_OK;
	if (m->task.classes)
		return sw_err_at(err, SW_INVALID, last,
				 "the last layer is %zu wide, but the data has %zu classes", width,
				 m->task.outputs);
	return sw_err_at(err, SW_INVALID, last,
			 "the last layer is %zu wide, but the loss \"mse\" predicts %zu number",
			 width, m->task.outputs);
}

sw_status sw_model_compile(struct sw_model *out, const cJSON *model, const cJSON *params,
			   const struct sw_task *task, struct sw_err *err)
{
	const cJSON *list = NULL;
	cJSON *owned = NULL;
	sw_status rc;

	memset(out, 0, sizeof *out);
	out->task = *task;
	if (!(cJSON_IsArray(model) || cJSON_IsObject(model)) || !model->child)
		return sw_err_set(err, SW_INVALID,
				  "a trainer needs \"model\": a list of layers, such as "
				  "[{\"linear\": 64}, \"relu\", {\"linear\": 10}]");
	rc = sw_model_list(model, params, task->input.kind == SW_SHAPE_IMAGE, &owned, &list, err);
	if (rc == SW_OK)
		rc = sw_model_parse(out, list, params, err);
	if (rc == SW_OK)
		rc = check_end(out, list, err);
	cJSON_Delete(owned);
	if (rc != SW_OK)
		return rc;
	summary(out);
	sw_model_plan(out);
	return SW_OK;
}
