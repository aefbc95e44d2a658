/* asha, the stop variant, as a pruner. */
#include "base/fault.h"
#include "sched/asha.h"
#include "sched/pruner_internal.h"
#include <stdlib.h>

struct stopper {
	struct sw_pruner base;
	struct sw_asha *asha;
};

static struct sw_asha *of(const struct sw_pruner *p)
{
	return ((const struct stopper *)p)->asha;
}

static void destroy(struct sw_pruner *p)
{
	sw_asha_destroy(of(p));
	free(p);
}

static uint32_t bracket(const struct sw_pruner *p, uint64_t trial)
{
	return sw_asha_bracket(of(p), p->seed, trial);
}

static void begin(const struct sw_pruner *p, struct sw_prune_trial *t, uint64_t resume_step)
{
	(void)p;
	if (resume_step == 0) {
		t->step = 0;
		t->value = 0.0;
	}
}

static sw_status report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			uint64_t step, double value, bool final, struct sw_judgement *out)
{
	(void)trial;
	(void) final;
	if (step <= t->step) /* made again from an earlier checkpoint */
		return SW_OK;
	return sw_asha_report(of(p), t->bracket, t, step, value, out);
}

static uint32_t bracket_n(const struct sw_pruner *p)
{
	return sw_asha_bracket_n(of(p));
}

static size_t rung_n(const struct sw_pruner *p, uint32_t b)
{
	return sw_asha_rung_n(of(p), b);
}

static uint64_t rung_step(const struct sw_pruner *p, uint32_t b, size_t k)
{
	return sw_asha_rung_step(of(p), b, k);
}

static uint64_t rung_count(const struct sw_pruner *p, uint32_t b, size_t k)
{
	return sw_asha_rung_count(of(p), b, k);
}

static double rung_cutoff(const struct sw_pruner *p, uint32_t b, size_t k)
{
	return sw_asha_rung_cutoff(of(p), b, k);
}

static void invariant(const struct sw_pruner *p)
{
	sw_asha_invariant(of(p));
}

static const struct sw_pruner_ops ops = {
	.destroy = destroy,
	.bracket = bracket,
	.begin = begin,
	.report = report,
	.bracket_n = bracket_n,
	.rung_n = rung_n,
	.rung_step = rung_step,
	.rung_count = rung_count,
	.rung_cutoff = rung_cutoff,
	.invariant = invariant,
};

sw_status sw_pruner_make_asha(struct sw_pruner **out, const struct sw_pruner_config *config,
			      struct sw_err *err)
{
	struct sw_asha *asha = NULL;
	const sw_status rc = sw_asha_create(&asha, &config->asha, err);
	if (rc != SW_OK)
		return rc;
	struct stopper *s = sw_calloc(1, sizeof *s);
	if (s == NULL) {
		sw_asha_destroy(asha);
		return sw_pruner_no_memory(err);
	}
	s->base.ops = &ops;
	s->asha = asha;
	*out = &s->base;
	return SW_OK;
}
