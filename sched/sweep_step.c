/* The events that concern the whole sweep, and the parts that every handler uses. */
#include "base/fault.h"
#include "sched/sweep.h"
#include "sched/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sw_actions_fini(struct sw_actions *a)
{
	free(a->v);
	*a = (struct sw_actions){.v = NULL};
}

sw_status sw_actions_reserve(struct sw_actions *a, size_t n, struct sw_err *err)
{
	size_t cap = a->cap == 0 ? 4 : a->cap;

	if (n <= a->cap - a->n)
		return SW_OK;
	while (cap < a->n + n)
		cap *= 2;
	struct sw_action *grown = sw_realloc(a->v, cap * sizeof *grown);
	if (grown == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the scheduler's actions");
	a->v = grown;
	a->cap = cap;
	return SW_OK;
}

struct sw_action *sw_actions_add(struct sw_actions *a, enum sw_action_kind kind)
{
	assert(a->n < a->cap);
	struct sw_action *action = &a->v[a->n++];
	memset(action, 0, sizeof *action);
	action->kind = kind;
	return action;
}

void sw_cause_set(char to[SW_CAUSE_MAX], const char *cause, const char *fallback)
{
	if (cause == NULL || cause[0] == '\0')
		cause = fallback;
	size_t n = strnlen(cause, SW_CAUSE_MAX);
	if (n == SW_CAUSE_MAX)
		for (n--; n > 0 && ((unsigned char)cause[n] & 0xC0) == 0x80;)
			n--;
	memmove(to, cause, n);
	to[n] = '\0';
}

bool sw_sweep_ended(const struct sw_sweep *s)
{
	return s->state >= SW_SWEEP_COMPLETED;
}

bool sw_sweep_can_create(const struct sw_sweep *s)
{
	const uint64_t cap = sw_sweep_run_cap(s);

	return cap == 0 || s->trial_n < cap;
}

void sw_sweep_move(struct sw_sweep *s, struct sw_trial *t, enum sw_trial_state to)
{
	s->counts[t->state]--;
	sw_trial_move(t, to);
	s->counts[to]++;
}

void sw_sweep_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end, const char *cause,
		  struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[trial - 1];
	struct sw_action *action = sw_actions_add(out, SW_ACTION_END);

	assert(sw_trial_ended(end));
	sw_sweep_move(s, t, end);
	action->trial = trial;
	action->attempt = t->attempt;
	action->end = end;
	sw_cause_set(action->cause, cause, "");
	sw_sweep_learn_end(s, trial, end);
	if (end == SW_TRIAL_FAILED)
		memcpy(s->last_failure, action->cause, sizeof s->last_failure);
}

/* Row: from. The edges of sched/sweep.h. */
static bool may_enter(enum sw_sweep_state from, enum sw_sweep_state to)
{
	switch (from) {
	case SW_SWEEP_RUNNING:
		return to != SW_SWEEP_RUNNING;
	case SW_SWEEP_PAUSED:
		return to != SW_SWEEP_PAUSED;
	case SW_SWEEP_COMPLETED:
		return to == SW_SWEEP_RUNNING;
	default:
		return false;
	}
}

void sw_sweep_enter(struct sw_sweep *s, enum sw_sweep_state to, const char *cause,
		    struct sw_actions *out)
{
	struct sw_action *action = sw_actions_add(out, SW_ACTION_SWEEP);

	assert(may_enter(s->state, to));
	s->state = to;
	action->sweep = to;
	sw_cause_set(action->cause, cause, "");
	memcpy(s->cause, action->cause, sizeof s->cause);
}

void sw_sweep_settle(struct sw_sweep *s, struct sw_actions *out)
{
	if (sw_sweep_ended(s) || sw_sweep_can_create(s) ||
	    s->counts[SW_TRIAL_PENDING] + s->counts[SW_TRIAL_RUNNING] > 0)
		return;
	if (s->counts[SW_TRIAL_FAILED] == s->trial_n)
		sw_sweep_enter(s, SW_SWEEP_FAILED, s->last_failure, out);
	else
		sw_sweep_enter(s, SW_SWEEP_COMPLETED, NULL, out);
}

static sw_status refuse_ended(const struct sw_sweep *s, struct sw_err *err)
{
	return sw_err_set(err, SW_CONFLICT, "the sweep has ended: %s",
			  sw_sweep_state_name(s->state));
}

static sw_status on_pause(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err)
{
	(void)ev;
	if (sw_sweep_ended(s))
		return refuse_ended(s, err);
	if (s->state == SW_SWEEP_PAUSED)
		return sw_err_set(err, SW_CONFLICT, "the sweep is paused already");
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc == SW_OK)
		sw_sweep_enter(s, SW_SWEEP_PAUSED, NULL, out);
	return rc;
}

