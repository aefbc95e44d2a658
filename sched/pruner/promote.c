/* asha, promote: a trial pauses at its rung; sched/pruner/asha.h has the rule. In a rung's tree the
 * paused trials are the marked ones. */
#include "sched/pruner/asha.h"
#include <assert.h>
#include <math.h>

static struct sw_ostree *paused_at(const struct sw_pruner *p, const struct sw_prune_trial *t)
{
	assert(t->paused);
	return sw_rungs_tree(&p->rungs, t->bracket, t->paused - 1u);
}

static uint64_t places(const struct sw_pruner *p, const struct sw_ostree *rung)
{
	return rung->n / p->config.asha.reduction_factor;
}

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	struct sw_rung_hit hit;

	const sw_status rc = sw_rungs_record(&p->rungs, trial, t, step, value, &hit);
	if (rc != SW_OK)
		return rc;
	if (step >= p->config.asha.max_t)
		out->verdict = SW_VERDICT_COMPLETE;
	if (!hit.any) /* between two rungs */
		return SW_OK;
	struct sw_ostree *rung = sw_rungs_tree(&p->rungs, t->bracket, hit.k);
	out->rung = sw_rungs_step(&p->rungs, t->bracket, hit.k);
	out->value = hit.value;
	out->n = rung->n;
	out->better = hit.better;
	out->keep = places(p, rung);
	if (out->keep > 0)
		out->cutoff = sw_ostree_kth_near(rung, out->keep - 1);
	/* A trial that ends with this report must not wait in a rung. */
	if (step >= p->config.asha.max_t || last)
		return SW_OK;
	out->verdict = SW_VERDICT_PAUSE;
	t->paused = (uint8_t)(hit.k + 1);
	/* The tree is searched by (value, trial) when it is resumed, so its value there is kept. */
	t->best = hit.value;
	sw_ostree_mark(rung, hit.value, (uint32_t)trial, true);
	return SW_OK;
}

static void resumed(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t)
{
	sw_ostree_mark(paused_at(p, t), t->best, (uint32_t)trial, false);
	t->paused = 0;
}

/* The rungs in the order in which they are looked at, from the i-th on: the highest step first,
 * then the lowest bracket. NULL after the last. */
static const struct sw_ostree *rung_in_turn(const struct sw_rungs *r, size_t i)
{
	if (i >= r->n * r->brackets)
		return NULL;
	const size_t g = r->n - 1 - i / r->brackets, b = i % r->brackets;

	return &r->tree[b * r->n + g]; /* empty where the bracket begins above */
}

static uint64_t may_go(const struct sw_pruner *p, const struct sw_ostree *rung)
{
	/* Most rungs have nobody waiting, and next() asks them all at each free lane. */
	if (rung->marked == 0)
		return 0;
	return sw_ostree_marked_among(rung, places(p, rung));
}

static uint64_t next(const struct sw_pruner *p)
{
	const struct sw_ostree *rung;

	for (size_t i = 0; (rung = rung_in_turn(&p->rungs, i)) != NULL; i++) {
		uint32_t trial;

		if (may_go(p, rung) == 0)
			continue;
		(void)sw_ostree_marked_kth(rung, 0, &trial);
		return trial;
	}
	return 0;
}

static uint64_t next_n(const struct sw_pruner *p, uint64_t most)
{
	const struct sw_ostree *rung;
	uint64_t n = 0;

	for (size_t i = 0; n < most && (rung = rung_in_turn(&p->rungs, i)) != NULL; i++)
		n += may_go(p, rung);
	return n < most ? n : most;
}

/* The lowest rung that is not settled yet, or max_t. */
static uint64_t until(const struct sw_pruner *p, const struct sw_prune_trial *t)
{
	const struct sw_rungs *r = &p->rungs;

	for (size_t k = 0; k < sw_rungs_n(r, t->bracket); k++)
		if ((t->filled >> k & 1) == 0)
			return sw_rungs_step(r, t->bracket, k);
	return p->config.asha.max_t;
}

static void turn(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		 struct sw_pruner_turn *out)
{
	const struct sw_ostree *own = paused_at(p, t), *rung;

	out->rung = sw_rungs_step(&p->rungs, t->bracket, t->paused - 1u);
	out->rank = sw_ostree_rank(own, t->best, (uint32_t)trial) + 1;
	out->n = own->n;
	out->keep = places(p, own);
	out->ahead = sw_ostree_marked_rank(own, t->best, (uint32_t)trial);
	for (size_t i = 0; (rung = rung_in_turn(&p->rungs, i)) != own; i++) {
		assert(rung != NULL);
		out->ahead += may_go(p, rung);
	}
}

static double rung_cutoff(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	const struct sw_ostree *rung = sw_rungs_tree(&p->rungs, bracket, k);
	const uint64_t keep = ((uint64_t)rung->n + 1) / p->config.asha.reduction_factor;

	/* keep <= (n + 1) / 2, so with one place there is a value already */
	return keep > 0 ? sw_ostree_kth(rung, keep - 1, NULL) : NAN;
}

static void invariant(const struct sw_pruner *p)
{
	const struct sw_rungs *r = &p->rungs;

	for (uint32_t b = 0; b < r->brackets; b++)
		for (size_t k = 0; k < sw_rungs_n(r, b); k++)
			assert(sw_rungs_step(r, b, k) < p->config.asha.max_t ||
			       sw_rungs_tree(r, b, k)->marked == 0);
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct sw_pruner),
	.report = report,
	.next = next,
	.next_n = next_n,
	.resumed = resumed,
	.until = until,
	.turn = turn,
	.rung_cutoff = rung_cutoff,
	.invariant = invariant,
};

sw_status sw_promote_make(struct sw_pruner **out, const struct sw_pruner_config *config,
			  struct sw_err *err)
{
	return sw_asha_make_with(out, config, &ops, err);
}
