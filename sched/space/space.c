#include "sched/space/space.h"
#include "base/memory.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far from its mean a normal kind can reach: beyond |probit(2^-54)| = 8.3. */
#define NORMAL_REACH 8.5
/* exp() of anything smaller in size is a normal, finite double. */
#define EXP_REACH 700.0
/* INT_LOG_UNIFORM: up to here every integer has doubles of the unit interval to itself, with room
 * for the rounding of exp() and log(). */
#define INT_LOG_MAX 0x1p40

sw_status sw_space_create(struct sw_space **out)
{
	*out = sw_calloc(1, sizeof **out);
	return *out == NULL ? SW_NOMEM : SW_OK;
}

void sw_space_destroy(struct sw_space *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].cum);
		free((void *)s->v[i].p.numbers);
	}
	free(s->v);
	sw_space_conds_fini(s);
	sw_space_constraints_fini(s);
	free(s);
}

static sw_status check_finite(double x, const char *ptr, struct sw_err *err)
{
	if (isfinite(x))
		return SW_OK;
	return sw_err_at(err, SW_INVALID, ptr, "%s must be a finite number", ptr + 1);
}

static sw_status check_bounds(const struct sw_param *p, struct sw_err *err)
{
	sw_status rc = check_finite(p->min, "/min", err);

	if (rc == SW_OK)
		rc = check_finite(p->max, "/max", err);
	if (rc != SW_OK)
		return rc;
	if (p->min > p->max)
		return sw_err_at(err, SW_INVALID, "/min", "min %.10g is above max %.10g", p->min,
				 p->max);
	/* Values are drawn as min + u * (max - min). */
	if (!isfinite(p->max - p->min))
		return sw_err_at(err, SW_INVALID, "/max",
				 "the range from min %.10g to max %.10g is too wide", p->min,
				 p->max);
	return SW_OK;
}

static sw_status check_int(double x, const char *ptr, struct sw_err *err)
{
	if (floor(x) != x)
		return sw_err_at(err, SW_INVALID, ptr, "%s %.10g is not an integer", ptr + 1, x);
	if (fabs(x) > SW_EXACT_MAX)
		return sw_err_at(err, SW_INVALID, ptr,
				 "%s %.10g is beyond 2^53, where integers are no longer exact",
				 ptr + 1, x);
	return SW_OK;
}

static sw_status set_levels(struct sw_space_entry *e)
{
	const double n = e->k_hi - e->k_lo + 1.0;

	/* Levels beyond 2^53 cannot be told apart by a unit number: 0 says that nobody can count
	 * them. */
	e->levels = n <= SW_EXACT_MAX ? (uint64_t)n : 0;
	return SW_OK;
}

static sw_status add_int(struct sw_space_entry *e, struct sw_err *err)
{
	sw_status rc = check_int(e->p.min, "/min", err);

	if (rc == SW_OK)
		rc = check_int(e->p.max, "/max", err);
	if (rc != SW_OK)
		return rc;
	e->k_lo = e->p.min + 0.0; /* -0 is 0 */
	e->k_hi = e->p.max + 0.0;
	return set_levels(e);
}

static sw_status add_int_log(struct sw_space_entry *e, struct sw_err *err)
{
	const sw_status rc = add_int(e, err);

	if (rc != SW_OK)
		return rc;
	if (!(e->p.min >= 1.0))
		return sw_err_at(err, SW_INVALID, "/min",
				 "a log distribution of integers needs min >= 1; min is %.10g",
				 e->p.min);
	if (e->p.max > INT_LOG_MAX)
		return sw_err_at(err, SW_INVALID, "/max",
				 "a log distribution of integers ends at 2^40; max is %.10g",
				 e->p.max);
	e->u_lo = log(e->k_lo);
	/* An integer k has the interval from k to k + 1, so the last one ends at max + 1. */
	e->u_hi = log(e->k_hi + 1.0);
	return SW_OK;
}

static sw_status pow2_of(double x, const char *ptr, double *k, struct sw_err *err)
{
	int exponent;

	/* frexp() writes a power of two as 0.5 times the next one. */
	if (!(x > 0.0) || frexp(x, &exponent) != 0.5)
		return sw_err_at(err, SW_INVALID, ptr, "%s %.10g is not a power of two", ptr + 1,
				 x);
	*k = exponent - 1;
	return SW_OK;
}

static sw_status add_pow2(struct sw_space_entry *e, struct sw_err *err)
{
	sw_status rc = pow2_of(e->p.min, "/min", &e->k_lo, err);

	if (rc == SW_OK)
		rc = pow2_of(e->p.max, "/max", &e->k_hi, err);
	return rc == SW_OK ? set_levels(e) : rc;
}

/* Writes q as num / den. A q typed as a decimal is the double nearest to a / 10^p: then k * a /
 * 10^p is one rounding away from the decimal the user means, which k * q is not. */
