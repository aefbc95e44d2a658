/* What one trial's events must do to it. */
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

sw_status sim_oracle_expect_live(struct sim_oracle *o, const struct sw_event *ev)
{
	const struct sim_trial *const t = sim_oracle_trial(o, ev->trial);

	if (t == NULL)
		return SW_NOT_FOUND;
	return sim_oracle_live(o, ev->trial, ev->attempt) ? SW_OK : SW_CONFLICT;
}

sw_status sim_oracle_expect_report(struct sim_oracle *o, const struct sw_event *ev)
{
	const struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	const sw_status rc = sim_oracle_expect_live(o, ev);

	if (rc != SW_OK)
		return rc;
	if (ev->seq != t->seq + 1)
		return SW_CONFLICT;
	return ev->step > t->step ? SW_OK : SW_INVALID;
}

/* A point of the space; of a grid, one that was not tried before. */
static void check_values(struct sim_oracle *o, const struct sw_value *v, bool enqueued)
{
	uint64_t index = 0;

	for (size_t i = 0; i < o->plan->params; i++) {
		const struct sw_param *const p = &o->plan->param[i];
		const bool category = p->dist == SW_DIST_CATEGORICAL;

		SIM_CHECK(category ? v[i].choice < p->n_choices
				   : enqueued || (v[i].number >= o->low[i] &&
						  v[i].number <= o->high[i]),
			  "values", "parameter %zu is outside its range: %g", i, v[i].number);
		index = category ? index * p->n_choices + v[i].choice
				 : index * (uint64_t)(p->max - p->min + 1) +
					   (uint64_t)(v[i].number - p->min);
	}
	if (o->points == 0 || enqueued)
		return;
	SIM_CHECK(!o->grid_used[index], "grid twice", "point %" PRIu64 " of the grid comes again",
		  index);
	o->grid_used[index] = 1;
}

struct sim_trial *sim_oracle_created(struct sim_oracle *o, struct sim_answer *a, bool enqueued)
{
	const struct sw_action *const v = sim_answer_next(a, SW_ACTION_CREATE, o->n + 1);

	if (o->n == o->cap) {
		o->cap = o->cap == 0 ? 64 : 2 * o->cap;
		o->trial = sim_realloc(o->trial, o->cap, sizeof *o->trial);
	}
	SIM_CHECK(v->values != NULL, "values", "a new trial has none");
	check_values(o, v->values, enqueued);
	struct sim_trial *const t = &o->trial[o->n++];
	*t = (struct sim_trial){.state = SW_TRIAL_PENDING,
				.enqueued = enqueued,
				.bracket = SIM_NO_BRACKET,
				.last = NAN};
	memcpy(t->values, v->values, o->plan->params * sizeof *v->values);
	o->counts[SW_TRIAL_PENDING]++;
	o->enqueued += enqueued;
	SIM_CHECK((v->suggestion != NULL) != enqueued, "suggestion", "of trial %" PRIu64, o->n);
	return t;
}

/* Who is to be handed out: what waits, then who may go on, then a new one (0). In a population they
 * take turns by the steps at which they stand, and new ones stand at 0. */
static uint64_t who(const struct sim_oracle *o)
{
	const uint64_t paused = sim_prune_next(o);
	uint64_t trial = 1;

	if (o->counts[SW_TRIAL_PENDING] == 0)
		return paused;
	while (o->trial[trial - 1].state != SW_TRIAL_PENDING)
		trial++;
	if (o->plan->sweep.pruner.kind != SW_PRUNER_PBT)
		return trial;
	if (sim_oracle_can_create(o))
		return o->trial[trial - 1].resume_step == 0 ? trial : 0;
	return paused != 0 && sim_pbt_before(o, paused, trial) ? paused : trial;
}

