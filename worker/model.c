#include "worker/model.h"
#include "kernels/ops.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "proto/spec.h"
#include "worker/data_csv.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EVAL_ROWS                                                                                  \
	((size_t)256) /* at least, where there are as many: evaluation likes large batches */

static const char *const kinds[] = {
	[SW_LAYER_LINEAR] = "linear",
	[SW_LAYER_RELU] = "relu",
	[SW_LAYER_TANH] = "tanh",
	[SW_LAYER_DROPOUT] = "dropout",
};
#define KINDS_N (sizeof kinds / sizeof *kinds)

static size_t aligned(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* A layer's number: a literal or a parameter's value. */
static sw_status layer_number(const cJSON *v, const cJSON *params, const char *ptr, double *out,
			      struct sw_err *err)
{
	char show[44];

	if (cJSON_IsString(v)) {
		const cJSON *param = sw_spec_param_value(params, v->valuestring);

		if (!param)
			return sw_err_at(err, SW_INVALID, ptr, "there is no parameter \"%s\"",
					 sw_csv_show(v->valuestring, show));
		if (!cJSON_IsNumber(param))
			return sw_err_at(err, SW_INVALID, ptr,
					 "the parameter \"%s\" is not a number",
					 sw_csv_show(v->valuestring, show));
		v = param;
	}
	if (!cJSON_IsNumber(v))
		return sw_err_at(err, SW_INVALID, ptr,
				 "a layer's number is a number or a parameter's name");
	*out = v->valuedouble;
	return SW_OK;
}

static sw_status layer_kind(const cJSON *v, size_t i, enum sw_layer_kind *kind,
			    const cJSON **number, char ptr[160], struct sw_err *err)
{
	const char *word = NULL, *near;
	char show[44];

	snprintf(ptr, 160, "/%zu", i);
	*number = NULL;
	if (cJSON_IsString(v)) {
		word = v->valuestring;
	} else if (cJSON_IsObject(v) && v->child && !v->child->next) {
		word = v->child->string;
		*number = v->child;
		sw_json_pointer_add(ptr, 160, word);
	} else {
		return sw_err_at(err, SW_INVALID, ptr,
				 "a layer is a word, or an object with one key");
	}
	for (size_t k = 0; k < KINDS_N; k++) {
		if (strcmp(word, kinds[k]) != 0)
			continue;
		*kind = (enum sw_layer_kind)k;
		if ((k == SW_LAYER_LINEAR || k == SW_LAYER_DROPOUT) != (*number != NULL))
			return sw_err_at(err, SW_INVALID, ptr,
					 *number ? "%s takes no number: write \"%s\""
						 : "%s needs a number: write {\"%s\": N}",
					 word, word);
		return SW_OK;
	}
	near = sw_nearest(word, kinds, KINDS_N);
	if (near)
		return sw_err_at(err, SW_INVALID, ptr,
				 "no layer is called \"%s\": did you mean \"%s\"?",
				 sw_csv_show(word, show), near);
	return sw_err_at(err, SW_INVALID, ptr,
			 "no layer is called \"%s\": there are linear, relu, tanh and dropout",
			 sw_csv_show(word, show));
}

static void summary_add(struct sw_model *m, const struct sw_layer *l)
{
	const size_t n = strlen(m->summary);

	if (n + 24 > sizeof m->summary)
		snprintf(m->summary + n, sizeof m->summary - n, "%s",
			 strcmp(m->summary + n - 3, "...") == 0 ? "" : "-...");
	else if (l->kind == SW_LAYER_LINEAR)
		snprintf(m->summary + n, sizeof m->summary - n, "-%zu", l->out);
	else if (l->kind == SW_LAYER_DROPOUT)
		snprintf(m->summary + n, sizeof m->summary - n, "-dropout(%.3g)", (double)l->p);
	else
		snprintf(m->summary + n, sizeof m->summary - n, "-%s", kinds[l->kind]);
}

static sw_status layer_add(struct sw_model *m, const cJSON *v, const cJSON *params, char ptr[160],
			   struct sw_err *err)
{
	struct sw_layer *l = &m->layer[m->layers_n], *before = m->layers_n ? l - 1 : NULL;
	const cJSON *number;
	double n = 0;
	sw_status status = layer_kind(v, m->layers_n, &l->kind, &number, ptr, err);

	if (status == SW_OK && number)
		status = layer_number(number, params, ptr, &n, err);
	if (status != SW_OK)
		return status;
	assert(l != NULL);
	l->in = before != NULL ? before->out : m->features;
	l->out = l->in;
	if (l->kind == SW_LAYER_LINEAR) {
		if (!(n >= 1 && n <= SW_MODEL_MAX_WIDTH && n == floor(n)))
			return sw_err_at(err, SW_INVALID, ptr,
					 "a layer's width is an integer from 1 to %d, not %g",
					 SW_MODEL_MAX_WIDTH, n);
		l->out = (size_t)n;
		l->w = m->weights_n;
		l->b = l->w + aligned(l->in * l->out, SW_OPS_ALIGN / sizeof(float));
		m->weights_n = l->b + aligned(l->out, SW_OPS_ALIGN / sizeof(float));
		m->parameters += (l->in + 1) * l->out;
	} else if (l->kind == SW_LAYER_DROPOUT) {
		/* in float: 0.99999999 would be 1 there */
		if (!(n >= 0 && (float)n < 1.0f))
			return sw_err_at(err, SW_INVALID, ptr,
					 "dropout is at least 0 and below 1, not %g", n);
		l->p = (float)n;
	} else {
		l->in_place = before && before->kind == SW_LAYER_LINEAR;
	}
	m->widest = l->out > m->widest ? l->out : m->widest;
	m->layers_n++;
	summary_add(m, l);
	return SW_OK;
}

sw_status sw_model_compile(struct sw_model *out, const cJSON *layers, const cJSON *params,
			   size_t features, size_t outputs, bool classes, struct sw_err *err)
{
	char ptr[160], last[160] = "";

	memset(out, 0, sizeof *out);
	out->features = features;
	out->outputs = outputs;
	out->widest = features;
	snprintf(out->summary, sizeof out->summary, "%zu", features);
	if (!cJSON_IsArray(layers) || !layers->child)
		return sw_err_set(err, SW_INVALID,
				  "a trainer needs \"model\": a list of layers, such as "
				  "[{\"linear\": 64}, \"relu\", {\"linear\": 10}]");
	for (const cJSON *v = layers->child; v; v = v->next) {
		sw_status status;

		if (out->layers_n == SW_MODEL_MAX_LAYERS)
			return sw_err_set(err, SW_TOO_BIG, "a model has at most %d layers",
					  SW_MODEL_MAX_LAYERS);
		status = layer_add(out, v, params, ptr, err);
		if (status != SW_OK)
			return status;
		if (out->layer[out->layers_n - 1].kind == SW_LAYER_LINEAR)
			strcpy(last, ptr);
	}
	if (!*last)
		return sw_err_set(err, SW_INVALID,
				  "the model has no linear layer: nothing to train");
	const size_t width = out->layer[out->layers_n - 1].out;

	if (width == outputs)
		return SW_OK;
	if (classes)
		return sw_err_at(err, SW_INVALID, last,
				 "the last layer is %zu wide, but the data has %zu classes", width,
				 outputs);
	return sw_err_at(err, SW_INVALID, last,
			 "the last layer is %zu wide, but the loss \"mse\" predicts %zu number",
			 width, outputs);
}

/* Adds a tensor of n elements of 4 bytes; latches SIZE_MAX when it cannot be addressed. */
static size_t place(size_t *at, size_t rows, size_t width)
{
	const size_t here = *at;

	if (here == SIZE_MAX || (width && rows > (SIZE_MAX / 8 - here % 64) / 4 / width) ||
	    here > SIZE_MAX / 4) {
		*at = SIZE_MAX;
		return 0;
	}
	*at = here + aligned(rows * width * 4, SW_OPS_ALIGN);
	return here;
}

sw_status sw_layout_make(struct sw_layout *out, const struct sw_model *m,
			 const struct sw_trainer *t, size_t train_rows, size_t val_rows,
			 struct sw_err *err)
{
	size_t at = 0, over, eval;

	memset(out, 0, sizeof *out);
	out->batch = t->batch_size < train_rows ? (size_t)t->batch_size : train_rows;
	eval = out->batch > EVAL_ROWS ? out->batch : EVAL_ROWS;
	out->eval_batch = eval < val_rows ? eval : val_rows;
	out->states_n = t->adamw ? 2 : t->momentum > 0 ? 1 : 0;
	out->weights = place(&at, 1, m->weights_n);
	out->grads = place(&at, 1, m->weights_n);
	for (size_t i = 0; i < out->states_n; i++)
		out->state[i] = place(&at, 1, m->weights_n);
	out->metrics = place(&at, 1, sizeof(struct sw_metrics) / 4);
	out->step = place(&at, 1, sizeof(struct sw_step) / 4);
	out->order = place(&at, train_rows, 1);
	over = at;
	out->x = place(&at, out->batch, m->features);
	out->y = place(&at, out->batch, 1);
	for (size_t i = 0; i < m->layers_n; i++)
		out->act[i] = m->layer[i].in_place ? out->act[i - 1]
						   : place(&at, out->batch, m->layer[i].out);
	out->grad[0] = place(&at, out->batch, m->widest);
	out->grad[1] = place(&at, out->batch, m->widest);
	/* evaluation and training take turns: they share the memory from here on */
	out->eval[0] = place(&over, out->eval_batch, m->widest);
	out->eval[1] = place(&over, out->eval_batch, m->widest);
	out->bytes = over > at ? over : at;
	if (out->bytes == SIZE_MAX)
		return sw_err_set(err, SW_TOO_BIG, "the model and its batch fit no memory");
	return SW_OK;
}
