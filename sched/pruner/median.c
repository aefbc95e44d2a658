/*
 * median: stops a trial whose best value so far is worse than the median of the others at its
 * step.
 *
 * Ray      From grace_period on, each report records the running mean of the trial's values
 *          since then at its step. The trial is stopped if its best so far is above the median
 *          of what the other trials have recorded at this very step, when they are at least
 *          min_samples_required.
 * Optuna   The median is that of the values of COMPLETED trials at this very step: at least
 *          n_startup_trials completed, at least n_min_trials of them with a value there, from
 *          n_warmup_steps on, at the first report of each interval (sw_pruner_in_interval()).
 * Both     The median of an even number is the mean of the two in the middle.
 * Cost     O(log trials) a report; Optuna's also once more for each of them when the trial ends.
 * Memory   A tree for each step that anyone reported: 12 to 24 bytes a report, some 200 bytes a
 *          step; Optuna's keeps another 16 bytes a report of the trials that have not ended, and
 *          nothing of those that ended otherwise than COMPLETED.
 * Source   Golovin et al., "Google Vizier", KDD'17, section 3.2; Ray Tune's MedianStoppingRule,
 *          Optuna's MedianPruner. Departures: Ray's also counts a trial that has passed this
 *          step without a report at it; Optuna's steps begin at 0.
 */
#include "base/memory.h"
#include "sched/num/ostree.h"
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct at_step {
	uint64_t step;         /* 0: a free slot */
	struct sw_ostree tree; /* Ray: (running mean, trial). Optuna: (value, trial), completed ones
				  are marked */
};

struct point {
	uint64_t step;
	double value;
};

/* The reports of an open trial (Optuna). */
struct series {
	struct point *v;
	size_t n, cap;
	uint32_t next; /* free slots: 1 + the next one; 0: the last */
};

struct median {
	struct sw_pruner base;
	struct at_step *slot; /* [slots]: open addressing by step, at most half of them taken */
	size_t slots, steps;
	struct series *series; /* a trial's is series[t->n - 1]; t->n 0: it has none yet */
	size_t series_n, series_cap;
	uint32_t series_free;
	uint64_t completed; /* trials */
};

static void fini(struct sw_pruner *p)
{
	struct median *m = (struct median *)p;

	for (size_t i = 0; i < m->slots; i++)
		if (m->slot[i].step != 0)
			sw_ostree_fini(&m->slot[i].tree);
	for (size_t i = 0; i < m->series_n; i++)
		free(m->series[i].v);
	free(m->slot);
	free(m->series);
}

/* ---- the steps ---- */

