/*
 * A point that keeps the constraints where neither draws nor a walk come upon one: "a - b == 999"
 * of integers to 1,000 has one point in a million, and no way that leads to it.
 *
 * Parameters get their values one after the other, those with the fewest left first and equals in
 * an order that is drawn; after each, the constraints narrow the ranges of the rest
 * (space_narrow.c), so that of an equality the last one is computed rather than
 * searched. Values of a range are tried in a random order, all of them where they can be counted:
 * then coming to the end proves that there is no point. A search that lasts begins again with other
 * draws and twice the patience. Source: Haralick, Elliott, "Increasing tree search efficiency for
 * constraint satisfaction problems", Artificial Intelligence 14 (1980), sections 4 and 5 (looking
 * ahead, fewest first); Gomes, Selman, Kautz, "Boosting combinatorial search through
 * randomization", AAAI-98, section 4 (restarts).
 *
 * Parameters that no constraint names are drawn once. Conditions are settled before what they are
 * about: first the parents, then each constraint is one that applies, or none.
 */
#include "sched/num/permute.h"
#include "sched/num/rng.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <math.h>
#include <string.h>

#define ROUNDS    8    /* in which constraints narrow each other's ranges, at each value */
#define TRIES     6    /* of the values of a range that cannot be counted */
#define NARROW    1e-9 /* a range this narrow, against its distance from 0, is one value */
#define COUNTABLE 0x1p52
#define PATIENCE  2000 /* steps of the first search */

/* A set of constraints. */
struct few {
	uint64_t bits[SW_SPACE_MAX_CONSTRAINTS / 64];
};

struct search {
	const struct sw_space *space;
	uint64_t seed, number;
	uint32_t draw;
	size_t steps, patience; /* of this search; a step is some tens of nanoseconds */
	bool is_whole;          /* every value was tried that there is */
	bool assigned[SW_SPACE_MAX_PARAMS];
	bool is_parent[SW_SPACE_MAX_PARAMS]; /* and not yet assigned */
	bool is_child[SW_SPACE_MAX_PARAMS];
	size_t parents;                        /* how many are not yet assigned */
	struct few touch[SW_SPACE_MAX_PARAMS]; /* the constraints that name it */
	struct few again; /* those to look at, for what they know has changed */
	double order[SW_SPACE_MAX_PARAMS];
	struct sw_space_range all[SW_SPACE_MAX_PARAMS];
	struct sw_value value[SW_SPACE_MAX_PARAMS];
};

static double draw(struct search *q)
{
	return sw_rng_unit(q->seed, SW_RNG_SOLVE, q->number, q->draw++);
}

static double number_of(const struct search *q, size_t i)
{
	const struct sw_space_entry *e = &q->space->v[i];
	const double *numbers = e->p.numbers;

	if (!sw_space_is_choice(e))
		return q->value[i].number;
	return numbers != NULL ? numbers[q->value[i].choice] : 0.0;
}

static bool applies(const struct search *q, const struct sw_constraint *c, const bool *active)
{
	for (size_t i = 0; i < sw_space_terms(c); i++)
		for (size_t k = 0; k < c->left.terms[i].n_factors; k++) {
			const size_t p = c->left.terms[i].factor[k];

			if (q->parents > 0 ? q->is_child[p] : !active[p])
				return false;
		}
	return true;
}

static void look_again(struct search *q, size_t param)
{
	for (size_t w = 0; w < SW_SPACE_MAX_CONSTRAINTS / 64; w++)
		q->again.bits[w] |= q->touch[param].bits[w];
}

static void look_at_all(struct search *q)
{
	memset(&q->again, 0xff, sizeof q->again);
}

static void look_beside(struct search *q, const struct sw_constraint *c)
{
	for (size_t i = 0; i < sw_space_terms(c); i++)
		for (size_t k = 0; k < c->left.terms[i].n_factors; k++)
			look_again(q, c->left.terms[i].factor[k]);
}

/* False: constraint i cannot hold. */
static bool narrow_one(struct search *q, size_t i, const bool *active,
		       struct sw_space_range *ranges, bool *narrowed)
{
	const struct sw_constraint *c = &q->space->constraints[i];
	bool own = false;

