/* trainer/model/parse.c — the list's words and numbers become operations. */
#include "base/text.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include "spec/spec.h"
#include "trainer/model/internal.h"
#include "trainer/spec/layers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct parse {
	struct sw_model *m;
	const cJSON *params;
	uint32_t layer; /* number of the next */
	struct sw_err *err;
};

/* Finds a parameter's value; NULL: the trial has no such parameter, which p->err says. */
static const cJSON *value_of(const struct parse *p, const char *name, const char *ptr)
{
	const cJSON *param = sw_param_value(p->params, name);
	char show[44];

	if (!param)
		(void)sw_err_at(p->err, SW_INVALID, ptr, "there is no parameter \"%s\"",
				sw_text_show(name, show));
	return param;
}

/* A value as given, or its parameter's. */
static sw_status resolve(const struct parse *p, const cJSON **v, const char *ptr)
{
	char show[44];

	if (!cJSON_IsString(*v))
		return SW_OK; /* a literal */
	const cJSON *param = value_of(p, (*v)->valuestring, ptr);

	if (!param)
		return SW_INVALID;
	if (!cJSON_IsNumber(param) && !cJSON_IsBool(param))
		return sw_err_at(p->err, SW_INVALID, ptr, "the parameter \"%s\" is not a number",
				 sw_text_show((*v)->valuestring, show));
	*v = param;
	return SW_OK;
}

static sw_status parse_number(const struct parse *p, const struct sw_form_key *o, const cJSON *v,
			      const char *ptr, double *out)
{
	sw_status rc = resolve(p, &v, ptr);

	if (rc != SW_OK)
		return rc;
	if (o->kind == SW_KEY_BOOLEAN) {
		*out = cJSON_IsTrue(v) || (cJSON_IsNumber(v) && v->valuedouble == 1);
		if (cJSON_IsBool(v) || (cJSON_IsNumber(v) && (*out != 0 || v->valuedouble == 0)))
			return SW_OK;
		return sw_err_at(p->err, SW_INVALID, ptr, "%s is true or false", o->name);
	}
	if (!cJSON_IsNumber(v))
		return sw_err_at(p->err, SW_INVALID, ptr,
				 "a layer's number is a number or a parameter's name");
	*out = v->valuedouble;
	/* in float: 0.99999999 would be 1 there */
	if (*out >= o->min && (o->max_open ? (double)(float)*out < o->max : *out <= o->max) &&
	    (o->kind == SW_KEY_REAL || *out == floor(*out)))
		return SW_OK;
	return sw_err_at(p->err, SW_INVALID, ptr, "%s is %s from %.7g %s %.7g, not %.7g", o->name,
			 o->kind == SW_KEY_REAL ? "a number" : "an integer", o->min,
			 o->max_open ? "to below" : "to", o->max, *out);
}

