/* The events that concern one trial. */
#include "base/fault.h"
#include "sched/sweep.h"
#include "sched/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static sw_status refuse_ask(const struct sw_sweep *s, struct sw_err *err)
{
	if (s->state != SW_SWEEP_RUNNING)
		return sw_err_set(err, SW_EXHAUSTED, "nothing to hand out: the sweep is %s",
				  sw_sweep_state_name(s->state));
	if (s->counts[SW_TRIAL_PENDING] > 0 || sw_sweep_can_create(s))
		return sw_err_set(err, SW_EXHAUSTED,
				  "nothing to hand out now: %" PRIu64
				  " trials run, and max_concurrent allows no more",
				  s->counts[SW_TRIAL_RUNNING]);
	return sw_err_set(err, SW_EXHAUSTED, "nothing to hand out: all %" PRIu64 " trials are made",
			  s->trial_n);
}

static sw_status reserve_trial(struct sw_sweep *s, struct sw_err *err)
{
	if (s->trial_n < s->trial_cap)
		return SW_OK;
	const uint64_t cap = s->trial_cap == 0 ? 16 : 2 * s->trial_cap;
	struct sw_trial *grown = sw_realloc(s->trial, cap * sizeof *grown);
	if (grown != NULL)
		s->trial = grown;
	if (grown == NULL || sw_sweep_learn_grow(s, cap) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory for another trial");
	s->trial_cap = cap;
	return SW_OK;
}

/* A trial with these values, PENDING (one action). There is room. */
static void add_trial(struct sw_sweep *s, const struct sw_value *values,
		      const struct sw_suggestion *suggestion, struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[s->trial_n++];

	*t = (struct sw_trial){.state = SW_TRIAL_PENDING};
	sw_pruner_enter(s->pruner, s->trial_n, &t->prune);
	s->counts[SW_TRIAL_PENDING]++;
	sw_sweep_learn_made(s, values);
	struct sw_action *action = sw_actions_add(out, SW_ACTION_CREATE);
	action->trial = s->trial_n;
	action->values = values;
	action->suggestion = suggestion;
}

static sw_status create_trial(struct sw_sweep *s, const struct sw_suggestion *given,
			      struct sw_actions *out, struct sw_err *err)
{
	sw_status rc = reserve_trial(s, err);

	if (rc == SW_OK)
		rc = sw_sweep_learn_suggest(s, given, err);
	if (rc == SW_OK)
		add_trial(s, s->suggestion.values, &s->suggestion, out);
	return rc;
}

sw_status sw_sweep_on_enqueue(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err)
{
	if (ev->values == NULL)
		return sw_err_at(err, SW_INVALID, "/params", "no parameters to enqueue");
	if (sw_sweep_ended(s))
		return sw_err_set(err, SW_CONFLICT, "the sweep has ended: %s",
				  sw_sweep_state_name(s->state));
	if (s->user_cap != 0 && s->trial_n >= s->user_cap)
		return sw_err_set(err, SW_CONFLICT,
				  "all %" PRIu64 " trials of the run cap are made: extend it first",
				  s->user_cap);
	sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc == SW_OK)
		rc = reserve_trial(s, err);
	if (rc == SW_OK && sw_pending_reserve(&s->pending) != SW_OK)
		rc = sw_err_set(err, SW_NOMEM, "no memory for a waiting trial");
	if (rc == SW_OK)
		rc = sw_sweep_learn_enqueue(s, ev->values, err);
	if (rc != SW_OK)
		return rc;
	add_trial(s, s->enqueued.values + (s->enqueued.n - 1) * sw_space_size(s->space), NULL, out);
	sw_pending_push(&s->pending, s->trial_n);
	return SW_OK;
}

/* The waiting trial with the lowest number. There is one. */
static uint64_t take_pending(struct sw_sweep *s)
{
	for (;;) {
		const uint64_t trial = sw_pending_pop(&s->pending);

		if (s->trial[trial - 1].state == SW_TRIAL_PENDING)
			return trial;
	}
}

