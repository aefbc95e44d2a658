/* Points that people bring are checked against the space, or moved to its nearest point. */
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <float.h>
#include <math.h>

/* Beyond this the multiples of q are no longer one rounding each: a value is taken as it is. */
#define GRID_EXACT 0x1p51

struct sw_value sw_space_nearest(const struct sw_space *s, size_t i, struct sw_value v)
{
	assert(i < s->n);
	const struct sw_space_entry *e = &s->v[i];
	const double lo = e->p.min, hi = e->p.max, x = v.number;

	switch (e->p.dist) {
	case SW_DIST_CONSTANT:
		return (struct sw_value){.choice = 0};
	case SW_DIST_CATEGORICAL:
		return (struct sw_value){.choice = (uint32_t)sw_space_index_of(e, v)};
	case SW_DIST_UNIFORM:
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
		/* This form sends NaN to min. */
		return (struct sw_value){.number = !(x > lo) ? lo : x < hi ? x : hi};
	case SW_DIST_NORMAL:
		return isfinite(x) ? v : sw_space_decode_one(e, x > 0.0 ? SW_BELOW_ONE : 0.0);
	case SW_DIST_LOG_NORMAL:
		return x > 0.0 && isfinite(x)
			       ? v
			       : sw_space_decode_one(e, x > 0.0 ? SW_BELOW_ONE : 0.0);
	case SW_DIST_Q_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		if (!isfinite(x))
			/* A normal kind has no bound to move to: the farthest value that a draw
			 * reaches stands for it. */
			return sw_space_decode_one(e, x > 0.0 ? SW_BELOW_ONE : 0.0);
		if (e->p.dist == SW_DIST_Q_LOG_NORMAL && x < 0.0)
			return (struct sw_value){.number = 0.0};
		if (fabs(x / e->p.q) > GRID_EXACT)
			return v;
		break;
	default:
		break;
	}
	return (struct sw_value){.number = sw_space_value_of(e, sw_space_index_of(e, v))};
}

static sw_status check_number(const struct sw_space_entry *e, double x, double nearest,
			      struct sw_err *err)
{
	if (!isfinite(x))
		return sw_err_set(err, SW_INVALID, "the value must be a finite number");
	/* JSON and people round: 0.30000000000000004 is taken for the multiple of 0.1 that it
	 * stands for. */
	if (fabs(x - nearest) <= sw_space_slack(e, x))
		return SW_OK;
	switch (e->p.dist) {
	case SW_DIST_NORMAL:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		break;
	default:
		if (x < e->p.min)
			return sw_err_set(err, SW_INVALID, "%.10g is below min %.10g", x, e->p.min);
		if (x > e->p.max)
			return sw_err_set(err, SW_INVALID, "%.10g is above max %.10g", x, e->p.max);
	}
	switch (e->p.dist) {
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
		return sw_err_set(err, SW_INVALID, "%.17g is not an integer", x);
	case SW_DIST_POW2:
		return sw_err_set(err, SW_INVALID, "%.17g is not a power of two; %.10g is", x,
				  nearest);
	case SW_DIST_LOG_NORMAL:
		return sw_err_set(err, SW_INVALID, "%.10g is not above 0", x);
	default:
		return sw_err_set(err, SW_INVALID,
				  "%.17g is not a multiple of q %.10g; %.10g is the nearest", x,
				  e->p.q, nearest);
	}
}

sw_status sw_space_check_value(const struct sw_space *s, size_t i, struct sw_value value,
			       struct sw_err *err)
{
	assert(i < s->n);
	const struct sw_space_entry *e = &s->v[i];

	if (!sw_space_is_choice(e))
		return check_number(e, value.number, sw_space_nearest(s, i, value).number, err);
	if (value.choice < (e->p.dist == SW_DIST_CONSTANT ? 1 : e->p.n_choices))
		return SW_OK;
	return sw_err_set(err, SW_INVALID, "there is no value number %lu",
			  (unsigned long)value.choice + 1);
}
