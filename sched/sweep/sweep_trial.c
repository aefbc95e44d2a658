/* The events that concern one trial. */
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static sw_status refuse_ask(const struct sw_sweep *s, struct sw_err *err)
{
	if (s->state != SW_SWEEP_RUNNING)
		return sw_err_set(err, SW_EXHAUSTED, "nothing to hand out: the sweep is %s",
				  sw_sweep_state_name(s->state));
	if (s->ending)
		return sw_err_set(err, SW_EXHAUSTED,
				  "nothing to hand out: the sweep is about to end%s%s",
				  s->end_cause[0] != '\0' ? ": " : "", s->end_cause);
	if (s->counts[SW_TRIAL_PENDING] > 0 || sw_sweep_can_create(s) || sw_sweep_resumable(s) != 0)
		return sw_err_set(err, SW_EXHAUSTED,
				  "nothing to hand out now: %" PRIu64
				  " trials run, and max_concurrent allows no more",
				  s->counts[SW_TRIAL_RUNNING]);
	if (s->counts[SW_TRIAL_PAUSED] > 0)
		return sw_err_set(err, SW_EXHAUSTED,
				  "nothing to hand out now: all %" PRIu64
				  " trials are made, and none of the %" PRIu64
				  " paused ones may go on yet",
				  s->trial_n, s->counts[SW_TRIAL_PAUSED]);
	return sw_err_set(err, SW_EXHAUSTED, "nothing to hand out: all %" PRIu64 " trials are made",
			  s->trial_n);
}

/* An attempt begins (one action). */
static void start(struct sw_sweep *s, uint64_t trial, struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[trial - 1];
	struct sw_action *action = sw_actions_add(out, SW_ACTION_START);

	sw_sweep_move(s, t, SW_TRIAL_RUNNING);
	t->attempt++;
	t->seq = 0;
	/* Steps go on from the checkpoint: a report at or below it would be heard twice. */
	t->step = t->resume_step;
	t->diverged = false;
	sw_pruner_begin(s->pruner, trial, &t->prune, t->resume_step);
	action->trial = trial;
	action->attempt = t->attempt;
	action->resume_step = t->resume_step;
	action->from = sw_sweep_from(s, trial);
	action->until = sw_pruner_until(s->pruner, &t->prune);
}

sw_status sw_sweep_on_ask(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err)
{
	if (!sw_sweep_has_work(s))
		return refuse_ask(s, err);
	const uint64_t paused = sw_sweep_resumable(s);
	sw_status rc = sw_actions_reserve(out, 2, err);
	if (rc != SW_OK)
		return rc;
	if (sw_sweep_pending_next(s)) {
		start(s, sw_pending_pop(&s->pending), out);
	} else if (paused != 0) {
		sw_pruner_resumed(s->pruner, paused, &s->trial[paused - 1].prune);
		start(s, paused, out);
	} else {
		rc = sw_sweep_create_trial(s, ev->suggestion, out, err);
		if (rc != SW_OK)
			return rc;
		start(s, s->trial_n, out);
	}
	return SW_OK;
}

static sw_status find_trial(struct sw_sweep *s, uint64_t trial, struct sw_trial **out,
			    struct sw_err *err)
{
	*out = NULL;
	if (trial < 1 || trial > s->trial_n)
		return sw_err_at(err, SW_NOT_FOUND, "/trial", "there is no trial %" PRIu64, trial);
	*out = &s->trial[trial - 1];
	if (sw_trial_ended((enum sw_trial_state)(*out)->state))
		return sw_err_set(err, SW_CONFLICT, "trial %" PRIu64 " has ended: %s", trial,
				  sw_trial_state_name((enum sw_trial_state)(*out)->state));
	return SW_OK;
}

sw_status sw_sweep_find_live(struct sw_sweep *s, const struct sw_event *ev, struct sw_trial **out,
			     struct sw_err *err)
{
	const sw_status rc = find_trial(s, ev->trial, out, err);
	if (rc != SW_OK)
		return rc;
	const struct sw_trial *t = *out;
	assert(t != NULL);
	if (ev->attempt < 1 || ev->attempt > t->attempt)
		return sw_err_at(err, SW_CONFLICT, "/attempt",
				 "trial %" PRIu64 " has no attempt %" PRIu32 " yet", ev->trial,
				 ev->attempt);
	/* The attempt that was replaced may live on somewhere, and must not be heard beside the new
	 * one. */
	if (ev->attempt < t->attempt)
		return sw_err_at(err, SW_CONFLICT, "/attempt",
				 "attempt %" PRIu32 " of trial %" PRIu64
				 " was replaced by attempt %" PRIu32,
				 ev->attempt, ev->trial, t->attempt);
	if (t->state != SW_TRIAL_RUNNING)
		return sw_err_at(err, SW_CONFLICT, "/attempt",
				 "attempt %" PRIu32 " of trial %" PRIu64
				 " is over; the trial waits for another",
				 ev->attempt, ev->trial);
	return SW_OK;
}

