#include "sched/sampler/sampler.h"
#include "base/memory.h"
#include "sched/num/rng.h"
#include "sched/sampler/sampler_internal.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIED 4   /* looks for a point around the one that is known */
#define MIDDLE 0.5 /* of a range */

/* A space without any point is refused; what was found is kept for when a search for more fails. */
static sw_status find_known(struct sw_sampler *s, struct sw_err *err)
{
	const size_t n = sw_space_size(s->space);
	struct sw_probe found;
	const sw_status rc = sw_space_probe(s->space, s->seed, &found, err);

	if (rc != SW_OK || !sw_space_constrained(s->space))
		return rc;
	s->known = sw_malloc(n * sizeof *s->known);
	if (s->known == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
	memcpy(s->known, found.values, n * sizeof *s->known);
	s->is_rare = found.is_rare;
	return SW_OK;
}

sw_status sw_sampler_make(struct sw_sampler **out, const struct sw_sampler_ops *ops,
			  const struct sw_sampler_config *config, struct sw_err *err)
{
	assert(config->n_metrics <= SW_METRICS_MAX && config->n_levels <= SW_SAMPLER_LEVELS_MAX);
	*out = NULL;
	struct sw_sampler *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
	*s = (struct sw_sampler){
		.ops = ops, .config = *config, .space = config->space, .seed = config->seed};
	if (s->config.n_metrics == 0)
		s->config.n_metrics = 1;
	/* start() sets `points` where a list of points can be had, and that decides what comes
	 * next. */
	sw_status rc = s->ops->start != NULL ? s->ops->start(s, err) : SW_OK;
	if (rc == SW_OK && s->points == 0) /* a list of points has seen its own */
		rc = find_known(s, err);
	if (rc != SW_OK) {
		sw_sampler_destroy(s);
		return rc;
	}
	*out = s;
	return SW_OK;
}

void sw_sampler_destroy(struct sw_sampler *s)
{
	if (s != NULL && s->ops->stop != NULL)
		/* Also after a start() that failed half-way: stop() takes what is NULL. */
		s->ops->stop(s);
	if (s != NULL)
		free(s->known);
	free(s);
}

uint64_t sw_sampler_points(const struct sw_sampler *s)
{
	return s->points;
}

bool sw_sampler_learns(const struct sw_sampler *s, uint64_t made)
{
	return s->ops->suggest != NULL && made > s->config.n_init;
}

/* Parts of the known point, and beside them what a walk finds; at worst all of it. */
static void vary_known(const struct sw_sampler *s, uint64_t number, struct sw_value *values)
{
	const size_t n = sw_space_size(s->space);
	bool fixed[SW_SPACE_MAX_PARAMS];
	double unit[SW_SPACE_MAX_PARAMS];
	uint32_t draw = 0;

	for (int k = 0; k < VARIED; k++) {
		for (size_t i = 0; i < n; i++) {
			/* Half of the known point stays, on average: near enough to hold, far
			 * enough to be another one. */
			fixed[i] = sw_rng_unit(s->seed, SW_RNG_VARY, number, draw++) < 0.5;
			unit[i] = sw_rng_unit(s->seed, SW_RNG_VARY, number, draw++);
		}
		sw_space_decode(s->space, unit, values);
		for (size_t i = 0; i < n; i++)
			if (fixed[i])
				values[i] = s->known[i];
		if (sw_space_repair(s->space, s->seed, number, fixed, values))
			return;
	}
	memcpy(values, s->known, n * sizeof *values);
}

/* The last draw broke a constraint as all before it did. */
static sw_status repair(const struct sw_sampler *s, uint64_t number, struct sw_value *values,
			struct sw_err *err)
{
	if (!sw_space_repair(s->space, s->seed, number, NULL, values)) {
		if (s->known == NULL) /* they came to the space after the sampler did */
			return sw_err_at(err, SW_INVALID, "/constraints",
					 "the constraints leave nothing to try");
		vary_known(s, number, values);
	}
	sw_space_canonical(s->space, values);
	return SW_OK;
}

/* Draws that are worth it before the walk. */
static uint32_t tries_of(const struct sw_sampler *s)
{
	return s->is_rare ? 1 : SW_SAMPLER_TRIES;
}

void sw_sampler_inward(const bool *category, size_t d, double *x)
{
	bool any = false;

	for (size_t k = 0; k < d; k++)
		any = any || category[k];
	for (size_t k = 0; any && k < d; k++)
		if (!category[k])
			x[k] = 0.5 + MIDDLE * (x[k] - 0.5);
}

/* A point of a kind that does not learn. */
static sw_status make_point(const struct sw_sampler *s, const struct sw_sampler_ops *kind,
			    uint64_t made, struct sw_value *values, struct sw_err *err)
{
	if (s->points != 0 && made > s->points)
		return sw_err_set(err, SW_EXHAUSTED, "the sampler has no more points");
	for (uint32_t attempt = 0; attempt < tries_of(s); attempt++) {
		kind->point(s, made, attempt, values);
		/* A list of points holds only those that keep the constraints. */
		if (s->points != 0 || sw_space_feasible(s->space, values)) {
			sw_space_canonical(s->space, values);
			return SW_OK;
		}
	}
	return repair(s, made, values, err);
}

sw_status sw_sampler_draw(const struct sw_sampler *s, uint64_t trial, struct sw_value *values,
			  struct sw_err *err)
{
	return make_point(s, &sw_sampler_random_ops, trial, values, err);
}

sw_status sw_sampler_suggest(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			     struct sw_suggestion *out, struct sw_err *err)
{
	const size_t n = sw_space_size(s->space);

	assert(made >= 1);
	sw_suggestion_fini(out);
	memset(out, 0, sizeof *out);
	if (made <= s->config.n_init) {
		/* The user's own points come first, in their order. No draw is spent on them. */
		memcpy(out->values, s->config.init + (made - 1) * n, n * sizeof *out->values);
		sw_space_canonical(s->space, out->values);
		out->source = "init";
		return SW_OK;
	}
	assert(s->ops->suggest == NULL || h != NULL);
	/* From here on the sampler counts its own points, so that a list of first points shifts
	 * none of its draws. */
	made -= s->config.n_init;
	out->source = s->ops->name;
	const sw_status rc = s->ops->suggest == NULL ? make_point(s, s->ops, made, out->values, err)
						     : s->ops->suggest(s, h, made, out, err);
	/* A grid comes to each of its points once by itself. */
	if (rc == SW_OK && h != NULL && s->points == 0)
		sw_sampler_take_untried(s, h, made, out);
	return rc;
}

sw_status sw_sampler_restore(struct sw_sampler *s, const void *state, size_t n, struct sw_err *err)
{
	if (s->ops->restore != NULL)
		return s->ops->restore(s, state, n, err);
	if (n == 0)
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "method %s keeps no state", s->ops->name);
}