/* All options of a layer, defaults in place of those not given. ptr: the layer's. */
static sw_status numbers(const struct parse *p, const struct sw_layer_item *item, const char *ptr,
			 double out[SW_LAYER_KEYS])
{
	for (size_t k = 0; k < item->form->keys_n; k++) {
		const struct sw_form_key o = sw_layer_option(item, k);
		char place[160];
		sw_status rc;

		out[k] = o.fallback;
		if (!item->value[k])
			continue;
		sw_layer_pointer(item, k, ptr, place, sizeof place);
		rc = parse_number(p, &o, item->value[k], place, &out[k]);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* {"activation": V} becomes the layer that V names, itself or by a parameter. ptr: the layer's. */
static sw_status activation(const struct parse *p, struct sw_layer_item *item, const char *ptr)
{
	const char *word = cJSON_GetStringValue(item->value[0]);
	const struct sw_layer_form *form = word ? sw_layer_activation(word) : NULL;
	char place[160], show[44];

	sw_layer_pointer(item, 0, ptr, place, sizeof place);
	if (!word)
		return sw_err_at(p->err, SW_INVALID, place,
				 "an activation is a word or a parameter's name");
	if (!form) {
		const cJSON *v = value_of(p, word, place);

		if (!v)
			return SW_INVALID;
		if (cJSON_IsString(v))
			form = sw_layer_activation(v->valuestring);
	}
	if (!form)
		return sw_err_at(p->err, SW_INVALID, place,
				 "the parameter \"%s\" names no activation",
				 sw_text_show(word, show));
	item->form = form;
	return SW_OK;
}

/* relu behind a linear layer or a convolution that nobody else reads: they do it themselves. A
 * value that a residual's sum reads too would be changed under it, so none that begins one is. */
static sw_status add_relu(struct sw_model *m, const struct sw_model_at *at, bool alone)
{
	struct sw_op *op = &m->op[m->ops_n];
	const sw_status rc = sw_model_op(m, SW_OP_RELU, m->ops_n, at);

	if (rc != SW_OK)
		return rc;
	if (m->ops_n < 2 || !alone)
		return SW_OK; /* it stays an operation of its own */
	struct sw_op *before = op - 1;

	op->fused = before->kind == SW_OP_LINEAR || before->kind == SW_OP_CONV2D;
	if (op->fused)
		before->act = SW_ACT_RELU;
	return SW_OK;
}

static sw_status add_simple(struct sw_model *m, enum sw_op_kind kind, const struct sw_model_at *at)
{
	struct sw_op *op = &m->op[m->ops_n];

	assert(kind < SW_OP_KINDS_N); /* each plain form is an operation's word */
	const sw_status rc = sw_model_op(m, kind, m->ops_n, at);

	if (rc != SW_OK)
		return rc;
	if (kind == SW_OP_FLATTEN)
		op->to = sw_shape_flat(sw_shape_count(&op->from));
	if (kind == SW_OP_TOKEN_MEAN) {
		if (op->from.kind != SW_SHAPE_TOKENS)
			return sw_err_at(at->err, SW_INVALID, at->ptr,
					 "mean_tokens takes tokens: there are none here");
		op->to = sw_shape_flat(op->from.d);
	}
	return SW_OK;
}

static sw_status add_global_avgpool(struct sw_model *m, const struct sw_model_at *at)
{
	const struct sw_shape *x = sw_model_shape(m, m->ops_n);
	const struct sw_op all = {.kernel_h = x->h, .kernel_w = x->w, .stride = 1};

	return sw_model_pool(m, SW_OP_AVGPOOL2D, &all, at);
}

/* Windows and layers with parameters. */
static sw_status add_sized(struct sw_model *m, const struct sw_layer_item *item, const double *n,
			   const struct sw_model_at *at)
{
	const bool conv = item->form->id == SW_FORM_CONV2D;
	const double *w = conv ? n + 1 : n; /* kernel, stride, padding */
	struct sw_op shape = {0};

	switch (item->form->id) {
	case SW_FORM_LINEAR:
		return sw_model_linear(m, m->ops_n, (size_t)n[0], n[1] != 0, at);
	case SW_FORM_CONV2D:
	case SW_FORM_MAXPOOL2D:
	case SW_FORM_AVGPOOL2D:
		shape.kernel_h = shape.kernel_w = (size_t)w[0];
		shape.stride = w[1] > 0 ? (size_t)w[1] : shape.kernel_h;
		shape.pad = (size_t)w[2];
		if (conv)
			return sw_model_conv(m, m->ops_n, &shape, (size_t)n[0], n[4] != 0, at);
		return sw_model_pool(
			m, item->form->id == SW_FORM_MAXPOOL2D ? SW_OP_MAXPOOL2D : SW_OP_AVGPOOL2D,
			&shape, at);
	case SW_FORM_ATTENTION:
		return sw_model_attention(m, (size_t)n[0], n[1] != 0, at);
	case SW_FORM_EMBEDDING:
		return sw_model_embedding(m, (size_t)n[0], (size_t)n[1], at);
	default:
		return sw_model_position(m, (size_t)n[0], at);
	}
}

static sw_status add_layer(struct sw_model *m, const struct sw_layer_item *item, const double *n,
			   const struct sw_model_at *at, bool first)
{
	sw_status rc;

	switch (item->form->id) {
	case SW_FORM_RELU:
		return add_relu(m, at, !first);
	case SW_FORM_PLAIN:
		return add_simple(m, sw_op_find(item->form->name), at);
	case SW_FORM_GLOBAL_AVGPOOL:
		return add_global_avgpool(m, at);
	case SW_FORM_BATCHNORM:
		return sw_model_batchnorm(m, at);
	case SW_FORM_LAYERNORM:
		return sw_model_layernorm(m, at);
	case SW_FORM_DROPOUT:
		rc = add_simple(m, SW_OP_DROPOUT, at);
		if (rc == SW_OK)
			m->op[m->ops_n - 1].p = (float)n[0];
		return rc;
	default:
		return add_sized(m, item, n, at);
	}
}

static sw_status parse_list(struct parse *p, const cJSON *list, const char *ptr, unsigned depth);

/* A layer at ptr, which has room for place[160]. first: of a residual's list. */
static sw_status parse_layer(struct parse *p, const cJSON *v, const char *ptr, unsigned depth,
			     bool first)
{
	char place[160];
	struct sw_layer_item item;
	double n[SW_LAYER_KEYS] = {0};
	struct sw_model_at at = {.ptr = place, .layer = p->layer++, .err = p->err};
	const size_t x = p->m->ops_n;
	sw_status rc;

	snprintf(place, sizeof place, "%s", ptr);
	rc = sw_layer_read(&item, v, place, sizeof place, p->err);
	if (rc == SW_OK && item.form->id == SW_FORM_ACTIVATION)
		rc = activation(p, &item, ptr);
	if (rc == SW_OK && item.form->id != SW_FORM_RESIDUAL) {
		rc = numbers(p, &item, ptr, n);
		return rc == SW_OK ? add_layer(p->m, &item, n, &at, first) : rc;
	}
	if (rc == SW_OK)
		rc = parse_list(p, item.list, place, depth + 1);
	return rc == SW_OK ? sw_model_residual_end(p->m, x, &at) : rc;
}

static sw_status parse_list(struct parse *p, const cJSON *list, const char *ptr, unsigned depth)
{
	bool first = depth > 0;
	size_t i = 0;

	if (depth == SW_LAYER_DEPTH)
		return sw_err_at(p->err, SW_INVALID, ptr, "lists lie at most %d deep in each other",
				 SW_LAYER_DEPTH);
	for (const cJSON *v = list->child; v; v = v->next, first = false) {
		char here[160];
		sw_status rc;

		if ((size_t)snprintf(here, sizeof here, "%s/%zu", ptr, i++) >= sizeof here)
			return sw_err_at(p->err, SW_TOO_BIG, ptr,
					 "the list is too deep to point at");
		rc = parse_layer(p, v, here, depth, first);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_model_parse(struct sw_model *m, const cJSON *list, const cJSON *params,
			 struct sw_err *err)
{
	struct parse p = {.m = m, .params = params, .err = err};

	return parse_list(&p, list, "", 0);
}
