#include "sched/sweep/sweep.h"
#include "base/memory.h"
#include "sched/pruner/pruners.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SW_SWEEP_STATE_N] = {
	[SW_SWEEP_RUNNING] = "RUNNING",     [SW_SWEEP_PAUSED] = "PAUSED",
	[SW_SWEEP_COMPLETED] = "COMPLETED", [SW_SWEEP_CANCELLED] = "CANCELLED",
	[SW_SWEEP_FAILED] = "FAILED",
};

static sw_status check_config(const struct sw_sweep_config *c, struct sw_err *err)
{
	if (c->has_target && !isfinite(c->target))
		return sw_err_at(err, SW_INVALID, "/metric/target",
				 "the target must be a finite number");
	if (c->plateau.top > SW_PLATEAU_TOP_MAX)
		return sw_err_at(err, SW_INVALID, "/plateau/top", "top must be at most %d",
				 SW_PLATEAU_TOP_MAX);
	if (c->plateau.top != 0 && !(isfinite(c->plateau.std) && c->plateau.std >= 0))
		return sw_err_at(err, SW_INVALID, "/plateau/std",
				 "std must be a finite number of 0 or more");
	if (c->pruner.kind == SW_PRUNER_PBT && c->run_cap == 0)
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "pbt needs a run_cap: it is the size of the population");
	return SW_OK;
}

/* Makes the arrays that the sweep keeps beside what it is given. */
static sw_status make_arrays(struct sw_sweep *s)
{
	s->ranges = sw_calloc(1, sizeof *s->ranges);
	if (s->ranges == NULL)
		return SW_NOMEM;
	s->judged_from = 1;
	s->ranges_n = 1;
	if (s->config.plateau.top == 0)
		return SW_OK;
	s->plateau.top = sw_malloc(s->config.plateau.top * sizeof *s->plateau.top);
	return s->plateau.top != NULL ? SW_OK : SW_NOMEM;
}

static sw_status make_parts(struct sw_sweep *s, struct sw_space *space, struct sw_err *err)
{
	/* Sealed first: all that follows asks the space which parameters are active. */
	sw_status rc = sw_space_seal(space, err);

	if (rc == SW_OK)
		rc = check_config(&s->config, err);
	if (rc != SW_OK)
		return rc;
	s->space = space; /* borrowed until the end is known */
	if (make_arrays(s) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory for the sweep");
	/* Before the sampler, whose levels are the rungs of the pruner. */
	rc = sw_pruners_create(&s->pruner, &s->config.pruner, s->config.seed, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/early_terminate");
		return rc;
	}
	return sw_sweep_learn_init(s, err);
}

sw_status sw_sweep_create(struct sw_sweep **out, const struct sw_sweep_config *config,
			  struct sw_space *space, struct sw_err *err)
{
	*out = NULL;
	if (sw_space_size(space) == 0)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "a sweep needs at least one parameter");
	struct sw_sweep *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sweep");
	s->config = *config;
	if (s->config.slice == 0)
		s->config.slice = SW_SWEEP_SLICE;
	s->state = SW_SWEEP_RUNNING;
	s->settle_at = 1;
	sw_pending_init(&s->pending);
	const sw_status rc = make_parts(s, space, err);
	if (rc != SW_OK) {
		sw_sweep_destroy(s);
		return rc;
	}
	/* From here on the space is the sweep's. */
	s->ranges[0].space = space;
	s->user_cap = config->run_cap;
	/* The pruner of a population must know how many are unmade before anybody asks it for the
	 * next. */
	sw_sweep_tell_waiting(s);
	*out = s;
	return SW_OK;
}

void sw_sweep_destroy(struct sw_sweep *s)
{
	if (s == NULL)
		return;
	sw_pending_fini(&s->pending);
	free(s->trial);
	sw_sweep_learn_fini(s);
	/* The present space and sampler are those of the last ranges. */
	for (size_t i = 0; i < s->ranges_n; i++) {
		sw_sampler_destroy(s->ranges[i].sampler);
		sw_space_destroy(s->ranges[i].space);
	}
	free(s->ranges);
	free(s->plateau.top);
	sw_pruner_destroy(s->pruner);
	free(s);
}