sw_status sw_sampler_fill(const struct sw_space *space, uint64_t seed, uint64_t number,
			  const bool *given, struct sw_value *values, struct sw_err *err)
{
	struct sw_value drawn[SW_SPACE_MAX_PARAMS];
	double unit[SW_SPACE_MAX_PARAMS];
	uint32_t broken[SW_SPACE_MAX_CONSTRAINTS] = {0};
	const size_t n = sw_space_size(space), n_constraints = sw_space_constraints(space);
	size_t worst = 0;
	char ptr[48];

	for (uint32_t attempt = 0; attempt < SW_SAMPLER_TRIES; attempt++) {
		for (size_t i = 0; i < n; i++)
			unit[i] = sw_rng_unit(seed, SW_RNG_FILL, number,
					      attempt * (uint32_t)n + (uint32_t)i);
		sw_space_decode(space, unit, drawn);
		for (size_t i = 0; i < n; i++)
			if (given[i])
				drawn[i] = values[i];
		const size_t first = sw_space_constraint_find(space, drawn);
		if (first < n_constraints) {
			broken[first]++;
			/* Only the last draw is repaired: a draw that simply holds keeps the
			 * distribution, a repaired one does not. */
			if (attempt + 1 < SW_SAMPLER_TRIES ||
			    !sw_space_repair(space, seed, number, given, drawn))
				continue;
		}
		sw_space_canonical(space, drawn);
		memcpy(values, drawn, n * sizeof *values);
		return SW_OK;
	}
	/* The constraint that most draws broke first is the likeliest to contradict what is
	 * given. */
	for (size_t i = 1; i < n_constraints; i++)
		worst = broken[i] > broken[worst] ? i : worst;
	(void)snprintf(ptr, sizeof ptr, "/constraints/%zu", worst);
	return sw_err_at(err, SW_INVALID, ptr, "no way was found to meet it beside what is given");
}

sw_status sw_sampler_next(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			  struct sw_value *values)
{
	struct sw_suggestion out = {.state = NULL};

	assert(!sw_sampler_learns(s, made));
	const sw_status rc = sw_sampler_suggest(s, h, made, &out, NULL);
	if (rc == SW_OK)
		memcpy(values, out.values, sw_space_size(s->space) * sizeof *values);
	return rc;
}
