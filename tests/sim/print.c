/* Plans and events as lines. */
#include "sched/sweep/samplers.h"
#include "tests/sim/sim.h"
#include <inttypes.h>
#include <stdio.h>

static const char *const pruners[SW_PRUNER_KIND_N] = {
	"none", "asha", "promote", "hyperband", "median", "patience", "threshold", "pbt"};

const char *sim_pruner_name(enum sw_pruner_kind kind)
{
	return pruners[kind];
}

static void print_pruner(const struct sw_pruner_config *c)
{
	printf(", %s", pruners[c->kind]);
	if (c->kind == SW_PRUNER_ASHA || c->kind == SW_PRUNER_PROMOTE)
		printf(" grace_period %" PRIu64 " max_t %" PRIu64 " reduction_factor %" PRIu64
		       " brackets %" PRIu64 " min_results %" PRIu64,
		       c->asha.grace_period, c->asha.max_t, c->asha.reduction_factor,
		       c->asha.brackets, c->asha.min_results);
}

void sim_print_plan(const struct sim_plan *p)
{
	printf("  sweep: %s%s", sw_samplers_name(p->sweep.sampler),
	       p->sweep.shuffle ? " shuffled" : "");
	print_pruner(&p->sweep.pruner);
	printf(", run_cap %" PRIu64 ", max_concurrent %" PRIu64 ", retries %u, %s, slice %" PRIu64
	       "\n",
	       p->sweep.run_cap, p->sweep.max_concurrent, p->sweep.retries,
	       p->sweep.maximize ? "maximize" : "minimize", p->sweep.slice);
	printf("  world: %u workers, %u epochs, curve %d, window %u, jump %u, checkpoints every "
	       "%" PRIu64 "\n",
	       p->workers, p->epochs, (int)p->curve, p->window, p->jump, p->every);
}

static void print_report(const struct sw_event *ev)
{
	printf(" %" PRIu64 ".%" PRIu32 " seq %" PRIu64 " step %" PRIu64, ev->trial, ev->attempt,
	       ev->seq, ev->step);
	if (ev->has_value)
		printf(" value %g", ev->value);
	printf("%s%s%s", ev->checkpoint ? " checkpoint" : "", ev->stateless ? " stateless" : "",
	       ev->result  ? " result"
	       : ev->final ? " final"
			   : "");
}

static void print_input(const struct sim_event *e)
{
	const struct sw_event *const ev = &e->ev;

	switch (ev->kind) {
	case SW_EVENT_REPORT:
		print_report(ev);
		break;
	case SW_EVENT_TELL:
		printf(" %" PRIu64 ".%" PRIu32 " %s", ev->trial, ev->attempt,
		       sw_trial_state_name(ev->end));
		break;
	case SW_EVENT_LOST:
	case SW_EVENT_RELEASE:
		printf(" %" PRIu64 ".%" PRIu32, ev->trial, ev->attempt);
		break;
	case SW_EVENT_CANCEL_TRIAL:
		printf(" %" PRIu64, ev->trial);
		break;
	case SW_EVENT_EXTEND:
		printf(" to %" PRIu64, ev->run_cap);
		break;
	case SW_EVENT_EDIT:
		if (e->edit.has_run_cap)
			printf(" run_cap %" PRIu64, e->edit.run_cap);
		if (e->edit.has_max_concurrent)
			printf(" max_concurrent %" PRIu64, e->edit.max_concurrent);
		if (e->edit.has_target)
			printf(" target %g", e->edit.target);
		if (e->edit.n_ranges > 0)
			printf(" parameter %zu: %g to %g", e->range.param, e->range.min,
			       e->range.max);
		break;
	default:
		break;
	}
	if (e->nomem > 0)
		printf(" (allocation %u fails)", e->nomem);
}

static void print_action(const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		printf(" create %" PRIu64, a->trial);
		if (a->parent != 0)
			printf(" of %" PRIu64, a->parent);
		break;
	case SW_ACTION_START:
		printf(" start %" PRIu64 ".%" PRIu32, a->trial, a->attempt);
		if (a->resume_step != 0)
			printf(" from step %" PRIu64, a->resume_step);
		break;
	case SW_ACTION_DECIDE:
		printf(" %s", a->decision == SW_DECISION_CONTINUE ? "continue"
			      : a->decision == SW_DECISION_PAUSE  ? "pause"
								  : "stop");
		if (a->judgement.rung != 0)
			printf(" (rung %" PRIu64 ": rank %" PRIu64 " of %" PRIu64 ", %" PRIu64
			       " go on)",
			       a->judgement.rung, a->judgement.better + 1, a->judgement.n,
			       a->judgement.keep);
		break;
	case SW_ACTION_RETRY:
		printf(" retry %" PRIu64, a->trial);
		break;
	case SW_ACTION_PAUSE:
		printf(" paused %" PRIu64, a->trial);
		break;
	case SW_ACTION_END:
		printf(" end %" PRIu64 " %s \"%s\"", a->trial, sw_trial_state_name(a->end),
		       a->cause);
		break;
	case SW_ACTION_STOP:
		printf(" stop %" PRIu64 ".%" PRIu32, a->trial, a->attempt);
		break;
	case SW_ACTION_SWEEP:
		printf(" sweep %s", sw_sweep_state_name(a->sweep));
		break;
	}
}

void sim_print_event(size_t i, const struct sim_event *e, const struct sw_actions *actions)
{
	printf("  %4zu %s", i, e->restart ? "restart" : sim_event_name(e->ev.kind));
	if (!e->restart)
		print_input(e);
	printf("  ->");
	if (e->rc != SW_OK)
		printf(" refused: %s", sw_status_str(e->rc));
	for (size_t k = 0; e->rc == SW_OK && actions != NULL && k < actions->n; k++) {
		printf("%s", k > 0 ? "," : "");
		print_action(&actions->v[k]);
	}
	printf("\n");
}