static sw_status on_resume(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	(void)ev;
	if (sw_sweep_ended(s))
		return refuse_ended(s, err);
	if (s->state != SW_SWEEP_PAUSED)
		return sw_err_set(err, SW_CONFLICT, "the sweep is not paused");
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc == SW_OK)
		sw_sweep_enter(s, SW_SWEEP_RUNNING, NULL, out);
	return rc;
}

/* Ends every trial that waits or runs, in order of number, and then the sweep. */
static sw_status end_all(struct sw_sweep *s, enum sw_sweep_state to, const char *trial_cause,
			 const char *cause, struct sw_actions *out, struct sw_err *err)
{
	if (sw_sweep_ended(s))
		return refuse_ended(s, err);
	const uint64_t n = 2 * s->counts[SW_TRIAL_RUNNING] + s->counts[SW_TRIAL_PENDING] + 1;
	const sw_status rc = sw_actions_reserve(out, n, err);
	if (rc != SW_OK)
		return rc;
	for (uint64_t trial = 1; trial <= s->trial_n; trial++) {
		const struct sw_trial *t = &s->trial[trial - 1];

		if (sw_trial_ended((enum sw_trial_state)t->state))
			continue;
		if (t->state == SW_TRIAL_RUNNING) {
			struct sw_action *stop = sw_actions_add(out, SW_ACTION_STOP);

			stop->trial = trial;
			stop->attempt = t->attempt;
		}
		sw_sweep_end(s, trial, SW_TRIAL_CANCELLED, trial_cause, out);
	}
	sw_sweep_enter(s, to, cause, out);
	return SW_OK;
}

static sw_status on_cancel(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	(void)ev;
	return end_all(s, SW_SWEEP_CANCELLED, "sweep-cancelled", NULL, out, err);
}

static sw_status on_fail(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			 struct sw_err *err)
{
	return end_all(s, SW_SWEEP_FAILED, "sweep-failed", ev->cause, out, err);
}

static sw_status on_extend(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	const uint64_t points = sw_sweep_points(s);

	if (s->state == SW_SWEEP_CANCELLED || s->state == SW_SWEEP_FAILED)
		return refuse_ended(s, err);
	if (sw_sweep_run_cap(s) == 0)
		return sw_err_at(err, SW_CONFLICT, "/run_cap",
				 "the sweep has no run cap: there is nothing to extend");
	if (points != 0 && sw_sweep_run_cap(s) == points + s->enqueued.n)
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "the grid has only %" PRIu64
				 " points, and the run cap covers them",
				 points);
	if (ev->run_cap <= sw_sweep_run_cap(s))
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "run_cap %" PRIu64 " is not above the present cap %" PRIu64,
				 ev->run_cap, sw_sweep_run_cap(s));
	const sw_status rc = sw_actions_reserve(out, 1, err);
	if (rc != SW_OK)
		return rc;
	s->user_cap = ev->run_cap;
	if (s->state == SW_SWEEP_COMPLETED)
		sw_sweep_enter(s, SW_SWEEP_RUNNING, NULL, out);
	return SW_OK;
}

static sw_status on_later(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err)
{
	(void)s;
	(void)ev;
	(void)out;
	return sw_err_set(err, SW_INVALID, "not supported yet");
}

static const sweep_handler handlers[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = sw_sweep_on_ask,
	[SW_EVENT_REPORT] = sw_sweep_on_report,
	[SW_EVENT_TELL] = sw_sweep_on_tell,
	[SW_EVENT_LOST] = sw_sweep_on_lost,
	[SW_EVENT_RELEASE] = sw_sweep_on_release,
	[SW_EVENT_CANCEL_TRIAL] = sw_sweep_on_cancel_trial,
	[SW_EVENT_PAUSE] = on_pause,
	[SW_EVENT_RESUME] = on_resume,
	[SW_EVENT_CANCEL] = on_cancel,
	[SW_EVENT_FAIL] = on_fail,
	[SW_EVENT_EXTEND] = on_extend,
	[SW_EVENT_ENQUEUE] = sw_sweep_on_enqueue,
	[SW_EVENT_STOP] = on_later,
	[SW_EVENT_EDIT] = on_later,
};

sw_status sw_sweep_step(struct sw_sweep *s, const struct sw_event *event,
			struct sw_actions *actions, struct sw_err *err)
{
	actions->n = 0;
	/* Events are read back from the store: a kind is checked, not asserted. */
	if ((unsigned)event->kind >= SW_EVENT_KIND_N)
		return sw_err_set(err, SW_INVALID, "no such event");
	const sw_status rc = sw_sweep_learn_reserve(s, err);
	return rc == SW_OK ? handlers[event->kind](s, event, actions, err) : rc;
}