enum sw_sweep_state sw_sweep_state(const struct sw_sweep *s)
{
	return s->state;
}

const char *sw_sweep_state_name(enum sw_sweep_state state)
{
	assert(state < SW_SWEEP_STATE_N);
	return names[state];
}

sw_status sw_sweep_state_find(const char *name, enum sw_sweep_state *out)
{
	for (unsigned i = 0; i < SW_SWEEP_STATE_N; i++) {
		if (strcmp(name, names[i]) == 0) {
			*out = (enum sw_sweep_state)i;
			return SW_OK;
		}
	}
	return SW_INVALID;
}

const char *sw_sweep_cause(const struct sw_sweep *s)
{
	return s->cause;
}

uint64_t sw_sweep_fails(const struct sw_sweep *s, const char **cause, const char **kind)
{
	*kind = s->full ? "no space left" : "5 trials FAILED alike";
	/* A value from any trial shows that the program can work, but not that the disk has
	 * room. */
	*cause = s->first_failure;
	return (s->full || s->best_trial == 0) && s->judged_from != UINT64_MAX &&
			       s->alike == SW_SWEEP_FIRST
		       ? s->judged_from
		       : 0;
}

uint64_t sw_sweep_past(const struct sw_sweep *s, uint64_t *step)
{
	*step = s->past_step;
	return s->past_trial;
}

bool sw_sweep_is_past(const struct sw_sweep *s, uint64_t step)
{
	const struct sw_asha_config *asha = &s->config.pruner.asha;
	const enum sw_pruner_kind kind = s->config.pruner.kind;

	/* Without a rung below max_t nothing was to be stopped. */
	return (kind == SW_PRUNER_ASHA || kind == SW_PRUNER_PROMOTE) &&
	       asha->grace_period < asha->max_t && step >= asha->max_t;
}

const char *sw_sweep_end_cause(const struct sw_sweep *s)
{
	return s->ending ? s->end_cause : "";
}

uint64_t sw_sweep_trial_n(const struct sw_sweep *s)
{
	return s->trial_n;
}

const struct sw_trial *sw_sweep_trial(const struct sw_sweep *s, uint64_t trial)
{
	return trial >= 1 && trial <= s->trial_n ? &s->trial[trial - 1] : NULL;
}

void sw_sweep_counts(const struct sw_sweep *s, uint64_t counts[SW_TRIAL_STATE_N])
{
	memcpy(counts, s->counts, sizeof s->counts);
}

uint64_t sw_sweep_epoch(const struct sw_sweep *s)
{
	return s->ranges_n - 1;
}

const struct sw_pruner *sw_sweep_pruner(const struct sw_sweep *s)
{
	return s->pruner;
}

bool sw_sweep_late(const struct sw_sweep *s, uint64_t trial, uint32_t attempt,
		   enum sw_decision *out)
{
	const uint64_t max_t = s->config.pruner.asha.max_t; /* 0 of any other pruner */
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	/* The trial went on without an earlier attempt, and what it decided since concerns the new
	 * one. */
	if (t == NULL || t->attempt != attempt)
		return false;
	*out = t->state == SW_TRIAL_PAUSED ? SW_DECISION_PAUSE : SW_DECISION_STOP;
	switch ((enum sw_trial_state)t->state) {
	case SW_TRIAL_PAUSED:
	case SW_TRIAL_PRUNED:
	case SW_TRIAL_INFEASIBLE:
	case SW_TRIAL_CANCELLED:
		return true;
	case SW_TRIAL_COMPLETED:
		return max_t > 0 && t->step >= max_t; /* else it told its end itself */
	default:
		return false;
	}
}

sw_status sw_sweep_place(const struct sw_sweep *s, uint64_t trial, struct sw_pruner_turn *out)
{
	const struct sw_trial *t = sw_sweep_trial(s, trial);

	if (t == NULL)
		return SW_NOT_FOUND;
	if (t->state != SW_TRIAL_PAUSED)
		return SW_CONFLICT;
	sw_pruner_turn(s->pruner, trial, &t->prune, out);
	return SW_OK;
}

const struct sw_space *sw_sweep_space(const struct sw_sweep *s)
{
	return s->space;
}
