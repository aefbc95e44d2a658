/* "trainer": which parameter feeds which option, and whether each is used. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/dataset.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include "spec/trainer_options.h"
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
		return sw_spec_param_suits(&s->params[i], o, err);
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
		return sw_spec_param_suits(&s->params[same], o, err);
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

void sw_spec_trainer_check(const struct sw_spec *s, struct sw_faults *f)
{
	bool used[SW_SPACE_MAX_PARAMS] = {false};
	struct sw_err err = SW_ERR_INIT;
	struct sw_dataset set;

	if (!sw_fault_near(f, "/trainer/dataset") &&
	    sw_dataset_read(&set, sw_json_get(s->trainer, "dataset"), &err) != SW_OK) {
		sw_err_prefix(&err, "/trainer/dataset");
		sw_fault_note(f, err.ptr, "%s", err.msg);
	}
	sw_spec_model_check(s, sw_json_get(s->trainer, "model"), used, f);
	for (size_t i = 0; i < sw_trainer_options.n; i++) {
		const struct sw_form_key *o = &sw_trainer_options.keys[i];
		struct sw_err wrong = SW_ERR_INIT;

		if (check_option(s, o, sw_json_get(s->trainer, o->name), used, &wrong) != SW_OK &&
		    !sw_fault_near(f, wrong.ptr))
			sw_fault_note(f, wrong.ptr, "%s", wrong.msg);
	}
	/* With a fault it is not known which parameters the trainer uses. */
	if (!sw_fault_near(f, "/trainer") && check_used(s, used, &err) != SW_OK &&
	    !sw_fault_near(f, err.ptr))
		sw_fault_note(f, err.ptr, "%s", err.msg);
}

void sw_spec_trainer_precision(struct sw_spec *s)
{
	const struct sw_form_key *o = sw_trainer_option_find("precision");
	const cJSON *v = sw_json_get(s->trainer, o->name);

	if (v != NULL && strcmp(v->valuestring, o->choices[0]) != 0)
		s->precision = v->valuestring;
}