static void set_fraction(struct sw_space_entry *e)
{
	const double q = e->p.q;
	double ten = 1.0;

	for (int p = 0; p <= 22; p++, ten *= 10.0) { /* 10^22 is the last exact one */
		const double a = round(q * ten);

		if (a >= 1.0 && a <= SW_EXACT_MAX && a / ten == q) {
			e->num = a;
			e->den = ten;
			return;
		}
	}
	const double inverse = round(1.0 / q);
	const bool whole = inverse >= 1.0 && inverse <= SW_EXACT_MAX && 1.0 / inverse == q;
	e->num = whole ? 1.0 : q;
	e->den = whole ? inverse : 1.0;
}

static sw_status check_q(struct sw_space_entry *e, struct sw_err *err)
{
	const double q = e->p.q;
	const sw_status rc = check_finite(q, "/q", err);

	if (rc != SW_OK)
		return rc;
	if (!(q > 0.0))
		return sw_err_at(err, SW_INVALID, "/q", "q must be above 0; q is %.10g", q);
	set_fraction(e);
	return SW_OK;
}

/* The multiples of q inside the bounds. */
static sw_status add_multiples(struct sw_space_entry *e, struct sw_err *err)
{
	const sw_status rc = check_q(e, err);

	if (rc != SW_OK)
		return rc;
	/* Half of what is exact leaves room for the difference of two multiples. */
	if (fmax(fabs(e->p.min), fabs(e->p.max)) / e->p.q > SW_EXACT_MAX / 2)
		return sw_err_at(err, SW_INVALID, "/q", "q %.10g is too small for these bounds",
				 e->p.q);
	/* The quotients may be one rounding off (0.3 / 0.1 < 3), and so may a bound that was
	 * computed (0.3 - 0.1 < 0.2): it is the multiple that it is meant for. */
	e->k_lo = ceil((e->p.min - sw_space_slack(e, e->p.min)) / e->p.q);
	e->k_hi = floor((e->p.max + sw_space_slack(e, e->p.max)) / e->p.q);
	if (e->k_lo > e->k_hi)
		return sw_err_at(err, SW_INVALID, "/q",
				 "no multiple of q %.10g lies between min %.10g and max %.10g",
				 e->p.q, e->p.min, e->p.max);
	return set_levels(e);
}

static sw_status add_log(struct sw_space_entry *e, struct sw_err *err)
{
	if (!(e->p.min > 0.0))
		return sw_err_at(err, SW_INVALID, "/min",
				 "a log distribution needs min > 0; min is %.10g", e->p.min);
	/* The inverse kind is uniform in -log x: rising u means falling x, so the ends change
	 * places. */
	e->u_lo = e->p.dist == SW_DIST_INV_LOG_UNIFORM ? -log(e->p.max) : log(e->p.min);
	e->u_hi = e->p.dist == SW_DIST_INV_LOG_UNIFORM ? -log(e->p.min) : log(e->p.max);
	return e->p.dist == SW_DIST_Q_LOG_UNIFORM ? add_multiples(e, err) : SW_OK;
}

static sw_status add_bounded(struct sw_space_entry *e, struct sw_err *err)
{
	const sw_status rc = check_bounds(&e->p, err);

	if (rc != SW_OK)
		return rc;
	switch (e->p.dist) {
	case SW_DIST_INT_UNIFORM:
		return add_int(e, err);
	case SW_DIST_INT_LOG_UNIFORM:
		return add_int_log(e, err);
	case SW_DIST_Q_UNIFORM:
		return add_multiples(e, err);
	case SW_DIST_POW2:
		return add_pow2(e, err);
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
		return add_log(e, err);
	default:
		return SW_OK; /* UNIFORM */
	}
}

static sw_status add_normal(struct sw_space_entry *e, struct sw_err *err)
{
	const struct sw_param *p = &e->p;
	const bool is_log = p->dist == SW_DIST_LOG_NORMAL || p->dist == SW_DIST_Q_LOG_NORMAL;
	sw_status rc = check_finite(p->mu, "/mu", err);

	if (rc == SW_OK)
		rc = check_finite(p->sigma, "/sigma", err);
	if (rc != SW_OK)
		return rc;
	if (!(p->sigma > 0.0))
		return sw_err_at(err, SW_INVALID, "/sigma", "sigma must be above 0; sigma is %.10g",
				 p->sigma);
	double reach = fabs(p->mu) + NORMAL_REACH * p->sigma;
	/* Checked once here, so that no draw ever has to be: decoding yields finite numbers from
	 * any u. */
	if (is_log ? reach > EXP_REACH : !isfinite(reach))
		return sw_err_at(err, SW_INVALID, "/sigma",
				 "mu %.10g and sigma %.10g reach beyond what a number can hold",
				 p->mu, p->sigma);
	if (p->dist != SW_DIST_Q_NORMAL && p->dist != SW_DIST_Q_LOG_NORMAL)
		return SW_OK;
	rc = check_q(e, err);
	reach = is_log ? exp(reach) : reach;
	if (rc == SW_OK && !isfinite(reach / p->q))
		rc = sw_err_at(err, SW_INVALID, "/q", "q %.10g is too small for these values",
			       p->q);
	/* The multiple next to the farthest value must be a number, too. */
	if (rc == SW_OK && !isfinite(reach + p->q))
		rc = sw_err_at(err, SW_INVALID, "/q", "q %.10g is too large", p->q);
	return rc;
}

