/* Between unit coordinates and values, each way, for every kind: sched/space/space.h has the
 * formulas. */
#include "base/normal.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <float.h>
#include <math.h>

/* NaN goes to lo. */
static double clamp(double x, double lo, double hi)
{
	return !(x > lo) ? lo : x < hi ? x : hi;
}

static double clamp_unit(double u)
{
	return clamp(u, 0.0, SW_BELOW_ONE);
}

double sw_space_slack(const struct sw_space_entry *e, double x)
{
	const double rounding = 4 * DBL_EPSILON * fabs(x);

	if (sw_space_is_continuous(e) || e->p.dist == SW_DIST_POW2) /* q is no step of powers */
		return rounding;
	/* Under half a step, or a number between two levels would be near enough to both. */
	return fmin(fmax(rounding, 1e-6 * e->p.q), 0.25 * e->p.q);
}

double sw_space_value_of(const struct sw_space_entry *e, double k)
{
	if (e->p.dist == SW_DIST_POW2)
		/* exp2() may be a digit off; ldexp() writes the exponent. */
		return ldexp(1.0, (int)k);
	/* + 0.0 turns -0 into 0. Once the product is no longer exact, k * q has the one rounding,
	 * and cannot overflow before the value itself does. */
	const double product = k * e->num;
	double v = (fabs(product) <= SW_EXACT_MAX ? product / e->den : k * e->p.q) + 0.0;
	if (e->p.dist != SW_DIST_Q_UNIFORM && e->p.dist != SW_DIST_Q_LOG_UNIFORM)
		return v;
	/* The first and the last may be the bounds but for their slack, and are then these. */
	v = k == e->k_lo ? fmax(v, e->p.min + 0.0) : v;
	return k == e->k_hi ? fmin(v, e->p.max + 0.0) : v;
}

/* Normal kinds: u = 0 would be -infinity; half a step above it is as far as the lower end goes. */
static double normal_of(const struct sw_space_entry *e, double u)
{
	return e->p.mu + e->p.sigma * sw_normal_quantile(u > 0.0 ? u : 0x1p-54);
}

static double log_uniform_of(const struct sw_space_entry *e, double u)
{
	/* exp(log(max)) is often the double beside max, and so outside the range. */
	return clamp(exp(e->u_lo + u * (e->u_hi - e->u_lo)), e->p.min, e->p.max);
}

static uint32_t choice_of(const struct sw_space_entry *e, double u)
{
	size_t lo = 0, hi = e->p.n_choices - 1;

	/* The product can round up to the number of choices. */
	if (e->cum == NULL)
		return (uint32_t)clamp(floor(u * (double)e->p.n_choices), 0.0, e->k_hi);
	while (lo < hi) { /* the first whose sum exceeds u */
		const size_t middle = lo + (hi - lo) / 2;

		if (e->cum[middle] > u)
			hi = middle;
		else
			lo = middle + 1;
	}
	return (uint32_t)lo;
}

/* The index that u falls to, for every discrete kind. */
static double index_of_unit(const struct sw_space_entry *e, double u)
{
	switch (e->p.dist) {
	case SW_DIST_CATEGORICAL:
		return choice_of(e, u);
	case SW_DIST_Q_LOG_UNIFORM:
		return clamp(round(log_uniform_of(e, u) / e->p.q), e->k_lo, e->k_hi);
	case SW_DIST_Q_NORMAL:
		return round(normal_of(e, u) / e->p.q);
	case SW_DIST_Q_LOG_NORMAL:
		return round(exp(normal_of(e, u)) / e->p.q);
	case SW_DIST_INT_LOG_UNIFORM:
		/* u_hi belongs to max + 1, so that the last integer has an interval like the
		 * others. */
		return clamp(floor(exp(e->u_lo + u * (e->u_hi - e->u_lo))), e->k_lo, e->k_hi);
	default: /* INT_UNIFORM, Q_UNIFORM, POW2 */
		return clamp(e->k_lo + floor(u * (e->k_hi - e->k_lo + 1.0)), e->k_lo, e->k_hi);
	}
}

struct sw_value sw_space_decode_one(const struct sw_space_entry *e, double u)
{
	switch (e->p.dist) {
	case SW_DIST_CONSTANT:
		return (struct sw_value){.choice = 0};
	case SW_DIST_CATEGORICAL:
		return (struct sw_value){.choice = choice_of(e, u)};
	case SW_DIST_UNIFORM:
		return (struct sw_value){
			.number = clamp(e->p.min + u * (e->p.max - e->p.min), e->p.min, e->p.max)};
	case SW_DIST_LOG_UNIFORM:
		return (struct sw_value){.number = log_uniform_of(e, u)};
	case SW_DIST_INV_LOG_UNIFORM:
		return (struct sw_value){.number = clamp(exp(-(e->u_lo + u * (e->u_hi - e->u_lo))),
							 e->p.min, e->p.max)};
	case SW_DIST_NORMAL:
		return (struct sw_value){.number = normal_of(e, u)};
	case SW_DIST_LOG_NORMAL:
		return (struct sw_value){.number = exp(normal_of(e, u))};
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_POW2:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		break;
	}
	return (struct sw_value){.number = sw_space_value_of(e, index_of_unit(e, u))};
}

void sw_space_decode(const struct sw_space *s, const double *unit, struct sw_value *values)
{
	for (size_t i = 0; i < s->n; i++)
		values[i] = sw_space_decode_one(&s->v[i], clamp_unit(unit[i]));
}

