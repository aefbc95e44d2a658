#include "sched/asha.h"
#include "base/fault.h"
#include "sched/ostree.h"
#include "sched/rng.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Bracket s is the rungs s, s + 1, ... of bracket 0: same steps, trees of its own. */
struct bracket {
	size_t rung_n;
	const uint64_t *step;   /* [rung_n] into asha.step */
	struct sw_ostree *rung; /* [rung_n] */
};

struct sw_asha {
	struct sw_asha_config config;
	uint64_t step[SW_ASHA_MAX_RUNGS];
	struct bracket *bracket; /* [config.brackets] */
	uint64_t rungs_total;    /* over all brackets */
};

/* Integer multiplication only: a floating logarithm loses the top rung of 1000/1/10 and 243/1/3. */
static size_t make_rungs(const struct sw_asha_config *c, uint64_t step[SW_ASHA_MAX_RUNGS])
{
	size_t n = 0;
	uint64_t at = c->grace_period;

	for (;;) {
		assert(n < SW_ASHA_MAX_RUNGS); /* at >= 2^n */
		step[n++] = at;
		if (at > c->max_t / c->reduction_factor)
			return n;
		at *= c->reduction_factor;
	}
}

static sw_status check(const struct sw_asha_config *c, struct sw_err *err)
{
	if (c->grace_period < 1)
		return sw_err_at(err, SW_INVALID, "/grace_period",
				 "grace_period must be at least 1");
	if (c->reduction_factor < 2)
		return sw_err_at(err, SW_INVALID, "/reduction_factor",
				 "reduction_factor must be at least 2; it is %" PRIu64,
				 c->reduction_factor);
	if (c->max_t < c->grace_period)
		return sw_err_at(err, SW_INVALID, "/max_t",
				 "max_t %" PRIu64 " is below grace_period %" PRIu64, c->max_t,
				 c->grace_period);
	if (c->brackets < 1)
		return sw_err_at(err, SW_INVALID, "/brackets", "brackets must be at least 1");
	if (c->min_results < 1)
		return sw_err_at(err, SW_INVALID, "/min_results", "min_results must be at least 1");
	return SW_OK;
}

static sw_status make_brackets(struct sw_asha *a, size_t rung_n)
{
	a->bracket = sw_calloc(a->config.brackets, sizeof *a->bracket);
	if (a->bracket == NULL)
		return SW_NOMEM;
	for (size_t s = 0; s < a->config.brackets; s++) {
		struct bracket *b = &a->bracket[s];

		b->rung = sw_calloc(rung_n - s, sizeof *b->rung);
		if (b->rung == NULL)
			return SW_NOMEM;
		b->rung_n = rung_n - s;
		b->step = a->step + s;
		for (size_t k = 0; k < b->rung_n; k++)
			sw_ostree_init(&b->rung[k]);
		a->rungs_total += b->rung_n;
	}
	return SW_OK;
}