/* Copies the weights and cumulates them: one allocation, the sums first. */
static sw_status add_weights(struct sw_space_entry *e, struct sw_err *err)
{
	const size_t n = e->p.n_choices;
	const double *w = e->p.weights;
	double sum = 0.0;

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(w[i]) || w[i] < 0.0)
			return sw_err_at(err, SW_INVALID, "/probabilities",
					 "probability %zu is not a number of 0 or more", i + 1);
		sum += w[i];
	}
	if (!(sum > 0.0) || !isfinite(sum))
		return sw_err_at(err, SW_INVALID, "/probabilities",
				 "the probabilities add up to %s",
				 sum > 0.0 ? "more than a number can hold" : "0");
	e->cum = sw_malloc(2 * n * sizeof *e->cum);
	if (e->cum == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	memcpy(e->cum + n, w, n * sizeof *w);
	e->p.weights = e->cum + n;
	/* Added in the same order, the whole sum over itself is 1: no u is left over at the end,
	 * and none falls to a last category of weight 0. */
	double upto = 0.0;
	for (size_t i = 0; i < n; i++) {
		upto += w[i];
		e->cum[i] = upto / sum;
	}
	return SW_OK;
}

static sw_status add_choices(struct sw_space_entry *e, struct sw_err *err)
{
	if (e->p.n_choices == 0)
		return sw_err_at(err, SW_INVALID, "/values", "values is empty");
	if (e->p.n_choices > SW_SPACE_MAX_CHOICES)
		return sw_err_at(err, SW_TOO_BIG, "/values", "%zu values are too many: at most %zu",
				 e->p.n_choices, SW_SPACE_MAX_CHOICES);
	e->k_hi = (double)(e->p.n_choices - 1);
	e->levels = e->p.n_choices;
	return e->p.weights == NULL ? SW_OK : add_weights(e, err);
}

static sw_status make_entry(struct sw_space_entry *e, const struct sw_param *p, struct sw_err *err)
{
	*e = (struct sw_space_entry){.p = *p, .num = 1.0, .den = 1.0};
	/* Pointers of the caller's are not kept: weights and numbers are copied below, or are not
	 * looked at. */
	if (p->dist != SW_DIST_CATEGORICAL)
		e->p.weights = NULL;
	e->p.numbers = NULL;
	switch (p->dist) {
	case SW_DIST_CONSTANT:
		e->levels = 1;
		return SW_OK;
	case SW_DIST_CATEGORICAL:
		return add_choices(e, err);
	case SW_DIST_NORMAL:
	case SW_DIST_Q_NORMAL:
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		return add_normal(e, err);
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
	case SW_DIST_UNIFORM:
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_POW2:
		return add_bounded(e, err);
	}
	return sw_err_at(err, SW_INVALID, "/distribution", "no such distribution");
}

/* Copies what the choices are as numbers. */
static sw_status add_numbers(struct sw_space_entry *e, const double *numbers, struct sw_err *err)
{
	const size_t n = e->p.dist == SW_DIST_CATEGORICAL ? e->p.n_choices : 1;
	double *copy;

	if (numbers == NULL || !sw_space_is_choice(e))
		return SW_OK;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(numbers[i]))
			return sw_err_at(err, SW_INVALID, "/values",
					 "value %zu is not a finite number", i + 1);
	copy = sw_malloc(n * sizeof *copy);
	if (copy == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	memcpy(copy, numbers, n * sizeof *copy);
	e->p.numbers = copy;
	return SW_OK;
}

sw_status sw_space_add(struct sw_space *s, const struct sw_param *p, struct sw_err *err)
{
	struct sw_space_entry e;

	if (s->n == SW_SPACE_MAX_PARAMS)
		return sw_err_set(err, SW_TOO_BIG, "a search space has at most %zu parameters",
				  SW_SPACE_MAX_PARAMS);
	if (!sw_array_reserve(&s->v, &s->cap, s->n + 1, sizeof *s->v))
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	sw_status rc = make_entry(&e, p, err);
	if (rc != SW_OK)
		return rc;
	rc = add_numbers(&e, p->numbers, err);
	if (rc == SW_OK)
		s->v[s->n++] = e;
	else
		free(e.cum);
	return rc;
}

size_t sw_space_size(const struct sw_space *s)
{
	return s->n;
}

const struct sw_param *sw_space_param(const struct sw_space *s, size_t i)
{
	assert(i < s->n);
	return &s->v[i].p;
}

uint64_t sw_space_levels(const struct sw_space *s, size_t i)
{
	assert(i < s->n);
	return s->v[i].levels;
}
