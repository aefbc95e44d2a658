/* Trials end here, and the sweep: with nothing left to do, at a target, on a plateau, on demand. */
#include "sched/num/order.h"
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOOKS = 32 }; /* trials that a slice looks at, for each that it may end */

bool sw_sweep_ended(const struct sw_sweep *s)
{
	return s->state >= SW_SWEEP_COMPLETED;
}

sw_status sw_sweep_refuse_ended(const struct sw_sweep *s, struct sw_err *err)
{
	if (sw_sweep_ended(s))
		return sw_err_set(err, SW_CONFLICT, "the sweep has ended: %s%s",
				  sw_sweep_state_name(s->state),
				  s->counts[SW_TRIAL_FAILED] > 0 && s->state != SW_SWEEP_CANCELLED
					  ? " (retry runs a failed trial again)"
					  : "");
	return sw_err_set(err, SW_CONFLICT, "the sweep is about to end%s%s",
			  s->end_cause[0] != '\0' ? ": " : "", s->end_cause);
}

const char *sw_sweep_trial_cause(const struct sw_sweep *s)
{
	return s->kill.on ? s->kill.cause : SW_CAUSE_ENDED;
}

/* The cause of a sweep that has nothing left to make: empty unless its grid came to its end. */
static void note_grid_end(const struct sw_sweep *s, char cause[SW_CAUSE_MAX])
{
	const uint64_t points = sw_sweep_points(s);
	const uint64_t end = points + s->given.n - s->given.children;

	cause[0] = '\0';
	if (points == 0 || (s->user_cap != 0 && s->user_cap < end))
		return;
	const int n = snprintf(cause, SW_CAUSE_MAX, SW_CAUSE_GRID ": %" PRIu64 " point%s tried",
			       points, points == 1 ? "" : "s");
	if (s->user_cap > end)
		(void)snprintf(cause + n, SW_CAUSE_MAX - (size_t)n, ", run_cap is %" PRIu64,
			       s->user_cap);
}

void sw_sweep_move(struct sw_sweep *s, struct sw_trial *t, enum sw_trial_state to)
{
	s->counts[t->state]--;
	sw_trial_move(t, to);
	s->counts[to]++;
}

/* --- a target, a plateau --- */

static void sweep_end_begin(struct sw_sweep *s, const char *cause)
{
	if (s->ending) /* the first cause stands */
		return;
	s->ending = true;
	sw_cause_set(s->end_cause, cause, "");
}

bool sw_sweep_reaches(const struct sw_sweep *s, double value)
{
	return s->config.has_target && value <= sw_sweep_turn(s, s->config.target);
}

void sw_sweep_note_value(struct sw_sweep *s, uint64_t trial, double value)
{
	char cause[SW_CAUSE_MAX];

	if (s->best_trial == 0 || value < s->best) {
		s->best = value;
		s->best_trial = trial;
	}
	if (!sw_sweep_reaches(s, value))
		return;
	(void)snprintf(cause, sizeof cause, "target %.10g reached by trial %" PRIu64,
		       s->config.target, trial);
	sweep_end_begin(s, cause);
}

/* How many of the best values come before this one; those past `top` do not count. */
static uint64_t top_place(const struct sw_sweep *s, double value)
{
	return sw_order_place(s->plateau.top, s->plateau.n, value);
}

/* True if the best `top` values, this one among them, lie within the deviation asked for. Two
 * passes: the values may be large and near each other. */
static bool is_flat(const struct sw_sweep *s, double value)
{
	const uint64_t top = s->config.plateau.top, at = top_place(s, value);
	const uint64_t old = at < top ? top - 1 : top;
	/* The division comes before the sum, because a sum of large values could overflow. */
	double mean = at < top ? value / (double)top : 0, sum = 0;

	if (s->plateau.n < old) /* fewer values than make a plateau */
		return false;
	for (uint64_t i = 0; i < old; i++)
		mean += s->plateau.top[i] / (double)top;
	for (uint64_t i = 0; i < old; i++)
		sum += (s->plateau.top[i] - mean) * (s->plateau.top[i] - mean);
	if (at < top)
		sum += (value - mean) * (value - mean);
	return sqrt(sum / (double)top) <= s->config.plateau.std;
}

