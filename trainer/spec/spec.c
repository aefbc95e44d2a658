/* "trainer": which parameter feeds which option, whether each is used, and what "parallel" and
 * "early_terminate" ask of the net. */
#include "trainer/spec/spec.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/query.h"
#include "trainer/spec/dataset.h"
#include "trainer/spec/options.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- options --- */

/* A string that is none of the option's own words must be the name of a parameter. */
static sw_status check_reference(const struct sw_spec *s, const struct sw_form_key *o,
				 const char *name, bool *used, struct sw_err *err)
{
	char ptr[64] = "/trainer", what[48], want[120];

	sw_json_pointer_add(ptr, sizeof ptr, o->name);
	const int i = sw_spec_param_find(s, name);
	if (i >= 0) {
		used[i] = true;
		return sw_trainer_param_suits(&s->params[i], o, err);
	}
	if (o->kind == SW_KEY_CHOICE)
		return sw_err_at(err, SW_INVALID, ptr,
				 "unknown %s \"%.64s\": it must be %s, or the name of a parameter",
				 o->name, name, sw_key_want(o, want, sizeof want));
	(void)snprintf(what, sizeof what, "option \"%s\":", o->name);
	return sw_spec_no_param(s, what, name, ptr, err);
}

static sw_status check_option(const struct sw_spec *s, const struct sw_form_key *o, const cJSON *v,
			      bool *used, struct sw_err *err)
{
	const int same = sw_spec_param_find(s, o->name);
	char ptr[64] = "/trainer";

	if (v == NULL) {
		/* The default stands. check_used() refuses a parameter that nothing uses. */
		if (same < 0 || !o->searched)
			return SW_OK;
		used[same] = true;
		return sw_trainer_param_suits(&s->params[same], o, err);
	}
	sw_json_pointer_add(ptr, sizeof ptr, o->name);
	const bool text = cJSON_IsString(v) != 0;
	if (same >= 0 && !(text && strcmp(v->valuestring, o->name) == 0))
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is in \"parameters\" too: which one counts? Remove one",
				 o->name);
	/* schema.json has said what a literal must be. */
	if (text && o->searched &&
	    !(o->kind == SW_KEY_CHOICE && o->choices[sw_key_word(o, v->valuestring)] != NULL))
		return check_reference(s, o, v->valuestring, used, err);
	return SW_OK;
}

/* A parameter that changes nothing would waste the whole search. */
static sw_status check_used(const struct sw_spec *s, const bool *used, struct sw_err *err)
{
	const char *names[SW_TRAINER_OPTION_MAX];
	char ptr[sizeof err->ptr];
	size_t n = 0, i = 0;

	while (i < s->n_params && used[i])
		i++;
	/* All are used. */
	if (i == s->n_params)
		return SW_OK;
	const char *name = s->params[i].name;
	sw_spec_param_pointer(&s->params[i], ptr, sizeof ptr);
	const struct sw_form_key *o = sw_trainer_option_find(name);
	if (o != NULL && !o->searched)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is the same for every trial: give it in \"trainer\"",
				 name);
	for (size_t k = 0; k < sw_trainer_options.n; k++)
		if (sw_trainer_options.keys[k].searched)
			names[n++] = sw_trainer_options.keys[k].name;
	const char *near = sw_nearest(name, names, n);
	const char *known = sw_form_nearest(&sw_form_trainer, name);
	/* Another tool's name for an option comes before what looks like it. */
	if (known != NULL && sw_trainer_option_find(known) != NULL)
		near = known;
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

/* --- other keys --- */

static sw_status check_micro_batch(const struct sw_spec *s, struct sw_err *err)
{
	const char *ptr = sw_json_get(s->trainer, "micro_batch") != NULL ? "/trainer/micro_batch"
			  : sw_spec_param_find(s, "micro_batch") >= 0    ? "/parameters/micro_batch"
									 : NULL;

	/* Nobody asked for parts of a batch. */
	if (ptr == NULL)
		return SW_OK;
	/* Ranks could have different numbers of parts, and statistics are over one part of each. */
	if (s->sync_batchnorm)
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"micro_batch\" does not go with \"sync_batchnorm\": each rank's "
				 "rows are one part");
	/* Each data rank may take its rows in parts. */
	if (s->stages <= 1)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr,
			 "\"micro_batch\" is not for a pipeline: give parallel.microbatches, the "
			 "number of parts that a batch goes through it in");
}

/* A member of a population goes on from another's checkpoint, which fits one net only. */
static void check_mutations(const struct sw_spec *s, struct sw_faults *f)
{
	const cJSON *list =
		sw_json_get(sw_json_get(s->tree, "early_terminate"), "hyperparam_mutations");
	bool sizes[SW_SPACE_MAX_PARAMS] = {false};
	const cJSON *item;
	size_t n = 0;

	sw_trainer_model_sizes(s, sizes);
	cJSON_ArrayForEach (item, list) {
		const char *name = cJSON_GetStringValue(item);
		const int i = name != NULL ? sw_spec_param_find(s, name) : -1;
		char ptr[64];

		(void)snprintf(ptr, sizeof ptr, "/early_terminate/hyperparam_mutations/%zu", n++);
		if (i >= 0 && sizes[i] && !sw_fault_near(f, ptr))
			sw_fault_note(f, ptr,
				      "\"%s\" is the size of a layer, or its activation: a "
				      "checkpoint fits one net only",
				      name);
	}
}

/* Where another fault is noted a second one would only repeat it. */
static void note_first(struct sw_faults *f, sw_status rc, const struct sw_err *err)
{
	if (rc != SW_OK && !sw_fault_near(f, err->ptr))
		sw_fault_note(f, err->ptr, "%s", err->msg);
}

void sw_trainer_spec_check(const struct sw_spec *s, struct sw_faults *f)
{
	bool used[SW_SPACE_MAX_PARAMS] = {false};
	struct sw_err err = SW_ERR_INIT, parts = SW_ERR_INIT, data = SW_ERR_INIT;
	struct sw_dataset set;

	sw_form_check(&sw_form_trainer, s->trainer, "/trainer", f);
	/* Before it is said that no trial has its own. */
	if (!sw_fault_near(f, "/parallel"))
		note_first(f, check_micro_batch(s, &parts), &parts);
	if (!sw_fault_near(f, "/trainer/dataset") &&
	    sw_dataset_read(&set, sw_json_get(s->trainer, "dataset"), &data) != SW_OK) {
		sw_err_prefix(&data, "/trainer/dataset");
		sw_fault_note(f, data.ptr, "%s", data.msg);
	}
	sw_trainer_model_check(s, sw_json_get(s->trainer, "model"), used, f);
	for (size_t i = 0; i < sw_trainer_options.n; i++) {
		const struct sw_form_key *o = &sw_trainer_options.keys[i];
		struct sw_err wrong = SW_ERR_INIT;

		note_first(f, check_option(s, o, sw_json_get(s->trainer, o->name), used, &wrong),
			   &wrong);
	}
	/* With a fault it is not known which parameters the trainer uses. */
	if (!sw_fault_near(f, "/trainer"))
		note_first(f, check_used(s, used, &err), &err);
	check_mutations(s, f);
}