sw_status sw_sweep_on_ask(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err)
{
	uint64_t trial;

	if (!sw_sweep_has_work(s))
		return refuse_ask(s, err);
	sw_status rc = sw_actions_reserve(out, 2, err);
	if (rc != SW_OK)
		return rc;
	if (s->counts[SW_TRIAL_PENDING] > 0) {
		trial = take_pending(s);
	} else {
		rc = create_trial(s, ev->suggestion, out, err);
		if (rc != SW_OK)
			return rc;
		trial = s->trial_n;
	}
	struct sw_trial *t = &s->trial[trial - 1];
	sw_sweep_move(s, t, SW_TRIAL_RUNNING);
	t->attempt++;
	t->seq = 0;
	t->step = 0;
	t->diverged = false;
	sw_pruner_begin(s->pruner, trial, &t->prune, t->resume_step);
	struct sw_action *action = sw_actions_add(out, SW_ACTION_START);
	action->trial = trial;
	action->attempt = t->attempt;
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

/* The trial, if it runs and the event speaks for the attempt that runs it. */
static sw_status find_live(struct sw_sweep *s, const struct sw_event *ev, struct sw_trial **out,
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

static double turn(const struct sw_sweep *s, double value)
{
	return s->config.maximize && !isnan(value) ? -value : value;
}

/* Lets the pruner see the report, and fills in the answer. Only SW_NOMEM can come back. */
static sw_status judge(struct sw_sweep *s, struct sw_trial *t, const struct sw_event *ev,
		       struct sw_judgement *out, struct sw_err *err)
{
	*out = (struct sw_judgement){.verdict = SW_VERDICT_CONTINUE,
				     .cutoff = NAN,
				     .value = NAN,
				     .bracket = t->prune.bracket};
	if (!ev->has_value)
		return SW_OK;
	if (!isfinite(ev->value)) {
		out->verdict = ev->final ? SW_VERDICT_CONTINUE : SW_VERDICT_STOP;
		return SW_OK;
	}
	const sw_status rc = sw_pruner_report(s->pruner, ev->trial, &t->prune, ev->step,
					      turn(s, ev->value), ev->final, out);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no memory for another value at a rung");
	out->cutoff = turn(s, out->cutoff);
	out->value = turn(s, out->value);
	return SW_OK;
}

static void end_judged(struct sw_sweep *s, uint64_t trial, const struct sw_judgement *j,
		       struct sw_actions *out)
{
	char cause[SW_CAUSE_MAX];

	if (j->verdict == SW_VERDICT_COMPLETE) {
		sw_sweep_end(s, trial, SW_TRIAL_COMPLETED, NULL, out);
		return;
	}
	(void)snprintf(cause, sizeof cause, "rung %" PRIu64 ": rank %" PRIu64 " of %" PRIu64,
		       j->rung, j->better + 1, j->n);
	sw_sweep_end(s, trial, SW_TRIAL_PRUNED, cause, out);
}

sw_status sw_sweep_on_report(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err)
{
	struct sw_trial *t = NULL;
	struct sw_judgement judgement;

	sw_status rc = find_live(s, ev, &t, err);
	const struct sw_trial before = rc == SW_OK ? *t : (struct sw_trial){.state = 0};
	if (rc == SW_OK)
		rc = check_order(t, ev, err);
	if (rc == SW_OK)
		rc = sw_actions_reserve(out, 3, err);
	if (rc == SW_OK)
		rc = judge(s, t, ev, &judgement, err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	const bool infinite = ev->has_value && !sw_sweep_finite(s, ev);
	const bool diverged = infinite && !ev->final; /* else the TELL that follows ends it */
	t->diverged = t->diverged || infinite;
	t->seq = ev->seq;
	t->step = ev->step;
	t->has_value = t->has_value || ev->has_value;
	sw_sweep_learn_report(s, ev, &before, t);
	struct sw_action *action = sw_actions_add(out, SW_ACTION_DECIDE);
	action->trial = ev->trial;
	action->attempt = ev->attempt;
	action->judgement = judgement;
	action->decision = diverged || judgement.verdict != SW_VERDICT_CONTINUE
				   ? SW_DECISION_STOP
				   : SW_DECISION_CONTINUE;
	if (diverged)
		sw_sweep_end(s, ev->trial, SW_TRIAL_INFEASIBLE, "diverged", out);
	else if (judgement.verdict != SW_VERDICT_CONTINUE)
		end_judged(s, ev->trial, &judgement, out);
	sw_sweep_settle(s, out);
	return SW_OK;
}

sw_status sw_sweep_on_tell(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	struct sw_trial *t = NULL;

	sw_status rc = find_live(s, ev, &t, err);
	if (rc != SW_OK)
		return rc;
	if (ev->end != SW_TRIAL_COMPLETED && ev->end != SW_TRIAL_FAILED &&
	    ev->end != SW_TRIAL_INFEASIBLE)
		return sw_err_at(err, SW_INVALID, "/state",
				 "a trial is told COMPLETED, FAILED or INFEASIBLE");
	rc = sw_actions_reserve(out, 2, err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	const bool named = ev->cause != NULL && ev->cause[0] != '\0';
	if (ev->end == SW_TRIAL_COMPLETED && !t->has_value)
		sw_sweep_end(s, ev->trial, SW_TRIAL_FAILED, "no-metric", out);
	else if (ev->end == SW_TRIAL_COMPLETED && t->diverged)
		sw_sweep_end(s, ev->trial, SW_TRIAL_INFEASIBLE, "diverged", out);
	else if (ev->end == SW_TRIAL_COMPLETED || named)
		sw_sweep_end(s, ev->trial, ev->end, ev->cause, out);
	else
		sw_sweep_end(s, ev->trial, ev->end,
			     ev->end == SW_TRIAL_FAILED ? "failed" : "infeasible", out);
	sw_sweep_settle(s, out);
	return SW_OK;
}

/* Back to the waiting trials (one action). The heap has room. */
static void retry(struct sw_sweep *s, uint64_t trial, const char *cause, const char *fallback,
		  struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[trial - 1];
	struct sw_action *action = sw_actions_add(out, SW_ACTION_RETRY);

	sw_sweep_move(s, t, SW_TRIAL_PENDING);
	sw_pending_push(&s->pending, trial);
	action->trial = trial;
	action->attempt = t->attempt;
	sw_cause_set(action->cause, cause, fallback);
}

static sw_status find_for_retry(struct sw_sweep *s, const struct sw_event *ev,
				struct sw_trial **out, struct sw_actions *actions,
				struct sw_err *err)
{
	sw_status rc = find_live(s, ev, out, err);

	if (rc == SW_OK)
		rc = sw_actions_reserve(actions, 2, err);
	if (rc == SW_OK && sw_pending_reserve(&s->pending) != SW_OK)
		rc = sw_err_set(err, SW_NOMEM, "no memory for a waiting trial");
	return rc;
}

sw_status sw_sweep_on_lost(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	struct sw_trial *t = NULL;

	const sw_status rc = find_for_retry(s, ev, &t, out, err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	if (t->lost < UINT16_MAX) /* past it, retries have no end anyone will see */
		t->lost++;
	if (t->lost > s->config.retries) {
		sw_sweep_end(s, ev->trial, SW_TRIAL_FAILED,
			     ev->cause != NULL && ev->cause[0] != '\0' ? ev->cause : "lost", out);
		sw_sweep_settle(s, out);
	} else {
		retry(s, ev->trial, ev->cause, "lost", out);
	}
	return SW_OK;
}

sw_status sw_sweep_on_release(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err)
{
	struct sw_trial *t = NULL;

	const sw_status rc = find_for_retry(s, ev, &t, out, err);
	if (rc == SW_OK)
		retry(s, ev->trial, ev->cause, "released", out);
	return rc;
}

sw_status sw_sweep_on_cancel_trial(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err)
{
	struct sw_trial *t = NULL;

	sw_status rc = find_trial(s, ev->trial, &t, err);
	if (rc == SW_OK)
		rc = sw_actions_reserve(out, 3, err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	if (t->state == SW_TRIAL_RUNNING) {
		struct sw_action *stop = sw_actions_add(out, SW_ACTION_STOP);

		stop->trial = ev->trial;
		stop->attempt = t->attempt;
	}
	sw_sweep_end(s, ev->trial, SW_TRIAL_CANCELLED, "cancelled", out);
	sw_sweep_settle(s, out);
	return SW_OK;
}
