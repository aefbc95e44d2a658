/*
 * The ranges that a constraint leaves of its parameters.
 *
 * Sound    Nothing that is cut off holds a point that keeps the constraint: bounds give way by more
 *          than sums of doubles are compared to within. The range that is left need not hold one.
 * Source   Benhamou, Goualard, Granvilliers, Puget, "Revising hull and box consistency", ICLP-99:
 *          HC4, of sums of products alone.
 */
#include "sched/space/space_internal.h"
#include <float.h>
#include <math.h>

/* For each term, in sizes of what is added up: four times what space_constraint.c lets sums differ
 * by. */
#define SLACK (4.0 * SW_TERM_MAX_FACTORS * DBL_EPSILON)
/* A division or a root on the way back. */
#define WIDER (16.0 * DBL_EPSILON)
/* A real range that loses less than this part of it is as it was. */
#define WORTH 1e-3

static const struct sw_space_range anything = {-INFINITY, INFINITY};

struct sw_space_range sw_space_range_all(const struct sw_space *s, size_t i)
{
	const struct sw_space_entry *e = &s->v[i];
	const size_t n = e->p.dist == SW_DIST_CATEGORICAL ? e->p.n_choices : 1;
	struct sw_space_range r = {INFINITY, -INFINITY};

	if (sw_space_is_choice(e)) {
		for (size_t k = 0; e->p.numbers != NULL && k < n; k++) {
			r.lo = fmin(r.lo, e->p.numbers[k]);
			r.hi = fmax(r.hi, e->p.numbers[k]);
		}
		return e->p.numbers != NULL ? r : (struct sw_space_range){0.0, 0.0};
	}
	if (e->p.dist == SW_DIST_LOG_NORMAL || e->p.dist == SW_DIST_Q_LOG_NORMAL)
		return (struct sw_space_range){0.0, INFINITY};
	if (!sw_space_bounded(s, i))
		return anything;
	if (sw_space_is_continuous(e))
		return (struct sw_space_range){e->p.min, e->p.max};
	return (struct sw_space_range){sw_space_value_of(e, e->k_lo),
				       sw_space_value_of(e, e->k_hi)};
}

/* 0 times what has no end is 0: it has an end, which is not known. */
static double times(double a, double b)
{
	return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

static struct sw_space_range product(struct sw_space_range a, struct sw_space_range b)
{
	const double v[4] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo),
			     times(a.hi, b.hi)};

	return (struct sw_space_range){fmin(fmin(v[0], v[1]), fmin(v[2], v[3])),
				       fmax(fmax(v[0], v[1]), fmax(v[2], v[3]))};
}

/* The term without the parameter `but` (SW_SPACE_MAX_PARAMS: the whole of it). */
static struct sw_space_range term_range(const struct sw_term *t, double sign, size_t but,
					const struct sw_space_range *ranges)
{
	struct sw_space_range r = {sign * t->coef, sign * t->coef};

	for (size_t k = 0; k < t->n_factors; k++)
		if (t->factor[k] != but)
			r = product(r, ranges[t->factor[k]]);
	return r;
}

/* The x for which x * o lies in need for some o of by. */
static struct sw_space_range quotient(struct sw_space_range need, struct sw_space_range by)
{
	if (by.hi < 0.0 || (by.hi == 0.0 && by.lo < 0.0))
		return quotient((struct sw_space_range){-need.hi, -need.lo},
				(struct sw_space_range){-by.hi, -by.lo});
	if (by.lo < 0.0 || by.hi == 0.0)
		return anything;
	/* A bound on the near side of 0 is that of the largest divisor, else of the smallest. */
	const double lo_by = need.lo > 0.0 ? by.hi : by.lo, hi_by = need.hi < 0.0 ? by.hi : by.lo;
	struct sw_space_range x = anything;

	if (isfinite(need.lo) && lo_by > 0.0)
		x.lo = need.lo / lo_by;
	if (isfinite(need.hi) && hi_by > 0.0)
		x.hi = need.hi / hi_by;
	return x;
}

/* The x of at least 0 whose m-th powers lie in the range; of any sign for an even m. */
static struct sw_space_range root(struct sw_space_range power, size_t m, bool is_positive)
{
	const double top = power.hi >= 0.0 ? pow(power.hi, 1.0 / (double)m) : -1.0;

	if (is_positive)
		return (struct sw_space_range){
			power.lo > 0.0 ? pow(power.lo, 1.0 / (double)m) : 0.0, top};
	return m % 2 == 0 ? (struct sw_space_range){-top, top} : anything;
}

/* To the values of a grid; only the bounds that are new need it. */
static void snap(const struct sw_space_entry *e, struct sw_space_range *r)
{
	if (sw_space_is_choice(e) || sw_space_is_continuous(e))
		return;
	if (isfinite(r->lo)) {
		const double k = sw_space_index_of(e, (struct sw_value){.number = r->lo});

		r->lo = sw_space_value_of(e, sw_space_value_of(e, k) < r->lo ? k + 1.0 : k);
	}
	if (isfinite(r->hi)) {
		const double k = sw_space_index_of(e, (struct sw_value){.number = r->hi});

		r->hi = sw_space_value_of(e, sw_space_value_of(e, k) > r->hi ? k - 1.0 : k);
	}
}

