/*
 * hyperband as W&B stops early by it.
 *
 * Bands    min_iter * eta^k up to last_step, or max_iter / eta^i for i = 1..s, by integers. What a
 *          report records at them is the rule of sched/pruner/rungs.h.
 * Rule     At each report the trial is compared at the highest band that it has a value at: of the
 *          n values there (its own included), sorted, the cutoff is the floor(n / eta)-th from 0.
 *          It is stopped if its value is above the cutoff: its value at the band (strict), or its
 *          best so far. So an old trial is stopped by what others bring later.
 * Memory   About 18 bytes a value.
 * Source   docs.wandb.ai, "early_terminate"; Li et al., arXiv:1603.06560, gave the name.
 *          Departures: the step is the trial's own clock instead of the count of logged values;
 *          decisions come with the report instead of every few minutes.
 */
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	const struct sw_hyperband_config *c = &p->config.hyperband;
	struct sw_rung_hit hit;

	(void)last;
	const sw_status rc = sw_rungs_record(&p->rungs, trial, t, step, value, &hit);
	if (rc != SW_OK)
		return rc;
	/* The highest band with a value stays the one compared at, also for reports between two
	 * bands. */
	if (hit.any)
		t->has = (uint8_t)(hit.k + 1);
	if (c->strict)
		t->best = hit.any ? hit.value : t->best;
	else if (t->n == 0 || value < t->best)
		t->best = value;
	t->n = 1;
	if (!t->has) /* no band is reached yet */
		return SW_OK;
	const struct sw_ostree *band = sw_rungs_tree(&p->rungs, 0, t->has - 1u);
	const uint64_t place = sw_hyperband_down(band->n, c->eta);
	const double cutoff = sw_ostree_kth(band, place, NULL);
	const bool stop = t->best > cutoff;
	if (!stop && !hit.any) /* no news: only a band or a stop is recorded */
		return SW_OK;
	out->verdict = stop ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
	out->rung = sw_rungs_step(&p->rungs, 0, t->has - 1u);
	out->n = band->n;
	out->better = sw_ostree_less(band, t->best);
	out->keep = place + 1;
	out->cutoff = cutoff;
	out->value = t->best;
	return SW_OK;
}

/* With the newcomer among them, place floor((n + 1) / eta) is taken: his own if he is the last. */
static double rung_cutoff(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	const struct sw_ostree *band = sw_rungs_tree(&p->rungs, bracket, k);
	const uint64_t place = sw_hyperband_down((uint64_t)band->n + 1, p->config.hyperband.eta);

	return place < band->n ? sw_ostree_kth(band, place, NULL) : NAN;
}

static void explain(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX])
{
	(void)snprintf(to, SW_PRUNE_CAUSE_MAX, "band %" PRIu64 ": rank %" PRIu64 " of %" PRIu64,
		       j->rung, j->better + 1, j->n);
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct sw_pruner),
	.report = report,
	.rung_cutoff = rung_cutoff,
	.explain = explain,
};

/* first * eta^k, rounded down, where eta is a fraction. */
static size_t ladder_of_fraction(const struct sw_hyperband_config *c, double most,
				 uint64_t step[SW_RUNGS_MAX])
{
	size_t n = 0;

	step[n++] = c->min_iter;
	for (double at = (double)c->min_iter * c->eta; n < SW_RUNGS_MAX && at <= most; at *= c->eta)
		/* A factor near 1 rounds down to the same step more than once. */
		if ((uint64_t)at > step[n - 1]) {
			step[n] = (uint64_t)at;
			n++;
		}
	return n;
}

/* Returns how many. */
static size_t make_bands(const struct sw_hyperband_config *c, uint64_t step[SW_RUNGS_MAX])
{
	uint64_t at = c->max_iter;
	size_t n = 0;

	assert(c->eta > 1 && (c->min_iter == 0) == (c->max_iter != 0 && c->s != 0));
	if (c->min_iter != 0) {
		const uint64_t most = c->last_step != 0 ? c->last_step : UINT64_MAX;

		return c->eta == floor(c->eta)
			       ? sw_rungs_ladder(c->min_iter, (uint64_t)c->eta, most, step)
			       : ladder_of_fraction(c, fmin((double)most, 0x1p53), step);
	}
	/* floor(floor(x / a) / b) is floor(x / (a * b)), so dividing again and again is exact; by a
	 * fraction it falls at least by 1. */
	for (; n < c->s; step[n++] = at) {
		at = sw_hyperband_down(at, c->eta);
		assert(at >= 1 && n < SW_RUNGS_MAX);
	}
	/* Made from the top down, while a ladder rises. */
	for (size_t i = 0; i < n / 2; i++) {
		const uint64_t high = step[i];

		step[i] = step[n - 1 - i];
		step[n - 1 - i] = high;
	}
	return n;
}

sw_status sw_hyperband_make(struct sw_pruner **out, const struct sw_pruner_config *config,
			    struct sw_err *err)
{
	uint64_t step[SW_RUNGS_MAX];

	return sw_pruner_new(out, &ops, config, step, make_bands(&config->hyperband, step), 1, err);
}
