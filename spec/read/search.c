/* "method", and what a search starts from: "init", "warm_start", "refine", "shuffle",
 * "suggest_wait_ms". */
#include "base/sampling.h"
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
const char *const sw_spec_methods[] = {
#define SW_ROW(name, KIND) #name,
	SW_SAMPLERS(SW_ROW)
#undef SW_ROW
	NULL
};
/* clang-format on */
#define METHOD_N (SW_SPEC_N(sw_spec_methods) - 1)

sw_status sw_spec_method_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	static const struct {
		const char *name, *use;
	} also[] = {{"gp", "bayes"},         {"bayesian", "bayes"}, {"bayesopt", "bayes"},
		    {"grid_search", "grid"}, {"qmc", "sobol"},      {"optuna", "tpe"}};
	static const char *const later[] = {"custom", "cmaes"};
	char known[100], tail[130];

	(void)sw_spec_one_of(sw_spec_methods, known, sizeof known);
	(void)snprintf(tail, sizeof tail, ": method must be %s", known);
	if (!cJSON_IsString(v))
		return sw_spec_must_be(v, "method", known, err);
	for (size_t i = 0; i < METHOD_N; i++)
		if (strcmp(sw_spec_methods[i], v->valuestring) == 0) {
			s->method = sw_spec_methods[i];
			return SW_OK;
		}
	for (size_t i = 0; i < SW_SPEC_N(also); i++)
		if (strcmp(also[i].name, v->valuestring) == 0)
			return sw_err_at(err, SW_INVALID, "/method",
					 "unknown method \"%s\"; did you mean \"%s\"?",
					 also[i].name, also[i].use);
	/* People know these from elsewhere, and no name of ours is near to them. */
	for (size_t i = 0; i < SW_SPEC_N(later); i++)
		if (strcmp(later[i], v->valuestring) == 0)
			return sw_err_at(err, SW_INVALID, "/method",
					 "method \"%s\" is not supported by this version%s",
					 later[i], tail);
	for (size_t i = 0; i < SW_SPEC_PRUNER_TYPE_N; i++)
		if (strcmp(sw_spec_pruner_types[i]->name, v->valuestring) == 0)
			return sw_err_at(
				err, SW_INVALID, "/method",
				"\"%s\" is a type of \"early_terminate\", beside a method%s",
				v->valuestring, tail);
	return sw_spec_unknown("method", v->valuestring, sw_spec_methods, METHOD_N, tail, "/method",
			       err);
}

sw_status sw_spec_shuffle_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_read_bool(v, "shuffle", &s->shuffle, err);

	if (rc != SW_OK)
		return rc;
	if (strcmp(s->method, "grid") != 0)
		return sw_err_at(err, SW_INVALID, "/shuffle",
				 "only method \"grid\" has an order to shuffle");
	return SW_OK;
}

/* The values of the points are read where the space is known (daemon/plan/plan.c). */
sw_status sw_spec_init_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *point;
	int n = 0;

	if (!cJSON_IsArray(v))
		return sw_spec_must_be(v, "init", "an array of objects like {\"lr\": 0.1}", err);
	cJSON_ArrayForEach (point, v) {
		char ptr[32];

		(void)snprintf(ptr, sizeof ptr, "/init/%d", n);
		if (!cJSON_IsObject(point))
			return sw_err_at(err, SW_INVALID, ptr,
					 "a point must be an object like {\"lr\": 0.1}, not %s",
					 sw_spec_kind(point));
		if (++n > SW_SPEC_MAX_INIT)
			return sw_err_at(err, SW_INVALID, "/init", "\"init\" has over %d points",
					 SW_SPEC_MAX_INIT);
	}
	s->init = v;
	s->n_init = (size_t)n;
	return SW_OK;
}

sw_status sw_spec_warm_start_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) == 0)
		return sw_err_at(
			err, SW_INVALID, "/warm_start",
			"\"warm_start\" must be an array of sweeps' numbers like [12, 14]");
	if (strcmp(s->method, "bayes") != 0 && strcmp(s->method, "tpe") != 0)
		return sw_err_at(err, SW_INVALID, "/warm_start",
				 "method \"%s\" does not learn from trials of earlier sweeps: use "
				 "\"bayes\" or \"tpe\"",
				 s->method);
	cJSON_ArrayForEach (item, v) {
		uint64_t sweep;
		char ptr[40];

		(void)snprintf(ptr, sizeof ptr, "/warm_start/%zu", s->n_warm_start);
		if (!sw_json_u64(item, &sweep) || sweep == 0)
			return sw_err_at(err, SW_INVALID, ptr, "must be a sweep's number");
		if (s->n_warm_start == SW_SPEC_MAX_WARM)
			return sw_err_at(err, SW_INVALID, "/warm_start",
					 "\"warm_start\" names over %d sweeps", SW_SPEC_MAX_WARM);
		for (size_t i = 0; i < s->n_warm_start; i++)
			if (s->warm_start[i] == sweep)
				return sw_err_at(err, SW_INVALID, ptr, "sweep %llu is named twice",
						 (unsigned long long)sweep);
		s->warm_start[s->n_warm_start++] = sweep;
	}
	return SW_OK;
}

sw_status sw_spec_refine_read(struct sw_spec_refine *out, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"of", "top"};
	static const struct sw_spec_hint hints[] = {{"sweep", "of", NULL}, {"n", "top", NULL}};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), hints, SW_SPEC_N(hints)};
	sw_status rc;

	*out = (struct sw_spec_refine){.top = 10};
	if (!cJSON_IsObject(v))
		return sw_err_at(err, SW_INVALID, "/refine",
				 "\"refine\" must be an object like {\"of\": 12, \"top\": 10}");
	rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK && sw_json_get(v, "of") == NULL)
		rc = sw_err_at(err, SW_INVALID, "/of", "\"of\" is missing: the sweep to refine");
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "of", 1, (uint64_t)SW_JSON_MAX_INT, &out->of, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "top", 1, 1000, &out->top, err);
	sw_err_prefix(err, "/refine");
	return rc;
}

sw_status sw_spec_refine_check(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	struct sw_spec_refine refine;

	/* Only the form is checked: what it stands for is in "parameters" by now. */
	(void)s;
	return sw_spec_refine_read(&refine, v, err);
}
