/*
 * tests/sim/oracle.h — a plain model of a sweep: from the events alone it says what must come out.
 *
 *   oracle.c         events, states, attempts, budgets, the end
 *   oracle_sweep.c   targets, plateaus, edits
 *   oracle_end.c     the sweep's end, in slices
 *   oracle_trial.c   what one trial's events must do to it
 *   oracle_prune.c   the way to the pruners' rules
 *   oracle_asha.c    rungs: who is stopped, who is promoted
 *   oracle_rules.c   hyperband, median, patience, threshold
 *   oracle_pbt.c     populations
 *
 * It shares no code with sched, and prefers a scan to a structure: what is slow and plain is easy
 * to believe. Values are oriented: lower is better.
 */
#ifndef SW_TESTS_SIM_ORACLE_H
#define SW_TESTS_SIM_ORACLE_H

#include "tests/sim/sim.h"

#define SIM_RUNGS      24
#define SIM_BRACKETS   4
#define SIM_NO_BRACKET UINT32_MAX

struct sim_trial {
	enum sw_trial_state state;
	uint32_t attempt;
	uint32_t bracket; /* SIM_NO_BRACKET: not known yet */
	unsigned lost;
	uint64_t seq, step;   /* of the last report of this attempt */
	uint64_t resume_step; /* the next attempt goes on from there */
	uint64_t parent, from;
	bool has_value, diverged, enqueued;
	uint32_t filled; /* bit k: rung k of its bracket has its value or never will */
	uint64_t valued; /* step of the last report with a value; 0: none */
	double value;    /* at it */
	double last;     /* value reported last, in whichever attempt; NaN: none */
	bool has;        /* best means something; pbt: a score */
	bool bare;       /* pbt: at that score it had no checkpoint */
	double best;     /* patience, median, hyperband: the best so far; pbt: the score */
	double mean, reports;
	size_t band; /* hyperband: 1 + the highest with a value of it; 0: none */
	struct sw_value values[SIM_PARAMS];
	size_t rung; /* PAUSED: at this one */
};

struct sim_rung {
	uint64_t step;
	struct sim_result {
		double y;
		uint64_t trial;
	} * v; /* [n] best first; equal ones by trial */
	size_t n, cap;
};

struct sim_oracle {
	const struct sim_plan *plan;
	enum sw_sweep_state state;
	struct sim_trial *trial; /* [n], trial t at t - 1 */
	uint64_t n, cap;
	uint64_t counts[SW_TRIAL_STATE_N];
	uint64_t points; /* of the grid; 0: none */
	uint64_t run_cap, max_concurrent;
	uint64_t enqueued, children;
	bool has_target;
	double target;
	bool closed;        /* about to end: no more trials are made */
	bool settling;      /* an end in slices has left some */
	uint64_t settle_at; /* the first trial that the next slice looks at */
	bool killed;        /* by the user's word: */
	enum sw_sweep_state to;
	const char *kill_cause;                   /* of the trials */
	unsigned char *grid_used;                 /* [points] */
	double low[SIM_PARAMS], high[SIM_PARAMS]; /* ranges as they stand */
	double best;                              /* of all reported; NaN: none was */
	double *plateau;                          /* [plateau_n] last values of COMPLETED trials */
	size_t plateau_n;
	uint64_t flat; /* completions in a row with a small deviation */
	char last_failure[SW_CAUSE_MAX];
	size_t rung_n;
	struct sim_rung rung[SIM_BRACKETS][SIM_RUNGS];
	struct sim_rung *at; /* [at_n] median: what was recorded at each step */
	size_t at_n;
};

/* The actions of one event, taken off in order. */
struct sim_answer {
	const struct sw_action *v;
	size_t n, i;
	const char *event;
};

/* oracle.c */
bool sim_oracle_has_work(const struct sim_oracle *o);
bool sim_oracle_ended(const struct sim_oracle *o);
/* Is this attempt of the trial the one that runs? */
bool sim_oracle_live(const struct sim_oracle *o, uint64_t trial, uint32_t attempt);
enum sw_sweep_state sim_oracle_state(const struct sim_oracle *o);
uint64_t sim_oracle_trials(const struct sim_oracle *o);
bool sim_oracle_settling(const struct sim_oracle *o);
uint64_t sim_oracle_cap(const struct sim_oracle *o); /* most trials as things are; 0: no end */
bool sim_oracle_can_create(const struct sim_oracle *o);
struct sim_trial *sim_oracle_trial(struct sim_oracle *o, uint64_t trial); /* NULL: none such */
void sim_oracle_move(struct sim_oracle *o, uint64_t trial, enum sw_trial_state to);
/* The next action must be of this kind and trial. */
const struct sw_action *sim_answer_next(struct sim_answer *a, enum sw_action_kind kind,
					uint64_t trial);
