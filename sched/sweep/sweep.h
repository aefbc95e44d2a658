/*
 * sched/sweep/sweep.h — one sweep's state machine: an event in, actions out.
 *
 * Pure     No I/O, clock, thread or global. The same configuration and the same events in the same
 *          order give the same actions, byte for byte; the daemon rebuilds a sweep after a crash by
 *          feeding it the stored events again.
 * Memory   Takes the space that it is created with. Actions are written into the caller's array;
 *          their `values` and `suggestion` are borrowed, and valid until the next step.
 * Errors   A refused event (SW_CONFLICT, SW_NOT_FOUND, SW_INVALID, SW_EXHAUSTED) changes nothing.
 *
 * Sweep states:
 *   RUNNING <-> PAUSED
 *   RUNNING | PAUSED -> COMPLETED | CANCELLED | FAILED
 *   COMPLETED -> RUNNING by EXTEND
 *
 * A sweep completes when no trial is pending or running, no paused one may go on, and no trial can
 * be made: the run cap is reached or the sampler is exhausted. What is still paused ends PRUNED
 * then. If every trial ended FAILED it ends FAILED, with the last cause. Pausing hands out nothing;
 * what runs goes on.
 *
 * Target and plateau. Once a value reaches the target, or the best values of COMPLETED trials no
 * longer change, the sweep makes and resumes nothing: what waits is CANCELLED ("sweep-ended"), what
 * is paused PRUNED, what runs runs to its end (at a rung of the promote variant it goes on if it is
 * among the best there, at least the first), and the sweep is COMPLETED with the cause.
 *
 * Slices. A step ends at most config.slice trials that are not its own. If more are to end, the
 * sweep is settling: it stays RUNNING or PAUSED, hands out and makes nothing, takes what its
 * running trials say, and each SETTLE goes on with the next slice, in the order of the trials'
 * numbers; the last one ends the sweep. What ended by itself may still be cancelled, stopped or
 * failed meanwhile; then the rest ends as that says.
 *
 * Populations (pbt). The run cap is the size of the population. A member among the worst ends
 * PRUNED and a changed copy of one among the best takes its place; these children come on top of
 * the cap. Who keeps no checkpoint is not copied. Once all members are made the first child that
 * waits and the paused ones take turns by their steps, the least first; children wait in the order
 * of their numbers.
 *
 * Edits. A new range concerns suggestions from then on: trials made before keep their values, and
 * the user's points that still wait stay as they are. The sampler starts afresh. If it learns,
 * trials outside the range are to it as if they had told nothing, until the range holds them again.
 */
#ifndef SW_SCHED_SWEEP_SWEEP_H
#define SW_SCHED_SWEEP_SWEEP_H

#include "base/status.h"
#include "sched/pruner/pruner.h"
#include "sched/sampler/sampler.h"
#include "sched/space/space.h"
#include "sched/sweep/trial.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_CAUSE_MAX       200 /* bytes of a cause, the NUL included */
#define SW_PLATEAU_TOP_MAX 10000

enum sw_sweep_state {
	SW_SWEEP_RUNNING,
	SW_SWEEP_PAUSED,
	SW_SWEEP_COMPLETED,
	SW_SWEEP_CANCELLED,
	SW_SWEEP_FAILED,
	SW_SWEEP_STATE_N
};

/*
 * The sweep ends when the best `top` values of COMPLETED trials have had a standard deviation (that
 * of a population) of at most `std` for `patience` completions in a row; 0 counts as 1. Source: Ray
 * Tune's ExperimentPlateauStopper, which counts every report instead.
 */
struct sw_plateau {
	uint64_t top; /* 0: no such end; at most SW_PLATEAU_TOP_MAX */
	double std;   /* >= 0 */
	uint64_t patience;
};

#define SW_SWEEP_SLICE 512