double sw_space_index_of(const struct sw_space_entry *e, struct sw_value v)
{
	switch (e->p.dist) {
	case SW_DIST_CATEGORICAL:
		return clamp(v.choice, 0.0, e->k_hi);
	case SW_DIST_Q_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		return round(v.number / e->p.q);
	case SW_DIST_POW2:
		return v.number > 0.0 ? clamp(round(log2(v.number)), e->k_lo, e->k_hi) : e->k_lo;
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
		return clamp(round(v.number), e->k_lo, e->k_hi);
	case SW_DIST_CONSTANT:
		return 0.0;
	default: /* Q_UNIFORM, Q_LOG_UNIFORM */
		return clamp(round(v.number / e->p.q), e->k_lo, e->k_hi);
	}
}

static double unit_of_log(const struct sw_space_entry *e, double x)
{
	/* A range of one value has no width to divide by; any coordinate stands for it. */
	return e->u_hi > e->u_lo ? (x - e->u_lo) / (e->u_hi - e->u_lo) : 0.5;
}

static double unit_of_normal(const struct sw_space_entry *e, double x)
{
	return sw_normal_cdf((x - e->p.mu) / e->p.sigma);
}

/* LOG_NORMAL: everything from 0 down is below the support. */
static double log_or_lowest(double x)
{
	return x > 0.0 ? log(x) : -INFINITY;
}

/* The middle of the coordinates that fall to index k, before rounding is looked at. */
static double middle_of(const struct sw_space_entry *e, double k)
{
	const double q = e->p.q;
	double lo, hi;

	switch (e->p.dist) {
	case SW_DIST_CATEGORICAL:
		if (e->cum == NULL)
			return (k + 0.5) / (e->k_hi + 1.0);
		lo = k > 0.0 ? e->cum[(size_t)k - 1] : 0.0;
		hi = e->cum[(size_t)k];
		break;
	case SW_DIST_Q_LOG_UNIFORM:
		lo = k > e->k_lo ? unit_of_log(e, log(clamp((k - 0.5) * q, e->p.min, e->p.max)))
				 : 0.0;
		hi = k < e->k_hi ? unit_of_log(e, log(clamp((k + 0.5) * q, e->p.min, e->p.max)))
				 : 1.0;
		break;
	case SW_DIST_Q_NORMAL:
		lo = unit_of_normal(e, (k - 0.5) * q);
		hi = unit_of_normal(e, (k + 0.5) * q);
		break;
	case SW_DIST_Q_LOG_NORMAL:
		lo = unit_of_normal(e, log_or_lowest((k - 0.5) * q));
		hi = unit_of_normal(e, log_or_lowest((k + 0.5) * q));
		break;
	case SW_DIST_INT_LOG_UNIFORM:
		lo = unit_of_log(e, log(k));
		hi = unit_of_log(e, log(k + 1.0));
		break;
	default:
		return (k - e->k_lo + 0.5) / (e->k_hi - e->k_lo + 1.0);
	}
	/* The middle is farthest from both neighbours, so rounding on the way back cannot reach
	 * them. */
	return lo + 0.5 * (hi - lo);
}

/* If the intervals are as narrow as doubles are dense, rounding may land beside the one meant: walk
 * a few neighbours towards it. The index never falls as u rises. */
static double settle(const struct sw_space_entry *e, double k, double u)
{
	u = clamp_unit(u);
	for (int i = 0; i < 64; i++) {
		const double got = index_of_unit(e, u);

		if (got == k)
			break;
		u = clamp_unit(nextafter(u, got < k ? 1.0 : 0.0));
	}
	return u;
}

static double coordinate_of(const struct sw_space_entry *e, struct sw_value v)
{
	const double x = v.number;
	double k;

	switch (e->p.dist) {
	case SW_DIST_CONSTANT:
		return 0.5;
	case SW_DIST_UNIFORM:
		return e->p.max > e->p.min ? (x - e->p.min) / (e->p.max - e->p.min) : 0.5;
	case SW_DIST_LOG_UNIFORM:
		return unit_of_log(e, log(clamp(x, e->p.min, e->p.max)));
	case SW_DIST_INV_LOG_UNIFORM:
		return unit_of_log(e, -log(clamp(x, e->p.min, e->p.max)));
	case SW_DIST_NORMAL:
		return unit_of_normal(e, x);
	case SW_DIST_LOG_NORMAL:
		return unit_of_normal(e, log_or_lowest(x));
	case SW_DIST_CATEGORICAL:
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_POW2:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		break;
	}
	k = sw_space_index_of(e, v);
	return settle(e, k, middle_of(e, k));
}

double sw_space_encode_one(const struct sw_space_entry *e, struct sw_value v)
{
	return clamp_unit(coordinate_of(e, v));
}

void sw_space_encode(const struct sw_space *s, const struct sw_value *values, double *unit)
{
	for (size_t i = 0; i < s->n; i++)
		unit[i] = sw_space_encode_one(&s->v[i], values[i]);
}

struct sw_value sw_space_level(const struct sw_space *s, size_t i, uint64_t k)
{
	assert(i < s->n && k < s->v[i].levels);
	const struct sw_space_entry *e = &s->v[i];

	if (e->p.dist == SW_DIST_CATEGORICAL || e->p.dist == SW_DIST_CONSTANT)
		return (struct sw_value){.choice = (uint32_t)k};
	return (struct sw_value){.number = sw_space_value_of(e, e->k_lo + (double)k)};
}
