/*
 * pbt: population based training, asynchronous.
 *
 * Rule     A report is judged when it is at burn_in_period or above and at least
 *          perturbation_interval above the step at which the trial was judged last (0; a child:
 *          the step that it goes on from), but not at the trial's last step, with which it leaves
 *          the population. Its value is the trial's score. The population is the trials not ended
 *          that have a score, sorted by (score, trial). A quantile is ceil(n * quantile_fraction)
 *          of them, at most floor(n / 2), none of a single one. A trial in the last quantile is
 *          stopped, and cloned from one of the first drawn by (seed, trial), of those that have a
 *          checkpoint to go on from. Else it pauses if other members wait, so that they catch up,
 *          and it has a checkpoint; else it goes on.
 * Queue    The member with the least step first, then the lowest number; nobody while members are
 *          not yet made. A child that has not begun takes its turn by its step, too (the sweep
 *          sees to it): one that went first could be exploited again and again by members that
 *          never get a lane to change their scores.
 * Cost     O(log population).
 * Memory   About 17 bytes a member, twice for those that are paused.
 * Source   Jaderberg et al., arXiv:1711.09846; Ray Tune's PopulationBasedTraining with synch=False,
 *          its defaults and quantiles. Departures: equal scores are ordered by number, the earlier
 *          first; the clone is a new trial, so the member it replaces leaves with its score.
 */
#include "sched/num/ostree.h"
#include "sched/num/rng.h"
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct pbt {
	struct sw_pruner base;
	struct sw_ostree score; /* (score, trial); marked: it has a checkpoint */
	struct sw_ostree queue; /* (step, trial) of the paused: exact below 2^53 */
};

static const struct pbt *of(const struct sw_pruner *p)
{
	return (const struct pbt *)p;
}

static void fini(struct sw_pruner *p)
{
	struct pbt *b = (struct pbt *)p;

	sw_ostree_fini(&b->score);
	sw_ostree_fini(&b->queue);
}

static uint64_t until(const struct sw_pruner *p, const struct sw_prune_trial *t)
{
	const struct sw_pbt_config *c = &p->config.pbt;
	const uint64_t interval = c->perturbation_interval;
	uint64_t due = t->step > UINT64_MAX - interval ? UINT64_MAX : t->step + interval;

	if (due < c->burn_in_period)
		due = c->burn_in_period;
	/* Nobody is judged at the last step, so no attempt needs to end there for it. */
	return c->last_step != 0 && due >= c->last_step ? 0 : due;
}

static uint64_t quantile(const struct pbt *b)
{
	const double n = b->score.n;
	const double most = floor(n / 2), q = ceil(n * b->base.config.pbt.quantile_fraction);

	return (uint64_t)(q < most ? q : most); /* of a single one: 0 */
}

/* One of the first q that have a checkpoint; 0: none has. */
static uint64_t draw_donor(const struct pbt *b, uint64_t trial, uint64_t q)
{
	/* A trial is exploited once at most: it ends by that, and one draw a trial is enough. */
	const uint64_t u = sw_rng_u64(b->base.seed, SW_RNG_EXPLOIT, trial, 0) >> 32;
	const uint64_t n = sw_ostree_marked_among(&b->score, q);
	uint32_t donor = 0;

	if (n > 0)
		(void)sw_ostree_marked_kth(&b->score, u * n >> 32, &donor);
	return donor;
}

static void set_score(struct pbt *b, uint64_t trial, struct sw_prune_trial *t, double value)
{
	if (t->has)
		sw_ostree_remove(&b->score, t->value, (uint32_t)trial);
	sw_ostree_insert(&b->score, value, (uint32_t)trial, !t->bare);
	t->has = 1;
	t->value = value;
}

static void resumed(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t)
{
	sw_ostree_remove(&((struct pbt *)p)->queue, (double)t->step, (uint32_t)trial);
	t->paused = 0;
}

