/*
 * A point that keeps the constraints from one that does not, where draws alone would seldom find
 * one (seven ordered parameters: one draw in 5,040).
 *
 * A broken constraint is picked at random and one of its parameters; of a few new values for it the
 * one is taken that leaves the fewest constraints broken, and of equals the one that breaks them
 * the least: so a sum that is too large shrinks step by step. More constraints are never broken
 * than before; as many, further, now and then. Source: Selman, Kautz, Cohen, "Noise strategies for
 * improving local search", AAAI-94, section 3 (WalkSAT), with values drawn in place of a flip.
 */
#include "sched/num/rng.h"
#include "sched/space/space.h"
#include "sched/space/space_internal.h"

#define STARTS     3
#define CANDIDATES 6
/* The share that is taken of steps which break as many, but further. With none of them a chain of
 * ordered parameters ends where no step helps; with .4 a product takes ten times as long. */
#define NOISE 0.1
/* Constraints looked at in all, some tens of nanoseconds each: what a walk that gets nowhere costs
 * its caller, who may be the daemon's loop. */
#define LOOKS 300000

struct walk {
	const struct sw_space *space;
	const bool *fixed; /* [n]; NULL: none is */
	uint64_t seed, number;
	uint32_t draw;
	size_t looks; /* so far */
	size_t n_broken;
	size_t broken[SW_SPACE_MAX_CONSTRAINTS],
		all[SW_SPACE_MAX_CONSTRAINTS]; /* all: 0, 1, 2 ... */
};

static double draw(struct walk *w)
{
	return sw_rng_unit(w->seed, SW_RNG_REPAIR, w->number, w->draw++);
}

static bool names(const struct sw_constraint *c, size_t param)
{
	for (size_t i = 0; i < sw_space_terms(c); i++)
		for (size_t k = 0; k < c->left.terms[i].n_factors; k++)
			if (c->left.terms[i].factor[k] == param)
				return true;
	return false;
}

/* How many constraints are broken, and how far they are off together. */
struct harm {
	size_t n;
	double off;
};

static bool is_less(struct harm a, struct harm b)
{
	return a.n < b.n || (a.n == b.n && a.off < b.off);
}

/* Which of the constraints in among[n] are broken; list: NULL, or their numbers. */
static struct harm find_broken(struct walk *w, const struct sw_value *values, const size_t *among,
			       size_t n, size_t *list)
{
	const struct sw_space *s = w->space;
	bool active[SW_SPACE_MAX_PARAMS];
	struct harm found = {.n = 0};
	double off;

	w->looks += n;
	sw_space_active(s, values, active);
	for (size_t i = 0; i < n; i++) {
		if (!sw_space_is_broken(s, &s->constraints[among[i]], values, active, &off))
			continue;
		if (list != NULL)
			list[found.n] = among[i];
		found.n++;
		found.off += off;
	}
	return found;
}

/* The constraints that a new value of the parameter may break or mend: those that name it, or,
 * where there are conditions, all. */
static size_t touched_by(const struct walk *w, size_t param, size_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < w->space->n_constraints; i++)
		if (w->space->n_conds > 0 || names(&w->space->constraints[i], param))
			list[n++] = i;
	return n;
}

/* One of the parameters that the constraint names; space->n when all of them are fixed. */
static size_t pick_param(struct walk *w, const struct sw_constraint *c)
{
	size_t named[2 * SW_SPACE_MAX_TERMS * SW_TERM_MAX_FACTORS], n = 0;

	for (size_t i = 0; i < sw_space_terms(c); i++) {
		const struct sw_term *t = &c->left.terms[i];

		for (size_t k = 0; k < t->n_factors; k++)
			if (w->fixed == NULL || !w->fixed[t->factor[k]])
				named[n++] = t->factor[k];
	}
	return n > 0 ? named[sw_rng_below(draw(w), n)] : w->space->n;
}

/* False: a broken constraint names nothing that may change, so no walk mends it. */
static bool step(struct walk *w, struct sw_value *values)
{
	const size_t mended = w->broken[sw_rng_below(draw(w), w->n_broken)];
	const size_t p = pick_param(w, &w->space->constraints[mended]);
	size_t touched[SW_SPACE_MAX_CONSTRAINTS];

	if (p == w->space->n)
		return false;
	/* Only these can change with p, so the candidates are compared on them alone. */
	const size_t n = touched_by(w, p, touched);
	const struct harm before = find_broken(w, values, touched, n, NULL);
	const struct sw_value old = values[p];
	struct sw_value best = old;
	struct harm least = {.n = SIZE_MAX};
	for (int i = 0; i < CANDIDATES; i++) {
		values[p] = sw_space_decode_one(&w->space->v[p], draw(w));
		const struct harm now = find_broken(w, values, touched, n, NULL);

		if (is_less(now, least)) {
			least = now;
			best = values[p];
		}
	}
	const bool is_worse = is_less(before, least);
	/* The draw comes last, and only where it decides: the numbers of later draws hang on it,
	 * and a replay walks the same way. */
	const bool is_taken = !is_worse || (least.n == before.n && draw(w) < NOISE);
	values[p] = is_taken ? best : old;
	w->n_broken = find_broken(w, values, w->all, w->space->n_constraints, w->broken).n;
	return true;
}

bool sw_space_repair(const struct sw_space *s, uint64_t seed, uint64_t number, const bool *fixed,
		     struct sw_value *values)
{
	struct walk w = {.space = s, .fixed = fixed, .seed = seed, .number = number};

	for (size_t i = 0; i < s->n_constraints; i++)
		w.all[i] = i;
	for (int start = 0; start < STARTS; start++) {
		/* The first start is the caller's own point, which the result should be near. */
		for (size_t i = 0; start > 0 && i < s->n; i++)
			if (fixed == NULL || !fixed[i])
				values[i] = sw_space_decode_one(&s->v[i], draw(&w));
		w.n_broken = find_broken(&w, values, w.all, s->n_constraints, w.broken).n;
		/* Each start may spend what those before it left, so a hopeless first point does
		 * not take all. */
		while (w.n_broken > 0 && w.looks < LOOKS / STARTS * (size_t)(start + 1))
			if (!step(&w, values))
				return false;
		if (w.n_broken == 0)
			return true;
	}
	return false;
}