/* ... and end the trial so. cause NULL: any. */
void sim_oracle_end(struct sim_oracle *o, struct sim_answer *a, uint64_t trial,
		    enum sw_trial_state end, const char *cause);

void sim_oracle_enter(struct sim_oracle *o, struct sim_answer *a, enum sw_sweep_state to);

/* oracle_end.c */
/* What is left to do ends the sweep, or a slice of it, or nothing. own: it was SETTLE. */
void sim_oracle_settle(struct sim_oracle *o, struct sim_answer *a, bool own);
/* CANCEL, FAIL, STOP: a settle must follow. */
void sim_oracle_kill(struct sim_oracle *o, enum sw_sweep_state to, const char *cause);

/* oracle_trial.c: the event is legal; what its actions must be */
sw_status sim_oracle_expect_live(struct sim_oracle *o, const struct sw_event *ev);
sw_status sim_oracle_expect_report(struct sim_oracle *o, const struct sw_event *ev);
void sim_oracle_on_ask(struct sim_oracle *o, struct sim_answer *a);
void sim_oracle_on_report(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a);
void sim_oracle_on_tell(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a);
void sim_oracle_on_gone(struct sim_oracle *o, const struct sw_event *ev, struct sim_answer *a);
struct sim_trial *sim_oracle_created(struct sim_oracle *o, struct sim_answer *a, bool enqueued);

/* oracle_sweep.c: targets, plateaus, edits */
sw_status sim_oracle_expect_edit(struct sim_oracle *o, const struct sim_event *e);
void sim_oracle_on_edit(struct sim_oracle *o, const struct sim_event *e);
void sim_oracle_note_value(struct sim_oracle *o, double y);
bool sim_oracle_reached(const struct sim_oracle *o, double y);
void sim_oracle_note_completed(struct sim_oracle *o, double y);

/* oracle_prune.c: the rules of every pruner, and what they keep of a trial */
void sim_prune_init(struct sim_oracle *o);
void sim_prune_fini(struct sim_oracle *o);
/* The paused trial that must be handed out next; 0: none. */
uint64_t sim_prune_next(const struct sim_oracle *o);
void sim_prune_begin(struct sim_oracle *o, uint64_t trial); /* an attempt starts */
/* until: at which step it is to be judged next, as it was told. */
void sim_prune_check_until(const struct sim_oracle *o, uint64_t trial, uint64_t until);
/* A report with a finite value y: what the pruner must say. j: what it said, checked as well. */
enum sw_verdict sim_prune_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				 const struct sw_judgement *j);

/* oracle_asha.c */
void sim_asha_init(struct sim_oracle *o);
void sim_asha_fini(struct sim_oracle *o);
uint64_t sim_asha_next(const struct sim_oracle *o);
void sim_asha_compare(const struct sim_oracle *o, const struct sw_sweep *s); /* promote */
uint64_t sim_asha_until(const struct sim_oracle *o, const struct sim_trial *t);
enum sw_verdict sim_asha_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				const struct sw_judgement *j);

uint64_t sim_asha_better(const struct sim_rung *r, double y); /* values at the rung */
void sim_asha_insert(struct sim_rung *r, double y, uint64_t trial);
struct sim_rung *sim_asha_record(struct sim_oracle *o, uint64_t trial, uint64_t step, double y,
				 double *judged, size_t *rung);

/* oracle_rules.c */
enum sw_verdict sim_hyperband_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				     const struct sw_judgement *j);
enum sw_verdict sim_median_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				  const struct sw_judgement *j);
enum sw_verdict sim_patience_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				    const struct sw_judgement *j);
enum sw_verdict sim_threshold_report(struct sim_oracle *o, const struct sw_event *ev, double y,
				     const struct sw_judgement *j);

/* oracle_pbt.c */
uint64_t sim_pbt_next(const struct sim_oracle *o);
bool sim_pbt_before(const struct sim_oracle *o, uint64_t paused, uint64_t pending);
uint64_t sim_pbt_until(const struct sim_oracle *o, const struct sim_trial *t);
enum sw_verdict sim_pbt_report(struct sim_oracle *o, const struct sw_event *ev, double y,
			       const struct sw_judgement *j);

#endif
