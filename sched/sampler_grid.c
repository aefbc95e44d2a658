/* The full product of every parameter's values: trial - 1 read as a number of mixed radix, the last
 * parameter its last digit. */
#include "sched/sampler_internal.h"
#include <stdio.h>

#define MAX_POINTS UINT64_C(1000000000)

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

static sw_status start(struct sw_sampler *s, struct sw_err *err)
{
	const size_t n = sw_space_size(s->space);

	/* Every parameter first: a continuous one is the better thing to say. */
	for (size_t i = 0; i < n; i++)
		if (sw_space_levels(s->space, i) == 0)
			return refuse(i, sw_space_param(s->space, i)->dist, err);
	s->points = 1;
	for (size_t i = 0; i < n; i++) {
		const uint64_t levels = sw_space_levels(s->space, i);

		if (levels > MAX_POINTS / s->points)
			return too_big(err);
		s->points *= levels;
	}
	return SW_OK;
}

static void point(const struct sw_sampler *s, uint64_t trial, struct sw_value *values)
{
	uint64_t rest = trial - 1;

	for (size_t i = sw_space_size(s->space); i-- > 0;) {
		const uint64_t levels = sw_space_levels(s->space, i);

		values[i] = sw_space_level(s->space, i, rest % levels);
		rest /= levels;
	}
}

const struct sampler_ops sw_sampler_grid_ops = {.name = "grid", .start = start, .point = point};
