/* What may end a trial or the sweep before its end: from a spec to sched's words. */
#include "daemon/plan/plan.h"
#include <string.h>

static struct sw_asha_config asha_of(const struct sw_spec_asha *a)
{
	return (struct sw_asha_config){
		.grace_period = a->grace_period,
		.max_t = a->max_t,
		.reduction_factor = a->reduction_factor,
		.brackets = a->brackets,
		.min_results = a->min_results,
	};
}

#define STEP_MAX ((uint64_t)1 << 53) /* beyond it a step is no number of JSON's any more */

static struct sw_hyperband_config hyperband_of(const struct sw_spec_hyperband *h)
{
	return (struct sw_hyperband_config){
		.min_iter = h->min_iter,
		.max_iter = h->max_iter,
		.s = h->s,
		.eta = h->eta,
		.last_step = h->epochs > 0 ? h->epochs : STEP_MAX,
		.strict = h->strict,
	};
}

static struct sw_median_config median_of(const struct sw_spec_median *m)
{
	return (struct sw_median_config){
		.running_mean = m->running_mean,
		.grace_period = m->grace_period,
		.min_samples = m->min_samples,
		.startup_trials = m->startup_trials,
		.warmup_steps = m->warmup_steps,
		.interval_steps = m->interval_steps,
		.min_trials = m->min_trials,
	};
}

/* Inside sched lower is better: of a metric to maximise the bounds turn round. */
static struct sw_threshold_config threshold_of(const struct sw_spec_threshold *t, bool maximize)
{
	struct sw_threshold_config c = {
		.has_lower = t->has_lower,
		.has_upper = t->has_upper,
		.lower = t->lower,
		.upper = t->upper,
		.warmup_steps = t->warmup_steps,
		.interval_steps = t->interval_steps,
	};

	if (maximize) {
		c.has_lower = t->has_upper;
		c.has_upper = t->has_lower;
		c.lower = -t->upper;
		c.upper = -t->lower;
	}
	return c;
}

/* The size of the population is the sweep's run cap. */
static struct sw_pbt_config pbt_of(const struct sw_spec_pbt *p)
{
	struct sw_pbt_config c = {
		.perturbation_interval = p->perturbation_interval,
		.burn_in_period = p->burn_in_period,
		.quantile_fraction = p->quantile_fraction,
		.resample_probability = p->resample_probability,
		.factor_n = p->n_factors,
		.last_step = p->epochs,
		.mutate = p->mutate,
	};

	memcpy(c.factor, p->factors, p->n_factors * sizeof *c.factor);
	return c;
}
_Static_assert(SW_SPEC_MAX_PERTURB <= SW_PBT_FACTORS_MAX, "the factors of a spec have room");

void sw_plan_pruner(struct sw_pruner_config *out, const struct sw_spec_pruner *p,
		    const struct sw_spec *spec)
{
	*out = (struct sw_pruner_config){.kind = SW_PRUNER_NONE};
	switch (p->kind) {
	case SW_SPEC_PRUNER_NONE:
		break;
	case SW_SPEC_PRUNER_ASHA:
	case SW_SPEC_PRUNER_PROMOTE:
		out->kind = p->kind == SW_SPEC_PRUNER_ASHA ? SW_PRUNER_ASHA : SW_PRUNER_PROMOTE;
		out->asha = asha_of(&p->asha);
		if (out->asha.min_results == 0)
			out->asha.min_results = out->asha.reduction_factor;
		break;
	case SW_SPEC_PRUNER_HYPERBAND:
		out->kind = SW_PRUNER_HYPERBAND;
		out->hyperband = hyperband_of(&p->hyperband);
		break;
	case SW_SPEC_PRUNER_MEDIAN:
		out->kind = SW_PRUNER_MEDIAN;
		out->median = median_of(&p->median);
		break;
	case SW_SPEC_PRUNER_PATIENCE:
		out->kind = SW_PRUNER_PATIENCE;
		out->patience = (struct sw_patience_config){.patience = p->patience.patience,
							    .min_delta = p->patience.min_delta};
		break;
	case SW_SPEC_PRUNER_THRESHOLD:
		out->kind = SW_PRUNER_THRESHOLD;
		out->threshold = threshold_of(&p->threshold, spec->maximize);
		break;
	case SW_SPEC_PRUNER_PBT:
		out->kind = SW_PRUNER_PBT;
		out->pbt = pbt_of(&p->pbt);
		break;
	}
}