static sw_status check_order(const struct sw_trial *t, const struct sw_event *ev,
			     struct sw_err *err)
{
	if (ev->seq <= t->seq)
		return sw_err_at(err, SW_CONFLICT, "/seq",
				 "report %" PRIu64 " of trial %" PRIu64
				 " was taken before; the next is %" PRIu64,
				 ev->seq, ev->trial, t->seq + 1);
	if (ev->seq != t->seq + 1)
		return sw_err_at(err, SW_CONFLICT, "/seq",
				 "report %" PRIu64 " of trial %" PRIu64
				 " is out of order; the next is %" PRIu64,
				 ev->seq, ev->trial, t->seq + 1);
	if (ev->step <= t->step)
		return sw_err_at(err, SW_INVALID, "/step",
				 "step %" PRIu64 " is not above the last step, %" PRIu64, ev->step,
				 t->step);
	return SW_OK;
}

/* The sweep is about to end, so that nobody would bring a paused trial on: it goes on now if it is
 * among those that may, or the first. */
static void judge_last(struct sw_sweep *s, uint64_t trial, struct sw_trial *t,
		       struct sw_judgement *j)
{
	if (j->verdict != SW_VERDICT_PAUSE)
		return;
	/* The pruner has put it among the paused ones already: it leaves them before the verdict
	 * changes. */
	sw_pruner_resumed(s->pruner, trial, &t->prune);
	const bool stays = j->better == 0 || j->better < j->keep ||
			   sw_pruner_kind(s->pruner) != SW_PRUNER_PROMOTE;
	j->verdict = stays ? SW_VERDICT_CONTINUE : SW_VERDICT_STOP;
}

/* Lets the pruner see the report, and fills in the answer. Only SW_NOMEM can come back. */
static sw_status judge(struct sw_sweep *s, struct sw_trial *t, const struct sw_event *ev,
		       struct sw_judgement *out, struct sw_err *err)
{
	*out = (struct sw_judgement){.verdict = SW_VERDICT_CONTINUE,
				     .cutoff = NAN,
				     .value = NAN,
				     .bracket = t->prune.bracket};
	if (!ev->has_value || ev->result) /* nothing to judge */
		return SW_OK;
	if (!isfinite(ev->value)) {
		out->verdict = ev->final ? SW_VERDICT_CONTINUE : SW_VERDICT_STOP;
		return SW_OK;
	}
	const double value = sw_sweep_turn(s, ev->value);
	/* Set before the pruner looks: a member without a checkpoint is no donor. */
	t->prune.bare = ev->stateless && t->resume_step == 0;
	const sw_status rc =
		sw_pruner_report(s->pruner, ev->trial, &t->prune, ev->step, value, ev->final, out);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory for another value of the pruner");
	/* The value that reaches the target begins the sweep's end, which is noted only later. */
	if (s->ending || sw_sweep_reaches(s, value))
		judge_last(s, ev->trial, t, out);
	out->cutoff = sw_sweep_turn(s, out->cutoff);
	out->value = sw_sweep_turn(s, out->value);
	return SW_OK;
}

static void pause_trial(struct sw_sweep *s, const struct sw_event *ev, const char *cause,
			struct sw_actions *out)
{
	const uint64_t trial = ev->trial;
	struct sw_trial *t = &s->trial[trial - 1];
	struct sw_action *action = sw_actions_add(out, SW_ACTION_PAUSE);

	sw_sweep_move(s, t, SW_TRIAL_PAUSED);
	if (!ev->stateless) {
		t->resume_step = t->step;
		t->inherited = false;
	}
	action->trial = trial;
	action->attempt = t->attempt;
	action->resume_step = t->resume_step;
	sw_cause_set(action->cause, cause, "");
}

