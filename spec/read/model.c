/* Checks the model's layers, and whether the values of a parameter suit what uses them. */
#include "proto/json.h"
#include "spec/layers.h"
#include "spec/read/read.h"
#include "spec/trainer_options.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool sw_spec_option_value(const struct sw_trainer_option *o, const cJSON *v, char *why, size_t cap)
{
	char low[32], high[32];

	if (o->kind == SW_OPTION_BOOLEAN) {
		(void)snprintf(why, cap, "must be true or false, not %s", sw_spec_kind(v));
		return cJSON_IsBool(v) != 0;
	}
	if (o->kind == SW_OPTION_CHOICE) {
		char list[120];
		(void)snprintf(why, cap, "must be %s",
			       sw_spec_one_of(o->choices, list, sizeof list));
		const char *word = cJSON_GetStringValue(v);
		for (size_t i = 0; word != NULL && o->choices[i] != NULL; i++)
			if (strcmp(o->choices[i], word) == 0)
				return true;
		return false;
	}
	sw_json_num_text(o->min, low);
	sw_json_num_text(o->max, high);
	(void)snprintf(why, cap, "must be %s %s %s and %s %s",
		       o->kind == SW_OPTION_INTEGER ? "an integer," : "a number,",
		       o->min_open ? "above" : "at least", low, o->max_open ? "below" : "at most",
		       high);
	if (!cJSON_IsNumber(v))
		return false;
	const double d = v->valuedouble;
	return (o->min_open ? d > o->min : d >= o->min) &&
	       (o->max_open ? d < o->max : d <= o->max) &&
	       (o->kind == SW_OPTION_REAL || d == floor(d));
}

/* --- does a parameter suit? --- */

static sw_status unsuited(const struct sw_spec_param *p, const struct sw_trainer_option *o,
			  const char *tail, const char *why, struct sw_err *err)
{
	char ptr[sizeof err->ptr];
	char whole[2 * sizeof ptr];

	sw_spec_param_pointer(p, ptr, sizeof ptr);
	(void)snprintf(whole, sizeof whole, "%s%s", ptr, tail);
	return sw_err_at(err, SW_INVALID, whole, "\"%s\" feeds \"%s\", which %s", p->name, o->name,
			 why);
}

/* Are all values of a numeric distribution integers that suit an option? With a q those of a normal
 * are integers too, but they reach below 1. */
static bool integral(const struct sw_spec_param *p)
{
	switch (p->dist) {
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
		return true;
	case SW_DIST_POW2:
		return p->min >= 1;
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
		return p->q == floor(p->q);
	default:
		return false;
	}
}

/* A quantised range has its values at the multiples of q inside it. */
static double lowest(const struct sw_spec_param *p)
{
	return p->dist == SW_DIST_Q_UNIFORM && p->q > 0 ? ceil(p->min / p->q) * p->q : p->min;
}

static sw_status suits_values(const struct sw_spec_param *p, const struct sw_trainer_option *o,
			      struct sw_err *err)
{
	const cJSON *v;
	char why[160], tail[48];
	size_t i = 0;

	if (p->value != NULL)
		return sw_spec_option_value(o, p->value, why, sizeof why)
			       ? SW_OK
			       : unsuited(p, o, "/value", why, err);
	cJSON_ArrayForEach (v, p->values) {
		(void)snprintf(tail, sizeof tail, "/values/%zu", i++);
		if (!sw_spec_option_value(o, v, why, sizeof why))
			return unsuited(p, o, tail, why, err);
	}
	return SW_OK;
}

sw_status sw_spec_param_suits(const struct sw_spec_param *p, const struct sw_trainer_option *o,
			      struct sw_err *err)
{
	cJSON end = {.type = cJSON_Number};
	char why[160];

