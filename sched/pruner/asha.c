#include "sched/pruner/asha.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>

sw_status sw_asha_make_with(struct sw_pruner **out, const struct sw_pruner_config *config,
			    const struct sw_pruner_ops *ops, struct sw_err *err)
{
	const struct sw_asha_config *c = &config->asha;
	uint64_t step[SW_RUNGS_MAX];

	assert(c->grace_period >= 1 && c->grace_period <= c->max_t && c->reduction_factor >= 2 &&
	       c->brackets >= 1);
	const size_t n = sw_rungs_ladder(c->grace_period, c->reduction_factor, c->max_t, step);
	if (c->brackets > n)
		return sw_err_at(err, SW_INVALID, "/brackets",
				 "brackets %" PRIu64 " is too many: there are only %zu rungs up to "
				 "max_t %" PRIu64,
				 c->brackets, n, c->max_t);
	return sw_pruner_new(out, ops, config, step, n, (uint32_t)c->brackets, err);
}

/* ---- stop ---- */

static uint64_t places(const struct sw_asha_config *c, uint64_t n)
{
	const uint64_t share = n / c->reduction_factor;

	return share > 1 ? share : 1;
}

static double rung_cutoff(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	const struct sw_ostree *rung = sw_rungs_tree(&p->rungs, bracket, k);
	const uint64_t n = (uint64_t)rung->n + 1; /* the newcomer included */

	/* An only value is its own best. With a rival there, places(n) <= n / 2 <= n - 1. */
	if (rung->n == 0 || n < p->config.asha.min_results)
		return NAN;
	return sw_ostree_kth(rung, places(&p->config.asha, n) - 1, NULL);
}

static void judge(const struct sw_asha_config *c, struct sw_ostree *rung,
		  const struct sw_rung_hit *hit, struct sw_judgement *out)
{
	out->value = hit->value;
	out->n = rung->n;
	out->better = hit->better;
	out->keep = places(c, out->n);
	if (out->n < c->min_results) /* too few to stop anybody */
		return;
	/* A report moves the place by one at most, so the leaf is mostly the one of the last
	 * call. */
	out->cutoff = sw_ostree_kth_near(rung, out->keep - 1);
	if (out->better >= out->keep)
		out->verdict = SW_VERDICT_STOP;
}

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool last, struct sw_judgement *out)
{
	struct sw_rung_hit hit;

	(void)last;
	const sw_status rc = sw_rungs_record(&p->rungs, trial, t, step, value, &hit);
	if (rc != SW_OK)
		return rc;
	if (hit.any) {
		out->rung = sw_rungs_step(&p->rungs, t->bracket, hit.k);
		judge(&p->config.asha, sw_rungs_tree(&p->rungs, t->bracket, hit.k), &hit, out);
	}
	if (step >= p->config.asha.max_t)
		out->verdict = SW_VERDICT_COMPLETE;
	return SW_OK;
}

static const struct sw_pruner_ops ops = {
	.size = sizeof(struct sw_pruner),
	.report = report,
	.rung_cutoff = rung_cutoff,
};

sw_status sw_asha_make(struct sw_pruner **out, const struct sw_pruner_config *config,
		       struct sw_err *err)
{
	assert(config->asha.min_results >= 1);
	return sw_asha_make_with(out, config, &ops, err);
}
