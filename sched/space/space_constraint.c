/* Comparisons between sums of parameters. */
#include "base/memory.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sw_space_constraints_fini(struct sw_space *s)
{
	for (size_t i = 0; i < s->n_constraints; i++)
		free((void *)s->constraints[i].left.terms);
	free(s->constraints);
}

static sw_status check_sum(const struct sw_space *s, const struct sw_sum *sum, struct sw_err *err)
{
	if (sum->n_terms > SW_SPACE_MAX_TERMS)
		return sw_err_set(err, SW_TOO_BIG, "a side of a constraint has at most %zu terms",
				  SW_SPACE_MAX_TERMS);
	if (!isfinite(sum->constant))
		return sw_err_set(err, SW_INVALID, "a constraint's numbers must be finite");
	for (size_t i = 0; i < sum->n_terms; i++) {
		const struct sw_term *t = &sum->terms[i];

		assert(t->n_factors >= 1 && t->n_factors <= SW_TERM_MAX_FACTORS);
		if (!isfinite(t->coef))
			return sw_err_set(err, SW_INVALID, "a constraint's numbers must be finite");
		for (size_t k = 0; k < t->n_factors; k++) {
			assert(t->factor[k] < s->n);
			const struct sw_space_entry *e = &s->v[t->factor[k]];

			if (sw_space_is_choice(e) && e->p.numbers == NULL)
				return sw_err_set(err, SW_INVALID,
						  "a constraint compares numbers, and not all "
						  "values of parameter %u are",
						  t->factor[k] + 1U);
		}
	}
	return SW_OK;
}

static bool has_reals(const struct sw_space *s, const struct sw_sum *sum)
{
	for (size_t i = 0; i < sum->n_terms; i++)
		for (size_t k = 0; k < sum->terms[i].n_factors; k++)
			if (sw_space_is_continuous(&s->v[sum->terms[i].factor[k]]))
				return true;
	return false;
}

sw_status sw_space_constrain(struct sw_space *s, const struct sw_constraint *c, struct sw_err *err)
{
	const size_t n_left = c->left.n_terms, n = n_left + c->right.n_terms;
	sw_status rc = check_sum(s, &c->left, err);

	if (rc == SW_OK)
		rc = check_sum(s, &c->right, err);
	if (rc != SW_OK)
		return rc;
	if (n == 0)
		return sw_err_set(err, SW_INVALID, "a constraint without a parameter");
	/* Such points have measure zero: neither draws nor the walk would ever come to one. */
	if (c->op == SW_EQ && (has_reals(s, &c->left) || has_reals(s, &c->right)))
		return sw_err_set(err, SW_INVALID,
				  "no draw meets an equality of real numbers: leave out one of its "
				  "parameters, and let the trial compute it as the rest of the "
				  "others");
	if (s->n_constraints == SW_SPACE_MAX_CONSTRAINTS)
		return sw_err_set(err, SW_TOO_BIG, "at most %zu constraints",
				  SW_SPACE_MAX_CONSTRAINTS);
	/* Both sides in one block, that left.terms owns: one free() and one walk serve both. */
	struct sw_term *terms = sw_calloc(n, sizeof *terms);
	if (terms == NULL || !sw_array_reserve(&s->constraints, &s->cap_constraints,
					       s->n_constraints + 1, sizeof *s->constraints)) {
		free(terms);
		return sw_err_set(err, SW_NOMEM, "no memory for the search space");
	}
	if (n_left > 0)
		memcpy(terms, c->left.terms, n_left * sizeof *terms);
	if (n > n_left)
		memcpy(terms + n_left, c->right.terms, (n - n_left) * sizeof *terms);
	struct sw_constraint *own = &s->constraints[s->n_constraints++];
	*own = *c;
	own->left.terms = terms;
	own->right.terms = terms + n_left;
	return SW_OK;
}

bool sw_space_constrained(const struct sw_space *s)
{
	return s->n_constraints > 0;
}

size_t sw_space_constraints(const struct sw_space *s)
{
	return s->n_constraints;
}

/* --- does it hold? --- */

