#include "sched/pruner/rungs.h"
#include "base/memory.h"
#include "sched/num/rng.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t sw_rungs_ladder(uint64_t first, uint64_t factor, uint64_t most, uint64_t step[SW_RUNGS_MAX])
{
	size_t n = 0;

	for (uint64_t at = first;; at *= factor) {
		assert(n < SW_RUNGS_MAX); /* at >= 2^n */
		step[n++] = at;
		/* The division cannot overflow, as the next product could. */
		if (at > most / factor)
			return n;
	}
}

sw_status sw_rungs_init(struct sw_rungs *r, const uint64_t *step, size_t n, uint32_t brackets)
{
	assert(n >= 1 && n <= SW_RUNGS_MAX && brackets >= 1 && brackets <= n);
	*r = (struct sw_rungs){.n = n, .brackets = brackets};
	memcpy(r->step, step, n * sizeof step[0]);
	r->tree = sw_calloc(brackets * n, sizeof *r->tree);
	if (r->tree == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < brackets * n; i++)
		sw_ostree_init(&r->tree[i]);
	return SW_OK;
}

void sw_rungs_fini(struct sw_rungs *r)
{
	for (size_t i = 0; r->tree != NULL && i < r->brackets * r->n; i++)
		sw_ostree_fini(&r->tree[i]);
	free(r->tree);
	*r = (struct sw_rungs){.n = 0};
}

size_t sw_rungs_n(const struct sw_rungs *r, uint32_t bracket)
{
	assert(bracket < r->brackets);
	return r->n - bracket;
}

uint64_t sw_rungs_step(const struct sw_rungs *r, uint32_t bracket, size_t k)
{
	assert(k < sw_rungs_n(r, bracket));
	return r->step[bracket + k];
}

struct sw_ostree *sw_rungs_tree(const struct sw_rungs *r, uint32_t bracket, size_t k)
{
	assert(k < sw_rungs_n(r, bracket));
	return &r->tree[bracket * r->n + bracket + k];
}

uint32_t sw_rungs_bracket(const struct sw_rungs *r, uint64_t seed, uint64_t trial)
{
	/* 32 random bits over at most 2080 rungs: no rung's chance is off by more than 2^-21. */
	const uint64_t total = r->brackets * (2 * r->n - r->brackets + 1) / 2;
	const uint64_t u = sw_rng_u64(seed, SW_RNG_BRACKET, trial, 0) >> 32;
	uint64_t ticket = u * total >> 32;
	uint32_t b = 0;

	while (ticket >= sw_rungs_n(r, b))
		ticket -= sw_rungs_n(r, b++);
	return b;
}

/* Which rungs this report settles (bits), and which of them it gives a value. */
static uint64_t crossed(const struct sw_rungs *r, const struct sw_prune_trial *t, uint64_t step,
			uint64_t *given)
{
	const uint64_t *at = r->step + t->bracket;
	uint64_t settled = 0;

	*given = 0;
	for (size_t k = 0; k < r->n - t->bracket && at[k] <= step; k++) {
		const uint64_t bit = (uint64_t)1 << k;

		if (t->filled & bit)
			continue;
		/* A report at or above the rung settled it then, so this one is below it, or none
		 * was made. */
		assert(t->step < at[k]);
		settled |= bit;
		if (at[k] == step || t->step != 0)
			*given |= bit;
	}
	return settled;
}

sw_status sw_rungs_record(struct sw_rungs *r, uint64_t trial, struct sw_prune_trial *t,
			  uint64_t step, double value, struct sw_rung_hit *hit)
{
	uint64_t given;

	assert(step > t->step && trial <= SW_PRUNE_TRIAL_MAX);
	const uint64_t settled = crossed(r, t, step, &given);
	/* All room comes first: a failure must not leave the trial in some of the trees alone. */
	struct sw_ostree *tree = sw_rungs_tree(r, t->bracket, 0);
	for (size_t k = 0; k < SW_RUNGS_MAX && given >> k != 0; k++)
		if ((given >> k & 1) != 0 && sw_ostree_reserve(&tree[k]) != SW_OK)
			return SW_NOMEM;
	*hit = (struct sw_rung_hit){.any = false};
	for (size_t k = 0; k < SW_RUNGS_MAX && given >> k != 0; k++) {
		if ((given >> k & 1) == 0)
			continue;
		const double v = r->step[t->bracket + k] == step ? value : t->value;
		*hit = (struct sw_rung_hit){true, k, v,
					    sw_ostree_insert(&tree[k], v, (uint32_t)trial, false)};
	}
	t->filled |= settled;
	t->step = step;
	t->value = value;
	return SW_OK;
}

void sw_rungs_invariant(const struct sw_rungs *r)
{
	for (size_t i = 0; i < r->brackets * r->n; i++)
		sw_ostree_invariant(&r->tree[i]);
}
