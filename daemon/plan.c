#include "daemon/plan.h"
#include "proto/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum sw_dist dist;
} dists[] = {
	{"constant", SW_DIST_CONSTANT},
	{"categorical", SW_DIST_CATEGORICAL},
	{"int_uniform", SW_DIST_INT_UNIFORM},
	{"uniform", SW_DIST_UNIFORM},
	{"log_uniform_values", SW_DIST_LOG_UNIFORM},
	{"inv_log_uniform_values", SW_DIST_INV_LOG_UNIFORM},
	{"q_uniform", SW_DIST_Q_UNIFORM},
	{"q_log_uniform_values", SW_DIST_Q_LOG_UNIFORM},
	{"pow2", SW_DIST_POW2},
	{"normal", SW_DIST_NORMAL},
	{"q_normal", SW_DIST_Q_NORMAL},
	{"log_normal", SW_DIST_LOG_NORMAL},
	{"q_log_normal", SW_DIST_Q_LOG_NORMAL},
};

static sw_status add_param(struct sw_space *space, const struct sw_spec_param *p,
			   struct sw_err *err)
{
	for (size_t i = 0; i < sizeof dists / sizeof dists[0]; i++) {
		if (strcmp(p->dist, dists[i].name) != 0)
			continue;
		const struct sw_param param = {
			.dist = dists[i].dist,
			.min = p->min,
			.max = p->max,
			.q = p->q,
			.mu = p->mu,
			.sigma = p->sigma,
			.n_choices = p->n_values,
			.weights = p->weights,
		};
		return sw_space_add(space, &param, err);
	}
	return sw_err_at(err, SW_INTERNAL, "/distribution", "no sampler knows \"%s\"", p->dist);
}

static void prefix_param(struct sw_err *err, const char *name)
{
	char prefix[sizeof err->ptr] = "/parameters";

	sw_json_pointer_add(prefix, sizeof prefix, name);
	sw_err_prefix(err, prefix);
}

static sw_status build_space(struct sw_space **out, const struct sw_spec *spec, struct sw_err *err)
{
	struct sw_space *space = NULL;
	sw_status rc = sw_space_create(&space);

	for (size_t i = 0; rc == SW_OK && i < spec->n_params; i++) {
		rc = add_param(space, &spec->params[i], err);
		if (rc != SW_OK)
			prefix_param(err, spec->params[i].name);
	}
	if (rc != SW_OK) {
		sw_space_destroy(space);
		space = NULL;
	}
	*out = space;
	return rc;
}

/* sched names parameters by index ("/parameters/2/q"); people know them by name. */
static void name_param(struct sw_err *err, const struct sw_spec *spec)
{
	static const char head[] = "/parameters/";
	char rest[sizeof err->ptr], *end;

	if (strncmp(err->ptr, head, sizeof head - 1) != 0)
		return;
	const unsigned long i = strtoul(err->ptr + sizeof head - 1, &end, 10);
	if (end == err->ptr + sizeof head - 1 || i >= spec->n_params)
		return;
	(void)snprintf(rest, sizeof rest, "%s", end);
	memcpy(err->ptr, rest, sizeof rest);
	prefix_param(err, spec->params[i].name);
}

sw_status sw_plan_build(struct sw_sweep **out, const struct sw_spec *spec, uint64_t seed,
			struct sw_err *err)
{
	struct sw_sweep_config config = {
		.seed = spec->has_seed ? spec->seed : seed,
		.maximize = spec->maximize,
		.has_asha = spec->has_asha,
		.run_cap = spec->run_cap,
		.max_concurrent = spec->max_concurrent,
		.retries = (unsigned)spec->retries,
	};
	struct sw_space *space = NULL;
	sw_status rc;

	*out = NULL;
	if (sw_sampler_find(spec->method, &config.sampler) != SW_OK)
		return sw_err_at(err, SW_INVALID, "/method", "no sampler is called \"%s\"",
				 spec->method);
	if (spec->has_asha)
		config.asha = (struct sw_asha_config){
			.grace_period = spec->asha.grace_period,
			.max_t = spec->asha.max_t,
			.reduction_factor = spec->asha.reduction_factor,
			.brackets = spec->asha.brackets,
			.min_results = spec->asha.min_results,
		};
	rc = build_space(&space, spec, err);
	if (rc == SW_OK)
		rc = sw_sweep_create(out, &config, space, err);
	if (rc != SW_OK) {
		sw_space_destroy(space);
		name_param(err, spec);
	}
	return rc;
}

void sw_plan_params(const struct sw_spec *spec, const struct sw_space *space,
		    const struct sw_value *values, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	for (size_t i = 0; i < spec->n_params; i++) {
		const struct sw_spec_param *p = &spec->params[i];

		sw_jw_key(&w, p->name);
		switch (sw_space_param(space, i)->dist) {
		case SW_DIST_CONSTANT:
			sw_jw_cjson(&w, p->value);
			break;
		case SW_DIST_CATEGORICAL:
			sw_jw_cjson(&w, cJSON_GetArrayItem(p->values, (int)values[i].choice));
			break;
		default:
			sw_jw_num(&w, values[i].number);
		}
	}
	sw_jw_obj_end(&w);
}
