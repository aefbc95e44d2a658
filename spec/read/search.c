/* What a search starts from: "init", "warm_start", "refine", "shuffle". */
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <string.h>

sw_status sw_spec_shuffle_check(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)v;
	if (strcmp(s->method, "grid") == 0)
		return SW_OK;
	return sw_err_at(err, SW_INVALID, "/shuffle",
			 "only method \"grid\" has an order to shuffle");
}

/* The values of the points are read where the space is known (daemon/plan/plan.c). */
sw_status sw_spec_init_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)err;
	s->init = v;
	s->n_init = (size_t)cJSON_GetArraySize(v);
	return SW_OK;
}

sw_status sw_spec_warm_start_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *item;

	if (strcmp(s->method, "bayes") != 0 && strcmp(s->method, "tpe") != 0)
		return sw_err_at(err, SW_INVALID, "/warm_start",
				 "method \"%s\" does not learn from trials of earlier sweeps: use "
				 "\"bayes\" or \"tpe\"",
				 s->method);
	cJSON_ArrayForEach (item, v) {
		const uint64_t sweep = (uint64_t)item->valuedouble;
		char ptr[40];

		(void)snprintf(ptr, sizeof ptr, "/warm_start/%zu", s->n_warm_start);
		for (size_t i = 0; i < s->n_warm_start; i++)
			if (s->warm_start[i] == sweep)
				return sw_err_at(err, SW_INVALID, ptr, "sweep %llu is named twice",
						 (unsigned long long)sweep);
		/* schema.json allows 64 of them, SW_SPEC_MAX_WARM. */
		s->warm_start[s->n_warm_start++] = sweep;
	}
	return SW_OK;
}

sw_status sw_spec_refine_read(struct sw_spec_refine *out, const cJSON *v, struct sw_err *err)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};

	*out = (struct sw_spec_refine){0};
	sw_key_check(sw_form_find(&sw_form_top, "refine"), v, "/refine", &f);
	if (f.n == 0)
		sw_form_fill(&sw_form_refine, v, out);
	return sw_spec_first(&f, err);
}