	q->again.bits[i / 64] &= ~((uint64_t)1 << i % 64);
	q->steps += 1 + 2 * sw_space_terms(c);
	if (!applies(q, c, active))
		return true;
	if (!sw_space_narrow(q->space, c, ranges, &own))
		return false;
	if (own) {
		look_beside(q, c);
		*narrowed = true;
	}
	return true;
}

/* False: some constraint cannot hold. Looks at those of q->again, and at those that they change. */
static bool narrow_all(struct search *q, struct sw_space_range *ranges)
{
	const struct sw_space *s = q->space;
	bool active[SW_SPACE_MAX_PARAMS], narrowed = true;

	sw_space_active(s, q->value, active);
	q->steps += 1 + s->n / 8;
	for (int round = 0; round < ROUNDS && narrowed; round++) {
		narrowed = false;
		for (size_t i = 0; i < s->n_constraints; i++) { /* to and fro along a chain */
			const size_t at = round % 2 == 0 ? i : s->n_constraints - 1 - i;

			if ((q->again.bits[at / 64] >> at % 64 & 1) != 0 &&
			    !narrow_one(q, at, active, ranges, &narrowed))
				return false;
		}
	}
	return true;
}

static bool is_narrow(struct sw_space_range r)
{
	return isfinite(r.lo) && isfinite(r.hi) &&
	       r.hi - r.lo <= NARROW * (fabs(r.lo) + fabs(r.hi));
}

/* A real one, too, of which next to nothing is left. */
static bool is_used_up(const struct search *q, size_t i, struct sw_space_range r)
{
	const double width = q->all[i].hi - q->all[i].lo;

	return is_narrow(r) || (isfinite(width) && r.hi - r.lo <= NARROW * width);
}

static struct sw_value middle(const struct search *q, size_t i, struct sw_space_range r)
{
	return sw_space_nearest(q->space, i,
				(struct sw_value){.number = r.lo + (r.hi - r.lo) / 2.0});
}

/* How many values are left; INFINITY: they cannot be counted. */
static double count_left(const struct search *q, size_t i, struct sw_space_range r)
{
	const struct sw_space_entry *e = &q->space->v[i];

	if (sw_space_is_choice(e))
		return e->p.dist == SW_DIST_CONSTANT ? 1.0 : (double)e->p.n_choices;
	if (sw_space_is_continuous(e))
		return is_used_up(q, i, r) ? 1.0 : INFINITY;
	if (!isfinite(r.lo) || !isfinite(r.hi))
		return INFINITY;
	const double n = sw_space_index_of(e, (struct sw_value){.number = r.hi}) -
			 sw_space_index_of(e, (struct sw_value){.number = r.lo}) + 1.0;
	return n <= COUNTABLE ? n : INFINITY;
}

/* The next one to get a value; space->n when all have one, or are not active. */
static size_t pick(const struct search *q, const struct sw_space_range *ranges)
{
	bool active[SW_SPACE_MAX_PARAMS];
	size_t best = q->space->n;
	double least = INFINITY;

	sw_space_active(q->space, q->value, active);
	for (size_t i = 0; i < q->space->n; i++) {
		if (q->assigned[i] || (q->parents > 0 ? !q->is_parent[i] : !active[i]))
			continue;
		const double left = count_left(q, i, ranges[i]);
		if (best == q->space->n || left < least ||
		    (left == least && q->order[i] < q->order[best])) {
			least = left;
			best = i;
		}
	}
	return best;
}

static bool descend(struct search *q, struct sw_space_range *ranges);

/* Goes on with value v of parameter i. */
static bool go_on(struct search *q, const struct sw_space_range *ranges, size_t i,
		  struct sw_value v)
{
	struct sw_space_range next[SW_SPACE_MAX_PARAMS];
	const bool was_parent = q->is_parent[i];

