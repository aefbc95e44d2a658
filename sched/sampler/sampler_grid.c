/* The full product of every parameter's values: a point's number, from 0, read as a number of mixed
 * radix, the last parameter its last digit. With conditions or constraints only some of these
 * numbers are points of their own: they are listed once, at the start. Shuffled, the points come in
 * the order of a permutation that the seed chooses. */
#include "base/memory.h"
#include "sched/num/permute.h"
#include "sched/sampler/sampler_internal.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_POINTS UINT64_C(1000000000)
#define MAX_LISTED UINT64_C(1000000) /* of the full product, where points must be listed */

static sw_status too_big(struct sw_err *err)
{
	return sw_err_set(err, SW_TOO_BIG, "the grid has over 10^9 points");
}

/* A parameter whose values cannot be counted. */
static sw_status refuse(size_t i, enum sw_dist dist, struct sw_err *err)
{
	char ptr[40];

	switch (dist) {
	case SW_DIST_INT_UNIFORM: /* over 2^53 values */
		return too_big(err);
	case SW_DIST_NORMAL:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		(void)snprintf(ptr, sizeof ptr, "/%zu/distribution", i);
		return sw_err_at(
			err, SW_INVALID, ptr,
			"grid needs a list of values: a normal distribution has no end, so "
			"give values, or another method");
	default:
		(void)snprintf(ptr, sizeof ptr, "/%zu/q", i);
		return sw_err_at(err, SW_INVALID, ptr,
				 "grid needs a list of values: give q, values, or another method "
				 "for this continuous parameter");
	}
}

/* The values of one number of the product. False when it is no point of its own: a constraint is
 * broken, or an inactive parameter has another value than its first. */
static bool product_point(const struct sw_space *space, uint64_t number, struct sw_value *values)
{
	struct sw_value first[SW_SPACE_MAX_PARAMS];
	bool active[SW_SPACE_MAX_PARAMS];

	sw_space_point(space, 0, first);
	sw_space_point(space, number, values);
	sw_space_active(space, values, active);
	for (size_t i = 0; i < sw_space_size(space); i++)
		if (!active[i] &&
		    (values[i].number != first[i].number || values[i].choice != first[i].choice))
			return false;
	return sw_space_feasible(space, values);
}

/* s->self: uint32_t[s->points], the numbers of the product that are points. */
static sw_status list_points(struct sw_sampler *s, struct sw_err *err)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	const uint64_t product = s->points;

	if (product > MAX_LISTED)
		return sw_err_set(err, SW_TOO_BIG,
				  "a grid with conditions or constraints has at most 10^6 points "
				  "before they apply; this one has %llu",
				  (unsigned long long)product);
	uint32_t *list = sw_malloc(product * sizeof *list);
	if (list == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the grid");
	/* The list takes the product's room, 4 MB at most, rather than be counted first: a grid is
	 * made once. */
	s->points = 0;
	for (uint64_t i = 0; i < product; i++)
		if (product_point(s->space, i, values))
			list[s->points++] = (uint32_t)i;
	s->self = list;
	if (s->points > 0)
		return SW_OK;
	const sw_status rc =
		sw_space_probe(s->space, s->seed, NULL, err); /* names the constraint */
	return rc != SW_OK ? rc
			   : sw_err_at(err, SW_INVALID, "/constraints",
				       "the constraints leave no point of the grid");
}

static sw_status start(struct sw_sampler *s, struct sw_err *err)
{
	const size_t n = sw_space_size(s->space);

	/* Levels are looked at first: that a parameter is continuous says more than a size. */
	for (size_t i = 0; i < n; i++)
		if (sw_space_levels(s->space, i) == 0)
			return refuse(i, sw_space_param(s->space, i)->dist, err);
	s->points = 1;
	for (size_t i = 0; i < n; i++) {
		const uint64_t levels = sw_space_levels(s->space, i);

		/* Dividing the bound cannot overflow, as the product could. */
		if (levels > MAX_POINTS / s->points)
			return too_big(err);
		s->points *= levels;
	}
	if (sw_space_conditional(s->space) || sw_space_constrained(s->space))
		return list_points(s, err);
	return SW_OK;
}

static void stop(struct sw_sampler *s)
{
	free(s->self);
}

static void point(const struct sw_sampler *s, uint64_t made, uint32_t attempt,
		  struct sw_value *values)
{
	const uint32_t *list = s->self;
	uint64_t i = made - 1;

	(void)attempt;
	if (s->config.shuffle)
		i = sw_permute(s->seed, s->points, i);
	/* The listed numbers held at the start, and without a list each number does. */
	(void)product_point(s->space, list != NULL ? list[i] : i, values);
}

const struct sw_sampler_ops sw_sampler_grid_ops = {
	.name = "grid", .start = start, .stop = stop, .point = point};
