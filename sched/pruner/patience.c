/*
 * patience: stops a trial when `patience` of its reports in a row did not improve its best by more
 * than min_delta. The best is moved by such improvements alone, so that a slow drift does not
 * count.
 *
 * Cost     O(1), no memory beyond the trial's state.
 * Source   The rule of Keras' EarlyStopping (min_delta, patience), per report.
 */
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	const struct sw_patience_config *c = &p->config.patience;

	(void)trial;
	(void)last;
	t->step = step;
	if (!t->has || value < t->best - c->min_delta) {
		t->has = 1;
		t->best = value;
		t->n = 0;
		return SW_OK;
	}
	/* Any patience fits below the cap, so the count may stop there. */
	if (t->n < UINT32_MAX)
		t->n++;
	if (t->n < c->patience) /* it may still improve */
		return SW_OK;
	*out = (struct sw_judgement){.verdict = SW_VERDICT_STOP,
				     .rung = step,
				     .n = t->n,
				     .cutoff = t->best,
				     .value = value};
	return SW_OK;
}

static void explain(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX])
{
	(void)snprintf(to, SW_PRUNE_CAUSE_MAX,
		       "step %" PRIu64 ": %" PRIu64 " report%s without improvement on %g", j->rung,
		       j->n, j->n == 1 ? "" : "s", j->cutoff);
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct sw_pruner), .report = report, .explain = explain};

sw_status sw_patience_make(struct sw_pruner **out, const struct sw_pruner_config *config,
			   struct sw_err *err)
{
	const struct sw_patience_config *c = &config->patience;

	assert(c->patience >= 1 && c->patience <= UINT32_MAX && c->min_delta >= 0);
	return sw_pruner_new(out, &ops, config, NULL, 0, 0, err);
}