void sim_oracle_on_ask(struct sim_oracle *o, struct sim_answer *a)
{
	uint64_t trial = who(o);

	if (trial == 0) {
		(void)sim_oracle_created(o, a, false);
		trial = o->n;
	}
	const struct sw_action *const v = sim_answer_next(a, SW_ACTION_START, trial);
	struct sim_trial *const t = sim_oracle_trial(o, trial);

	SIM_CHECK(t != NULL && v->attempt == t->attempt + 1, "attempt",
		  "trial %" PRIu64 " starts attempt %" PRIu32, trial, v->attempt);
	SIM_CHECK(v->resume_step == t->resume_step, "resume_step",
		  "trial %" PRIu64 " goes on from step %" PRIu64 ", and step %" PRIu64
		  " was checkpointed",
		  trial, v->resume_step, t->resume_step);
	SIM_CHECK(v->from == t->from, "from",
		  "trial %" PRIu64 " goes on from trial %" PRIu64 ", not %" PRIu64, trial, v->from,
		  t->from);
	sim_prune_begin(o, trial);
	sim_prune_check_until(o, trial, v->until);
	sim_oracle_move(o, trial, SW_TRIAL_RUNNING);
	t->attempt++;
	t->seq = 0;
	t->step = t->resume_step;
	t->diverged = false;
}

/* A child takes the place of a member that was exploited. */
static void spawned(struct sim_oracle *o, uint64_t donor, struct sim_answer *a)
{
	const struct sw_action *const v = &a->v[a->i];
	struct sim_trial *const t =
		sim_oracle_created(o, a, true); /* which checks that it is there */
	const uint64_t step = sim_oracle_trial(o, donor)->resume_step;
	/* Whose file it goes on from: its donor's, or the one that this goes on from itself. */
	const uint64_t owner = step != 0 ? sim_oracle_trial(o, donor)->from : 0;

	o->enqueued--;
	o->children++;
	t->enqueued = false;
	t->parent = step != 0 ? owner : donor;
	t->resume_step = step;
	t->from = owner;
	SIM_CHECK(v->parent == t->parent && v->resume_step == step && v->from == owner, "child",
		  "of trial %" PRIu64 " at step %" PRIu64, donor, step);
	/* A number within its range always moves, if it may. */
	const double old = sim_oracle_trial(o, donor)->values[SIM_PARAMS - 1].number;
	SIM_CHECK(o->plan->params < SIM_PARAMS || old <= o->low[SIM_PARAMS - 1] ||
			  old >= o->high[SIM_PARAMS - 1] || v->values[SIM_PARAMS - 1].number != old,
		  "child is a copy", "of trial %" PRIu64, donor);
	for (size_t i = 0; i < o->plan->params; i++)
		SIM_CHECK(o->plan->param[i].dist == SW_DIST_CATEGORICAL ||
				  (v->values[i].number >= o->low[i] &&
				   v->values[i].number <= o->high[i]),
			  "values", "of a child: parameter %zu is outside its range", i);
}