/* The slot of a step, or the free one where it belongs. Fibonacci hashing. */
static struct at_step *find_slot(const struct median *m, uint64_t step)
{
	size_t i = (size_t)((step * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (m->slots - 1);

	while (m->slot[i].step != 0 && m->slot[i].step != step)
		i = (i + 1) & (m->slots - 1);
	return &m->slot[i];
}

static sw_status grow_slots(struct median *m)
{
	struct at_step *old = m->slot;
	const size_t n = m->slots;

	if (2 * (m->steps + 1) <= n)
		return SW_OK;
	struct at_step *grown = sw_calloc(n == 0 ? 16 : 2 * n, sizeof *grown);
	if (grown == NULL)
		return SW_NOMEM;
	m->slot = grown;
	m->slots = n == 0 ? 16 : 2 * n;
	for (size_t i = 0; i < n; i++)
		if (old[i].step != 0)
			*find_slot(m, old[i].step) = old[i];
	free(old);
	return SW_OK;
}

/* The tree of a step with room for one more; SW_NOMEM: nothing that anyone sees has changed. */
static sw_status reserve_step(struct median *m, uint64_t step, struct at_step **out)
{
	*out = NULL;
	if (grow_slots(m) != SW_OK)
		return SW_NOMEM;
	struct at_step *at = find_slot(m, step);
	if (at->step == 0) {
		struct sw_ostree tree;

		sw_ostree_init(&tree);
		/* Made apart from the table: a slot is taken only once its tree has room. */
		if (sw_ostree_reserve(&tree) != SW_OK)
			return SW_NOMEM;
		*at = (struct at_step){step, tree};
		m->steps++;
	} else if (sw_ostree_reserve(&at->tree) != SW_OK) {
		return SW_NOMEM;
	}
	*out = at;
	return SW_OK;
}

/* ---- the median ---- */

/* Of n >= 1 values, of which get(k) is the k-th. */
static double middle(const struct sw_ostree *tree, uint64_t n,
		     double (*get)(const struct sw_ostree *, uint64_t, uint32_t *))
{
	const double high = get(tree, n / 2, NULL);

	/* Halves first: the sum of two large ones would be infinite. */
	return n % 2 != 0 ? high : get(tree, n / 2 - 1, NULL) / 2 + high / 2;
}

static void judge(uint64_t step, uint64_t n, uint64_t better, double best, double median,
		  struct sw_judgement *out)
{
	out->verdict = best > median ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
	out->rung = step;
	out->n = n + 1;
	out->better = better;
	out->keep = n / 2 + 1;
	out->cutoff = median;
	out->value = best;
}

static void take_best(struct sw_prune_trial *t, double value)
{
	if (!t->has || value < t->best)
		t->best = value;
	t->has = 1;
}

/* ---- Ray ---- */

/* t->value: the mean since grace_period, of t->n values. */
static sw_status report_mean(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			     uint64_t step, double value, bool last, struct sw_judgement *out)
{
	struct median *m = (struct median *)p;
	struct at_step *at = NULL;

	(void)last;
	const bool counts = step >= p->config.median.grace_period;
	if (counts && reserve_step(m, step, &at) != SW_OK)
		return SW_NOMEM;
	t->step = step;
	take_best(t, value);
	if (!counts) /* still in the grace period */
		return SW_OK;
	assert(at != NULL);
	if (at->tree.n > 0 && at->tree.n >= p->config.median.min_samples_required)
		judge(step, at->tree.n, sw_ostree_less(&at->tree, t->best), t->best,
		      middle(&at->tree, at->tree.n, sw_ostree_kth), out);
	t->n += t->n < UINT32_MAX;
	/* Not by a sum: it would make the mean of equal values another one, and of huge ones
	 * infinite. */
	t->value += value / t->n - t->value / t->n;
	sw_ostree_insert(&at->tree, t->value, (uint32_t)trial, false);
	return SW_OK;
}

/* ---- Optuna ---- */

/* The trial's series, with room for a point. */
static sw_status open_series(struct median *m, struct sw_prune_trial *t, struct series **out)
{
	if (t->n == 0 && m->series_free == 0) {
		if (!sw_array_reserve(&m->series, &m->series_cap, m->series_n + 1,
				      sizeof *m->series))
			return SW_NOMEM;
		m->series[m->series_n++] = (struct series){.v = NULL};
		m->series_free = (uint32_t)m->series_n;
	}
	const uint32_t place = t->n > 0 ? t->n : m->series_free;
	struct series *s = &m->series[place - 1];
	if (!sw_array_reserve(&s->v, &s->cap, s->n + 1, sizeof *s->v))
		return SW_NOMEM;
	if (t->n == 0) {
		m->series_free = s->next;
		t->n = place;
	}
	*out = s;
	return SW_OK;
}

static void judge_completed(const struct median *m, const struct at_step *at, uint64_t before,
			    const struct sw_prune_trial *t, struct sw_judgement *out)
{
	const struct sw_median_config *c = &m->base.config.median;
	const struct sw_ostree *tree = &at->tree;

	if (m->completed < c->n_startup_trials || tree->marked < c->n_min_trials ||
	    !sw_pruner_in_interval(at->step, before, c->n_warmup_steps, c->interval_steps))
		return;
	judge(at->step, tree->marked, sw_ostree_marked_rank(tree, t->best, 0), t->best,
	      middle(tree, tree->marked, sw_ostree_marked_kth), out);
}

static sw_status report_value(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			      uint64_t step, double value, bool last, struct sw_judgement *out)
{
	struct median *m = (struct median *)p;
	struct at_step *at = NULL;
	struct series *s = NULL;
	const uint64_t before = t->step;

	(void)last;
	/* All room comes before the trial's state: a report that fails may be made again. */
	if (reserve_step(m, step, &at) != SW_OK || open_series(m, t, &s) != SW_OK)
		return SW_NOMEM;
	assert(at != NULL && s != NULL);
	s->v[s->n++] = (struct point){step, value};
	t->step = step;
	take_best(t, value);
	/* Its own value is not marked yet, so it is not among those that it is held against. */
	judge_completed(m, at, before, t, out);
	sw_ostree_insert(&at->tree, value, (uint32_t)trial, false);
	return SW_OK;
}

static void ended(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t, bool completed)
{
	struct median *m = (struct median *)p;

	m->completed += completed;
	if (t->n == 0)
		return;
	struct series *s = &m->series[t->n - 1];
	for (size_t i = 0; i < s->n; i++) {
		struct sw_ostree *tree = &find_slot(m, s->v[i].step)->tree;

		if (completed)
			sw_ostree_mark(tree, s->v[i].value, (uint32_t)trial, true);
		else
			sw_ostree_remove(tree, s->v[i].value, (uint32_t)trial);
	}
	free(s->v);
	/* Slots are used again, so their number follows the trials that run at once, not all
	 * trials. */
	*s = (struct series){.next = m->series_free};
	m->series_free = t->n;
	t->n = 0;
}

/* ---- both ---- */

static void explain(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX])
{
	(void)snprintf(to, SW_PRUNE_CAUSE_MAX,
		       "step %" PRIu64 ": best %g is worse than the median %g of %" PRIu64, j->rung,
		       j->value, j->cutoff, j->n - 1);
}

static void invariant(const struct sw_pruner *p)
{
	const struct median *m = (const struct median *)p;
	uint64_t unmarked = 0, open = 0;
	size_t steps = 0;

	for (size_t i = 0; i < m->slots; i++) {
		if (m->slot[i].step == 0)
			continue;
		steps++;
		unmarked += m->slot[i].tree.n - m->slot[i].tree.marked;
		sw_ostree_invariant(&m->slot[i].tree);
	}
	for (size_t i = 0; i < m->series_n; i++)
		open += m->series[i].n;
	assert(steps == m->steps);
	assert(p->config.median.running_mean || unmarked == open);
	(void)(unmarked + open + steps);
}

static const struct sw_pruner_ops ray_ops = {
	.size = sizeof(struct median),
	.fini = fini,
	.report = report_mean,
	.explain = explain,
	.invariant = invariant,
};

static const struct sw_pruner_ops optuna_ops = {
	.size = sizeof(struct median),
	.fini = fini,
	.report = report_value,
	.ended = ended,
	.explain = explain,
	.invariant = invariant,
};

sw_status sw_median_make(struct sw_pruner **out, const struct sw_pruner_config *config,
			 struct sw_err *err)
{
	const struct sw_median_config *c = &config->median;

	assert(c->running_mean ? c->min_samples_required >= 1
			       : c->n_min_trials >= 1 && c->interval_steps >= 1);
	return sw_pruner_new(out, c->running_mean ? &ray_ops : &optuna_ops, config, NULL, 0, 0,
			     err);
}
