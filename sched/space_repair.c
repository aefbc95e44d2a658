/*
 * A point that keeps the constraints from one that does not, where draws alone would seldom find
 * one (seven ordered parameters: one draw in 5,040).
 *
 * A broken constraint is picked at random and one of its parameters; of a few new values for it the
 * one is taken that leaves the fewest constraints broken, if they are no more than before. So a
 * step never makes it worse, and equal steps wander. Source: Selman, Kautz, Cohen, "Noise
 * strategies for improving local search", AAAI-94, section 3 (WalkSAT), with values drawn in place
 * of a flip.
 */
#include "sched/rng.h"
#include "sched/space.h"
#include "sched/space_internal.h"
#include <string.h>

#define STARTS     3
#define STEPS      3000 /* of one start */
#define CANDIDATES 6

struct walk {
	const struct sw_space *space;
	const bool *fixed; /* [n]; NULL: none is */
	uint64_t seed, number;
	uint32_t draw;
	size_t n_broken;
	size_t broken[SW_SPACE_MAX_CONSTRAINTS];
};

static double draw(struct walk *w)
{
	return sw_rng_unit(w->seed, SW_RNG_REPAIR, w->number, w->draw++);
}

static size_t below(struct walk *w, size_t n)
{
	const size_t i = (size_t)(draw(w) * (double)n);

	return i < n ? i : n - 1;
}

/* list: [n_constraints]; NULL: only the number. */
static size_t find_broken(const struct sw_space *s, const struct sw_value *values, size_t *list)
{
	bool active[SW_SPACE_MAX_PARAMS];
	size_t n = 0;

	sw_space_active(s, values, active);
	for (size_t i = 0; i < s->n_constraints; i++) {
		if (!space_is_broken(s, &s->constraints[i], values, active))
			continue;
		if (list != NULL)
			list[n] = i;
		n++;
	}
	return n;
}

/* One of the parameters that the constraint names; space->n when all of them are fixed. */
static size_t pick_param(struct walk *w, const struct sw_constraint *c)
{
	size_t named[2 * SW_SPACE_MAX_PARAMS], n = 0;

	for (int side = 0; side < 2; side++) {
		const struct sw_sum *sum = side == 0 ? &c->left : &c->right;

		for (size_t i = 0; i < sum->n_terms; i++)
			for (size_t k = 0; k < sum->terms[i].n_factors; k++)
				if ((w->fixed == NULL || !w->fixed[sum->terms[i].factor[k]]) &&
				    n < sizeof named / sizeof *named)
					named[n++] = sum->terms[i].factor[k];
	}
	return n > 0 ? named[below(w, n)] : w->space->n;
}

static void step(struct walk *w, struct sw_value *values)
{
	const size_t p = pick_param(w, &w->space->constraints[w->broken[below(w, w->n_broken)]]);
	size_t least = w->n_broken + 1;

	if (p == w->space->n)
		return;
	const struct sw_value old = values[p];
	struct sw_value best = old;
	for (int i = 0; i < CANDIDATES; i++) {
		values[p] = space_decode_one(&w->space->v[p], draw(w));
		const size_t n = find_broken(w->space, values, NULL);

		if (n < least) {
			least = n;
			best = values[p];
		}
	}
	values[p] = least <= w->n_broken ? best : old;
	w->n_broken = find_broken(w->space, values, w->broken);
}

bool sw_space_repair(const struct sw_space *s, uint64_t seed, uint64_t number, const bool *fixed,
		     struct sw_value *values)
{
	struct walk w = {.space = s, .fixed = fixed, .seed = seed, .number = number};

	for (int start = 0; start < STARTS; start++) {
		for (size_t i = 0; start > 0 && i < s->n; i++)
			if (fixed == NULL || !fixed[i])
				values[i] = space_decode_one(&s->v[i], draw(&w));
		w.n_broken = find_broken(s, values, w.broken);
		for (int i = 0; i < STEPS && w.n_broken > 0; i++)
			step(&w, values);
		if (w.n_broken == 0)
			return true;
	}
	return false;
}