sw_status sw_asha_create(struct sw_asha **out, const struct sw_asha_config *config,
			 struct sw_err *err)
{
	*out = NULL;
	sw_status rc = check(config, err);
	if (rc != SW_OK)
		return rc;
	struct sw_asha *a = sw_calloc(1, sizeof *a);
	if (a == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the pruner");
	a->config = *config;
	const size_t rung_n = make_rungs(config, a->step);
	if (config->brackets > rung_n) {
		rc = sw_err_at(err, SW_INVALID, "/brackets",
			       "brackets %" PRIu64 " is too many: there are only %zu rungs up to "
			       "max_t %" PRIu64,
			       config->brackets, rung_n, config->max_t);
		a->config.brackets = 0;
		goto out;
	}
	rc = make_brackets(a, rung_n);
	if (rc != SW_OK) {
		rc = sw_err_set(err, rc, "no memory for the pruner");
		goto out;
	}
	*out = a;
	return SW_OK;
out:
	sw_asha_destroy(a);
	return rc;
}

void sw_asha_destroy(struct sw_asha *a)
{
	if (a == NULL)
		return;
	for (size_t s = 0; a->bracket != NULL && s < a->config.brackets; s++) {
		for (size_t k = 0; k < a->bracket[s].rung_n; k++)
			sw_ostree_fini(&a->bracket[s].rung[k]);
		free(a->bracket[s].rung);
	}
	free(a->bracket);
	free(a);
}

static const struct bracket *bracket_at(const struct sw_asha *a, uint32_t bracket)
{
	assert(bracket < a->config.brackets);
	return &a->bracket[bracket];
}

uint32_t sw_asha_bracket_n(const struct sw_asha *a)
{
	return (uint32_t)a->config.brackets;
}

size_t sw_asha_rung_n(const struct sw_asha *a, uint32_t bracket)
{
	return bracket_at(a, bracket)->rung_n;
}

uint64_t sw_asha_rung_step(const struct sw_asha *a, uint32_t bracket, size_t k)
{
	assert(k < bracket_at(a, bracket)->rung_n);
	return bracket_at(a, bracket)->step[k];
}

uint64_t sw_asha_rung_count(const struct sw_asha *a, uint32_t bracket, size_t k)
{
	assert(k < bracket_at(a, bracket)->rung_n);
	return bracket_at(a, bracket)->rung[k].n;
}

static uint64_t places(const struct sw_asha *a, uint64_t n)
{
	const uint64_t share = n / a->config.reduction_factor;

	return share > 1 ? share : 1;
}

double sw_asha_rung_cutoff(const struct sw_asha *a, uint32_t bracket, size_t k)
{
	assert(k < bracket_at(a, bracket)->rung_n);
	const struct sw_ostree *rung = &bracket_at(a, bracket)->rung[k];
	const uint64_t n = (uint64_t)rung->n + 1; /* the newcomer included */

	/* An only value is its own best. With a rival there, places(n) <= n / 2 <= n - 1. */
	if (rung->n == 0 || n < a->config.min_results)
		return NAN;
	return sw_ostree_kth(rung, places(a, n) - 1, NULL);
}

/* Which rungs this report settles (bits), and which of them it gives a value. */
static uint64_t crossed(const struct bracket *b, const struct sw_prune_trial *t, uint64_t step,
			uint64_t *given)
{
	uint64_t settled = 0;

	*given = 0;
	for (size_t k = 0; k < b->rung_n && b->step[k] <= step; k++) {
		const uint64_t bit = (uint64_t)1 << k;

		if (t->filled & bit)
			continue;
		/* A report at or above the rung settled it then, so this one is below it, or none
		 * was made. */
		assert(t->step < b->step[k]);
		settled |= bit;
		if (b->step[k] == step || t->step != 0)
			*given |= bit;
	}
	return settled;
}

static void judge(const struct sw_asha *a, const struct bracket *b, size_t k, double value,
		  struct sw_judgement *out)
{
	const struct sw_ostree *rung = &b->rung[k];

	out->rung = b->step[k];
	out->value = value;
	out->n = rung->n;
	out->better = sw_ostree_less(rung, value);
	out->keep = places(a, out->n);
	if (out->n < a->config.min_results)
		return;
	out->cutoff = sw_ostree_kth(rung, out->keep - 1, NULL);
	if (out->better >= out->keep)
		out->verdict = SW_VERDICT_STOP;
}

sw_status sw_asha_report(struct sw_asha *a, uint32_t bracket, struct sw_prune_trial *t,
			 uint64_t step, double value, struct sw_judgement *out)
{
	const struct bracket *b = bracket_at(a, bracket);
	uint64_t given;

	assert(step > t->step && isfinite(value));
	const uint64_t settled = crossed(b, t, step, &given);
	for (size_t k = 0; k < b->rung_n; k++)
		if ((given >> k & 1) != 0 && sw_ostree_reserve(&b->rung[k]) != SW_OK)
			return SW_NOMEM;
	*out = (struct sw_judgement){
		.verdict = SW_VERDICT_CONTINUE, .cutoff = NAN, .value = NAN, .bracket = bracket};
	size_t judged = b->rung_n;
	double judged_value = 0.0;
	for (size_t k = 0; k < b->rung_n; k++) {
		if ((given >> k & 1) == 0)
			continue;
		judged = k;
		judged_value = b->step[k] == step ? value : t->value;
		sw_ostree_insert(&b->rung[k], judged_value, 0, false);
	}
	if (judged < b->rung_n)
		judge(a, b, judged, judged_value, out);
	if (step >= a->config.max_t)
		out->verdict = SW_VERDICT_COMPLETE;
	t->filled |= settled;
	t->step = step;
	t->value = value;
	return SW_OK;
}

uint32_t sw_asha_bracket(const struct sw_asha *a, uint64_t seed, uint64_t trial)
{
	/* 32 random bits over at most 2080 rungs: no rung's chance is off by more than 2^-21. */
	const uint64_t u = sw_rng_u64(seed, SW_RNG_BRACKET, trial, 0) >> 32;
	uint64_t ticket = u * a->rungs_total >> 32;
	uint32_t s = 0;

	while (ticket >= a->bracket[s].rung_n)
		ticket -= a->bracket[s++].rung_n;
	return s;
}

void sw_asha_invariant(const struct sw_asha *a)
{
	for (size_t s = 0; s < a->config.brackets; s++)
		for (size_t k = 0; k < a->bracket[s].rung_n; k++)
			sw_ostree_invariant(&a->bracket[s].rung[k]);
}
