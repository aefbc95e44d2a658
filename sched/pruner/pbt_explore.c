#include "sched/pruner/pbt_explore.h"
#include "sched/num/rng.h"
#include <assert.h>
#include <string.h>

struct explorer {
	const struct sw_pbt_config *c;
	const struct sw_space *space;
	size_t n;
	uint64_t seed, child;
	uint32_t redraw;
};

enum { DRAW_RESAMPLE, DRAW_VALUE, DRAW_CHANGE, DRAWS };

static double draw(const struct explorer *e, size_t param, uint32_t what)
{
	/* Every draw has a number of its own, so what one parameter takes moves no other's. */
	const uint32_t number = (e->redraw * (uint32_t)e->n + (uint32_t)param) * DRAWS + what;

	return sw_rng_unit(e->seed, SW_RNG_EXPLORE, e->child, number);
}

static struct sw_value step_choice(const struct sw_param *p, struct sw_value v, bool up)
{
	if (up)
		v.choice += v.choice + 1 < p->n_choices;
	else
		v.choice -= v.choice > 0;
	return v;
}

/* Twice or half of it; the space's ends are clipped to by the caller. */
static struct sw_value step_power(struct sw_value v, bool up)
{
	v.number = up ? v.number * 2.0 : v.number / 2.0;
	return v;
}

static double grid(const struct sw_param *p)
{
	switch (p->dist) {
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
		return 1.0;
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		return p->q;
	default:
		return 0.0;
	}
}

static struct sw_value scale(const struct explorer *e, size_t i, struct sw_value v, double factor)
{
	const double step = grid(sw_space_param(e->space, i));
	const struct sw_value scaled =
		sw_space_nearest(e->space, i, (struct sw_value){.number = v.number * factor});
	const bool same = !(scaled.number < v.number) && !(scaled.number > v.number);

	/* A small number on a grid may round back to itself: then it moves by one step. */
	if (!same || step == 0.0 || factor == 1.0)
		return scaled;
	const double away = factor > 1.0 ? step : -step; /* from zero */
	v.number += v.number < 0.0 ? -away : away;
	return sw_space_nearest(e->space, i, v);
}

static struct sw_value change(const struct explorer *e, size_t i, struct sw_value v)
{
	const struct sw_param *p = sw_space_param(e->space, i);
	const double u = draw(e, i, DRAW_CHANGE);

	switch (p->dist) {
	case SW_DIST_CONSTANT:
		return v;
	case SW_DIST_CATEGORICAL:
		return step_choice(p, v, u >= 0.5);
	case SW_DIST_POW2:
		return sw_space_nearest(e->space, i, step_power(v, u >= 0.5));
	default:
		return scale(e, i, v, e->c->factor[sw_rng_below(u, e->c->factor_n)]);
	}
}

static void explore(const struct explorer *e, const struct sw_value *donor, struct sw_value *values)
{
	double unit[SW_SPACE_MAX_PARAMS];
	struct sw_value fresh[SW_SPACE_MAX_PARAMS];

	for (size_t i = 0; i < e->n; i++)
		unit[i] = draw(e, i, DRAW_VALUE);
	sw_space_decode(e->space, unit, fresh);
	for (size_t i = 0; i < e->n; i++) {
		if (e->c->fixed[i])
			values[i] = donor[i];
		else if (draw(e, i, DRAW_RESAMPLE) < e->c->resample_probability)
			values[i] = fresh[i];
		else
			values[i] = change(e, i, donor[i]);
	}
	/* A changed parent may switch others off: two children that differ only there are one
	 * point. */
	sw_space_canonical(e->space, values);
}

void sw_pbt_explore(const struct sw_pbt_config *c, const struct sw_space *space, uint64_t seed,
		    uint64_t child, const struct sw_value *donor, struct sw_value *values)
{
	struct explorer e = {c, space, sw_space_size(space), seed, child, 0};
	struct sw_value from[SW_SPACE_MAX_PARAMS];

	assert(e.n <= SW_SPACE_MAX_PARAMS);
	/* The donor's values may stand where the child's are written. */
	memcpy(from, donor, e.n * sizeof from[0]);
	for (; e.redraw < SW_PBT_REDRAWS; e.redraw++) {
		explore(&e, from, values);
		if (sw_space_feasible(space, values))
			return;
	}
	if (sw_space_repair(space, seed, child, c->fixed, values)) {
		sw_space_canonical(space, values);
		return;
	}
	/* The donor's own point holds, so the child trains on as an unchanged copy. */
	memcpy(values, from, e.n * sizeof from[0]);
}
