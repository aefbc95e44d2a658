/* The model's layers, and whether the values of a parameter suit what uses it. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "proto/spec_internal.h"
#include "proto/trainer_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A layer's number is checked like an option. */
static const struct layer {
	struct sw_trainer_option number; /* name: the layer's */
	const char *example;
} layers[] = {
	{{.name = "linear", .kind = SW_OPTION_INTEGER, .min = 1, .max = 1e6, .searched = true},
	 "{\"linear\": 64}"},
	{{.name = "dropout",
	  .kind = SW_OPTION_REAL,
	  .min = 0,
	  .max = 1,
	  .max_open = true,
	  .searched = true},
	 "{\"dropout\": 0.5}"},
};

static const char *const plain[] = {"relu", "tanh"};

static const char *const later[] = {"conv2d",    "maxpool2d", "avgpool2d", "gelu",     "batchnorm",
				    "layernorm", "embedding", "attention", "residual", "flatten",
				    "sigmoid",   "softmax",   "silu",      "lstm"};

bool spec_option_value(const struct sw_trainer_option *o, const cJSON *v, char *why, size_t cap)
{
	char low[32], high[32];

	if (o->kind == SW_OPTION_BOOLEAN) {
		(void)snprintf(why, cap, "must be true or false, not %s", spec_kind(v));
		return cJSON_IsBool(v) != 0;
	}
	if (o->kind == SW_OPTION_CHOICE) {
		(void)snprintf(why, cap, "must be \"%s\" or \"%s\"", o->choices[0], o->choices[1]);
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

static bool is_dist(const struct sw_spec_param *p, const char *name)
{
	return strcmp(p->dist, name) == 0;
}

/* Are all values of a numeric distribution integers? (The normal kinds also reach below 1.) */
static bool integral(const struct sw_spec_param *p)
{
	if (is_dist(p, "int_uniform") || is_dist(p, "int_log_uniform"))
		return true;
	if (is_dist(p, "pow2"))
		return p->min >= 1;
	return (is_dist(p, "q_uniform") || is_dist(p, "q_log_uniform_values")) &&
	       p->q == floor(p->q);
}

/* A quantised range has its values at the multiples of q inside it. */
static double lowest(const struct sw_spec_param *p)
{
	return is_dist(p, "q_uniform") && p->q > 0 ? ceil(p->min / p->q) * p->q : p->min;
}

static sw_status suits_values(const struct sw_spec_param *p, const struct sw_trainer_option *o,
			      struct sw_err *err)
{
	const cJSON *v;
	char why[160], tail[48];
	size_t i = 0;

	if (p->value != NULL)
		return spec_option_value(o, p->value, why, sizeof why)
			       ? SW_OK
			       : unsuited(p, o, "/value", why, err);
	cJSON_ArrayForEach (v, p->values) {
		(void)snprintf(tail, sizeof tail, "/values/%zu", i++);
		if (!spec_option_value(o, v, why, sizeof why))
			return unsuited(p, o, tail, why, err);
	}
	return SW_OK;
}

sw_status spec_param_suits(const struct sw_spec_param *p, const struct sw_trainer_option *o,
			   struct sw_err *err)
{
	cJSON end = {.type = cJSON_Number};
	char why[160];

	if (p->value != NULL || p->values != NULL)
		return suits_values(p, o, err);
	(void)spec_option_value(o, &end, why, sizeof why);
	if (o->kind == SW_OPTION_INTEGER && !integral(p))
		return unsuited(p, o, "",
				"takes integers: use int_uniform, pow2, q_uniform with an integer "
				"q, or values",
				err);
	if (o->kind == SW_OPTION_BOOLEAN || o->kind == SW_OPTION_CHOICE)
		return unsuited(p, o, "", why, err);
	if (p->has_min) {
		end.valuedouble = lowest(p);
		if (o->kind == SW_OPTION_INTEGER)
			end.valuedouble = ceil(end.valuedouble);
		if (!spec_option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/min", why, err);
	}
	if (p->has_max) {
		end.valuedouble = o->kind == SW_OPTION_INTEGER ? floor(p->max) : p->max;
		if (!spec_option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/max", why, err);
	}
	return SW_OK;
}

/* --- layers --- */

static bool among(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

static const struct layer *layer_find(const char *name)
{
	for (size_t i = 0; i < SPEC_N(layers); i++)
		if (strcmp(layers[i].number.name, name) == 0)
			return &layers[i];
	return NULL;
}

static sw_status unknown_layer(const char *name, const char *ptr, struct sw_err *err)
{
	const char *names[SPEC_N(plain) + SPEC_N(layers)];
	size_t n = 0;

	if (among(later, SPEC_N(later), name))
		return sw_err_at(err, SW_INVALID, ptr,
				 "layer \"%s\" is not supported by this version: linear, relu, "
				 "tanh and dropout are",
				 name);
	for (size_t i = 0; i < SPEC_N(plain); i++)
		names[n++] = plain[i];
	for (size_t i = 0; i < SPEC_N(layers); i++)
		names[n++] = layers[i].number.name;
	const char *near = sw_nearest(name, names, n);
	if (near != NULL)
		return sw_err_at(err, SW_INVALID, ptr, "unknown layer \"%s\"; did you mean \"%s\"?",
				 name, near);
	return sw_err_at(err, SW_INVALID, ptr,
			 "unknown layer \"%.64s\": linear, relu, tanh and dropout are known", name);
}

static sw_status check_plain(const char *name, const char *ptr, struct sw_err *err)
{
	const struct layer *layer = layer_find(name);

	if (among(plain, SPEC_N(plain), name))
		return SW_OK;
	if (layer != NULL)
		return sw_err_at(err, SW_INVALID, ptr, "layer \"%s\" needs a number: %s", name,
				 layer->example);
	return unknown_layer(name, ptr, err);
}

static sw_status check_numbered(const struct sw_spec *s, const cJSON *v, char *ptr, size_t cap,
				bool *used, struct sw_err *err)
{
	const cJSON *number = v->child;
	char why[160];

	if (number == NULL || number->next != NULL)
		return sw_err_at(err, SW_INVALID, ptr,
				 "a layer is a string or an object with one key, like {\"linear\": "
				 "64}");
	const struct layer *layer = layer_find(number->string);
	if (among(plain, SPEC_N(plain), number->string))
		return sw_err_at(err, SW_INVALID, ptr, "layer \"%s\" takes nothing: write \"%s\"",
				 number->string, number->string);
	if (layer == NULL)
		return unknown_layer(number->string, ptr, err);
	sw_json_pointer_add(ptr, cap, layer->number.name);
	if (cJSON_IsString(number)) {
		const int i = sw_spec_param_find(s, number->valuestring);
		if (i < 0)
			return spec_no_param(s, "layer", number->valuestring, ptr, err);
		used[i] = true;
		return spec_param_suits(&s->params[i], &layer->number, err);
	}
	if (spec_option_value(&layer->number, number, why, sizeof why))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" %s, or the name of a parameter",
			 layer->number.name, why);
}

sw_status spec_model_check(const struct sw_spec *s, const cJSON *model, bool *used,
			   struct sw_err *err)
{
	bool linear = false;
	const cJSON *v;
	size_t i = 0;

	if (model == NULL)
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "\"model\" is missing: a list of layers, like [{\"linear\": 64}, "
				 "\"relu\", {\"linear\": 10}]");
	if (!cJSON_IsArray(model))
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "\"model\" must be an array of layers, not %s", spec_kind(model));
	if (model->child == NULL)
		return sw_err_at(err, SW_INVALID, "/trainer/model", "model is empty");
	cJSON_ArrayForEach (v, model) {
		char ptr[96];
		sw_status rc;
		(void)snprintf(ptr, sizeof ptr, "/trainer/model/%zu", i++);
		if (cJSON_IsString(v))
			rc = check_plain(v->valuestring, ptr, err);
		else if (cJSON_IsObject(v))
			rc = check_numbered(s, v, ptr, sizeof ptr, used, err);
		else
			rc = sw_err_at(err, SW_INVALID, ptr,
				       "a layer is a string or an object with one key, not %s",
				       spec_kind(v));
		if (rc != SW_OK)
			return rc;
		linear = linear || sw_json_get(v, "linear") != NULL;
	}
	if (!linear)
		return sw_err_at(err, SW_INVALID, "/trainer/model",
				 "the model has no \"linear\" layer, so there is nothing to train");
	return SW_OK;
}

void spec_model_names(const struct sw_spec *s, bool *named, bool *sizes)
{
	const cJSON *layer;

	cJSON_ArrayForEach (layer, sw_json_get(s->trainer, "model")) {
		const cJSON *number = cJSON_IsObject(layer) ? layer->child : NULL;
		const char *name = cJSON_GetStringValue(number);
		const int i = name != NULL ? sw_spec_param_find(s, name) : -1;

		if (i < 0)
			continue;
		named[i] = true;
		sizes[i] = sizes[i] || strcmp(number->string, layers[0].number.name) == 0;
	}
}
