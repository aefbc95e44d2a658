/* What users do to a sweep while it runs, sensible or not. */
#include "tests/sim/oracle.h"
#include "tests/sim/world.h"

static void random_values(struct sim_world *w, struct sw_value *v)
{
	for (size_t i = 0; i < w->plan->params; i++) {
		const struct sw_param *const p = &w->plan->param[i];
		const double u = sim_unit(&w->rng);

		v[i] = (struct sw_value){.number = 0};
		if (p->dist == SW_DIST_CATEGORICAL)
			v[i].choice = (uint32_t)sim_below(&w->rng, p->n_choices);
		else if (p->dist == SW_DIST_INT_UNIFORM)
			v[i].number = p->min + floor(u * (p->max - p->min + 1));
		else
			v[i].number = p->min + u * (p->max - p->min);
	}
}

static void random_edit(struct sim_world *w, struct sim_event *e)
{
	const struct sim_plan *const p = w->plan;
	const uint64_t what = 1 + sim_below(&w->rng, 15);

	e->ev.kind = SW_EVENT_EDIT;
	e->edit.has_run_cap = (what & 1) != 0;
	e->edit.run_cap = sim_below(&w->rng, 2 * p->sweep.run_cap + 20);
	e->edit.has_max_concurrent = (what & 2) != 0;
	e->edit.max_concurrent = sim_below(&w->rng, 8);
	e->edit.has_target = (what & 4) != 0;
	e->edit.target = (p->sweep.maximize ? -1 : 1) * (0.3 * sim_unit(&w->rng) - 0.2);
	if ((what & 8) != 0) {
		const size_t i = (size_t)sim_below(&w->rng, p->params);
		const double a = sim_unit(&w->rng), b = sim_unit(&w->rng);
		const double width = p->param[i].max - p->param[i].min;

		e->edit.n_ranges = 1;
		e->range = (struct sw_range){i, floor(p->param[i].min + a * width),
					     ceil(p->param[i].min + b * width)};
	}
}

/* What only a broken peer sends; all of it is to be refused. */
static void odd_message(struct sim_world *w, struct sim_event *e)
{
	struct sim_oracle *const o = w->feed->oracle;
	const struct sim_trial *t = NULL;

	w->feed->stats->fault[SIM_FAULT_ODD]++;
	for (int i = 0; o->n > 0 && i < 8 && (t == NULL || t->state != SW_TRIAL_RUNNING); i++) {
		e->ev.trial = 1 + sim_below(&w->rng, o->n);
		t = sim_oracle_trial(o, e->ev.trial);
	}
	e->ev.kind = sim_below(&w->rng, 3) == 0 ? SW_EVENT_TELL : SW_EVENT_REPORT;
	e->ev.end = SW_TRIAL_PRUNED;
	e->ev.has_value = true;
	if (t == NULL)
		return;
	e->ev.attempt = t->attempt;
	e->ev.seq = t->seq + 1;
	e->ev.step = t->step - (t->step > 0 && sim_below(&w->rng, 2) == 0);
	if (sim_below(&w->rng, 4) == 0)
		e->ev.attempt += sim_below(&w->rng, 2) == 0 ? 1 : UINT32_MAX;
}

/* After the faults nothing but what lets the sweep come to its end. */
static bool calm_act(struct sim_world *w, struct sim_event *e)
{
	const struct sim_oracle *const o = w->feed->oracle;

	if (sim_oracle_state(o) == SW_SWEEP_PAUSED)
		e->ev.kind = SW_EVENT_RESUME;
	else if (sim_oracle_cap(o) == 0)
		e->ev.kind = sim_below(&w->rng, 2) == 0 ? SW_EVENT_CANCEL : SW_EVENT_STOP;
	else
		return false;
	return !sim_oracle_ended(o);
}

bool sim_user_act(struct sim_world *w, struct sim_event *e)
{
	const uint64_t trials = sim_oracle_trials(w->feed->oracle);

	*e = (struct sim_event){.cause = NULL};
	if (w->calm)
		return calm_act(w, e);
	w->feed->stats->fault[SIM_FAULT_USER]++;
	e->ev.trial = sim_below(&w->rng, trials + 2);
	e->ev.run_cap = trials + sim_below(&w->rng, 20);
	e->cause = "by the user";
	const uint64_t what = sim_below(&w->rng, 125);
	const bool end = what >= 97 && what < 103 &&
			 sim_below(&w->rng, 4) == 0; /* most see their end */
	if (what < 12) {
		e->ev.kind = SW_EVENT_PAUSE;
	} else if (what < 36 || (what >= 97 && what < 103 && !end)) {
		e->ev.kind = SW_EVENT_RESUME;
	} else if (what < 60) {
		e->ev.kind = SW_EVENT_CANCEL_TRIAL;
	} else if (what < 70) {
		e->ev.kind = SW_EVENT_EXTEND;
	} else if (what < 84) {
		e->ev.kind = SW_EVENT_ENQUEUE;
		e->ev.trial = 0; /* no retry */
		random_values(w, e->values);
	} else if (what < 97) {
		random_edit(w, e);
	} else if (!end) {
		odd_message(w, e);
	} else {
		static const enum sw_event_kind ends[] = {SW_EVENT_CANCEL, SW_EVENT_FAIL,
							  SW_EVENT_STOP};

		e->ev.kind = ends[what % 3];
	}
	return true;
}