struct sw_sweep_config {
	uint64_t seed;
	bool maximize;    /* values are turned round inside, and back in every answer */
	size_t n_metrics; /* 1..SW_METRICS_MAX; 0 counts as 1. With several there is no pruner */
	bool maximize_more[SW_METRICS_MAX - 1]; /* of the metrics after the first */
	bool unmeasured; /* no metric is named: a trial may complete without a value */
	enum sw_sampler_kind sampler;
	bool shuffle;                 /* grid */
	size_t n_init;                /* the user's points, tried first */
	const struct sw_value *init;  /* [n_init][space size]; copied */
	size_t n_prior;               /* trials of earlier sweeps that the sampler learns from */
	const struct sw_value *prior; /* [n_prior][space size]; copied */
	const double *prior_y;        /* [n_prior][n_metrics], as reported, finite; copied */
	struct sw_pruner_config pruner;
	uint64_t run_cap;        /* most trials; 0: no cap (a grid ends by itself) */
	uint64_t max_concurrent; /* most running trials; 0: no limit */
	unsigned retries;        /* lost attempts that a trial survives */
	bool has_target;
	double target; /* as reported: a value at least as good ends the sweep */
	struct sw_plateau plateau;
	uint64_t slice; /* most trials that a step ends with the sweep; 0: SW_SWEEP_SLICE */
};

enum sw_event_kind {
	SW_EVENT_ASK,     /* a lane is free. SW_EXHAUSTED: nothing to hand out now */
	SW_EVENT_REPORT,  /* trial, attempt, seq, step, has_value, value */
	SW_EVENT_TELL,    /* trial, attempt, end (COMPLETED, PRUNED, FAILED, INFEASIBLE), cause */
	SW_EVENT_LOST,    /* trial, attempt, cause: the attempt died; counts against retries */
	SW_EVENT_RELEASE, /* trial, attempt, cause: ended through no fault of the trial (lease
				  expired, daemon stopped); does not count */
	SW_EVENT_CANCEL_TRIAL, /* trial */
	SW_EVENT_PAUSE,        /* cause: why the daemon pauses it; NULL: a user does */
	SW_EVENT_RESUME,
	SW_EVENT_CANCEL,
	SW_EVENT_FAIL,    /* cause: the sweep cannot go on */
	SW_EVENT_EXTEND,  /* run_cap: the new, larger cap */
	SW_EVENT_ENQUEUE, /* values: a trial of the user's own, handed out before any new one.
			     trial: those are of this one, which ended without a result (0: none):
			     it comes on top of the cap, and an ended sweep goes on for it alone */
	SW_EVENT_STOP,    /* cause: a budget is used up. The sweep ends COMPLETED with the cause */
	SW_EVENT_EDIT,    /* edit */
	SW_EVENT_SETTLE,  /* the next slice of the sweep's end. SW_CONFLICT: none is under way */
	SW_EVENT_KIND_N
};

/* A new range of a bounded parameter; what else it is stays. */
struct sw_range {
	size_t param; /* index */
	double min, max;
};

/* A user's changes while the sweep runs. If one part is wrong, all of it is refused. */
struct sw_edit {
	bool has_run_cap, has_max_concurrent, has_target;
	uint64_t run_cap;        /* not below the trials made */
	uint64_t max_concurrent; /* 0: no limit */
	double target;           /* as reported */
	size_t n_ranges;
	const struct sw_range *ranges; /* [n_ranges]; borrowed */
};

struct sw_event {
	enum sw_event_kind kind;
	uint64_t trial;
	uint32_t attempt;
	uint64_t seq, step; /* REPORT */
	bool has_value;     /* REPORT: the metrics carry the sweep's metric */
	bool final; /* REPORT: the trial ends with it, by a TELL that follows: rungs take its value,
		     but the decision is CONTINUE, whatever the value */
	bool result; /* REPORT, with `final`: what the trial came to, at no step of its own: it is
		      the trial's value, and no pruner compares it */
	bool checkpoint; /* REPORT: a checkpoint of this step is kept; a later attempt goes on from
			    it */
	bool stateless;  /* REPORT: no checkpoint is kept: if the trial pauses now, it goes on
			    from its last, or from scratch. Neither: one is kept if it pauses */
	double value;    /* REPORT: as reported, not oriented; NaN or infinite means diverged */
	double more[SW_METRICS_MAX - 1];        /* REPORT: the metrics after the first */
	const struct sw_value *values;          /* ENQUEUE: [space size]; borrowed */
	const struct sw_suggestion *suggestion; /* ASK: what sw_sweep_wants_suggestion() wanted;
						   borrowed. NULL: it is made here, in the step */
	enum sw_trial_state end;                /* TELL */
	uint64_t run_cap;                       /* EXTEND */
	const struct sw_edit *edit;             /* EDIT; borrowed */
	const char *cause; /* TELL, LOST, RELEASE, PAUSE, FAIL, STOP; borrowed; NULL: none */
};

