/* What every pruner needs, and the way to each one's rules. */
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdlib.h>

static enum sw_pruner_kind kind(const struct sim_oracle *o)
{
	return o->plan->sweep.pruner.kind;
}

void sim_prune_init(struct sim_oracle *o)
{
	if (kind(o) == SW_PRUNER_ASHA || kind(o) == SW_PRUNER_PROMOTE ||
	    kind(o) == SW_PRUNER_HYPERBAND)
		sim_asha_init(o);
	if (kind(o) == SW_PRUNER_MEDIAN) {
		o->at_n = o->plan->epochs + 1;
		o->at = sim_realloc(NULL, o->at_n, sizeof *o->at);
		for (size_t i = 0; i < o->at_n; i++)
			o->at[i] = (struct sim_rung){.step = i};
	}
}

void sim_prune_fini(struct sim_oracle *o)
{
	sim_asha_fini(o);
	for (size_t i = 0; i < o->at_n; i++)
		free(o->at[i].v);
	free(o->at);
}

uint64_t sim_prune_next(const struct sim_oracle *o)
{
	if (o->closed)
		return 0;
	if (kind(o) == SW_PRUNER_PBT)
		return sim_pbt_next(o);
	return kind(o) == SW_PRUNER_PROMOTE ? sim_asha_next(o) : 0;
}

/* Steps that were reported before are not reported again: from scratch, rungs look once more. */
void sim_prune_begin(struct sim_oracle *o, uint64_t trial)
{
	struct sim_trial *const t = sim_oracle_trial(o, trial);
	const bool rungs = kind(o) == SW_PRUNER_ASHA || kind(o) == SW_PRUNER_PROMOTE ||
			   kind(o) == SW_PRUNER_HYPERBAND;

	if (rungs && t->resume_step == 0)
		t->valued = 0;
	if (kind(o) == SW_PRUNER_PBT && t->attempt == 0)
		t->valued = t->resume_step;
}

void sim_prune_check_until(const struct sim_oracle *o, uint64_t trial, uint64_t until)
{
	const struct sim_trial *const t = &o->trial[trial - 1];
	uint64_t want = until;

	if (kind(o) == SW_PRUNER_PROMOTE && t->bracket != SIM_NO_BRACKET)
		want = sim_asha_until(o, t);
	else if (kind(o) == SW_PRUNER_PBT)
		want = sim_pbt_until(o, t);
	SIM_CHECK(until == want, "until",
		  "trial %" PRIu64 " is to run until step %" PRIu64
		  ", and it is judged next at %" PRIu64,
		  trial, until, want);
}

enum sw_verdict sim_prune_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				 const struct sw_judgement *j)
{
	enum sw_verdict verdict = SW_VERDICT_CONTINUE;

	if (ev->result) {
		SIM_CHECK(j->rung == 0, "judged", "trial %" PRIu64 " by its result", ev->trial);
		return SW_VERDICT_CONTINUE;
	}
	switch (kind(o)) {
	case SW_PRUNER_ASHA:
	case SW_PRUNER_PROMOTE:
		return sim_asha_report(o, ev, y, j);
	case SW_PRUNER_HYPERBAND:
		verdict = sim_hyperband_report(o, ev, y, j);
		break;
	case SW_PRUNER_MEDIAN:
		verdict = sim_median_report(o, ev, y, j);
		break;
	case SW_PRUNER_PATIENCE:
		verdict = sim_patience_report(o, ev, y, j);
		break;
	case SW_PRUNER_THRESHOLD:
		verdict = sim_threshold_report(o, ev, y, j);
		break;
	case SW_PRUNER_PBT:
		verdict = sim_pbt_report(o, ev, y, j);
		break;
	default:
		SIM_CHECK(j->rung == 0, "judged", "trial %" PRIu64 ", without a pruner", ev->trial);
		break;
	}
	return ev->final ? SW_VERDICT_CONTINUE : verdict;
}