bool sw_sweep_flat_with(const struct sw_sweep *s, double value)
{
	return s->config.plateau.top != 0 && isfinite(value) &&
	       s->plateau.in_a_row + 1 >= s->config.plateau.patience && is_flat(s, value);
}

static void note_completed(struct sw_sweep *s, double value)
{
	const struct sw_plateau *p = &s->config.plateau;
	char cause[SW_CAUSE_MAX];

	if (p->top == 0 || !isfinite(value))
		return;
	/* Asked first: the question counts the value in, and must not find it there already. */
	const bool ends = sw_sweep_flat_with(s, value);
	s->plateau.in_a_row = is_flat(s, value) ? s->plateau.in_a_row + 1 : 0;
	const uint64_t at = top_place(s, value);
	if (at < p->top) {
		/* The worst of a full list gives way. */
		const uint64_t kept = s->plateau.n < p->top ? s->plateau.n : p->top - 1;

		memmove(s->plateau.top + at + 1, s->plateau.top + at,
			(kept - at) * sizeof *s->plateau.top);
		s->plateau.top[at] = value;
		s->plateau.n = kept + 1;
	}
	if (!ends)
		return;
	(void)snprintf(cause, sizeof cause,
		       "plateau: the best %" PRIu64 " values lie within a deviation of %.10g",
		       p->top, p->std);
	sweep_end_begin(s, cause);
}

void sw_sweep_reopen(struct sw_sweep *s, struct sw_actions *out)
{
	s->ending = false;
	s->end_cause[0] = '\0';
	s->kill.on = false;
	/* The next end looks at all trials again. */
	s->settle_at = 1;
	/* Or the first completion after this would end the sweep again. */
	s->plateau.in_a_row = 0;
	sw_sweep_enter(s, SW_SWEEP_RUNNING, NULL, out);
}

/* --- ends --- */

/* The kind of a cause is what stands before ": "; what follows says more of this one trial. */
static bool is_alike(const char *a, const char *b)
{
	const char *end = strstr(a, ": ");
	const size_t n = end != NULL ? (size_t)(end - a) : strlen(a);

	return strncmp(a, b, n) == 0 && (b[n] == '\0' || strncmp(b + n, ": ", 2) == 0);
}

void sw_sweep_judge_anew(struct sw_sweep *s)
{
	s->alike = 0;
	s->judged_from = s->trial_n + 1;
	s->full = false;
}

/* The C library's words for it, and torch.save's, which has its own. */
static bool is_full(const char *cause)
{
	return strstr(cause, "No space left on device") || strstr(cause, "Disk quota exceeded") ||
	       strstr(cause, "PytorchStreamWriter failed writing");
}

/* By their numbers: where some configurations fail at once, the first to end fail alike beside
 * others that run well. */
static void judge_first(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end,
			const char *cause)
{
	if (s->full)
		return; /* that stays, until it is judged anew */
	s->full = end == SW_TRIAL_FAILED && is_full(cause);
	if (s->full) {
		s->judged_from = trial;
		s->alike = SW_SWEEP_FIRST;
		sw_cause_set(s->first_failure, cause, "");
		return;
	}
	if (trial < s->judged_from || trial - s->judged_from >= SW_SWEEP_FIRST)
		return;
	if (s->alike == 0)
		sw_cause_set(s->first_failure, cause, "");
	if (end == SW_TRIAL_FAILED && is_alike(s->first_failure, cause))
		s->alike++;
	else
		s->judged_from = UINT64_MAX;
}