enum sw_action_kind {
	SW_ACTION_CREATE, /* a new trial: trial, values[space size], suggestion (NULL: enqueued, or
			     a child of a population), parent, from, resume_step */
	SW_ACTION_START,  /* trial, attempt, resume_step, from, until: hand it to whoever asked */
	SW_ACTION_DECIDE, /* REPORT's answer: decision, judgement (values as reported, not
			     oriented) */
	SW_ACTION_RETRY,  /* trial is PENDING again; attempt is the one that ended; cause */
	SW_ACTION_PAUSE,  /* trial, attempt, resume_step, cause: it is PAUSED, its lane is free */
	SW_ACTION_END,    /* trial, attempt, end, cause */
	SW_ACTION_STOP,   /* trial, attempt: it still runs somewhere and must be told to stop */
	SW_ACTION_SWEEP,  /* the sweep's state is now `sweep`; cause */
};

enum sw_decision { SW_DECISION_CONTINUE, SW_DECISION_STOP, SW_DECISION_PAUSE };

struct sw_action {
	enum sw_action_kind kind;
	uint64_t trial;
	uint32_t attempt;
	const struct sw_value *values;          /* valid until the next step */
	const struct sw_suggestion *suggestion; /* the same */
	enum sw_decision decision;
	struct sw_judgement judgement; /* DECIDE; rung 0 when none was judged */
	enum sw_trial_state end;
	enum sw_sweep_state sweep;
	uint64_t resume_step; /* the attempt goes on from the checkpoint of this step; 0: from the
				 beginning */
	uint64_t from;   /* whose checkpoint that is: the trial itself, or its parent; 0: none */
	uint64_t until;  /* START: the step at which the attempt is judged next, and may pause; 0:
			    none */
	uint64_t parent; /* CREATE: the trial that it is a changed copy of; 0: none */
	char cause[SW_CAUSE_MAX]; /* "" for none */
};

/* The actions that a step asks for, in order. A grown array, kept by the caller between steps. */
struct sw_actions {
	struct sw_action *v;
	size_t n, cap;
};
void sw_actions_fini(struct sw_actions *a);
/* The first of that kind; NULL: there is none. */
const struct sw_action *sw_actions_find(const struct sw_actions *a, enum sw_action_kind kind);

/* The cause of a sweep whose grid has no further point begins with this. */
#define SW_CAUSE_GRID "grid exhausted"

struct sw_sweep; /* opaque */

/* Takes space on SW_OK only. Errors point at the spec: "/run_cap", "/early_terminate/max_t",
 * "/parameters/2/q" (the parameter by its index). */
SW_NODISCARD sw_status sw_sweep_create(struct sw_sweep **out, const struct sw_sweep_config *config,
				       struct sw_space *space, struct sw_err *err);
void sw_sweep_destroy(struct sw_sweep *s); /* NULL is allowed */

