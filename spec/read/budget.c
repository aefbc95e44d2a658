/* "run_cap" and "plateau": when a sweep ends. */
#include "proto/json.h"
#include "spec/read/read.h"
#include <float.h>

sw_status sw_spec_run_cap_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	/* 0 may be meant as no limit, so it has a line that says more than a range. */
	if (cJSON_IsNumber(v) && v->valuedouble == 0)
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "run_cap is 0: a sweep needs at least one trial");
	return sw_spec_read_u64(v, "run_cap", 1, 1000000000, &s->run_cap, err);
}

static sw_status plateau_fields(struct sw_spec_plateau *p, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"top", "std", "patience"};
	static const struct sw_spec_hint hints[] = {
		{"metric", NULL, "the sweep's \"metric\" is used"},
		{"mode", NULL, "the sweep's \"metric\" has the goal"},
		{"min_delta", "std", NULL},
		{"n", "top", NULL},
	};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), hints, SW_SPEC_N(hints)};
	sw_status rc;

	if ((rc = sw_spec_check_keys(v, &keys, err)) != SW_OK ||
	    (rc = sw_spec_key_u64(v, "top", 2, 10000, &p->top, err)) != SW_OK ||
	    (rc = sw_spec_key_real(v, "std", 0, false, DBL_MAX, &p->std, err)) != SW_OK)
		return rc;
	return sw_spec_key_u64(v, "patience", 0, 1000000000, &p->patience, err);
}

sw_status sw_spec_plateau_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "plateau", "an object like {\"top\": 10, \"std\": 0.001}",
				       err);
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "/plateau",
				 "\"plateau\" looks at one metric, and the sweep has %zu: leave it "
				 "out, or give one \"metric\"",
				 s->n_metrics);
	s->plateau = (struct sw_spec_plateau){.top = 10, .std = 0.001};
	const sw_status rc = plateau_fields(&s->plateau, v, err);
	sw_err_prefix(err, "/plateau");
	return rc;
}
