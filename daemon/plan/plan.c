#include "daemon/plan/plan.h"
#include "base/memory.h"
#include "proto/json.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void prefix_param(struct sw_err *err, const struct sw_spec_param *p)
{
	char prefix[sizeof err->ptr];

	sw_spec_param_pointer(p, prefix, sizeof prefix);
	sw_err_prefix(err, prefix);
}

/* The values as numbers, for constraints: *out is NULL if one is not a number. */
static sw_status numbers_of(const struct sw_spec_param *p, double **out, struct sw_err *err)
{
	const size_t n = p->value != NULL ? 1 : p->n_values;
	const cJSON *v = p->value != NULL ? p->value : p->values->child;

	*out = sw_calloc(n, sizeof **out);
	if (*out == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	for (size_t i = 0; i < n; i++, v = v->next) {
		if (!cJSON_IsNumber(v)) {
			/* No constraint may name the parameter, and sched refuses one that does. */
			free(*out);
			*out = NULL;
			return SW_OK;
		}
		(*out)[i] = v->valuedouble;
	}
	return SW_OK;
}

static sw_status add_param(struct sw_space *space, const struct sw_spec_param *p,
			   struct sw_err *err)
{
	double *numbers = NULL;
	sw_status rc = SW_OK;

	if (p->value != NULL || p->values != NULL)
		rc = numbers_of(p, &numbers, err);
	if (rc != SW_OK)
		return rc;
	const struct sw_param param = {
		.dist = p->dist,
		.min = p->min,
		.max = p->max,
		.q = p->q,
		.mu = p->mu,
		.sigma = p->sigma,
		.n_choices = p->n_values,
		.weights = p->weights,
		.numbers = numbers,
	};
	rc = sw_space_add(space, &param, err);
	free(numbers);
	return rc;
}

static sw_status add_cond(struct sw_space *space, const struct sw_spec *spec,
			  const struct sw_spec_cond *c, struct sw_err *err)
{
	const cJSON *v = cJSON_IsArray(c->allowed) ? c->allowed->child : c->allowed;
	struct sw_value *allowed = sw_calloc(c->n, sizeof *allowed);
	char ptr[sizeof err->ptr], at[24];
	sw_status rc = SW_OK;

	if (allowed == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	sw_spec_cond_pointer(spec, c, ptr, sizeof ptr);
	for (size_t i = 0; rc == SW_OK && i < c->n; i++, v = v->next) {
		rc = sw_plan_value(spec, space, c->parent, v, &allowed[i], err);
		if (rc == SW_OK)
			continue;
		if (cJSON_IsArray(c->allowed)) {
			(void)snprintf(at, sizeof at, "%zu", i);
			sw_json_pointer_add(ptr, sizeof ptr, at);
		}
		sw_err_prefix(err, ptr);
	}
	if (rc == SW_OK) {
		rc = sw_space_when(space, c->child, c->parent, allowed, c->n, err);
		if (rc != SW_OK)
			prefix_param(err, &spec->params[c->child]);
	}
	free(allowed);
	return rc;
}

static sw_status add_rules(struct sw_space *space, const struct sw_spec *spec, struct sw_err *err)
{
	char ptr[48];
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < spec->n_conds; i++)
		rc = add_cond(space, spec, &spec->conds[i], err);
	for (size_t i = 0; rc == SW_OK && i < spec->n_constraints; i++) {
		rc = sw_space_constrain(space, &spec->constraints[i].rule, err);
		(void)snprintf(ptr, sizeof ptr, "/constraints/%zu", i);
		if (rc != SW_OK)
			sw_err_prefix(err, ptr);
	}
	return rc == SW_OK ? sw_space_seal(space, err) : rc;
}

static sw_status add_params(struct sw_space *space, const struct sw_spec *spec, struct sw_err *err)
{
	for (size_t i = 0; i < spec->n_params; i++) {
		const sw_status rc = add_param(space, &spec->params[i], err);

		if (rc != SW_OK) {
			prefix_param(err, &spec->params[i]);
			return rc;
		}
	}
	return SW_OK;
}

sw_status sw_plan_ranges(const struct sw_spec *spec, struct sw_faults *f)
{
	struct sw_space *space = NULL;
	sw_status rc = sw_space_create(&space);

	for (size_t i = 0; rc == SW_OK && i < spec->n_params; i++) {
		struct sw_err err = SW_ERR_INIT;

		if (!spec->params[i].wrong)
			rc = add_param(space, &spec->params[i], &err);
		if (rc != SW_INVALID)
			continue;
		prefix_param(&err, &spec->params[i]);
		sw_fault_note(f, err.ptr, "%s", err.msg);
		rc = SW_OK;
	}
	sw_space_destroy(space);
	return rc;
}

sw_status sw_plan_space(struct sw_space **out, const struct sw_spec *spec, struct sw_err *err)
{
	struct sw_space *space = NULL;
	sw_status rc = sw_space_create(&space);

	*out = NULL;
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory for the search space");
	assert(space != NULL);
	rc = add_params(space, spec, err);
	if (rc == SW_OK)
		rc = add_rules(space, spec, err);
	if (rc == SW_OK)
		*out = space;
	else
		sw_space_destroy(space);
	return rc;
}

/* sched names parameters and constraints by their index ("/parameters/2/q"). A user knows
 * parameters by their names and constraints by their texts. */
static void name_place(struct sw_err *err, const struct sw_spec *spec)
{
	static const char params[] = "/parameters";
	const struct sw_err was = *err;
	const char *at = strstr(was.ptr, "/constraints/");
	size_t i;
	int n = 0;

	/* With or without "/parameters" before it. Its text goes into the line, since the pointer
	 * shows an index alone. */
	if (at != NULL && (at == was.ptr || at == was.ptr + sizeof params - 1)) {
		if (sscanf(at, "/constraints/%zu", &i) == 1 && i < spec->n_constraints) {
			*err = (struct sw_err)SW_ERR_INIT;
			(void)!sw_err_at(err, was.code, at, "%.200s (\"%.100s\")", was.msg,
					 spec->constraints[i].text);
		}
	} else if (sscanf(was.ptr, "/parameters/%zu%n", &i, &n) == 1 && i < spec->n_params) {
		memcpy(err->ptr, was.ptr + n, strlen(was.ptr + n) + 1);
		prefix_param(err, &spec->params[i]);
	}
}

struct sw_pruner_config sw_plan_pruner(const struct sw_pruner_config *p, bool maximize)
{
	struct sw_pruner_config c = *p;

	/* Lower is better inside sched, so the upper bound becomes the lower one. */
	if (maximize) {
		c.threshold.has_lower = p->threshold.has_upper;
		c.threshold.has_upper = p->threshold.has_lower;
		c.threshold.lower = -p->threshold.upper;
		c.threshold.upper = -p->threshold.lower;
	}
	return c;
}

sw_status sw_plan_build(struct sw_sweep **out, const struct sw_spec *spec, uint64_t seed,
			const struct sw_plan_priors *priors, struct sw_err *err)
{
	struct sw_sweep_config config = {
		.seed = spec->has_seed ? spec->seed : seed,
		.maximize = spec->maximize,
		.n_metrics = spec->n_metrics,
		.unmeasured = spec->n_metrics == 0,
		.run_cap = spec->run_cap,
		.max_concurrent = spec->max_concurrent,
		.retries = (unsigned)spec->retries,
		.shuffle = spec->shuffle,
		.n_init = spec->n_init,
		.has_target = spec->has_target,
		.target = spec->target,
		.plateau = {.top = spec->plateau.top,
			    .std = spec->plateau.std,
			    .patience = spec->plateau.patience},
	};
	struct sw_space *space = NULL;
	struct sw_value *init = NULL;
	sw_status rc;

	*out = NULL;
	for (size_t k = 1; k < spec->n_metrics; k++)
		config.maximize_more[k - 1] = spec->metrics[k].maximize;
	if (sw_samplers_find(spec->method, &config.sampler) != SW_OK)
		return sw_err_at(err, SW_INVALID, "/method", "no sampler is called \"%s\"",
				 spec->method);
	config.pruner = sw_plan_pruner(&spec->pruner, spec->maximize);
	if (priors != NULL) {
		config.n_prior = priors->n;
		config.prior = priors->values;
		config.prior_y = priors->y;
	}
	rc = sw_plan_space(&space, spec, err);
	if (rc != SW_OK)
		return rc;
	rc = sw_plan_init(spec, space, config.seed, &init, err);
	if (rc != SW_OK) {
		sw_space_destroy(space);
		return rc;
	}
	/* sched copies the points, and takes the space only if it succeeds. */
	config.init = init;
	rc = sw_sweep_create(out, &config, space, err);
	free(init);
	if (rc != SW_OK) {
		sw_space_destroy(space);
		if (err != NULL)
			name_place(err, spec);
	}
	return rc;
}