/* A child takes the place of a member that was exploited, unless the sweep is about to end. */
static void end_pruned(struct sw_sweep *s, uint64_t trial, uint64_t donor, const char *why,
		       struct sw_actions *out)
{
	char cause[SW_CAUSE_MAX];

	if (donor == 0 || s->ending) { /* nobody to copy, or no time left for a copy */
		sw_sweep_end(s, trial, SW_TRIAL_PRUNED, why, out);
		return;
	}
	(void)snprintf(cause, sizeof cause,
		       "%s, trial %" PRIu64 " goes on from trial %" PRIu64 " at step %" PRIu64, why,
		       s->trial_n + 1, donor, s->trial[donor - 1].resume_step);
	sw_sweep_end(s, trial, SW_TRIAL_PRUNED, cause, out);
	sw_sweep_spawn(s, donor, out);
}

/* Does to the trial what the verdict says (at most two actions). */
static void obey(struct sw_sweep *s, const struct sw_event *ev, const struct sw_judgement *j,
		 struct sw_actions *out)
{
	const uint64_t trial = ev->trial;
	char why[SW_PRUNE_CAUSE_MAX];

	switch (j->verdict) {
	case SW_VERDICT_CONTINUE:
		return;
	case SW_VERDICT_COMPLETE:
		sw_sweep_end(s, trial, SW_TRIAL_COMPLETED, NULL, out);
		return;
	case SW_VERDICT_PAUSE:
		sw_pruner_explain(s->pruner, j, why);
		pause_trial(s, ev, why, out);
		return;
	case SW_VERDICT_STOP:
		sw_pruner_explain(s->pruner, j, why);
		end_pruned(s, trial, j->donor, why, out);
		return;
	}
}

static enum sw_decision decision_of(enum sw_verdict verdict)
{
	return verdict == SW_VERDICT_CONTINUE ? SW_DECISION_CONTINUE
	       : verdict == SW_VERDICT_PAUSE  ? SW_DECISION_PAUSE
					      : SW_DECISION_STOP;
}

/* Everything that the event can need: three actions for the trial, what ends the sweep, a child. */
static sw_status reserve_report(struct sw_sweep *s, const struct sw_event *ev,
				struct sw_actions *out, struct sw_err *err)
{
	const double value = sw_sweep_turn(s, ev->value);
	const bool finite = ev->has_value && isfinite(value);
	const bool begins = finite && (sw_sweep_reaches(s, value) || sw_sweep_flat_with(s, value));
	sw_status rc = sw_actions_reserve(out, 3 + sw_sweep_settle_room(s, begins), err);

	if (rc == SW_OK && sw_pruner_kind(s->pruner) == SW_PRUNER_PBT)
		rc = sw_sweep_given_reserve(s, err);
	return rc;
}

/* The trial's own account of the report. */
static void take_report(struct sw_trial *t, const struct sw_event *ev, bool infinite)
{
	t->diverged = t->diverged || infinite;
	t->seq = ev->seq;
	t->step = ev->step;
	t->has_value = t->has_value || ev->has_value;
	if (ev->checkpoint) {
		t->resume_step = ev->step;
		t->inherited = false;
	}
}

sw_status sw_sweep_on_report(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err)
{
	struct sw_trial *t = NULL;
	struct sw_judgement judgement;

	sw_status rc = sw_sweep_find_live(s, ev, &t, err);
	if (rc == SW_OK)
		rc = check_order(t, ev, err);
	if (rc == SW_OK)
		rc = reserve_report(s, ev, out, err);
	if (rc != SW_OK)
		return rc;
	t = &s->trial[ev->trial - 1]; /* they may have moved */
	const struct sw_trial before = *t;
	rc = judge(s, t, ev, &judgement, err);
	if (rc != SW_OK)
		return rc;
	const bool infinite = ev->has_value && !sw_sweep_finite(s, ev);
	const bool diverged = infinite && !ev->final; /* else the TELL that follows ends it */
	/* From here on nothing can fail: all memory was taken before the trial changed. */
	take_report(t, ev, infinite);
	if (s->past_trial == 0 && before.seq == 0 && before.step == 0 &&
	    sw_sweep_is_past(s, ev->step)) {
		s->past_trial = ev->trial;
		s->past_step = ev->step;
	}
	sw_sweep_learn_report(s, ev, &before, t);
	/* Before the verdict is obeyed: a target that is reached now means that no copy is made. */
	if (ev->has_value && !infinite && sw_sweep_believes(s, ev->value))
		sw_sweep_note_value(s, ev->trial, sw_sweep_turn(s, ev->value));
	/* The answer is the first action, and what becomes of the trial follows it. */
	struct sw_action *action = sw_actions_add(out, SW_ACTION_DECIDE);
	action->trial = ev->trial;
	action->attempt = ev->attempt;
	action->judgement = judgement;
	action->decision = diverged ? SW_DECISION_STOP : decision_of(judgement.verdict);
	if (action->decision == SW_DECISION_CONTINUE)
		action->until = sw_pruner_until(s->pruner, &t->prune);
	if (diverged)
		sw_sweep_end(s, ev->trial, SW_TRIAL_INFEASIBLE, "diverged", out);
	else
		obey(s, ev, &judgement, out);
	sw_sweep_settle(s, out);
	return SW_OK;
}