void sw_sweep_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end, const char *cause,
		  struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[trial - 1];
	struct sw_action *action = sw_actions_add(out, SW_ACTION_END);

	assert(sw_trial_ended(end));
	sw_sweep_move(s, t, end);
	sw_pruner_ended(s->pruner, trial, &t->prune, end == SW_TRIAL_COMPLETED);
	action->trial = trial;
	action->attempt = t->attempt;
	action->end = end;
	sw_cause_set(action->cause, cause, "");
	sw_sweep_learn_end(s, trial, end);
	if (end == SW_TRIAL_FAILED)
		memcpy(s->last_failure, action->cause, sizeof s->last_failure);
	judge_first(s, trial, end, action->cause);
	if (end == SW_TRIAL_COMPLETED && s->last != NULL)
		note_completed(s, s->last[(trial - 1) * s->sampling.n_metrics]);
}

/* A paused trial that nothing will bring on. */
static void end_paused(struct sw_sweep *s, uint64_t trial, struct sw_actions *out)
{
	struct sw_pruner_turn place = {.rung = 0};
	char cause[SW_CAUSE_MAX] = SW_CAUSE_ENDED;

	if (sw_pruner_kind(s->pruner) == SW_PRUNER_PROMOTE) {
		sw_pruner_turn(s->pruner, trial, &s->trial[trial - 1].prune, &place);
		(void)snprintf(cause, sizeof cause,
			       "rung %" PRIu64 ": rank %" PRIu64 " of %" PRIu64 ", not promoted",
			       place.rung, place.rank, place.n);
	}
	sw_sweep_end(s, trial, SW_TRIAL_PRUNED, cause, out);
}

/* How many the sweep's end still has to end. */
static uint64_t left(const struct sw_sweep *s)
{
	return s->counts[SW_TRIAL_PENDING] + s->counts[SW_TRIAL_PAUSED] +
	       (s->kill.on ? s->counts[SW_TRIAL_RUNNING] : 0);
}

/* True if the sweep's end took the trial (at most two actions). */
static bool end_one(struct sw_sweep *s, uint64_t trial, struct sw_actions *out)
{
	const struct sw_trial *t = &s->trial[trial - 1];

	if (sw_trial_ended((enum sw_trial_state)t->state) ||
	    (t->state == SW_TRIAL_RUNNING && !s->kill.on))
		return false;
	if (t->state == SW_TRIAL_RUNNING) {
		struct sw_action *stop = sw_actions_add(out, SW_ACTION_STOP);

		stop->trial = trial;
		stop->attempt = t->attempt;
	}
	if (t->state == SW_TRIAL_PAUSED && (!s->kill.on || s->kill.to == SW_SWEEP_COMPLETED))
		end_paused(s, trial, out);
	else
		sw_sweep_end(s, trial, SW_TRIAL_CANCELLED, sw_sweep_trial_cause(s), out);
	return true;
}

/* The next slice. True: there is more. */
static bool end_slice(struct sw_sweep *s, struct sw_actions *out)
{
	const uint64_t most = s->config.slice;
	uint64_t ended = 0, looked = 0;

	/* The place is kept from slice to slice, so the whole end is one pass over the trials. */
	for (; left(s) > 0; s->settle_at++) {
		assert(s->settle_at <= s->trial_n);
		/* Few of a million trials may be open. What a slice looks at is bounded, as what it
		 * ends is. */
		if (ended == most || looked++ == most * LOOKS)
			return true;
		ended += end_one(s, s->settle_at, out);
	}
	return false;
}

