/* Type "pbt": population based training, with Ray's keys. */
#include "proto/json.h"
#include "spec/read/read.h"
#include <stdio.h>

_Static_assert(SW_SPACE_MAX_PARAMS <= SW_PBT_PARAMS_MAX, "each parameter has its flag");

/* v NULL: the default of schema.json, which holds no lists for C. */
static void read_factors(struct sw_pbt_config *p, const cJSON *v)
{
	const cJSON *item;

	p->factor_n = 2;
	p->factor[0] = 1.2;
	p->factor[1] = 0.8;
	if (v == NULL)
		return;
	p->factor_n = 0;
	cJSON_ArrayForEach (item, v)
		/* schema.json allows as many as there is room for, SW_PBT_FACTORS_MAX. */
		p->factor[p->factor_n++] = item->valuedouble;
}

/* Why a parameter must stay as it is in a trial that goes on from another's checkpoint; NULL: it
 * may change. */
static const char *cannot_change(const struct sw_spec *s, size_t i)
{
	const struct sw_spec_param *p = &s->params[i];

	if (p->dist == SW_DIST_CONSTANT)
		return "is a constant: it cannot change";
	if (s->trainer != NULL && sw_spec_option_param(s, "optimizer") == p)
		return "is the optimizer: a checkpoint holds the state of one";
	if (s->trainer != NULL && sw_spec_option_param(s, "epochs") == p)
		return "is how long a trial trains, which is the same for all members";
	return NULL;
}

/* Marks the parameters whose names stand anywhere in the model. */
static void mark_named(const struct sw_spec *s, const cJSON *model, bool *named)
{
	const int i = cJSON_IsString(model) ? sw_spec_param_find(s, model->valuestring) : -1;
	const cJSON *inner;

	if (i >= 0)
		named[i] = true;
	cJSON_ArrayForEach (inner, model)
		mark_named(s, inner, named);
}

/* By default every parameter mutates that can, but those that the model's layers name: which of
 * these are sizes of a layer only the trainer knows. */
static sw_status mutate_default(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	const struct sw_spec *s = r->spec;
	bool named[SW_SPACE_MAX_PARAMS] = {false}, any = false;

	mark_named(s, sw_json_get(s->trainer, "model"), named);
	for (size_t i = 0; i < s->n_params; i++) {
		r->out->pbt.fixed[i] = named[i] || cannot_change(s, i) != NULL;
		any = any || !r->out->pbt.fixed[i];
	}
	return any ? SW_OK
		   : sw_err_at(err, SW_INVALID, "/hyperparam_mutations",
			       "no parameter can change from one member to the next: each is a "
			       "constant, in the model's layers, the optimizer or the epochs");
}

static sw_status mutate_one(struct sw_spec_pruner_reading *r, const cJSON *v, const char *ptr,
			    struct sw_err *err)
{
	const char *name = v->valuestring;
	const int i = sw_spec_param_find(r->spec, name);
	if (i < 0)
		return sw_spec_no_param(r->spec, "hyperparam_mutations", name, ptr, err);
	/* All were fixed before the list was read, so one that is not has been named. */
	if (!r->out->pbt.fixed[i])
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is there twice", name);
	const char *why = cannot_change(r->spec, (size_t)i);
	if (why != NULL)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" %s", name, why);
	r->out->pbt.fixed[i] = false;
	return SW_OK;
}

static sw_status read_mutations(struct sw_spec_pruner_reading *r, const cJSON *v,
				struct sw_err *err)
{
	const cJSON *item;
	char ptr[64];
	size_t n = 0;

	if (v == NULL)
		return mutate_default(r, err);
	/* What the list does not name stays as it is. */
	for (size_t i = 0; i < r->spec->n_params; i++)
		r->out->pbt.fixed[i] = true;
	cJSON_ArrayForEach (item, v) {
		(void)snprintf(ptr, sizeof ptr, "/hyperparam_mutations/%zu", n++);
		const sw_status rc = mutate_one(r, item, ptr, err);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

sw_status sw_spec_pbt_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	if (r->spec->run_cap < 2)
		return sw_err_at(err, SW_INVALID, "",
				 r->spec->run_cap == 0
					 ? "type \"pbt\" needs the sweep's \"run_cap\": it is the "
					   "size of the population"
					 : "type \"pbt\" needs a \"run_cap\" of 2 or more: it is "
					   "the size of the population");
	read_factors(&r->out->pbt, sw_json_get(r->v, "perturbation_factors"));
	const sw_status rc = read_mutations(r, sw_json_get(r->v, "hyperparam_mutations"), err);
	struct sw_pbt_config *p = &r->out->pbt;
	p->last_step = sw_spec_epochs(r->spec);
	/* One more: at the last step there is nothing left to go on with. */
	r->out->first_step = 1 + (p->perturbation_interval > p->burn_in_period
					  ? p->perturbation_interval
					  : p->burn_in_period);
	return rc;
}
