/*
 * threshold: stops a trial whose value is outside [lower, upper], from n_warmup_steps on, at the
 * first report of each interval (sw_pruner_in_interval()).
 *
 * Cost     O(1), no memory beyond the trial's state.
 * Source   Optuna's ThresholdPruner. Departure: a value that is not finite never comes here.
 */
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	const struct sw_threshold_config *c = &p->config.threshold;
	const uint64_t before = t->step;

	(void)trial;
	(void)last;
	t->step = step;
	if (!sw_pruner_in_interval(step, before, c->n_warmup_steps, c->interval_steps))
		return SW_OK;
	const bool low = c->has_lower && value < c->lower, high = c->has_upper && value > c->upper;
	if (low || high)
		*out = (struct sw_judgement){.verdict = SW_VERDICT_STOP,
					     .rung = step,
					     .n = 1,
					     .cutoff = low ? c->lower : c->upper,
					     .value = value};
	return SW_OK;
}

static void explain(const struct sw_judgement *j, char to[SW_PRUNE_CAUSE_MAX])
{
	(void)snprintf(to, SW_PRUNE_CAUSE_MAX, "step %" PRIu64 ": value %g is %s the threshold %g",
		       j->rung, j->value, j->value < j->cutoff ? "below" : "above", j->cutoff);
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct sw_pruner), .report = report, .explain = explain};

sw_status sw_threshold_make(struct sw_pruner **out, const struct sw_pruner_config *config,
			    struct sw_err *err)
{
	const struct sw_threshold_config *c = &config->threshold;

	assert((c->has_lower || c->has_upper) && c->interval_steps >= 1);
	return sw_pruner_new(out, &ops, config, NULL, 0, 0, err);
}