/* Row: from. The edges of sched/sweep/sweep.h. */
static bool may_enter(enum sw_sweep_state from, enum sw_sweep_state to)
{
	switch (from) {
	case SW_SWEEP_RUNNING:
		return to != SW_SWEEP_RUNNING;
	case SW_SWEEP_PAUSED:
		return to != SW_SWEEP_PAUSED;
	/* By EXTEND, or by a retry of a trial that failed. */
	case SW_SWEEP_COMPLETED:
	case SW_SWEEP_FAILED:
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

static uint64_t in_slice(const struct sw_sweep *s, uint64_t n)
{
	return n > s->config.slice ? s->config.slice : n;
}

uint64_t sw_sweep_settle_room(const struct sw_sweep *s, bool begins)
{
	const uint64_t pending = s->counts[SW_TRIAL_PENDING], paused = s->counts[SW_TRIAL_PAUSED];

	if (begins)
		return in_slice(s, pending + paused) + 2;
	/* The event may end the last open trial, and the sweep with it. */
	if (!sw_sweep_can_create(s) && pending + s->counts[SW_TRIAL_RUNNING] <= 1)
		return in_slice(s, paused) + 2;
	return 1;
}

/* A slice of the sweep's end, if that has begun or begins here; there is room. */
static void settle(struct sw_sweep *s, struct sw_actions *out)
{
	s->settling = s->ending && end_slice(s, out);
	if (s->settling)
		return;
	/* The pruner hears what waits before it is asked what may go on. */
	sw_sweep_tell_waiting(s);
	if (sw_sweep_can_create(s) || sw_sweep_resumable(s) != 0 ||
	    s->counts[SW_TRIAL_PENDING] + s->counts[SW_TRIAL_RUNNING] > 0)
		return;
	char cause[SW_CAUSE_MAX];
	note_grid_end(s, cause);
	s->settling = end_slice(s, out);
	if (s->settling) /* the paused ones, which nothing brings on: from here on it is certain */
		sweep_end_begin(s, cause);
	else if (s->kill.on)
		sw_sweep_enter(s, s->kill.to, s->end_cause, out);
	else if (s->ending)
		sw_sweep_enter(s, SW_SWEEP_COMPLETED, s->end_cause, out);
	else if (s->counts[SW_TRIAL_FAILED] == s->trial_n)
		sw_sweep_enter(s, SW_SWEEP_FAILED, s->last_failure, out);
	else
		sw_sweep_enter(s, SW_SWEEP_COMPLETED, cause, out);
}

void sw_sweep_settle(struct sw_sweep *s, struct sw_actions *out)
{
	if (!sw_sweep_ended(s) && !s->settling)
		settle(s, out);
}

/* Room for a slice of trials that may run. */
static sw_status reserve_slice(const struct sw_sweep *s, struct sw_actions *out, struct sw_err *err)
{
	const uint64_t open = s->counts[SW_TRIAL_RUNNING] + s->counts[SW_TRIAL_PENDING] +
			      s->counts[SW_TRIAL_PAUSED];

	return sw_actions_reserve(out, 2 * in_slice(s, open) + 1, err);
}

sw_status sw_sweep_on_settle(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err)
{
	(void)ev;
	if (!s->settling)
		return sw_err_set(err, SW_CONFLICT, "nothing of the sweep is left to settle");
	const sw_status rc = reserve_slice(s, out, err);
	if (rc == SW_OK)
		settle(s, out);
	return rc;
}

sw_status sw_sweep_end_all(struct sw_sweep *s, enum sw_sweep_state to, const char *trial_cause,
			   const char *cause, struct sw_actions *out, struct sw_err *err)
{
	if (sw_sweep_ended(s) || s->kill.on)
		return sw_sweep_refuse_ended(s, err);
	const sw_status rc = reserve_slice(s, out, err);
	if (rc != SW_OK)
		return rc;
	/* An end that a target began is overruled: what runs ends now as well. */
	s->ending = true;
	sw_cause_set(s->end_cause, cause, "");
	/* All of it stands before the first slice, whose trials carry the cause. */
	s->kill.on = true;
	s->kill.to = to;
	s->kill.cause = trial_cause;
	s->settle_at = 1;
	settle(s, out);
	return SW_OK;
}

bool sw_sweep_settling(const struct sw_sweep *s)
{
	return s->settling;
}

uint64_t sw_sweep_unsettled(const struct sw_sweep *s)
{
	return s->settling ? left(s) : 0;
}

enum sw_sweep_state sw_sweep_end_state(const struct sw_sweep *s)
{
	return s->kill.on ? s->kill.to : SW_SWEEP_COMPLETED;
}