static double number_of(const struct sw_space_entry *e, struct sw_value v)
{
	if (e->p.dist == SW_DIST_CONSTANT)
		return e->p.numbers[0];
	if (e->p.dist == SW_DIST_CATEGORICAL)
		return e->p.numbers[v.choice < e->p.n_choices ? v.choice : 0];
	return v.number;
}

/* A side's value; what it is made of, in size; and whether all of that are integers. */
struct side {
	double value, size;
	bool integer;
};

static void add_term(struct side *side, double x)
{
	side->value += x;
	side->size += fabs(x);
	side->integer = side->integer && x == floor(x);
}

static struct side side_of(const struct sw_space *s, const struct sw_sum *sum,
			   const struct sw_value *values)
{
	struct side side = {.integer = true};

	add_term(&side, sum->constant);
	for (size_t i = 0; i < sum->n_terms; i++) {
		const struct sw_term *t = &sum->terms[i];
		double x = t->coef;

		for (size_t k = 0; k < t->n_factors; k++) {
			const double factor = number_of(&s->v[t->factor[k]], values[t->factor[k]]);

			/* Asked of each factor, since 0.5 * 4 is an integer that may have been
			 * rounded on the way. */
			side.integer = side.integer && factor == floor(factor);
			x *= factor;
		}
		add_term(&side, x);
	}
	return side;
}

/* A number or a parameter alone: nothing was computed, nothing was rounded. */
static bool is_plain(const struct sw_sum *sum)
{
	return sum->n_terms == 0 || (sum->n_terms == 1 && sum->constant == 0.0 &&
				     sum->terms[0].coef == 1.0 && sum->terms[0].n_factors == 1);
}

static bool holds(const struct sw_space *s, const struct sw_constraint *c,
		  const struct sw_value *values, double *off)
{
	const struct side left = side_of(s, &c->left, values);
	const struct side right = side_of(s, &c->right, values);
	const double size = left.size + right.size;
	const bool exact = (is_plain(&c->left) && is_plain(&c->right)) ||
			   (left.integer && right.integer && size <= SW_EXACT_MAX);
	/* Each operation rounds by half an epsilon of what it yields. */
	const double ops = (double)sw_space_terms(c) * SW_TERM_MAX_FACTORS;
	const double slack = exact ? 0.0 : ops * DBL_EPSILON * size;
	const double d = left.value - right.value;

	/* A sum that overflows compares with nothing. */
	if (off != NULL)
		*off = isfinite(d) && isfinite(size) && size > 0 ? fmin(fabs(d) / size, 1.0) : 1.0;
	if (!isfinite(d))
		return false;
	switch (c->op) {
	case SW_LT:
		return d < -slack;
	case SW_LE:
		return d <= slack;
	case SW_GT:
		return d > slack;
	case SW_GE:
		return d >= -slack;
	case SW_EQ:
		return fabs(d) <= slack;
	case SW_NE:
		return fabs(d) > slack;
	}
	return false;
}

static bool applies(const struct sw_constraint *c, const bool *active)
{
	for (size_t i = 0; i < sw_space_terms(c); i++)
		for (size_t k = 0; k < c->left.terms[i].n_factors; k++)
			/* A parameter that is off has no value to compare. right.terms follow
			 * left.terms in one block, so one loop sees both sides. */
			if (!active[c->left.terms[i].factor[k]])
				return false;
	return true;
}

bool sw_space_is_broken(const struct sw_space *s, const struct sw_constraint *c,
			const struct sw_value *values, const bool *active, double *off)
{
	return applies(c, active) && !holds(s, c, values, off);
}

size_t sw_space_constraint_find(const struct sw_space *s, const struct sw_value *values)
{
	bool active[SW_SPACE_MAX_PARAMS];
	size_t i = 0;

	if (s->n_constraints == 0)
		return 0;
	sw_space_active(s, values, active);
	while (i < s->n_constraints &&
	       !sw_space_is_broken(s, &s->constraints[i], values, active, NULL))
		i++;
	return i;
}

bool sw_space_feasible(const struct sw_space *s, const struct sw_value *values)
{
	return sw_space_constraint_find(s, values) == s->n_constraints;
}