/* False: nothing is left. */
static bool cut(const struct sw_space_entry *e, struct sw_space_range *r, struct sw_space_range to,
		bool *narrowed)
{
	const struct sw_space_range old = *r;

	/* Rounding on the way must not cut off a value that keeps the constraint. */
	to.lo -= fabs(to.lo) * WIDER;
	to.hi += fabs(to.hi) * WIDER;
	if (!(to.lo > old.lo) && !(to.hi < old.hi))
		return true;
	r->lo = to.lo > old.lo ? to.lo : old.lo;
	r->hi = to.hi < old.hi ? to.hi : old.hi;
	snap(e, r);
	const double lost = (r->lo - old.lo) + (old.hi - r->hi), width = old.hi - old.lo;
	*narrowed = *narrowed || !(lost <= (sw_space_is_continuous(e) ? WORTH * width : 0.0));
	return r->lo <= r->hi;
}

/* A sum of ranges, from which each of them can be taken away again. */
struct total {
	double lo, hi, size;
	size_t lo_endless, hi_endless;
};

static void add_range(struct total *t, struct sw_space_range r)
{
	if (isfinite(r.lo))
		t->lo += r.lo;
	else
		t->lo_endless++;
	if (isfinite(r.hi))
		t->hi += r.hi;
	else
		t->hi_endless++;
	t->size += fmax(isfinite(r.lo) ? fabs(r.lo) : 0.0, isfinite(r.hi) ? fabs(r.hi) : 0.0);
}

static struct sw_space_range without(const struct total *t, struct sw_space_range r)
{
	const size_t lo = t->lo_endless - (isfinite(r.lo) ? 0U : 1U);
	const size_t hi = t->hi_endless - (isfinite(r.hi) ? 0U : 1U);

	return (struct sw_space_range){
		lo > 0 ? -INFINITY : t->lo - (isfinite(r.lo) ? r.lo : 0.0),
		hi > 0 ? INFINITY : t->hi - (isfinite(r.hi) ? r.hi : 0.0),
	};
}

/* The factors of a term that must lie in need. */
static bool narrow_term(const struct sw_space *s, const struct sw_term *t, double sign,
			struct sw_space_range need, struct sw_space_range *ranges, bool *narrowed)
{
	for (size_t k = 0; k < t->n_factors; k++) {
		const size_t p = t->factor[k];
		size_t m = 0;

		for (size_t j = 0; j < t->n_factors; j++)
			m += t->factor[j] == p;
		struct sw_space_range x = quotient(need, term_range(t, sign, p, ranges));
		if (m > 1)
			x = root(x, m, ranges[p].lo >= 0.0);
		if (!cut(&s->v[p], &ranges[p], x, narrowed))
			return false;
	}
	return true;
}

/* All that it can come to is integers. */
static bool is_integral(const struct sw_space *s, const struct sw_sum *sum)
{
	bool is = sum->constant == floor(sum->constant);

	for (size_t i = 0; i < sum->n_terms && is; i++) {
		const struct sw_term *t = &sum->terms[i];

		is = t->coef == floor(t->coef);
		for (size_t k = 0; k < t->n_factors && is; k++) {
			const struct sw_space_entry *e = &s->v[t->factor[k]];

			is = e->p.dist == SW_DIST_INT_UNIFORM ||
			     e->p.dist == SW_DIST_INT_LOG_UNIFORM ||
			     (e->p.dist == SW_DIST_POW2 && e->p.min >= 1.0);
		}
	}
	return is;
}

bool sw_space_narrow(const struct sw_space *s, const struct sw_constraint *c,
		     struct sw_space_range *ranges, bool *narrowed)
{
	const bool above = c->op == SW_GT || c->op == SW_GE || c->op == SW_EQ;
	const bool below = c->op == SW_LT || c->op == SW_LE || c->op == SW_EQ;
	const size_t n_left = c->left.n_terms, n = sw_space_terms(c);
	const struct sw_term *t = c->left.terms;
	struct sw_space_range each[2 * SW_SPACE_MAX_TERMS];
	const double constant = c->left.constant - c->right.constant;
	struct total sum = {.lo = constant, .hi = constant};

	/* Of integers a < b says a <= b - 1. */
	const bool is_strict = (c->op == SW_LT || c->op == SW_GT) && is_integral(s, &c->left) &&
			       is_integral(s, &c->right);
	const double least = is_strict ? 1.0 : 0.0;

	sum.size = fabs(c->left.constant) + fabs(c->right.constant);
	for (size_t i = 0; i < n; i++) {
		each[i] = term_range(&t[i], i < n_left ? 1.0 : -1.0, SW_SPACE_MAX_PARAMS, ranges);
		add_range(&sum, each[i]);
	}
	const double slack = SLACK * (double)(n + 1) * sum.size;
	if ((below && sum.lo_endless == 0 && sum.lo > slack - least) ||
	    (above && sum.hi_endless == 0 && sum.hi < least - slack))
		return false;
	for (size_t i = 0; i < n && (above || below); i++) {
		const struct sw_space_range rest = without(&sum, each[i]);
		const struct sw_space_range need = {above ? least - slack - rest.hi : -INFINITY,
						    below ? slack - least - rest.lo : INFINITY};

		if (!narrow_term(s, &t[i], i < n_left ? 1.0 : -1.0, need, ranges, narrowed))
			return false;
	}
	return true;
}
