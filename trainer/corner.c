#include "trainer/corner.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

/* The smallest or largest number of a list; words count as they stand: the first. */
static const cJSON *item_extreme(const struct sw_spec_param *p, bool largest)
{
	const cJSON *pick = p->values->child;

	for (const cJSON *v = pick ? pick->next : NULL; v; v = v->next)
		if (cJSON_IsNumber(v) && cJSON_IsNumber(pick) &&
		    (largest ? v->valuedouble > pick->valuedouble
			     : v->valuedouble < pick->valuedouble))
			pick = v;
	return pick;
}

size_t sw_corner_choices(const struct sw_spec_param *p)
{
	if (p->value)
		return 1;
	if (p->values)
		return p->n_values + 2 < SW_CORNER_CHOICES ? p->n_values + 2 : SW_CORNER_CHOICES;
	return SW_CORNER_CHOICES;
}

/* Item k - 2 of a list; of a long one as many, evenly from the first to the last. */
static const cJSON *item(const struct sw_spec_param *p, size_t k)
{
	const size_t between = SW_CORNER_CHOICES - 2;

	if (k < 2)
		return item_extreme(p, k == 1);
	k -= 2;
	if (p->n_values > between)
		k = k * (p->n_values - 1) / (between - 1);
	return cJSON_GetArrayItem(p->values, (int)k);
}

/* Is a range with this minimum walked by factors? */
static bool is_walked_by_factors(const struct sw_spec_param *p)
{
	switch (p->dist) {
	case SW_DIST_LOG_UNIFORM:
	case SW_DIST_INV_LOG_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
	case SW_DIST_POW2:
		return p->min > 0;
	default:
		return false;
	}
}

/* Normal kinds, which have no ends: six deviations leave out one draw in a thousand million. */
static double endless(const struct sw_spec_param *p, double part)
{
	const double v = p->mu + (12 * part - 6) * p->sigma;

	switch (p->dist) {
	case SW_DIST_LOG_NORMAL:
	case SW_DIST_Q_LOG_NORMAL:
		return exp(v);
	default:
		return v;
	}
}

/* A range has no items: its ends stand for them, then sixteenths of what lies between. */
static double range_value(const struct sw_spec_param *p, size_t k)
{
	const double part = k < 2 ? (double)k : (double)(k - 1) / (SW_CORNER_CHOICES - 1);
	double v;

	if (!p->has_min || !p->has_max)
		return endless(p, part);
	if (is_walked_by_factors(p))
		v = p->min * pow(p->max / p->min, part);
	else
		v = p->min + (p->max - p->min) * part;
	/* pow() may end a digit outside of the range. */
	v = k == 1 ? p->max : fmin(fmax(v, p->min), p->max);
	switch (p->dist) {
	case SW_DIST_POW2:
		return exp2(floor(log2(v) + 1e-9));
	case SW_DIST_INT_UNIFORM:
	case SW_DIST_INT_LOG_UNIFORM:
		return floor(v);
	case SW_DIST_Q_UNIFORM:
	case SW_DIST_Q_LOG_UNIFORM:
		/* the quantised kinds reach the multiples of q inside their range alone */
		if (p->q > 0)
			v = p->q *
			    (k == 0 ? ceil(v / p->q) : fmax(floor(v / p->q), ceil(p->min / p->q)));
		return v;
	default:
		return v;
	}
}

/* Of numbers alone: constraints name no other. */
static double value(const struct sw_corner *c, size_t i)
{
	const struct sw_spec_param *p = &c->spec->params[i];
	const cJSON *v = p->value ? p->value : p->values ? item(p, c->pick[i]) : NULL;

	return v ? v->valuedouble : range_value(p, c->pick[i]);
}

static double sum(const struct sw_corner *c, const struct sw_sum *s)
{
	double total = s->constant;

	for (size_t i = 0; i < s->n_terms; i++) {
		double term = s->terms[i].coef;

		for (size_t f = 0; f < s->terms[i].n_factors; f++)
			term *= value(c, s->terms[i].factor[f]);
		total += term;
	}
	return total;
}

static bool holds(const struct sw_corner *c, const struct sw_constraint *k)
{
	const double l = sum(c, &k->left), r = sum(c, &k->right);
	/* Sums of decimal numbers differ in their last digits from the same sums on paper. */
	const bool same = fabs(l - r) <= 1e-9 * fmax(fabs(l), fabs(r));

	if (same)
		return k->op == SW_EQ || k->op == SW_LE || k->op == SW_GE;
	if (k->op == SW_EQ || k->op == SW_NE)
		return k->op == SW_NE;
	return k->op == SW_LT || k->op == SW_LE ? l < r : l > r;
}

bool sw_corner_holds(const struct sw_corner *c)
{
	for (size_t i = 0; i < c->spec->n_constraints; i++)
		if (!holds(c, &c->spec->constraints[i].rule))
			return false;
	return true;
}

sw_status sw_corner_init(struct sw_corner *c, const struct sw_spec *spec, bool largest,
			 struct sw_err *err)
{
	c->spec = spec;
	c->pick = sw_calloc(spec->n_params, 1);
	if (!c->pick)
		return sw_err_set(err, SW_NOMEM, "no memory to check the sweep");
	for (size_t i = 0; i < spec->n_params; i++)
		c->pick[i] = largest && sw_corner_choices(&spec->params[i]) > 1;
	return SW_OK;
}

void sw_corner_fini(struct sw_corner *c)
{
	free(c->pick);
	c->pick = NULL;
}

sw_status sw_corner_params(cJSON **out, const struct sw_corner *c, struct sw_err *err)
{
	const struct sw_spec *s = c->spec;

	*out = cJSON_CreateObject();
	for (size_t i = 0; *out && i < s->n_params; i++) {
		const struct sw_spec_param *p = &s->params[i];
		const cJSON *like = p->value ? p->value : p->values ? item(p, c->pick[i]) : NULL;
		cJSON *v = like ? cJSON_Duplicate(like, 1)
				: cJSON_CreateNumber(range_value(p, c->pick[i]));

		if (!v || !cJSON_AddItemToObject(*out, p->name, v)) {
			cJSON_Delete(v);
			cJSON_Delete(*out);
			*out = NULL;
		}
	}
	return *out ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory to check the sweep");
}