/*
 * Applies one event; actions->n is reset first. Amortised O(log trials); CANCEL, FAIL, STOP,
 * SETTLE and whatever ends the sweep O(slice log trials).
 *
 * ASK     hands out a trial that waits (lowest number first), else the paused one that the pruner
 *         would resume, else a new one.
 * REPORT  seq must be the trial's last seq + 1 in this attempt, step above its last step, and the
 *         attempt the live one. The same or an earlier seq: SW_CONFLICT (the daemon answers repeats
 *         from the store before it comes here). For a trial that has ended: SW_CONFLICT. A value
 *         that is not finite ends the trial INFEASIBLE, cause "diverged", decision STOP; in a final
 *         report that is left to the TELL. Without has_value: CONTINUE, nothing is judged.
 * TELL    COMPLETED of a trial no report of which carried the metric ends it FAILED, cause
 *         "no-metric" (if `unmeasured`, COMPLETED); a child that has not reported at all PRUNED
 *         ("nothing to train after step 20 of trial 3"); COMPLETED after a value that is not
 *         finite, INFEASIBLE, cause "diverged". PRUNED, FAILED and INFEASIBLE stand as they are
 *         told.
 * STOP    ends what waits and runs CANCELLED ("sweep-ended"), what is paused PRUNED.
 * EDIT    SW_INVALID with a pointer ("/run_cap", "/target", "/parameters/2/min") for what has no
 *         meaning; SW_CONFLICT when the sweep has ended or is about to. Ranges: O(trials). SW_NOMEM
 *         leaves the sweep as it was.
 */
SW_NODISCARD sw_status sw_sweep_step(struct sw_sweep *s, const struct sw_event *event,
				     struct sw_actions *actions, struct sw_err *err);

/* May a value (as reported) be the best? It is finite, and no better than a threshold pruner's
 * bounds let a value be: a loss below its lower one is a leak or a collapse, and no target, no best
 * value and nothing that a sampler should go after. */
bool sw_sweep_believes(const struct sw_sweep *s, double value);

enum sw_sweep_state sw_sweep_state(const struct sw_sweep *s);
const char *sw_sweep_state_name(enum sw_sweep_state state);
SW_NODISCARD sw_status sw_sweep_state_find(const char *name, enum sw_sweep_state *out);
const char *sw_sweep_cause(const struct sw_sweep *s); /* "" for none */
#define SW_SWEEP_FIRST 5
/* If the first SW_SWEEP_FIRST trials, or those after it was last resumed, all ended FAILED with a
 * cause of one kind (what stands before ": "), and no value came: the first of them, and the cause
 * of the one that ended first (valid until the next step). Or the first that ended so for want of
 * space on a disk, whatever was reported: that ends the others, too. Else 0. kind: which, said. */
uint64_t sw_sweep_fails(const struct sw_sweep *s, const char **cause, const char **kind);
/* The first trial whose first report came at the pruner's max_t or past it, so that no rung before
 * it could stop the trial; 0: none. *step: of that report. */
uint64_t sw_sweep_past(const struct sw_sweep *s, uint64_t *step);
/* Would a first report at this step be such a one? */
bool sw_sweep_is_past(const struct sw_sweep *s, uint64_t step);
/* The cause that a sweep about to end will have; "" if it has none, or is not about to end. */
const char *sw_sweep_end_cause(const struct sw_sweep *s);
/* Does its end go on in slices, so that it wants a SETTLE? */
bool sw_sweep_settling(const struct sw_sweep *s);
/* While it is settling: how many trials are still to end, and the state that it will enter. */
uint64_t sw_sweep_unsettled(const struct sw_sweep *s);
enum sw_sweep_state sw_sweep_end_state(const struct sw_sweep *s);

uint64_t sw_sweep_trial_n(const struct sw_sweep *s); /* trials made; they are 1..n */
const struct sw_trial *sw_sweep_trial(const struct sw_sweep *s,
				      uint64_t trial); /* NULL: none such */
/* The answer to a late word of the trial's last attempt, which is over: STOP if sweepd itself ended
 * the trial (at the pruner's max_t, too), PAUSE if it paused it. False: the word is refused. */
bool sw_sweep_late(const struct sw_sweep *s, uint64_t trial, uint32_t attempt,
		   enum sw_decision *out);
void sw_sweep_counts(const struct sw_sweep *s, uint64_t counts[SW_TRIAL_STATE_N]);
uint64_t
sw_sweep_run_cap(const struct sw_sweep *s); /* the grid's size when that is smaller; 0: none */
/* The same as the user asked for it: a grid may end before it. Without one sw_sweep_run_cap(). */
uint64_t sw_sweep_asked_cap(const struct sw_sweep *s);
uint64_t sw_sweep_points(const struct sw_sweep *s); /* of the grid; 0: the sampler has no end */

