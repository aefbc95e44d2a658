/*
 * sched/space/space_internal.h — what space.c prepares once and space_map.c uses at each point.
 *
 * A discrete parameter is an integer index k from k_lo to k_hi and a way from k to the value:
 * INT_UNIFORM and INT_LOG_UNIFORM k; the Q_ kinds k * num / den; POW2 2^k; CATEGORICAL and CONSTANT
 * choice k.
 */
#ifndef SW_SCHED_SPACE_SPACE_INTERNAL_H
#define SW_SCHED_SPACE_SPACE_INTERNAL_H

#include "sched/space/space.h"

struct sw_space_entry {
	struct sw_param p; /* weights, numbers: the entry's own copies */
	double *cum;       /* CATEGORICAL with weights: cumulated and normalised; the last is 1 */
	double k_lo, k_hi; /* the indices of a bounded discrete kind */
	double num, den;   /* q == num / den, both integers if q is a short decimal or a 1/n */
	double u_lo, u_hi; /* LOG kinds: logarithms of the bounds, in the order u runs */
	uint64_t levels;   /* 0: not countable */
};

/* One call of sw_space_when(). */
struct sw_space_cond {
	size_t child, parent;
	size_t depth;    /* of the child: 1 + that of its deepest parent. By sw_space_seal() */
	double *allowed; /* rising; the number, or the index of a choice */
	size_t n;
};

struct sw_space {
	struct sw_space_entry *v;
	size_t n, cap;
	struct sw_space_cond *conds; /* sealed: by rising depth, so parents are settled first */
	size_t n_conds, cap_conds;
	struct sw_constraint *constraints; /* left.terms owns the terms of both sides */
	size_t n_constraints, cap_constraints;
	bool sealed;
};

/* The n-th condition of a parameter, from 0; NULL: it has fewer. */
const struct sw_space_cond *sw_space_cond(const struct sw_space *s, size_t param, size_t n);
void sw_space_conds_fini(struct sw_space *s);
void sw_space_constraints_fini(struct sw_space *s);

/* How many terms it has on both sides, all of them behind left.terms. */
static inline size_t sw_space_terms(const struct sw_constraint *c)
{
	return c->left.n_terms + c->right.n_terms;
}

/* Does the constraint apply, and not hold? active: sw_space_active() of values. *off (may be NULL):
 * how far its sides are apart then, over the size of what they are made of, from 0 to 1. */
bool sw_space_is_broken(const struct sw_space *s, const struct sw_constraint *c,
			const struct sw_value *values, const bool *active, double *off);

/* The index, from k_lo to k_hi, of the value nearest to v (a discrete kind). */
double sw_space_index_of(const struct sw_space_entry *e, struct sw_value v);

/* u in [0, 1) -> the parameter's value. */
struct sw_value sw_space_decode_one(const struct sw_space_entry *e, double u);

/* The other way: sw_space_encode() of one parameter. */
double sw_space_encode_one(const struct sw_space_entry *e, struct sw_value v);

/* The chance of a draw to have this choice of a category. */
static inline double sw_space_chance(const struct sw_space_entry *e, uint64_t choice)
{
	if (e->cum == NULL)
		return 1.0 / (double)e->p.n_choices;
	return e->cum[choice] - (choice > 0 ? e->cum[choice - 1] : 0.0);
}

/* Is the value an index of a choice, rather than a number? */
static inline bool sw_space_is_choice(const struct sw_space_entry *e)
{
	return e->p.dist == SW_DIST_CATEGORICAL || e->p.dist == SW_DIST_CONSTANT;
}

static inline bool sw_space_is_continuous(const struct sw_space_entry *e)
{
	return sw_dist_is_continuous(e->p.dist);
}

/* The largest double below 1. */
#define SW_BELOW_ONE (1.0 - 0x1p-53)

/* Doubles hold each integer up to here. */
#define SW_EXACT_MAX 0x1p53

/* The value of index k of a number-valued discrete parameter. Exact for short decimals: 3 * 0.1 is
 * 0.3. Never -0, and from k_lo to k_hi never outside the bounds. */
double sw_space_value_of(const struct sw_space_entry *e, double k);

/* How far two numbers of a parameter may lie apart and still be the same, near x: the rule for
 * bounds and for what comes from outside. Sums of decimals are off by some roundings, and of a step
 * a millionth is less than anyone means: what comes as a float of 32 bits is off by that. */
double sw_space_slack(const struct sw_space_entry *e, double x);

#endif