	memcpy(next, ranges, q->space->n * sizeof *next);
	q->value[i] = v;
	q->assigned[i] = true;
	q->is_parent[i] = false;
	q->parents -= was_parent;
	next[i].lo = next[i].hi = number_of(q, i);
	memset(&q->again, 0, sizeof q->again);
	/* Only those that name it can say anything new. */
	look_again(q, i);
	if (was_parent && q->parents == 0) /* others apply now */
		look_at_all(q);
	if (descend(q, next))
		return true;
	/* The next value is tried from where this one was. */
	q->assigned[i] = false;
	q->is_parent[i] = was_parent;
	q->parents += was_parent;
	return false;
}

static bool is_tired(struct search *q)
{
	if (q->steps <= q->patience)
		return false;
	q->is_whole = false;
	return true;
}

static bool try_choices(struct search *q, const struct sw_space_range *ranges, size_t i)
{
	const struct sw_param *p = &q->space->v[i].p;
	const uint64_t n = p->dist == SW_DIST_CONSTANT ? 1 : p->n_choices;
	const uint64_t key = sw_rng_u64(q->seed, SW_RNG_SOLVE, q->number, q->draw++);

	for (uint64_t k = 0; k < n && !is_tired(q); k++) {
		const uint32_t c = (uint32_t)sw_permute(key, n, k);

		q->steps++;
		if (p->weights != NULL && p->weights[c] == 0.0)
			continue; /* never drawn either */
		if (p->numbers != NULL &&
		    (p->numbers[c] < ranges[i].lo || p->numbers[c] > ranges[i].hi))
			continue;
		if (go_on(q, ranges, i, (struct sw_value){.choice = c}))
			return true;
	}
	return false;
}

static bool try_counted(struct search *q, const struct sw_space_range *ranges, size_t i,
			double count)
{
	const struct sw_space_entry *e = &q->space->v[i];
	const double first = sw_space_index_of(e, (struct sw_value){.number = ranges[i].lo});
	const uint64_t n = (uint64_t)count;
	const uint64_t key = sw_rng_u64(q->seed, SW_RNG_SOLVE, q->number, q->draw++);

	/* Of large integers an equality leaves some about the one that it means. */
	if (n > 1 && is_narrow(ranges[i]) && go_on(q, ranges, i, middle(q, i, ranges[i])))
		return true;
	for (uint64_t k = 0; k < n && !is_tired(q); k++) {
		const double at = first + (double)sw_permute(key, n, k);
		const struct sw_value v = {.number = sw_space_value_of(e, at)};

		if (go_on(q, ranges, i, v))
			return true;
	}
	return false;
}

/* Of a range that is used up. The middle is what an equality means, unless the range ends where the
 * parameter does: there the end is, and may be all that keeps an inequality. */
static bool try_ends(struct search *q, const struct sw_space_range *ranges, size_t i)
{
	const struct sw_space_range r = ranges[i], all = q->all[i];
	const double half = middle(q, i, r).number;
	const double first = r.lo == all.lo ? r.lo : r.hi == all.hi ? r.hi : half;
	const double each[] = {first, half, r.hi, r.lo};

	for (size_t k = 0; k < sizeof each / sizeof each[0] && !is_tired(q); k++) {
		if (k > 0 && each[k] == first)
			continue;
		if (go_on(q, ranges, i,
			  sw_space_nearest(q->space, i, (struct sw_value){.number = each[k]})))
			return true;
	}
	q->is_whole = q->is_whole && !(r.lo < r.hi);
	return false;
}

/* Draws by the parameter's own distribution, between the bounds. */
static bool try_some(struct search *q, const struct sw_space_range *ranges, size_t i)
{
	const struct sw_space_entry *e = &q->space->v[i];
	const struct sw_space_range r = ranges[i];
	const double a = sw_space_encode_one(e, (struct sw_value){.number = r.lo});
	const double b = sw_space_encode_one(e, (struct sw_value){.number = r.hi});

	for (int k = 0; k < TRIES && !is_tired(q); k++) {
		struct sw_value v = sw_space_decode_one(e, fmin(a, b) + draw(q) * fabs(b - a));

		if (v.number < r.lo || v.number > r.hi)
			v.number = v.number < r.lo ? r.lo : r.hi;
		if (go_on(q, ranges, i, sw_space_nearest(q->space, i, v)))
			return true;
	}
	q->is_whole = false;
	return false;
}