/* The parameters of a trial that was made: values[space size]. SW_NOT_FOUND. */
SW_NODISCARD sw_status sw_sweep_values(const struct sw_sweep *s, uint64_t trial,
				       struct sw_value *values);
/* How a trial that was made came about: one of these is not 0. */
struct sw_origin {
	uint64_t made;     /* it is the sampler's suggestion of this number */
	uint64_t enqueued; /* it is this one of those that the user enqueued, from 1 */
	uint64_t parent;   /* as sw_sweep_parent() */
};
/* O(enqueued). */
struct sw_origin sw_sweep_origin(const struct sw_sweep *s, uint64_t trial);
/* Would ASK hand something out now? As quick as the pruner's next(), changes nothing. */
bool sw_sweep_has_work(const struct sw_sweep *s);
/* How many trials ASK would hand out in a row, if nothing else happened, counted up to `most`. Of
 * those that a population may make only so many are known to be due. */
uint64_t sw_sweep_could_begin(const struct sw_sweep *s, uint64_t most);
/* The trial that ASK would hand out now, if it was made before; 0: a new one, or none. */
uint64_t sw_sweep_next_trial(const struct sw_sweep *s);
/* Why it would not. SW_IDLE_NOT: it would. */
enum sw_idle {
	SW_IDLE_NOT,
	SW_IDLE_DONE,    /* the sweep has ended */
	SW_IDLE_PAUSED,  /* the sweep is paused */
	SW_IDLE_BUSY,    /* max_concurrent trials run */
	SW_IDLE_WAITING, /* for what running trials report: one may be promoted, or come back */
};
enum sw_idle sw_sweep_idle(const struct sw_sweep *s);
/* The trial that this one is a changed copy of (pbt), or whose checkpoint that one itself went on
 * from while it had none of its own; 0: none. O(log children). */
uint64_t sw_sweep_parent(const struct sw_sweep *s, uint64_t trial);
/* The trial whose checkpoint this trial's next attempt goes on from; 0: it starts from scratch. The
 * step is sw_trial's resume_step. O(log children). */
uint64_t sw_sweep_from(const struct sw_sweep *s, uint64_t trial);
/* Counts the edits of ranges. When it rises, the space, the sampler's configuration, its state and
 * its history are new ones: a copy of them made before, and a suggestion made from it, are void. */
uint64_t sw_sweep_epoch(const struct sw_sweep *s);

/*
 * Would ASK make a trial whose values depend on the history? Then somebody may make the suggestion
 * elsewhere (another thread) and pass it with the event: a sampler of its own, created from
 * sw_sweep_sampler_config(), restored to sw_sweep_sampler_state(), given a copy of any prefix of
 * the observations and all trials, asked for suggestion number sw_sweep_made() + 1.
 */
bool sw_sweep_wants_suggestion(const struct sw_sweep *s);
/* How many suggestions the next `asks` ASKs would take, if nothing else happened between them. */
uint64_t sw_sweep_wants_suggestions(const struct sw_sweep *s, uint64_t asks);
bool sw_sweep_learns(const struct sw_sweep *s); /* is there a history at all? */
const struct sw_sampler_config *sw_sweep_sampler_config(const struct sw_sweep *s);
const struct sw_history *sw_sweep_history(const struct sw_sweep *s); /* NULL: none is kept */
uint64_t sw_sweep_made(const struct sw_sweep *s); /* suggestions so far; the rest was enqueued */
/* The sampler's state after the last suggestion; n 0: none. Valid until the next step. */
const unsigned char *sw_sweep_sampler_state(const struct sw_sweep *s, size_t *n);
const struct sw_pruner *sw_sweep_pruner(const struct sw_sweep *s); /* never NULL */
/* The place of a PAUSED trial. SW_NOT_FOUND; SW_CONFLICT: it is not paused. */
SW_NODISCARD sw_status sw_sweep_place(const struct sw_sweep *s, uint64_t trial,
				      struct sw_pruner_turn *out);
const struct sw_space *sw_sweep_space(const struct sw_sweep *s);

#endif
