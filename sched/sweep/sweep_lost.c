/* A lost worker, a released slot: whether the trial runs again. */
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>

/* Back to the waiting trials, unless the sweep is about to end. The heap has room. */
static void retry(struct sw_sweep *s, uint64_t trial, const char *cause, const char *fallback,
		  struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[trial - 1];

	/* Nothing runs again in a sweep about to end. */
	if (s->ending) {
		sw_sweep_end(s, trial, SW_TRIAL_CANCELLED, sw_sweep_trial_cause(s), out);
		sw_sweep_settle(s, out);
		return;
	}
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
	sw_status rc = sw_sweep_find_live(s, ev, out, err);

	if (rc == SW_OK)
		rc = sw_actions_reserve(actions, 1 + sw_sweep_settle_room(s, false), err);
	/* Room for either outcome is taken before the loss is counted. */
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
		return SW_OK;
	}
	retry(s, ev->trial, ev->cause, "lost", out);
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