static void ended(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t, bool completed)
{
	(void)completed;
	if (t->has)
		sw_ostree_remove(&((struct pbt *)p)->score, t->value, (uint32_t)trial);
	t->has = 0;
}

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	struct pbt *b = (struct pbt *)p;

	const uint64_t due = until(p, t);

	/* at its last step a trial is complete: a clone, of it or in its place, would have nothing
	 * left to do */
	if (b->base.config.pbt.last_step != 0 && step >= b->base.config.pbt.last_step) {
		ended(p, trial, t, true);
		return SW_OK;
	}
	if (due == 0 || step < due) /* not yet compared */
		return SW_OK;
	/* Room in both, since which of them takes an entry is known only after the score has
	 * changed. */
	if (sw_ostree_reserve(&b->score) != SW_OK || sw_ostree_reserve(&b->queue) != SW_OK)
		return SW_NOMEM;
	set_score(b, trial, t, value);
	t->step = step;
	const uint64_t n = b->score.n, q = quantile(b);
	out->rung = step;
	out->value = value;
	out->n = n;
	out->better = sw_ostree_rank(&b->score, value, (uint32_t)trial);
	out->keep = n - q;
	if (q > 0)
		out->cutoff = sw_ostree_kth(&b->score, n - q - 1, NULL);
	if (last) /* it ends by itself */
		return SW_OK;
	/* No donor with a checkpoint means no copy, and then the member had better go on itself. */
	if (out->better >= out->keep)
		out->donor = draw_donor(b, trial, q);
	if (out->donor != 0) {
		out->verdict = SW_VERDICT_STOP;
	} else if (!t->bare && (p->pending + p->unmade > 0 || b->queue.n > 0)) {
		out->verdict = SW_VERDICT_PAUSE;
		sw_ostree_insert(&b->queue, (double)step, (uint32_t)trial, false);
		t->paused = 1;
	}
	return SW_OK;
}

static uint64_t next(const struct sw_pruner *p)
{
	uint32_t trial;

	if (p->unmade > 0 || of(p)->queue.n == 0) /* new members go first */
		return 0;
	(void)sw_ostree_kth(&of(p)->queue, 0, &trial);
	return trial;
}

static uint64_t next_n(const struct sw_pruner *p, uint64_t most)
{
	const uint64_t n = p->unmade > 0 ? 0 : of(p)->queue.n;

	return n < most ? n : most;
}

static void turn(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		 struct sw_pruner_turn *out)
{
	const struct pbt *b = of(p);

	out->rung = t->step;
	out->rank = sw_ostree_rank(&b->score, t->value, (uint32_t)trial) + 1;
	out->n = b->score.n;
	out->keep = out->n; /* all of them go on, in turn */
	out->ahead = sw_ostree_rank(&b->queue, (double)t->step, (uint32_t)trial);
}

static void explain(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX])
{
	(void)snprintf(
		to, SW_PRUNE_CAUSE_MAX, "%s: rank %" PRIu64 " of %" PRIu64 " at step %" PRIu64,
		j->donor != 0 ? "exploited" : "waits for the others", j->better + 1, j->n, j->rung);
}

static void invariant(const struct sw_pruner *p)
{
	sw_ostree_invariant(&of(p)->score);
	sw_ostree_invariant(&of(p)->queue);
	assert(of(p)->queue.n <= of(p)->score.n);
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct pbt),
	.fini = fini,
	.report = report,
	.ended = ended,
	.next = next,
	.next_n = next_n,
	.resumed = resumed,
	.until = until,
	.turn = turn,
	.explain = explain,
	.invariant = invariant,
};

sw_status sw_pbt_make(struct sw_pruner **out, const struct sw_pruner_config *config,
		      struct sw_err *err)
{
	const struct sw_pbt_config *c = &config->pbt;

	assert(c->perturbation_interval >= 1 && c->quantile_fraction >= 0 &&
	       c->quantile_fraction <= 0.5 && c->factor_n >= 1 &&
	       c->factor_n <= SW_PBT_FACTORS_MAX);
	const sw_status rc = sw_pruner_new(out, &ops, config, NULL, 0, 0, err);
	if (rc != SW_OK)
		return rc;
	struct pbt *b = (struct pbt *)*out;
	sw_ostree_init(&b->score);
	sw_ostree_init(&b->queue);
	return SW_OK;
}
