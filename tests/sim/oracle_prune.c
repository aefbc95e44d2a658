/* The rules of the pruners without rungs, and the way to those with. */
#include "tests/sim/oracle.h"
#include <inttypes.h>

static enum sw_pruner_kind kind(const struct sim_oracle *o)
{
	return o->plan->sweep.pruner.kind;
}

static bool has_rungs(const struct sim_oracle *o)
{
	return kind(o) == SW_PRUNER_ASHA || kind(o) == SW_PRUNER_PROMOTE;
}

void sim_prune_init(struct sim_oracle *o)
{
	if (has_rungs(o))
		sim_asha_init(o);
}

void sim_prune_fini(struct sim_oracle *o)
{
	sim_asha_fini(o);
}

uint64_t sim_prune_next(const struct sim_oracle *o)
{
	if (o->plan->cheap)
		return o->closed ? 0 : o->hint;
	return kind(o) == SW_PRUNER_PROMOTE && !o->closed ? sim_asha_next(o) : 0;
}

void sim_prune_begin(struct sim_oracle *o, uint64_t trial)
{
	struct sim_trial *const t = sim_oracle_trial(o, trial);

	if (t->resume_step == 0)
		t->valued = 0;
}

void sim_prune_ended(struct sim_oracle *o, uint64_t trial, bool completed)
{
	(void)o;
	(void)trial;
	(void)completed;
}

void sim_prune_check_until(const struct sim_oracle *o, uint64_t trial, uint64_t until)
{
	const struct sim_trial *const t = &o->trial[trial - 1];

	if (kind(o) != SW_PRUNER_PROMOTE || t->bracket == SIM_NO_BRACKET)
		return;
	SIM_CHECK(until == sim_asha_until(o, t), "until",
		  "trial %" PRIu64 " is to run until step %" PRIu64
		  ", and its next rung is %" PRIu64,
		  trial, until, sim_asha_until(o, t));
}

enum sw_verdict sim_prune_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				 const struct sw_judgement *j)
{
	if (has_rungs(o))
		return sim_asha_report(o, ev, y, j);
	return SW_VERDICT_CONTINUE;
}