	if (p->wrong)
		return SW_OK;
	if (p->value != NULL || p->values != NULL)
		return suits_values(p, o, err);
	/* The 0 is not judged here: `why` gets the words of the option's range. */
	(void)sw_spec_option_value(o, &end, why, sizeof why);
	if (o->kind == SW_OPTION_INTEGER && !integral(p))
		return unsuited(p, o, "",
				"takes integers: use int_uniform, pow2, q_uniform with an integer "
				"q, or values",
				err);
	if (o->kind == SW_OPTION_BOOLEAN || o->kind == SW_OPTION_CHOICE)
		return unsuited(p, o, "", why, err);
	/* Bounds are enough: what lies between them suits if they do. */
	if (p->has_min) {
		end.valuedouble = lowest(p);
		if (o->kind == SW_OPTION_INTEGER)
			end.valuedouble = ceil(end.valuedouble);
		if (!sw_spec_option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/min", why, err);
	}
	if (p->has_max) {
		end.valuedouble = o->kind == SW_OPTION_INTEGER ? floor(p->max) : p->max;
		if (!sw_spec_option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/max", why, err);
	}
	return SW_OK;
}

/* --- layers --- */

struct check {
	const struct sw_spec *spec;
	bool *used;
};

static sw_status check_value(void *ctx, const struct sw_trainer_option *o,
			     enum sw_layer_form_id layer, const cJSON *v, const char *ptr,
			     struct sw_err *err)
{
	const struct check *c = ctx;
	char why[160];

	(void)layer;
	/* A choice's own word comes before a parameter of that name. */
	if (sw_spec_option_value(o, v, why, sizeof why))
		return SW_OK;
	const int i = cJSON_IsString(v) ? sw_spec_param_find(c->spec, v->valuestring) : -1;
	if (i >= 0) {
		c->used[i] = true;
		return sw_spec_param_suits(&c->spec->params[i], o, err);
	}
	if (cJSON_IsString(v) && o->kind != SW_OPTION_CHOICE)
		return sw_spec_no_param(c->spec, "layer", v->valuestring, ptr, err);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" %s, or the name of a parameter", o->name,
			 why);
}

sw_status sw_spec_model_check(const struct sw_spec *s, const cJSON *model, bool *used,
			      struct sw_err *err)
{
	struct check c = {s, used};
	const struct sw_layer_visit visit = {&c, check_value};
	struct sw_err why = SW_ERR_INIT;
	bool trains = false;

	if (model == NULL)
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "\"model\" is missing: a list of layers, like [{\"linear\": 64}, "
				 "\"relu\", {\"linear\": 10}]");
	if (!cJSON_IsArray(model) && !cJSON_IsObject(model))
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "\"model\" must be an array of layers, not %s",
				 sw_spec_kind(model));
	if (model->child == NULL)
		return sw_err_at(err, SW_INVALID, "/trainer/model", "model is empty");
	const sw_status rc = sw_layers_walk(model, &visit, &trains, &why);
	if (rc != SW_OK) {
		/* An error of a parameter has the parameter's own pointer. */
		if (strncmp(why.ptr, "/parameters/", 12) != 0)
			sw_err_prefix(&why, "/trainer/model");
		return sw_err_at(err, rc, why.ptr, "%s", why.msg);
	}
	if (!trains)
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "the model has no \"linear\" layer, so there is nothing to train");
	return SW_OK;
}

struct names {
	const struct sw_spec *spec;
	bool *named, *sizes;
};

static sw_status note_name(void *ctx, const struct sw_trainer_option *o,
			   enum sw_layer_form_id layer, const cJSON *v, const char *ptr,
			   struct sw_err *err)
{
	const struct names *n = ctx;
	const char *name = cJSON_GetStringValue(v);
	const int i = name != NULL ? sw_spec_param_find(n->spec, name) : -1;

	(void)ptr;
	(void)err;
	/* A literal names no parameter. */
	if (i < 0)
		return SW_OK;
	n->named[i] = true;
	n->sizes[i] = n->sizes[i] || sw_layer_sizes(layer, o);
	return SW_OK;
}

void sw_spec_model_names(const struct sw_spec *s, bool *named, bool *sizes)
{
	struct names n = {s, named, sizes};
	const struct sw_layer_visit visit = {&n, note_name};
	const cJSON *model = sw_json_get(s->trainer, "model");

	/* Without a trainer no layer names one. */
	if (model == NULL)
		return;
	const sw_status rc = sw_layers_walk(model, &visit, NULL, NULL);
	assert(rc == SW_OK); /* it was checked */
}
