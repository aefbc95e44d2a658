/* "trainer": the form of the data set, of the options, and which parameter feeds which of them. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/dataset.h"
#include "spec/read/read.h"
#include "spec/trainer_options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct sw_spec_hint hints[] = {
	{"parallel", NULL, "give it beside \"trainer\""},
	{"bf16", "precision", NULL},
	{"layers", "model", NULL},
	{"data", "dataset", NULL},
	{"learning_rate", "lr", NULL},
	{"wd", "weight_decay", NULL},
	{"opt", "optimizer", NULL},
	{"bs", "batch_size", NULL},
	{"batch", "batch_size", NULL},
	{"n_epochs", "epochs", NULL},
	{"max_epochs", "epochs", NULL},
	{"criterion", "loss", NULL},
	{"seed", "split_seed", NULL},
	{"betas", NULL, "give beta1 and beta2"},
	{"scheduler", "schedule", NULL},
	{"lr_schedule", "schedule", NULL},
	{"clip", "clip_norm", NULL},
	{"grad_clip", "clip_norm", NULL},
	{"warmup", "warmup_epochs", NULL},
};

/* --- data set --- */

static sw_status check_dataset(const cJSON *trainer, struct sw_err *err)
{
	const cJSON *dataset = sw_json_get(trainer, "dataset");

	if (dataset == NULL)
		return sw_err_at(err, SW_INVALID, "/trainer/dataset",
				 "\"dataset\" is missing: {\"name\": \"digits\"} or {\"format\": "
				 "\"csv\", ...}");
	if (!cJSON_IsObject(dataset))
		return sw_err_at(err, SW_INVALID, "/trainer/dataset",
				 "\"dataset\" must be an object, not %s", sw_spec_kind(dataset));
	struct sw_dataset set;
	const sw_status rc = sw_dataset_read(&set, dataset, err);
	sw_err_prefix(err, "/trainer/dataset");
	return rc;
}

/* --- options --- */

static bool is_choice(const struct sw_trainer_option *o, const char *word)
{
	for (size_t i = 0; o->choices[i] != NULL; i++)
		if (strcmp(o->choices[i], word) == 0)
			return true;
	return false;
}

/* A string that is none of the option's own words must be the name of a parameter. */
static sw_status check_reference(const struct sw_spec *s, const struct sw_trainer_option *o,
				 const char *name, bool *used, struct sw_err *err)
{
	char ptr[64] = "/trainer", what[48], list[120];

	sw_json_pointer_add(ptr, sizeof ptr, o->name);
	const int i = sw_spec_param_find(s, name);
	if (o->searched && i >= 0) {
		used[i] = true;
		return sw_spec_param_suits(&s->params[i], o, err);
	}
	if (i >= 0)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is the same for every trial: it cannot be a parameter",
				 o->name);
	if (o->kind == SW_OPTION_CHOICE)
		return sw_err_at(err, SW_INVALID, ptr, "unknown %s \"%.64s\": %s%s", o->name, name,
				 sw_spec_one_of(o->choices, list, sizeof list),
				 o->searched ? ", or the name of a parameter" : "");
	if (!o->searched)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be %s, not a string", o->name,
				 o->kind == SW_OPTION_BOOLEAN ? "true or false" : "a number");
	(void)snprintf(what, sizeof what, "option \"%s\":", o->name);
	return sw_spec_no_param(s, what, name, ptr, err);
}

