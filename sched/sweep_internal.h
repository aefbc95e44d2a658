/*
 * sched/sweep_internal.h — the sweep's own state, and how its files share it:
 *   sweep.c          create, destroy, questions, the invariant
 *   sweep_step.c     events that concern the whole sweep, the dispatch, what ends a sweep
 *   sweep_trial.c    events that concern one trial
 *   sweep_learn.c    where values come from (sampler, suggestion, user), what the sampler is told
 *
 * A handler works in this order, so that a refused event and SW_NOMEM change nothing: check the
 * event, reserve what it needs, then change the state, which cannot fail.
 */
#ifndef SW_SCHED_SWEEP_INTERNAL_H
#define SW_SCHED_SWEEP_INTERNAL_H

#include "sched/pending.h"
#include "sched/sweep.h"

struct sw_sweep {
	struct sw_sweep_config config;
	struct sw_space *space; /* owned */
	struct sw_sampler *sampler;
	struct sw_pruner *pruner;
	enum sw_sweep_state state;
	uint64_t user_cap;      /* the user's run cap as it stands; 0: none */
	struct sw_trial *trial; /* [trial_cap], trial t at t - 1 */
	uint64_t trial_n, trial_cap;
	uint64_t counts[SW_TRIAL_STATE_N];
	struct sw_pending pending;
	struct sw_sampler_config sampling; /* what the sampler was made from */
	struct sw_value *init;             /* sampling.init */
	bool learns;                       /* the sampler does: history and last are kept */
	struct sw_history history;
	double *last; /* [trial_cap][n_metrics]: a trial's last values, oriented; NaN: none yet */
	struct sw_suggestion suggestion; /* that of the last trial made; its state stays */
	struct sw_enqueued {
		uint64_t *trial;         /* [n], rising */
		struct sw_value *values; /* [n][space size] */
		size_t n, cap;
	} enqueued;
	char cause[SW_CAUSE_MAX];
	char last_failure[SW_CAUSE_MAX]; /* cause of the last trial that ended FAILED */
};

typedef sw_status (*sweep_handler)(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err);

/* sweep_trial.c */
sw_status sw_sweep_on_ask(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err);
sw_status sw_sweep_on_report(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err);
sw_status sw_sweep_on_tell(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err);
sw_status sw_sweep_on_lost(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err);
sw_status sw_sweep_on_release(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err);
sw_status sw_sweep_on_cancel_trial(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err);

sw_status sw_sweep_on_enqueue(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err);

/* sweep_learn.c */
sw_status sw_sweep_learn_init(struct sw_sweep *s, struct sw_err *err); /* space, config are set */
void sw_sweep_learn_fini(struct sw_sweep *s);
/* Room for what one event can add. */
sw_status sw_sweep_learn_reserve(struct sw_sweep *s, struct sw_err *err);
sw_status sw_sweep_learn_grow(struct sw_sweep *s, uint64_t trial_cap); /* before trial_cap rises */
/* The values of a trial about to be made: into s->suggestion. */
sw_status sw_sweep_learn_suggest(struct sw_sweep *s, const struct sw_suggestion *given,
				 struct sw_err *err);
sw_status sw_sweep_learn_enqueue(struct sw_sweep *s, const struct sw_value *values,
				 struct sw_err *err);
void sw_sweep_learn_made(struct sw_sweep *s,
			 const struct sw_value *values); /* trial_n was raised */
void sw_sweep_learn_report(struct sw_sweep *s, const struct sw_event *ev,
			   const struct sw_trial *before, const struct sw_trial *after);
void sw_sweep_learn_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end);
bool sw_sweep_finite(const struct sw_sweep *s, const struct sw_event *ev); /* every metric is */

/* sweep_step.c */
bool sw_sweep_ended(const struct sw_sweep *s);
bool sw_sweep_can_create(const struct sw_sweep *s); /* budget and points are left */

/* Room for n more actions. */
SW_NODISCARD sw_status sw_actions_reserve(struct sw_actions *a, size_t n, struct sw_err *err);

/* The next action, zeroed but for its kind; the caller reserved room. */
struct sw_action *sw_actions_add(struct sw_actions *a, enum sw_action_kind kind);

/* Copies a cause, cut before a UTF-8 character that does not fit. NULL: fallback. */
void sw_cause_set(char to[SW_CAUSE_MAX], const char *cause, const char *fallback);

/* The one way a trial changes its state here: keeps the counts. */
void sw_sweep_move(struct sw_sweep *s, struct sw_trial *t, enum sw_trial_state to);

/* Ends a trial (one action). cause is copied. */
void sw_sweep_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end, const char *cause,
		  struct sw_actions *out);

/* Changes the sweep's state (one action). */
void sw_sweep_enter(struct sw_sweep *s, enum sw_sweep_state to, const char *cause,
		    struct sw_actions *out);

/* Ends the sweep if nothing is left to do (at most one action). */
void sw_sweep_settle(struct sw_sweep *s, struct sw_actions *out);

#endif
