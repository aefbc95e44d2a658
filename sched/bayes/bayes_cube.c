/* The space as the model sees it: a coordinate for each parameter that has more than one value, and
 * each configuration at one point, so that the process knows what was really tried. */
#include "sched/bayes/bayes.h"
#include "sched/space/space_internal.h"
#include <assert.h>

void sw_bayes_cube_init(struct sw_bayes_cube *c, const struct sw_space *space)
{
	const size_t n = sw_space_size(space);

	*c = (struct sw_bayes_cube){.space = space, .n_params = n};
	c->plain = !sw_space_conditional(space) && !sw_space_constrained(space);
	for (size_t i = 0; i < n; i++) {
		const struct sw_param *const p = sw_space_param(space, i);
		const uint64_t levels = sw_space_levels(space, i);

		if (levels == 1 || p->dist == SW_DIST_CONSTANT)
			continue;
		c->of[c->d] = i;
		c->category[c->d] = p->dist == SW_DIST_CATEGORICAL;
		c->always[c->d] = sw_space_cond(space, i, 0) == NULL;
		c->smooth[c->d] = sw_space_is_continuous(&space->v[i]);
		c->levels[c->d] = levels;
		if (!c->smooth[c->d]) {
			c->mixed = true;
			c->plain = false;
		}
		c->d++;
	}
}

void sw_bayes_cube_add_resource(struct sw_bayes_cube *c)
{
	assert(c->d < SW_SPACE_MAX_PARAMS);
	c->smooth[c->d++] = true;
	c->resource = true;
}

void sw_bayes_cube_read(const struct sw_bayes_cube *c, const struct sw_value *values, double *x)
{
	struct sw_value canonical[SW_SPACE_MAX_PARAMS];
	double unit[SW_SPACE_MAX_PARAMS];

	for (size_t i = 0; i < c->n_params; i++)
		canonical[i] = values[i];
	/* An inactive parameter stands at one place, or one configuration would be many points. */
	sw_space_canonical(c->space, canonical);
	sw_space_encode(c->space, canonical, unit);
	for (size_t k = 0; k < c->d - c->resource; k++)
		x[k] = unit[c->of[k]];
	if (c->resource)
		x[c->d - 1] = 1;
}

bool sw_bayes_cube_write(const struct sw_bayes_cube *c, const double *x, struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];

	/* A parameter without a coordinate has one value, and any place means it. */
	for (size_t i = 0; i < c->n_params; i++)
		unit[i] = 0.5;
	for (size_t k = 0; k < c->d - c->resource; k++)
		unit[c->of[k]] = x[k];
	sw_space_decode(c->space, unit, values);
	sw_space_canonical(c->space, values);
	return sw_space_feasible(c->space, values);
}

double sw_bayes_cube_category(const struct sw_bayes_cube *c, size_t k, uint64_t choice)
{
	const struct sw_value v = {.choice = (uint32_t)choice};

	return sw_space_encode_one(&c->space->v[c->of[k]], v);
}

bool sw_bayes_cube_snap(const struct sw_bayes_cube *c, double *x)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];

	if (c->resource)
		x[c->d - 1] = 1;
	if (c->plain)
		return true;
	const bool ok = sw_bayes_cube_write(c, x, values);

	sw_bayes_cube_read(c, values, x);
	return ok;
}

void sw_bayes_cube_subject(const struct sw_bayes_cube *c, const struct sw_history *h, size_t i,
			   double *x)
{
	const struct sw_value *const v = i < h->n_prior
						 ? h->prior_values + i * h->n_params
						 : h->values + (i - h->n_prior) * h->n_params;

	sw_bayes_cube_read(c, v, x);
}