static sw_status check_option(const struct sw_spec *s, const struct sw_trainer_option *o,
			      const cJSON *v, bool *used, struct sw_err *err)
{
	const int same = sw_spec_param_find(s, o->name);
	char ptr[64] = "/trainer", why[160];

	if (v == NULL) {
		/* The default stands. check_used() refuses a parameter that nothing uses. */
		if (same < 0 || !o->searched)
			return SW_OK;
		used[same] = true;
		return sw_spec_param_suits(&s->params[same], o, err);
	}
	sw_json_pointer_add(ptr, sizeof ptr, o->name);
	const bool text = cJSON_IsString(v) != 0;
	if (same >= 0 && !(text && strcmp(v->valuestring, o->name) == 0))
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is in \"parameters\" too: which one counts? Remove one",
				 o->name);
	if (text && !(o->kind == SW_OPTION_CHOICE && is_choice(o, v->valuestring)))
		return check_reference(s, o, v->valuestring, used, err);
	if (sw_spec_option_value(o, v, why, sizeof why))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" %s", o->name, why);
}

static sw_status check_keys(const cJSON *trainer, struct sw_err *err)
{
	const char *known[SW_TRAINER_OPTION_N + 2] = {"dataset", "model"};
	const struct sw_spec_keys keys = {known, SW_SPEC_N(known), hints, SW_SPEC_N(hints)};

	for (size_t i = 0; i < SW_TRAINER_OPTION_N; i++)
		known[2 + i] = sw_trainer_options[i].name;
	const sw_status rc = sw_spec_check_keys(trainer, &keys, err);
	sw_err_prefix(err, "/trainer");
	return rc;
}

/* A parameter that changes nothing would waste the whole search. */
static sw_status check_used(const struct sw_spec *s, const bool *used, struct sw_err *err)
{
	const char *names[SW_TRAINER_OPTION_N];
	char ptr[sizeof err->ptr];
	size_t n = 0, i = 0;

	while (i < s->n_params && used[i])
		i++;
	/* All are used. */
	if (i == s->n_params)
		return SW_OK;
	const char *name = s->params[i].name;
	sw_spec_param_pointer(&s->params[i], ptr, sizeof ptr);
	const struct sw_trainer_option *o = sw_trainer_option_find(name);
	if (o != NULL && !o->searched)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is the same for every trial: give it in \"trainer\"",
				 name);
	for (size_t k = 0; k < SW_TRAINER_OPTION_N; k++)
		if (sw_trainer_options[k].searched)
			names[n++] = sw_trainer_options[k].name;
	const char *near = sw_nearest(name, names, n);
	for (size_t k = 0; k < SW_SPEC_N(hints); k++)
		if (hints[k].use != NULL && strcmp(hints[k].key, name) == 0)
			near = hints[k].use;
	if (near != NULL)
		return sw_err_at(err, SW_INVALID, ptr,
				 "nothing uses the parameter \"%s\"; did you mean \"%s\"?", name,
				 near);
	return sw_err_at(err, SW_INVALID, ptr,
			 "nothing uses the parameter \"%s\": name it in trainer.model, give its "
			 "name to an option of the trainer, or name it like one (lr, batch_size, "
			 "momentum, ...)",
			 name);
}

sw_status sw_spec_trainer_check(const struct sw_spec *s, struct sw_err *err)
{
	bool used[SW_SPEC_MAX_PARAMS] = {false};

	sw_status rc = check_keys(s->trainer, err);
	if (rc == SW_OK)
		rc = check_dataset(s->trainer, err);
	if (rc == SW_OK)
		rc = sw_spec_model_check(s, sw_json_get(s->trainer, "model"), used, err);
	for (size_t i = 0; rc == SW_OK && i < SW_TRAINER_OPTION_N; i++) {
		const struct sw_trainer_option *o = &sw_trainer_options[i];
		rc = check_option(s, o, sw_json_get(s->trainer, o->name), used, err);
	}
	return rc == SW_OK && !(s->trainer->type & SW_SPEC_WRONG) ? check_used(s, used, err) : rc;
}

void sw_spec_trainer_precision(struct sw_spec *s)
{
	const struct sw_trainer_option *o = sw_trainer_option_find("precision");
	const cJSON *v = sw_json_get(s->trainer, o->name);

	if (v != NULL && strcmp(v->valuestring, o->choices[0]) != 0)
		s->precision = v->valuestring;
}
