/* A search starts from the user's own points ("init") and from trials of earlier sweeps. */
#include "base/memory.h"
#include "daemon/plan/plan.h"
#include "proto/json.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The constraint in its own words, and the pointer to the point. */
static sw_status no_fill(const struct sw_spec *spec, struct sw_err *err)
{
	const size_t i = strtoul(err->ptr + strlen("/constraints/"), NULL, 10);

	assert(i < spec->n_constraints);
	*err = (struct sw_err)SW_ERR_INIT;
	return sw_err_set(
		err, SW_INVALID,
		"with what is given here no point was found that meets the constraint \"%.200s\"",
		spec->constraints[i].text);
}

sw_status sw_plan_point(const struct sw_spec *spec, const struct sw_space *space,
			const cJSON *params, uint64_t seed, uint64_t number,
			struct sw_value *values, struct sw_err *err)
{
	bool given[SW_SPACE_MAX_PARAMS];
	sw_status rc = sw_plan_read(spec, space, params, values, given, err);

	if (rc != SW_OK)
		return rc;
	/* A whole point leaves nothing to draw: it meets the constraints or it does not. */
	if (sw_plan_missing(space, values, given) == sw_space_size(space))
		return sw_plan_feasible(spec, space, values, err);
	rc = sw_sampler_fill(space, seed, number, given, values, err);
	return rc == SW_INVALID ? no_fill(spec, err) : rc;
}

sw_status sw_plan_init(const struct sw_spec *spec, const struct sw_space *space, uint64_t seed,
		       struct sw_value **out, struct sw_err *err)
{
	const size_t n = sw_space_size(space);
	const cJSON *point;
	uint64_t i = 0;
	sw_status rc = SW_OK;

	*out = NULL;
	if (spec->n_init == 0)
		/* Most sweeps have none, and *out says so by NULL. */
		return SW_OK;
	struct sw_value *values = sw_malloc(spec->n_init * n * sizeof *values);
	if (values == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the init points");
	cJSON_ArrayForEach (point, spec->init) {
		char ptr[40];

		rc = sw_plan_point(spec, space, point, seed, i + 1, values + i * n, err);
		if (rc != SW_OK) {
			(void)snprintf(ptr, sizeof ptr, "/init/%llu", (unsigned long long)i);
			sw_err_prefix(err, ptr);
			free(values);
			return rc;
		}
		i++;
	}
	*out = values;
	return SW_OK;
}

void sw_plan_priors_fini(struct sw_plan_priors *p)
{
	free(p->values);
	free(p->y);
	*p = (struct sw_plan_priors){.n = 0};
}

sw_status sw_plan_priors_add(struct sw_plan_priors *p, const struct sw_space *space,
			     const struct sw_value *values, const double *y, size_t n_metrics)
{
	const size_t n = sw_space_size(space);
	size_t values_cap = p->cap;

	if (!sw_array_reserve(&p->values, &values_cap, p->n + 1, n * sizeof *p->values) ||
	    !sw_array_reserve(&p->y, &p->cap, p->n + 1, n_metrics * sizeof *p->y))
		return SW_NOMEM;
	memcpy(p->values + p->n * n, values, n * sizeof *values);
	memcpy(p->y + p->n * n_metrics, y, n_metrics * sizeof *y);
	p->n++;
	return SW_OK;
}

sw_status sw_plan_priors_read(struct sw_plan_priors *p, const struct sw_spec *spec,
			      const struct sw_space *space, const char *params, const char *y_text,
			      struct sw_err *err)
{
	const size_t n_metrics = spec->n_metrics;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	double y[SW_METRICS_MAX];
	cJSON *tree = NULL, *list = NULL;
	bool given[SW_SPACE_MAX_PARAMS];
	sw_status rc = sw_json_parse(&tree, params, strlen(params), err);

	if (rc == SW_OK)
		rc = sw_json_parse(&list, y_text, strlen(y_text), err);
	if (rc == SW_OK && (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)n_metrics))
		rc = sw_err_set(err, SW_IO, "a stored trial to learn from has no values");
	for (size_t k = 0; rc == SW_OK && k < n_metrics; k++) {
		const cJSON *v = cJSON_GetArrayItem(list, (int)k);

		if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
			rc = sw_err_set(err, SW_IO, "a stored trial to learn from has no number");
		else
			y[k] = v->valuedouble;
	}
	if (rc == SW_OK)
		rc = sw_plan_read(spec, space, tree, values, given, err);
	/* A parameter that is not active has one value everywhere, or two equal points would be
	 * apart for a sampler. */
	if (rc == SW_OK)
		sw_space_canonical(space, values);
	if (rc == SW_OK)
		rc = sw_plan_priors_add(p, space, values, y, n_metrics);
	cJSON_Delete(tree);
	cJSON_Delete(list);
	return rc;
}
