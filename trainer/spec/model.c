/* Checks the model's layers, and whether the values of a parameter suit what uses them. */
#include "proto/json.h"
#include "spec/query.h"
#include "trainer/spec/layers.h"
#include "trainer/spec/spec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Is v a literal that the option takes? why[cap]: "must be ..." either way. */
static bool option_value(const struct sw_form_key *o, const cJSON *v, char *why, size_t cap)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	char want[140];

	sw_key_check_literal(o, v, "", &f);
	(void)snprintf(why, cap, "must be %s", sw_key_want(o, want, sizeof want));
	return f.n == 0;
}

/* --- does a parameter suit? --- */

static sw_status unsuited(const struct sw_spec_param *p, const struct sw_form_key *o,
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

static sw_status suits_values(const struct sw_spec_param *p, const struct sw_form_key *o,
			      struct sw_err *err)
{
	const cJSON *v;
	char why[160], tail[48];
	size_t i = 0;

	if (p->value != NULL)
		return option_value(o, p->value, why, sizeof why)
			       ? SW_OK
			       : unsuited(p, o, "/value", why, err);
	cJSON_ArrayForEach (v, p->values) {
		(void)snprintf(tail, sizeof tail, "/values/%zu", i++);
		if (!option_value(o, v, why, sizeof why))
			return unsuited(p, o, tail, why, err);
	}
	return SW_OK;
}

sw_status sw_trainer_param_suits(const struct sw_spec_param *p, const struct sw_form_key *o,
				 struct sw_err *err)
{
	cJSON end = {.type = cJSON_Number};
	char why[160];

	if (p->wrong)
		return SW_OK;
	if (p->value != NULL || p->values != NULL)
		return suits_values(p, o, err);
	/* The 0 is not judged here: `why` gets the words of the option's range. */
	(void)option_value(o, &end, why, sizeof why);
	if (o->kind == SW_KEY_INTEGER && !integral(p))
		return unsuited(p, o, "",
				"takes integers: use int_uniform, pow2, q_uniform with an integer "
				"q, or values",
				err);
	if (o->kind == SW_KEY_BOOLEAN || o->kind == SW_KEY_CHOICE)
		return unsuited(p, o, "", why, err);
	/* Bounds are enough: what lies between them suits if they do. */
	if (p->has_min) {
		end.valuedouble = lowest(p);
		if (o->kind == SW_KEY_INTEGER)
			end.valuedouble = ceil(end.valuedouble);
		if (!option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/min", why, err);
	}
	if (p->has_max) {
		end.valuedouble = o->kind == SW_KEY_INTEGER ? floor(p->max) : p->max;
		if (!option_value(o, &end, why, sizeof why))
			return unsuited(p, o, "/max", why, err);
	}
	return SW_OK;
}

/* --- layers --- */

struct check {
	const struct sw_spec *spec;
	bool *used;
};

static sw_status check_value(void *ctx, const struct sw_form_key *o, enum sw_layer_form_id layer,
			     const cJSON *v, const char *ptr, struct sw_err *err)
{
	const struct check *c = ctx;
	char why[160];

	(void)layer;
	/* A choice's own word comes before a parameter of that name. */
	if (option_value(o, v, why, sizeof why))
		return SW_OK;
	const int i = cJSON_IsString(v) ? sw_spec_param_find(c->spec, v->valuestring) : -1;
	if (i >= 0) {
		c->used[i] = true;
		return sw_trainer_param_suits(&c->spec->params[i], o, err);
	}
	if (cJSON_IsString(v) && o->kind != SW_KEY_CHOICE)
		return sw_spec_no_param(c->spec, "layer", v->valuestring, ptr, err);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" %s, or the name of a parameter", o->name,
			 why);
}

void sw_trainer_model_check(const struct sw_spec *s, const cJSON *model, bool *used,
			    struct sw_faults *f)
{
	static const char at[] = "/trainer/model";
	struct check c = {s, used};
	const struct sw_layer_visit visit = {&c, check_value};
	const size_t before = f->n;
	bool trains = false;

	/* schema.json says that it must be there. */
	if (model == NULL)
		return;
	if (!cJSON_IsArray(model) && !cJSON_IsObject(model)) {
		sw_fault_note(f, at, "\"model\" must be an array of layers, not %s",
			      sw_json_kind(model));
		return;
	}
	if (model->child == NULL) {
		sw_fault_note(f, at, "model is empty");
		return;
	}
	sw_layers_walk(model, at, &visit, &trains, f);
	if (!trains && f->n == before)
		sw_fault_note(f, at,
			      "the model has no \"linear\" layer, so there is nothing to train");
}

struct sizes {
	const struct sw_spec *spec;
	bool *sizes;
};

static sw_status note_size(void *ctx, const struct sw_form_key *o, enum sw_layer_form_id layer,
			   const cJSON *v, const char *ptr, struct sw_err *err)
{
	const struct sizes *n = ctx;
	const char *name = cJSON_GetStringValue(v);
	const int i = name != NULL ? sw_spec_param_find(n->spec, name) : -1;

	(void)ptr;
	(void)err;
	/* A literal names no parameter. */
	if (i < 0)
		return SW_OK;
	n->sizes[i] = n->sizes[i] || sw_layer_sizes(layer, o);
	return SW_OK;
}

void sw_trainer_model_sizes(const struct sw_spec *s, bool *sizes)
{
	struct sizes n = {s, sizes};
	const struct sw_layer_visit visit = {&n, note_size};
	struct sw_faults none = {NULL, 0, 0}; /* what is wrong was noted */
	const cJSON *model = sw_json_get(s->trainer, "model");

	if (model != NULL)
		sw_layers_walk(model, "", &visit, NULL, &none);
}
