/* Type "asha": rungs, in the variants that stop and that promote. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <string.h>

static const struct sw_row rows[] = {
	PRUNER_AT("grace_period", asha.grace_period),         PRUNER_AT("max_t", asha.max_t),
	PRUNER_AT("reduction_factor", asha.reduction_factor), PRUNER_AT("brackets", asha.brackets),
	PRUNER_AT("min_results", asha.min_results),
};

static sw_status finish_asha(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_asha_config *a = &r->out->asha;
	const char *grace = sw_spec_pruner_given(r, "grace_period"),
		   *last = sw_spec_pruner_given(r, "max_t");
	uint64_t epochs = 0;

	/* A trial of so many epochs ends there, whatever the pruner says. */
	if (last == NULL && sw_json_u64(sw_json_get(r->spec->trainer, "epochs"), &epochs) &&
	    epochs > 0)
		a->max_t = epochs;
	if (strcmp(sw_json_text(r->v, "variant", ""), "promote") == 0)
		r->out->kind = SW_PRUNER_PROMOTE;
	if (r->out->kind == SW_PRUNER_PROMOTE && a->min_results != 0)
		return sw_err_at(err, SW_INVALID, "/min_results",
				 "\"min_results\" is of variant \"stop\": a rung promotes none "
				 "before it has reduction_factor results");
	/* As many results as a rung must have to keep one of them. */
	if (a->min_results == 0)
		a->min_results = a->reduction_factor;
	if (a->grace_period <= a->max_t)
		return SW_OK;
	grace = grace != NULL ? grace : "grace_period";
	return sw_spec_at_key(err, grace, "\"%s\" is %llu, beyond the last step %llu (%s)", grace,
			      (unsigned long long)a->grace_period, (unsigned long long)a->max_t,
			      last != NULL ? last : "max_t");
}

const struct sw_spec_pruner_type sw_spec_pruner_asha = {
	.name = "asha",
	.kind = SW_PRUNER_ASHA,
	PRUNER_ROWS(rows),
	.finish = finish_asha,
};
