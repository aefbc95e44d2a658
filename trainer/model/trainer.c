#include "trainer/model/trainer.h"
#include "base/text.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include "spec/spec.h"
#include "trainer/spec/options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct resolve {
	const cJSON *trainer, *params;
	const char *optimizer; /* known once the choices are */
	struct sw_err *err;
};

/* The value that stands for an option, NULL for none; where: its JSON pointer. */
static const cJSON *value_of(const struct resolve *r, const struct sw_form_key *o, char where[160])
{
	const cJSON *v = o->searched ? sw_json_get(r->params, o->name) : NULL;

	strcpy(where, v ? "/parameters" : "/trainer");
	sw_json_pointer_add(where, 160, o->name);
	if (v)
		return v;
	v = sw_json_get(r->trainer, o->name);
	if (cJSON_IsString(v) && o->searched &&
	    !(o->choices && o->choices[sw_key_word(o, v->valuestring)])) {
		const cJSON *param = sw_param_value(r->params, v->valuestring);

		if (param) {
			strcpy(where, "/parameters");
			sw_json_pointer_add(where, 160, v->valuestring);
			return param;
		}
		/* A submitted spec names parameters that exist: this one is not active in this
		 * trial ("when"), and the option has its default. */
		return NULL;
	}
	return v;
}

/* The option and its value, which is NULL or right. */
static sw_status value_check(const struct resolve *r, const char *name,
			     const struct sw_form_key **o, const cJSON **v)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	char where[160];

	*v = NULL;
	*o = sw_trainer_option_find(name);
	if (!*o)
		return sw_err_set(r->err, SW_INTERNAL, "no trainer option is called %s", name);
	*v = value_of(r, *o, where);
	if (*v)
		sw_key_check_literal(*o, *v, where, &f);
	return f.n ? sw_err_at(r->err, SW_INVALID, where, "%s", first.msg) : SW_OK;
}

/* A number, an integer or a boolean (as 0 or 1). Without a value: `instead`, or its default where
 * that is NaN. */
static sw_status resolve_number(const struct resolve *r, const char *name, double instead,
				double *out)
{
	const struct sw_form_key *o;
	const cJSON *v;
	const sw_status rc = value_check(r, name, &o, &v);

	if (rc != SW_OK)
		return rc;
	if (v)
		*out = cJSON_IsNumber(v) ? v->valuedouble : cJSON_IsTrue(v);
	else
		*out = isnan(instead) ? sw_trainer_option_fallback(o, r->optimizer) : instead;
	return SW_OK;
}

/* *out: the number of the option's word among its choices, from 0. Without a value: the first. */
static sw_status choice(const struct resolve *r, const char *name, size_t *out)
{
	const struct sw_form_key *o;
	const cJSON *v;
	const sw_status rc = value_check(r, name, &o, &v);

	*out = rc == SW_OK && v ? sw_key_word(o, v->valuestring) : 0;
	return rc;
}

static sw_status choices(const struct resolve *r, struct sw_trainer *out)
{
	size_t optimizer = 0, loss = 0, schedule = 0, precision = 0, scale = 0, weight = 0;
	sw_status rc = choice(r, "optimizer", &optimizer);

	if (rc == SW_OK)
		rc = choice(r, "loss", &loss);
	if (rc == SW_OK)
		rc = choice(r, "schedule", &schedule);
	if (rc == SW_OK)
		rc = choice(r, "precision", &precision);
	if (rc == SW_OK)
		rc = choice(r, "scale", &scale);
	if (rc == SW_OK)
		rc = choice(r, "class_weight", &weight);
	out->scale = (enum sw_scale)scale;
	out->balanced = weight != 0;
	out->optimizer = (enum sw_optimizer)optimizer;
	out->schedule = (enum sw_schedule)schedule;
	out->precision = (enum sw_precision)precision;
	out->classes = loss == 0;
	return rc;
}

const char *sw_trainer_optimizer_name(enum sw_optimizer optimizer)
{
	return sw_trainer_option_find("optimizer")->choices[optimizer];
}

const char *sw_trainer_precision_name(enum sw_precision precision)
{
	return sw_trainer_option_find("precision")->choices[precision];
}

double sw_trainer_lr(const struct sw_trainer *t, uint64_t step, uint64_t steps_per_epoch)
{
	const double each = (double)(steps_per_epoch ? steps_per_epoch : 1);
	const double warm = t->warmup_epochs * each, total = (double)t->epochs * each;
	const double after = fmax((double)step - warm, 0);

	/* From the first step on above 0, and lr itself at the end of the warm-up. */
	if ((double)step + 1 <= warm)
		return t->lr * (((double)step + 1) / warm);
	if (t->schedule == SW_SCHEDULE_COSINE && total > warm)
		return t->lr * (1 + cos(acos(-1.0) * after / (total - warm))) / 2;
	if (t->schedule == SW_SCHEDULE_STEP && t->step_epochs)
		return t->lr *
		       /* Whole epochs count: a step within one has the rate of its begin. */
		       pow(t->gamma, floor(floor((double)step / each) / (double)t->step_epochs));
	return t->lr;
}

sw_status sw_trainer_resolve(struct sw_trainer *out, const cJSON *trainer, const cJSON *params,
			     uint64_t max_t, uint64_t data_seed, struct sw_err *err)
{
	struct resolve r = {.trainer = trainer, .params = params, .err = err};
	double batch, epochs, nesterov, split, step_epochs, patience, micro;
	sw_status rc;

	memset(out, 0, sizeof *out);
	rc = choices(&r, out);
	if (rc != SW_OK)
		return rc;

	r.optimizer = sw_trainer_optimizer_name(out->optimizer);

	const struct {
		const char *name;
		double *to;
		double instead; /* of the default; NaN: nothing */
	} numbers[] = {
		{"lr", &out->lr, NAN},
		{"momentum", &out->momentum, NAN},
		{"nesterov", &nesterov, NAN},
		{"weight_decay", &out->weight_decay, NAN},
		{"beta1", &out->beta1, NAN},
		{"beta2", &out->beta2, NAN},
		{"eps", &out->eps, NAN},
		{"batch_size", &batch, NAN},
		{"epochs", &epochs, max_t != 0 ? (double)max_t : NAN},
		{"warmup_epochs", &out->warmup_epochs, NAN},
		{"step_epochs", &step_epochs, NAN},
		{"gamma", &out->gamma, NAN},
		{"clip_norm", &out->clip_norm, NAN},
		{"label_smoothing", &out->label_smoothing, NAN},
		{"patience", &patience, NAN},
		{"val_fraction", &out->val_fraction, NAN},
		{"split_seed", &split, -1},
		{"micro_batch", &micro, NAN},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		rc = resolve_number(&r, numbers[i].name, numbers[i].instead, numbers[i].to);
		if (rc != SW_OK)
			return rc;
	}
	out->nesterov = nesterov != 0;
	out->batch_size = (uint64_t)batch;
	out->micro_batch = (uint64_t)micro;
	out->epochs = (uint64_t)epochs;
	out->step_epochs = (uint64_t)step_epochs;
	out->patience = (uint64_t)patience;
	out->split_seed = split < 0 ? data_seed : (uint64_t)split;
	return SW_OK;
}
