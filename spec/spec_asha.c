/* Type "asha": rungs, in the variants that stop and that promote. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/spec_pruner.h"
#include <string.h>

enum { GRACE_PERIOD, MAX_T, REDUCTION_FACTOR, BRACKETS, MIN_RESULTS };

static const struct pruner_field fields[] = {
	[GRACE_PERIOD] = {{"grace_period", "min_iter", "min_resource"},
			  FIELD_U64,
			  PRUNER_AT(asha.grace_period),
			  1,
			  false,
			  0,
			  NULL},
	[MAX_T] = {{"max_t", "max_iter", "max_resource"},
		   FIELD_U64,
		   PRUNER_AT(asha.max_t),
		   1,
		   false,
		   0,
		   NULL},
	[REDUCTION_FACTOR] = {{"reduction_factor", "eta", NULL},
			      FIELD_U64,
			      PRUNER_AT(asha.reduction_factor),
			      2,
			      false,
			      0,
			      NULL},
	[BRACKETS] =
		{{"brackets", NULL, NULL}, FIELD_U64, PRUNER_AT(asha.brackets), 1, false, 0, NULL},
	[MIN_RESULTS] = {{"min_results", NULL, NULL},
			 FIELD_U64,
			 PRUNER_AT(asha.min_results),
			 1,
			 false,
			 0,
			 NULL},
};
_Static_assert(SW_SPEC_N(fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint hints[] = {
	{"s", NULL, "give grace_period and max_t"},
	{"min_early_stopping_rate", "brackets", NULL},
	{"n_brackets", "brackets", NULL},
	{"bootstrap_count", "min_results", NULL},
	{"stop_last_trials", NULL, "a trial ends at max_t: leave it out"},
};

static void defaults(struct pruner_read *r)
{
	uint64_t epochs = 0;

	r->out->asha = (struct sw_spec_asha){
		.grace_period = 1, .max_t = 100, .reduction_factor = 4, .brackets = 1};
	if (sw_json_u64(sw_json_get(r->spec->trainer, "epochs"), &epochs) && epochs > 0)
		r->out->asha.max_t = epochs;
}

static sw_status read_variant(struct pruner_read *r, struct sw_err *err)
{
	static const char *const names[] = {"stop", "promote"};
	const cJSON *v = sw_json_get(r->v, "variant");
	const char *word = cJSON_GetStringValue(v);

	if (v == NULL || (word != NULL && strcmp(word, names[0]) == 0))
		return SW_OK;
	if (word == NULL)
		return sw_err_at(err, SW_INVALID, "/variant",
				 "\"variant\" must be \"stop\" or \"promote\", not %s",
				 sw_spec_kind(v));
	if (strcmp(word, names[1]) != 0) {
		const char *near = sw_nearest(word, names, SW_SPEC_N(names));
		if (near != NULL)
			return sw_err_at(err, SW_INVALID, "/variant",
					 "unknown variant \"%s\"; did you mean \"%s\"?", word,
					 near);
		return sw_err_at(err, SW_INVALID, "/variant",
				 "unknown variant \"%.64s\": it must be \"stop\" or \"promote\"",
				 word);
	}
	r->out->kind = SW_SPEC_PRUNER_PROMOTE;
	return SW_OK;
}

static sw_status finish(struct pruner_read *r, struct sw_err *err)
{
	struct sw_spec_asha *a = &r->out->asha;
	const char *grace = r->given[GRACE_PERIOD] != NULL ? r->given[GRACE_PERIOD]
							   : fields[GRACE_PERIOD].names[0];
	const char *last = r->given[MAX_T] != NULL ? r->given[MAX_T] : fields[MAX_T].names[0];
	char ptr[sizeof err->ptr] = "";

	const sw_status rc = read_variant(r, err);
	if (rc != SW_OK)
		return rc;
	if (r->out->kind == SW_SPEC_PRUNER_PROMOTE && r->given[MIN_RESULTS] != NULL)
		return sw_err_at(err, SW_INVALID, "/min_results",
				 "\"min_results\" is of variant \"stop\": a rung promotes none "
				 "before it has reduction_factor results");
	if (a->min_results == 0)
		a->min_results = a->reduction_factor;
	if (a->grace_period <= a->max_t)
		return SW_OK;
	sw_json_pointer_add(ptr, sizeof ptr, grace);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is %llu, beyond the last step %llu (%s)",
			 grace, (unsigned long long)a->grace_period, (unsigned long long)a->max_t,
			 last);
}

const struct pruner_type sw_spec_pruner_asha = {
	.name = "asha",
	.kind = SW_SPEC_PRUNER_ASHA,
	.fields = fields,
	.n_fields = SW_SPEC_N(fields),
	.more = {"variant"},
	.hints = hints,
	.n_hints = SW_SPEC_N(hints),
	.defaults = defaults,
	.finish = finish,
};