void sim_oracle_on_report(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a)
{
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	const struct sw_action *const d = sim_answer_next(a, SW_ACTION_DECIDE, ev->trial);
	const bool finite = ev->has_value && isfinite(ev->value);
	const double y = o->plan->sweep.maximize ? -ev->value : ev->value;
	enum sw_verdict verdict = SW_VERDICT_CONTINUE;

	SIM_CHECK(d->attempt == ev->attempt, "attempt of the decision", "trial %" PRIu64,
		  ev->trial);
	t->seq = ev->seq;
	t->step = ev->step;
	t->has_value = t->has_value || ev->has_value;
	if (ev->checkpoint) {
		t->resume_step = ev->step;
		t->from = ev->trial;
	}
	if (finite) {
		const struct sw_pruner_config *const p = &o->plan->sweep.pruner;
		const bool good = p->kind != SW_PRUNER_THRESHOLD || !p->threshold.has_lower ||
				  y >= p->threshold.lower;

		t->last = good ? y : NAN;
		verdict = sim_prune_report(o, ev, y, &d->judgement);
		if (good)
			sim_oracle_note_value(o, y);
	} else if (ev->has_value) {
		t->diverged = true;
		verdict = ev->final ? SW_VERDICT_CONTINUE : SW_VERDICT_STOP;
		SIM_CHECK(d->judgement.rung == 0, "not finite", "trial %" PRIu64 " is judged by it",
			  ev->trial);
	}
	const enum sw_decision want = verdict == SW_VERDICT_CONTINUE ? SW_DECISION_CONTINUE
				      : verdict == SW_VERDICT_PAUSE  ? SW_DECISION_PAUSE
								     : SW_DECISION_STOP;
	SIM_CHECK(d->decision == want, "decision",
		  "trial %" PRIu64 " at step %" PRIu64 ": decision %d, and the rules say %d",
		  ev->trial, ev->step, (int)d->decision, (int)want);
	if (want == SW_DECISION_CONTINUE)
		sim_prune_check_until(o, ev->trial, d->until);
	if (verdict == SW_VERDICT_PAUSE) {
		const struct sw_action *const p = sim_answer_next(a, SW_ACTION_PAUSE, ev->trial);

		if (!ev->stateless) {
			t->resume_step = ev->step;
			t->from = ev->trial;
		}
		SIM_CHECK(p->attempt == ev->attempt && p->resume_step == t->resume_step, "pause",
			  "trial %" PRIu64 " from step %" PRIu64, ev->trial, p->resume_step);
		sim_oracle_move(o, ev->trial, SW_TRIAL_PAUSED);
	} else if (verdict == SW_VERDICT_COMPLETE) {
		sim_oracle_end(o, a, ev->trial, SW_TRIAL_COMPLETED, "");
	} else if (verdict == SW_VERDICT_STOP) {
		sim_oracle_end(o, a, ev->trial, finite ? SW_TRIAL_PRUNED : SW_TRIAL_INFEASIBLE,
			       finite ? NULL : "diverged");
		if (finite && d->judgement.donor != 0 && !o->closed)
			spawned(o, d->judgement.donor, a);
	}
}

void sim_oracle_on_tell(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a)
{
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);
	enum sw_trial_state end = ev->end;
	const char *cause = ev->cause;

	char untrained[SW_CAUSE_MAX];

	if (end == SW_TRIAL_COMPLETED && !t->has_value && t->seq == 0 && t->from != 0 &&
	    t->from != ev->trial) {
		(void)snprintf(untrained, sizeof untrained,
			       "nothing to train after step %" PRIu64 " of trial %" PRIu64,
			       t->resume_step, t->from);
		end = SW_TRIAL_PRUNED;
		cause = untrained;
	} else if (end == SW_TRIAL_COMPLETED && (!t->has_value || t->diverged)) {
		end = t->has_value ? SW_TRIAL_INFEASIBLE : SW_TRIAL_FAILED;
		cause = t->has_value ? "diverged" : "no-metric";
	} else if (cause == NULL) {
		cause = end == SW_TRIAL_FAILED       ? "failed"
			: end == SW_TRIAL_INFEASIBLE ? "infeasible"
			: end == SW_TRIAL_PRUNED     ? "pruned"
						     : "";
	}
	sim_oracle_end(o, a, ev->trial, end, cause);
}

/* LOST and RELEASE: back to those that wait, or lost once too often. */
void sim_oracle_on_gone(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a)
{
	struct sim_trial *const t = sim_oracle_trial(o, ev->trial);

	t->lost += ev->kind == SW_EVENT_LOST;
	if (ev->kind == SW_EVENT_LOST && t->lost > o->plan->sweep.retries) {
		sim_oracle_end(o, a, ev->trial, SW_TRIAL_FAILED, ev->cause);
		return;
	}
	if (o->closed) {
		sim_oracle_end(o, a, ev->trial, SW_TRIAL_CANCELLED,
			       o->killed ? o->kill_cause : "sweep-ended");
		return;
	}
	const struct sw_action *const v = sim_answer_next(a, SW_ACTION_RETRY, ev->trial);
	SIM_CHECK(v->attempt == ev->attempt, "attempt of the retry", "trial %" PRIu64, ev->trial);
	sim_oracle_move(o, ev->trial, SW_TRIAL_PENDING);
}