/* At most as deep as there are parameters. The ranges are its own. */
static bool descend(struct search *q, struct sw_space_range *ranges)
{
	if (!narrow_all(q, ranges))
		return false;
	const size_t i = pick(q, ranges);
	if (i == q->space->n)
		return sw_space_feasible(q->space, q->value);
	const double left = count_left(q, i, ranges[i]);
	if (sw_space_is_choice(&q->space->v[i]))
		return try_choices(q, ranges, i);
	if (!isfinite(left))
		return try_some(q, ranges, i);
	if (sw_space_is_continuous(&q->space->v[i]))
		return try_ends(q, ranges, i);
	return try_counted(q, ranges, i, left);
}

static void name_params(struct search *q, size_t constraint)
{
	const struct sw_constraint *c = &q->space->constraints[constraint];

	for (size_t i = 0; i < sw_space_terms(c); i++)
		for (size_t k = 0; k < c->left.terms[i].n_factors; k++)
			q->touch[c->left.terms[i].factor[k]].bits[constraint / 64] |=
				(uint64_t)1 << constraint % 64;
}

static bool is_named(const struct search *q, size_t param)
{
	uint64_t any = 0;

	for (size_t w = 0; w < SW_SPACE_MAX_CONSTRAINTS / 64; w++)
		any |= q->touch[param].bits[w];
	return any != 0;
}

/* The search sets the parameters that a constraint names, and those that decide whether these are
 * there. All others are drawn. */
static void begin_search(struct search *q, const bool *fixed, struct sw_space_range *ranges)
{
	const struct sw_space *s = q->space;
	bool named[SW_SPACE_MAX_PARAMS] = {false};

	q->steps = q->parents = 0;
	q->is_whole = true;
	memset(q->is_parent, 0, sizeof q->is_parent);
	memset(q->is_child, 0, sizeof q->is_child);
	look_at_all(q);
	for (size_t i = 0; i < s->n; i++)
		named[i] = is_named(q, i);
	/* A parameter that decides whether a named one is there must have a value before it. */
	for (size_t i = s->n_conds; i-- > 0;) { /* the deepest first */
		q->is_child[s->conds[i].child] = true;
		if (!named[s->conds[i].child])
			continue;
		named[s->conds[i].parent] = true;
		q->is_parent[s->conds[i].parent] = true;
	}
	for (size_t i = 0; i < s->n; i++) {
		const bool is_given = fixed != NULL && fixed[i];

		q->assigned[i] = is_given || !named[i];
		q->is_parent[i] = q->is_parent[i] && !is_given;
		q->parents += q->is_parent[i];
		q->order[i] = draw(q);
		if (!is_given)
			q->value[i] = sw_space_decode_one(&s->v[i], draw(q));
		ranges[i] = q->all[i] = sw_space_range_all(s, i);
		if (is_given)
			ranges[i].lo = ranges[i].hi = number_of(q, i);
	}
}

enum sw_solved sw_space_solve(const struct sw_space *s, uint64_t seed, uint64_t number,
			      const bool *fixed, size_t most, struct sw_value *values)
{
	struct sw_space_range ranges[SW_SPACE_MAX_PARAMS];
	struct search q = {.space = s, .seed = seed, .number = number, .patience = PATIENCE};

	assert(s->sealed || s->n_conds == 0);
	memcpy(q.value, values, s->n * sizeof *values);
	for (size_t i = 0; i < s->n_constraints; i++)
		name_params(&q, i);
	for (size_t spent = 0; spent < most; spent += q.steps + 1) {
		if (q.patience > most - spent)
			q.patience = most - spent;
		begin_search(&q, fixed, ranges);
		if (descend(&q, ranges)) {
			memcpy(values, q.value, s->n * sizeof *values);
			return SW_SOLVED;
		}
		if (q.is_whole)
			return SW_SOLVED_NONE;
		/* An unlucky beginning is left early, and yet a hard space gets its time. */
		q.patience *= 2;
	}
	return SW_SOLVED_UNKNOWN;
}
