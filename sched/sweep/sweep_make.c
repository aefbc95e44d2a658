/* New trials: of the sampler, of the user, of a population. */
#include "base/memory.h"
#include "sched/pruner/pbt_explore.h"
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Memory matters from here on: an eighth more at a time, not twice as much. */
enum { MANY = 1024 };

static sw_status reserve_trial(struct sw_sweep *s, struct sw_err *err)
{
	if (s->trial_n < s->trial_cap)
		return SW_OK;
	const uint64_t more = s->trial_cap < MANY ? s->trial_cap : s->trial_cap / 8;
	const uint64_t cap = s->trial_cap == 0 ? 16 : s->trial_cap + more;
	/* If the second array fails, the first is larger than trial_cap says, which is harmless. */
	if (!sw_array_resize(&s->trial, cap, sizeof *s->trial) ||
	    sw_sweep_learn_grow(s, cap) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory for another trial");
	s->trial_cap = cap;
	return SW_OK;
}

/* A trial with these values, PENDING (one action). There is room. */
static struct sw_action *add_trial(struct sw_sweep *s, const struct sw_value *values,
				   const struct sw_suggestion *suggestion, struct sw_actions *out)
{
	struct sw_trial *t = &s->trial[s->trial_n++];

	*t = (struct sw_trial){.state = SW_TRIAL_PENDING};
	/* The bracket is drawn now, by the number alone: when the trial starts does not matter. */
	sw_pruner_enter(s->pruner, s->trial_n, &t->prune);
	s->counts[SW_TRIAL_PENDING]++;
	sw_sweep_learn_made(s, values);
	struct sw_action *action = sw_actions_add(out, SW_ACTION_CREATE);
	action->trial = s->trial_n;
	action->values = values;
	action->suggestion = suggestion;
	return action;
}

sw_status sw_sweep_create_trial(struct sw_sweep *s, const struct sw_suggestion *suggestion,
				struct sw_actions *out, struct sw_err *err)
{
	/* Room comes first: a suggestion moves the sampler's state on, and must not be lost. */
	sw_status rc = reserve_trial(s, err);

	if (rc == SW_OK)
		rc = sw_sweep_learn_suggest(s, suggestion, err);
	if (rc == SW_OK)
		(void)add_trial(s, s->suggestion.values, &s->suggestion, out);
	return rc;
}

/* --- values that are given --- */

/* Each array may end up larger than the capacity says, when a later one fails: harmless. */
static sw_status grow_given(struct sw_sweep *s)
{
	struct sw_given *g = &s->given;
	const size_t cap = g->cap == 0 ? 4 : 2 * g->cap;

	if (g->n < g->cap)
		return SW_OK;
	if (!sw_array_resize(&g->trial, cap, sizeof *g->trial) ||
	    !sw_array_resize(&g->parent, cap, sizeof *g->parent) ||
	    !sw_array_resize(&g->values, cap * sw_space_size(s->space), sizeof *g->values))
		return SW_NOMEM;
	g->cap = cap;
	return SW_OK;
}

sw_status sw_sweep_given_reserve(struct sw_sweep *s, struct sw_err *err)
{
	const sw_status rc = reserve_trial(s, err);

	if (rc != SW_OK)
		return rc;
	if (sw_pending_reserve(&s->pending) != SW_OK || grow_given(s) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory for a waiting trial");
	return SW_OK;
}

/* Adds the trial whose values were written at the end of the list, and lets it wait. */
static struct sw_action *add_given(struct sw_sweep *s, uint64_t parent, struct sw_actions *out)
{
	struct sw_given *g = &s->given;
	struct sw_value *values = g->values + g->n * sw_space_size(s->space);

	assert(g->n < g->cap);
	/* Equal points are to look equal, whatever an inactive parameter was given. */
	sw_space_canonical(s->space, values);
	g->trial[g->n] = s->trial_n + 1;
	g->parent[g->n++] = parent;
	struct sw_action *action = add_trial(s, values, NULL, out);
	sw_pending_push(&s->pending, s->trial_n);
	return action;
}

static sw_status may_retry(const struct sw_sweep *s, uint64_t trial, struct sw_err *err)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	if (t == NULL)
		return sw_err_at(err, SW_NOT_FOUND, "/trial", "there is no trial %" PRIu64, trial);
	if (t->state != SW_TRIAL_FAILED && t->state != SW_TRIAL_INFEASIBLE &&
	    t->state != SW_TRIAL_CANCELLED)
		return sw_err_at(err, SW_CONFLICT, "/trial",
				 "trial %" PRIu64 " is %s: FAILED, INFEASIBLE and CANCELLED ones "
				 "can be run again",
				 trial, sw_trial_state_name((enum sw_trial_state)t->state));
	/* One that was cancelled has lost its budget's meaning, and stays what its user said. */
	return s->state == SW_SWEEP_CANCELLED || (s->ending && !sw_sweep_ended(s))
		       ? sw_sweep_refuse_ended(s, err)
		       : SW_OK;
}

/* Where the sweep ended before its cap, by a target or a budget, no other trial is made. */
static void begin_retry(struct sw_sweep *s, struct sw_actions *out)
{
	const uint64_t made = s->trial_n - s->given.children, cap = sw_sweep_base_cap(s);

	if (sw_sweep_ended(s) && (cap == 0 || made < cap))
		s->user_cap = made;
	/* The retry is one trial more than was asked for. */
	s->user_cap += s->user_cap != 0;
	sw_sweep_judge_anew(s);
	if (sw_sweep_ended(s))
		sw_sweep_reopen(s, out);
}

sw_status sw_sweep_on_enqueue(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err)
{
	const size_t n = sw_space_size(s->space);

	if (ev->values == NULL)
		return sw_err_at(err, SW_INVALID, "/params", "no parameters to enqueue");
	sw_status rc = ev->trial != 0 ? may_retry(s, ev->trial, err) : SW_OK;
	if (rc != SW_OK)
		return rc;
	if (ev->trial == 0 && (sw_sweep_ended(s) || s->ending))
		return sw_sweep_refuse_ended(s, err);
	/* The children of a population come on top: the user did not ask for them. */
	if (ev->trial == 0 && s->user_cap != 0 && s->trial_n - s->given.children >= s->user_cap)
		return sw_err_set(err, SW_CONFLICT,
				  "all %" PRIu64 " trials of the run cap are made: extend it first",
				  s->user_cap);
	/* CREATE, and SWEEP where a retry opens the sweep again. */
	rc = sw_actions_reserve(out, 2, err);
	if (rc == SW_OK)
		rc = sw_sweep_given_reserve(s, err);
	if (rc != SW_OK)
		return rc;
	if (ev->trial != 0)
		begin_retry(s, out);
	memcpy(s->given.values + s->given.n * n, ev->values, n * sizeof *ev->values);
	(void)add_given(s, 0, out);
	return SW_OK;
}

void sw_sweep_spawn(struct sw_sweep *s, uint64_t donor, struct sw_actions *out)
{
	struct sw_value *values = s->given.values + s->given.n * sw_space_size(s->space);
	const struct sw_trial *from = &s->trial[donor - 1];
	const uint64_t step = from->resume_step;
	/* A donor without a checkpoint of its own yet stands on another's, and so will its copy. */
	const uint64_t parent = from->inherited ? sw_sweep_parent(s, donor) : donor;

	/* It made them before, or they were kept: this cannot fail. */
	const sw_status rc = sw_sweep_values(s, donor, values);
	assert(rc == SW_OK);
	(void)rc;
	sw_pbt_explore(&s->config.pruner.pbt, s->space, s->config.seed, s->trial_n + 1, values,
		       values);
	s->given.children++;
	struct sw_action *action = add_given(s, parent, out);
	struct sw_trial *t = &s->trial[s->trial_n - 1];
	t->resume_step = step;
	t->inherited = step != 0;
	action->parent = parent;
	action->resume_step = step;
	action->from = step != 0 ? parent : 0;
}

/* The place of the first trial in the list that is not below this one. */
static size_t given_before(const struct sw_sweep *s, uint64_t trial, bool *found)
{
	const size_t i = sw_array_place(s->given.trial, s->given.n, sizeof *s->given.trial, trial);

	*found = i < s->given.n && s->given.trial[i] == trial;
	return i;
}

uint64_t sw_sweep_parent(const struct sw_sweep *s, uint64_t trial)
{
	bool found;
	const size_t i = given_before(s, trial, &found);

	return found ? s->given.parent[i] : 0;
}

struct sw_origin sw_sweep_origin(const struct sw_sweep *s, uint64_t trial)
{
	bool found;
	const size_t i = given_before(s, trial, &found);
	struct sw_origin o = {.made = found ? 0 : trial - i,
			      .parent = found ? s->given.parent[i] : 0};

	for (size_t k = 0; found && o.parent == 0 && k <= i; k++)
		o.enqueued += s->given.parent[k] == 0;
	return o;
}

uint64_t sw_sweep_from(const struct sw_sweep *s, uint64_t trial)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	if (t == NULL || t->resume_step == 0)
		return 0;
	return t->inherited ? sw_sweep_parent(s, trial) : trial;
}

/* The ranges in which suggestion number `made` was. */
static const struct sw_sweep_ranges *ranges_of(const struct sw_sweep *s, uint64_t made)
{
	size_t i = s->ranges_n - 1;

	/* Each edit of a range makes new ones: they are few. */
	while (i > 0 && s->ranges[i].made >= made)
		i--;
	return &s->ranges[i];
}

sw_status sw_sweep_values(const struct sw_sweep *s, uint64_t trial, struct sw_value *values)
{
	const size_t n = sw_space_size(s->space);
	bool found;

	if (trial < 1 || trial > s->trial_n)
		return SW_NOT_FOUND;
	/* The sampler would make another point today. */
	if (s->keeps) {
		memcpy(values, s->history.values + (trial - 1) * n, n * sizeof *values);
		return SW_OK;
	}
	const size_t i = given_before(s, trial, &found);
	if (!found)
		return sw_sampler_next(ranges_of(s, trial - i)->sampler, NULL, trial - i, values);
	memcpy(values, s->given.values + i * n, n * sizeof *values);
	return SW_OK;
}
