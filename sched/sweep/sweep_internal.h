/*
 * sched/sweep/sweep_internal.h — the sweep's own state, and how its files share it:
 *   sweep.c           create, destroy, questions
 *   sweep_step.c      events that concern the whole sweep, the dispatch
 *   sweep_end.c       what ends a trial, and what ends the sweep
 *   sweep_trial.c     events that concern one trial
 *   sweep_lost.c      a trial whose worker is gone: whether it runs again
 *   sweep_make.c      new trials: of the sampler, of the user, of a population
 *   sweep_left.c      what is left to run, and which trial is next
 *   sweep_learn.c     where values come from (sampler, suggestion, user), what the sampler is told
 *   sweep_seen.c      what of it the sampler may see once ranges were edited
 *   sweep_edit.c      EDIT
 *   sweep_action.c    the actions of an event, causes
 *
 * A handler works in this order, so that a refused event and SW_NOMEM change nothing: check the
 * event, reserve what it needs, then change the state, which cannot fail.
 */
#ifndef SW_SCHED_SWEEP_SWEEP_INTERNAL_H
#define SW_SCHED_SWEEP_SWEEP_INTERNAL_H

#include "sched/sweep/pending.h"
#include "sched/sweep/sweep.h"

/* The ranges that hold from a suggestion on. */
struct sw_sweep_ranges {
	uint64_t made;              /* suggestions made before it */
	struct sw_space *space;     /* owned */
	struct sw_sampler *sampler; /* owned; NULL in the past, if a history was kept */
};

struct sw_sweep {
	struct sw_sweep_config config;
	struct sw_space *space;         /* that of the last ranges */
	struct sw_sampler *sampler;     /* the same */
	struct sw_sweep_ranges *ranges; /* [ranges_n], `made` never falls */
	size_t ranges_n;
	struct sw_pruner *pruner;
	enum sw_sweep_state state;
	uint64_t user_cap;      /* the user's run cap as it stands; 0: none */
	uint64_t crowd;         /* that many ran when max_concurrent was edited */
	struct sw_trial *trial; /* [trial_cap], trial t at t - 1 */
	uint64_t trial_n, trial_cap;
	uint64_t counts[SW_TRIAL_STATE_N];
	struct sw_pending pending;         /* v[0] waits after each event, if any does */
	struct sw_sampler_config sampling; /* what the sampler was made from */
	struct sw_value *init;             /* sampling.init */
	bool learns, keeps; /* the sampler does; a history is kept, by it or of counted points */
	struct sw_history history; /* all of it */
	bool masked;               /* ranges were edited: the sampler sees `seen` instead */
	struct sw_history seen;
	double *last; /* [trial_cap][n_metrics]: a trial's last values, oriented; NaN: none yet.
			 NULL where nobody asks for them */
	struct sw_suggestion suggestion; /* that of the last trial made; its state stays */
	struct sw_given {
		uint64_t *trial;         /* [n], rising: those whose values are no suggestion's */
		uint64_t *parent;        /* [n]; 0: enqueued by the user */
		struct sw_value *values; /* [n][space size] */
		size_t n, cap;
		uint64_t children; /* of them with a parent */
	} given;
	double best; /* the best value reported so far, oriented */
	uint64_t best_trial;
	struct {
		double *top; /* [config.plateau.top], rising, oriented */
		uint64_t n, in_a_row;
	} plateau;
	bool ending; /* nothing is made or resumed from here on; end_cause says why */
	char end_cause[SW_CAUSE_MAX];
	bool settling;      /* a slice of the end has left some: SETTLE goes on */
	uint64_t settle_at; /* the end has taken the trials before this one */
	struct {
		bool on; /* CANCEL, FAIL, STOP: what runs ends, too */
		enum sw_sweep_state to;
		const char *cause; /* of the trials that end with it; static */
	} kill;
	char cause[SW_CAUSE_MAX];
	char last_failure[SW_CAUSE_MAX]; /* cause of the last trial that ended FAILED */
	/* Of the trials from judged_from on, SW_SWEEP_FIRST in number: those that have ended, each
	 * FAILED with this cause. UINT64_MAX: one ended otherwise. */
	uint64_t judged_from, alike;
	bool full; /* that one ended for want of space on a disk */
	char first_failure[SW_CAUSE_MAX];
	uint64_t past_trial, past_step; /* sw_sweep_past() */
};

#define SW_CAUSE_ENDED "sweep-ended"

/* The trials from here on are the first. */
void sw_sweep_judge_anew(struct sw_sweep *s);

typedef sw_status (*sweep_handler)(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err);

/* sweep_trial.c */
sw_status sw_sweep_on_ask(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			  struct sw_err *err);
sw_status sw_sweep_on_report(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err);
sw_status sw_sweep_on_tell(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err);
sw_status sw_sweep_on_cancel_trial(struct sw_sweep *s, const struct sw_event *ev,
				   struct sw_actions *out, struct sw_err *err);

/* The trial of the event, if it runs and the event speaks for the attempt that runs it. */
sw_status sw_sweep_find_live(struct sw_sweep *s, const struct sw_event *ev, struct sw_trial **out,
			     struct sw_err *err);

/* sweep_lost.c */
sw_status sw_sweep_on_lost(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err);
sw_status sw_sweep_on_release(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err);

/* sweep_make.c */
sw_status sw_sweep_on_enqueue(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			      struct sw_err *err);
/* A new trial of the sampler, PENDING (one action, reserved). It is not among the waiting ones. */
sw_status sw_sweep_create_trial(struct sw_sweep *s, const struct sw_suggestion *suggestion,
				struct sw_actions *out, struct sw_err *err);