/* A child whose parent stood at its own last step: where each trial has its own number of steps the
 * pruner does not know it. It has done all that there was to do, and has no value of its own. */
static void end_untrained(struct sw_sweep *s, uint64_t trial, struct sw_actions *out)
{
	char cause[SW_CAUSE_MAX];

	(void)snprintf(cause, sizeof cause,
		       "nothing to train after step %" PRIu64 " of trial %" PRIu64,
		       s->trial[trial - 1].resume_step, sw_sweep_from(s, trial));
	sw_sweep_end(s, trial, SW_TRIAL_PRUNED, cause, out);
}

static const char *told_without_cause(enum sw_trial_state end)
{
	if (end == SW_TRIAL_PRUNED)
		return "pruned";
	return end == SW_TRIAL_FAILED ? "failed" : "infeasible";
}

sw_status sw_sweep_on_tell(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	struct sw_trial *t = NULL;

	sw_status rc = sw_sweep_find_live(s, ev, &t, err);
	if (rc != SW_OK)
		return rc;
	if (ev->end != SW_TRIAL_COMPLETED && ev->end != SW_TRIAL_PRUNED &&
	    ev->end != SW_TRIAL_FAILED && ev->end != SW_TRIAL_INFEASIBLE)
		return sw_err_at(err, SW_INVALID, "/state",
				 "a trial is told COMPLETED, PRUNED, FAILED or INFEASIBLE");
	const bool begins = ev->end == SW_TRIAL_COMPLETED && s->last != NULL &&
			    sw_sweep_flat_with(s, s->last[(ev->trial - 1) * s->sampling.n_metrics]);
	rc = sw_actions_reserve(out, 1 + sw_sweep_settle_room(s, begins), err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	const bool named = ev->cause != NULL && ev->cause[0] != '\0';
	/* Asked first: an untrained child has no value either, and would read as "no-metric". */
	if (ev->end == SW_TRIAL_COMPLETED && !t->has_value && t->inherited && t->seq == 0)
		end_untrained(s, ev->trial, out);
	else if (ev->end == SW_TRIAL_COMPLETED && !t->has_value && !s->config.unmeasured)
		sw_sweep_end(s, ev->trial, SW_TRIAL_FAILED, "no-metric", out);
	else if (ev->end == SW_TRIAL_COMPLETED && t->diverged)
		sw_sweep_end(s, ev->trial, SW_TRIAL_INFEASIBLE, "diverged", out);
	else if (ev->end == SW_TRIAL_COMPLETED || named)
		sw_sweep_end(s, ev->trial, ev->end, ev->cause, out);
	else
		sw_sweep_end(s, ev->trial, ev->end, told_without_cause(ev->end), out);
	sw_sweep_settle(s, out);
	return SW_OK;
}

sw_status sw_sweep_on_cancel_trial(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err)
{
	struct sw_trial *t = NULL;

	sw_status rc = find_trial(s, ev->trial, &t, err);
	if (rc == SW_OK)
		rc = sw_actions_reserve(out, 2 + sw_sweep_settle_room(s, false), err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	if (t->state == SW_TRIAL_RUNNING) {
		struct sw_action *stop = sw_actions_add(out, SW_ACTION_STOP);

		stop->trial = ev->trial;
		stop->attempt = t->attempt;
	}
	/* One that waits stays in the heap: sw_sweep_step() drops it when it comes to the top. */
	sw_sweep_end(s, ev->trial, SW_TRIAL_CANCELLED, "cancelled", out);
	sw_sweep_settle(s, out);
	return SW_OK;
}
