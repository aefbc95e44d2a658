/* Type "asha": rungs, in the variants that stop and that promote. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <string.h>

enum { GRACE_PERIOD, MAX_T, REDUCTION_FACTOR, BRACKETS, MIN_RESULTS };

/* clang-format off */
static const struct sw_spec_pruner_field fields[] = {
	[GRACE_PERIOD] = {.names = {"grace_period", "min_iter", "min_resource"},
			  .at = PRUNER_AT(asha.grace_period), .least = 1},
	[MAX_T] = {.names = {"max_t", "max_iter", "max_resource"}, .at = PRUNER_AT(asha.max_t), .least = 1},
	[REDUCTION_FACTOR] = {.names = {"reduction_factor", "eta"},
			      .at = PRUNER_AT(asha.reduction_factor), .least = 2},
	[BRACKETS] = PRUNER_COUNT("brackets", asha.brackets, 1),
	[MIN_RESULTS] = PRUNER_COUNT("min_results", asha.min_results, 1),
};
/* clang-format on */
_Static_assert(SW_SPEC_N(fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint hints[] = {
	{"s", NULL, "give grace_period and max_t"},
	{"min_early_stopping_rate", "brackets", NULL},
	{"n_brackets", "brackets", NULL},
	{"bootstrap_count", "min_results", NULL},
	{"stop_last_trials", NULL, "a trial ends at max_t: leave it out"},
};

static void defaults(struct sw_spec_pruner_reading *r)
{
	uint64_t epochs = 0;

	r->out->asha = (struct sw_asha_config){
		.grace_period = 1, .max_t = 100, .reduction_factor = 4, .brackets = 1};
	/* A trial of so many epochs ends there, whatever the pruner says. */
	if (sw_json_u64(sw_json_get(r->spec->trainer, "epochs"), &epochs) && epochs > 0)
		r->out->asha.max_t = epochs;
}

static sw_status read_variant(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	static const char *const names[] = {"stop", "promote"};
	const cJSON *v = sw_json_get(r->v, "variant");
	const char *word = cJSON_GetStringValue(v);

	/* To stop is the default. */
	if (v == NULL || (word != NULL && strcmp(word, names[0]) == 0))
		return SW_OK;
	if (word == NULL)
		return sw_spec_must_be(v, "variant", "\"stop\" or \"promote\"", err);
	if (strcmp(word, names[1]) != 0)
		return sw_spec_unknown("variant", word, names, SW_SPEC_N(names),
				       ": it must be \"stop\" or \"promote\"", "/variant", err);
	r->out->kind = SW_PRUNER_PROMOTE;
	return SW_OK;
}

static sw_status finish_asha(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_asha_config *a = &r->out->asha;
	const char *grace = r->given[GRACE_PERIOD] != NULL ? r->given[GRACE_PERIOD]
							   : fields[GRACE_PERIOD].names[0];
	const char *last = r->given[MAX_T] != NULL ? r->given[MAX_T] : fields[MAX_T].names[0];
	const sw_status rc = read_variant(r, err);
	if (rc != SW_OK)
		return rc;
	if (r->out->kind == SW_PRUNER_PROMOTE && r->given[MIN_RESULTS] != NULL)
		return sw_err_at(err, SW_INVALID, "/min_results",
				 "\"min_results\" is of variant \"stop\": a rung promotes none "
				 "before it has reduction_factor results");
	/* As many results as a rung must have to keep one of them. */
	if (a->min_results == 0)
		a->min_results = a->reduction_factor;
	if (a->grace_period <= a->max_t)
		return SW_OK;
	return sw_spec_at_key(err, grace, "\"%s\" is %llu, beyond the last step %llu (%s)", grace,
			      (unsigned long long)a->grace_period, (unsigned long long)a->max_t,
			      last);
}

const struct sw_spec_pruner_type sw_spec_pruner_asha = {
	.name = "asha",
	.kind = SW_PRUNER_ASHA,
	PRUNER_KEYS(fields, hints),
	.more = {"variant"},
	.defaults = defaults,
	.finish = finish_asha,
};