/* Room for a trial whose values are given, and that waits. */
sw_status sw_sweep_given_reserve(struct sw_sweep *s, struct sw_err *err);
/* A changed copy of the donor that waits for a lane (one action). There is room. */
void sw_sweep_spawn(struct sw_sweep *s, uint64_t donor, struct sw_actions *out);

/* sweep_left.c */
/* The cap without the children that came on top of it; 0: none. */
uint64_t sw_sweep_base_cap(const struct sw_sweep *s);
bool sw_sweep_can_create(const struct sw_sweep *s);    /* budget and points are left */
uint64_t sw_sweep_resumable(const struct sw_sweep *s); /* what the pruner would resume; 0: none */
/* Tells the pruner how many trials wait outside its queue. */
void sw_sweep_tell_waiting(struct sw_sweep *s);
/* Would ASK take the first that waits? Else it resumes a paused one, or makes one. */
bool sw_sweep_pending_next(const struct sw_sweep *s);

/* sweep_learn.c */
sw_status sw_sweep_learn_init(struct sw_sweep *s, struct sw_err *err); /* space, config are set */
void sw_sweep_learn_fini(struct sw_sweep *s);
/* Room for what one event can add. */
sw_status sw_sweep_learn_reserve(struct sw_sweep *s, struct sw_err *err);
sw_status sw_sweep_learn_grow(struct sw_sweep *s, uint64_t trial_cap); /* before trial_cap rises */
/* The values of a trial about to be made: into s->suggestion. */
sw_status sw_sweep_learn_suggest(struct sw_sweep *s, const struct sw_suggestion *given,
				 struct sw_err *err);
void sw_sweep_learn_made(struct sw_sweep *s,
			 const struct sw_value *values); /* trial_n was raised */
void sw_sweep_learn_report(struct sw_sweep *s, const struct sw_event *ev,
			   const struct sw_trial *before, const struct sw_trial *after);
void sw_sweep_learn_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end);
bool sw_sweep_finite(const struct sw_sweep *s, const struct sw_event *ev); /* every metric is */
double sw_sweep_turn(const struct sw_sweep *s, double value); /* the first metric, oriented */

/* sweep_seen.c */
/* The part of the history that a sampler of this space may see: *to was not initialised, and is the
 * caller's even if this fails. */
sw_status sw_sweep_seen_make(const struct sw_sweep *s, const struct sw_space *space,
			     struct sw_history *to);
void sw_sweep_seen_trial(struct sw_sweep *s, uint64_t trial); /* it was added to the history */
void sw_sweep_seen_observe(struct sw_sweep *s, struct sw_obs obs, const double *y);

/* sweep_edit.c */
sw_status sw_sweep_on_edit(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err);

/* sweep_end.c */
bool sw_sweep_ended(const struct sw_sweep *s);
sw_status sw_sweep_refuse_ended(const struct sw_sweep *s, struct sw_err *err); /* ended, ending */

/* The one way a trial changes its state here: keeps the counts. */
void sw_sweep_move(struct sw_sweep *s, struct sw_trial *t, enum sw_trial_state to);

/* Ends a trial (one action). cause is copied. */
void sw_sweep_end(struct sw_sweep *s, uint64_t trial, enum sw_trial_state end, const char *cause,
		  struct sw_actions *out);
/* Ends every trial that is open, in order of number, and then the sweep; in slices. trial_cause is
 * static. */
sw_status sw_sweep_end_all(struct sw_sweep *s, enum sw_sweep_state to, const char *trial_cause,
			   const char *cause, struct sw_actions *out, struct sw_err *err);

/* Why a trial that waits or runs ends with the sweep; static. */
const char *sw_sweep_trial_cause(const struct sw_sweep *s);

/* Changes the sweep's state (one action). */
void sw_sweep_enter(struct sw_sweep *s, enum sw_sweep_state to, const char *cause,
		    struct sw_actions *out);

/* A value was reported; a trial COMPLETED with one. Either may begin the sweep's end. */
void sw_sweep_note_value(struct sw_sweep *s, uint64_t trial, double value);
bool sw_sweep_reaches(const struct sw_sweep *s, double value);    /* the target? oriented */
bool sw_sweep_flat_with(const struct sw_sweep *s, double value);  /* would it end on a plateau? */
void sw_sweep_reopen(struct sw_sweep *s, struct sw_actions *out); /* COMPLETED -> RUNNING */

/* How many actions sw_sweep_settle() may take after an event that ends one trial at most. begins:
 * the event may begin the sweep's end. */
uint64_t sw_sweep_settle_room(const struct sw_sweep *s, bool begins);
/* Ends what waits if the sweep's end has begun, and the sweep if nothing is left to do; at
 * most a slice. Nothing while it is settling: SETTLE alone goes on then. */
void sw_sweep_settle(struct sw_sweep *s, struct sw_actions *out);
sw_status sw_sweep_on_settle(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			     struct sw_err *err);

/* sweep_action.c */
/* Room for n more actions. */
SW_NODISCARD sw_status sw_actions_reserve(struct sw_actions *a, size_t n, struct sw_err *err);

/* The next action, zeroed but for its kind; the caller reserved room. */
struct sw_action *sw_actions_add(struct sw_actions *a, enum sw_action_kind kind);

/* Copies a cause, cut before a UTF-8 character that does not fit. NULL: fallback. */
void sw_cause_set(char to[SW_CAUSE_MAX], const char *cause, const char *fallback);

#endif
