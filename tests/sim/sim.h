/*
 * tests/sim/sim.h — whole sweeps on virtual time against the pure state machine
 * (sched/sweep/sweep.h).
 *
 *   plan.c          a seed -> the sweep, its curves, workers, faults and users (struct sim_plan)
 *   curve.c         learning curves: what a trial reports at each step
 *   world.c         virtual time: lanes, a network that delays, doubles and reorders, a user
 *   feed.c          one event into the sweep: the log, restarts from the log, allocations that fail
 *   oracle*.c       what must come out of each event, by a plain model of its own
 *   shrink.c        fewest events that still break the same invariant
 *   print.c         plans and events as lines
 *
 * The world makes events; the feed gives them to the sweep and to the oracle and keeps them. A kept
 * list of events is a run of its own: fed again without the world, it does the same. That is what a
 * restart and the shrinking live on.
 */
#ifndef SW_TESTS_SIM_SIM_H
#define SW_TESTS_SIM_SIM_H

#include "sched/sweep/sweep.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PARAMS     3
#define SIM_WINDOW_MAX 4

/* curve.c says what they are. */
enum sim_curve {
	SIM_CURVE_POWER,
	SIM_CURVE_CROSSING,
	SIM_CURVE_NOISY,
	SIM_CURVE_PLATEAU,
	SIM_CURVE_DIVERGING,
	SIM_CURVE_TIES,
	SIM_CURVE_N
};

/* What was done to the sweep, counted. */
enum sim_fault {
	SIM_FAULT_CRASH,
	SIM_FAULT_EXPIRY,
	SIM_FAULT_FENCED,
	SIM_FAULT_DUPLICATE,
	SIM_FAULT_REORDERED,
	SIM_FAULT_AFTER_END,
	SIM_FAULT_JUMP,
	SIM_FAULT_NO_METRIC,
	SIM_FAULT_NOT_FINITE,
	SIM_FAULT_CHECKPOINT_LOST,
	SIM_FAULT_TOLD,
	SIM_FAULT_USER,
	SIM_FAULT_ODD,
	SIM_FAULT_RESTART,
	SIM_FAULT_NOMEM,
	SIM_FAULT_N
};

/* Everything that a run is made from. Chances are per message, step or trial, in 1/1000. */
struct sim_plan {
	uint64_t seed;
	struct sw_sweep_config sweep; /* init, prior: none */
	struct sw_param param[SIM_PARAMS];
	size_t params;
	enum sim_curve curve;
	unsigned workers, epochs; /* epochs: steps of a whole training */
	unsigned window;          /* reports that a worker sends before it waits for an answer */
	unsigned jump;            /* largest distance between reported steps */
	double pace_s, latency_s; /* of one step, of one message: mean */
	unsigned crash, expiry, duplicate, late, no_metric, checkpoint_lost, told, restart, nomem;
	uint64_t every;      /* steps between checkpoints; 0: only where the sweep asks for one */
	bool tells;          /* a worker says that it keeps nothing, where it does not */
	bool final;          /* the last report says that it is the last */
	double user_s;       /* between two doings of the user: mean */
	bool doomed;         /* every trial goes wrong */
	uint64_t calm_after; /* events after which faults stop */
};

/* One thing that happened to the sweep. */
struct sim_event {
	struct sw_event ev; /* values and cause are set by the feed from the two below */
	struct sw_value values[SIM_PARAMS];
	struct sw_edit edit;
	struct sw_range range; /* at most one an edit */
	const char *cause;     /* static, or NULL */
	unsigned nomem;        /* the nth allocation fails at first; 0: none does */
	bool restart;          /* no event: the sweep is made again from its log */
	sw_status rc;          /* what became of it */
	uint64_t started;      /* ASK: the trial handed out */
};

struct sim_stats {
	uint64_t runs, events, refused, trials, decisions;
	uint64_t fault[SIM_FAULT_N];
	uint64_t ended[SW_TRIAL_STATE_N], sweep[SW_SWEEP_STATE_N];
	uint64_t pruner[SW_PRUNER_KIND_N];
	uint64_t paused, resumed, children;
	uint64_t settles, between, torn; /* slices after the first; events, restarts between two */
};

/* ---- failures (fail.c) ---- */

/* The invariant that broke: which names it, alike for every event list that breaks it. */
struct sim_failure {
	bool failed;
	char which[160], text[400];
};
extern struct sim_failure sim_failure;

/* Ends the run. Returns to the sim_try() that is open. */
_Noreturn void sim_fail(const char *which, const char *fmt, ...) SW_PRINTF(2, 3);
#define SIM_CHECK(cond, which, ...) ((cond) ? (void)0 : sim_fail(which, __VA_ARGS__))

/* Runs fn(ctx). False: it broke an invariant or an assertion of sched; sim_failure says which. */
bool sim_try(void (*fn)(void *), void *ctx);

/* Never NULL: a simulator without memory ends. */
void *sim_realloc(void *p, size_t n, size_t size);

/* ---- numbers (splitmix64, none of the program's own) ---- */

uint64_t sim_u64(uint64_t *state);
uint64_t sim_below(uint64_t *state, uint64_t n);
double sim_unit(uint64_t *state);
bool sim_chance(uint64_t *state, unsigned per_mille);
uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c);

/* ---- plan, curve ---- */

void sim_plan_make(struct sim_plan *p, uint64_t seed);
/* What the trial with these values measures at step 1..; NaN: it diverged. */
double sim_curve_at(const struct sim_plan *p, const struct sw_value *v, uint64_t step);

/* ---- oracle ---- */

struct sim_oracle; /* oracle.h */
struct sim_oracle *sim_oracle_create(const struct sim_plan *p);
void sim_oracle_destroy(struct sim_oracle *o);
/* The sweep answered ev with rc and actions. Fails the run when it should not have. */
void sim_oracle_check(struct sim_oracle *o, const struct sim_event *e, sw_status rc,
		      const struct sw_actions *actions);
/* What the sweep says of itself agrees with what its actions said. O(trials). */
void sim_oracle_compare(const struct sim_oracle *o, const struct sw_sweep *s);

/* ---- feed ---- */

struct sim_feed {
	const struct sim_plan *plan;
	struct sw_sweep *sweep, *again; /* again: while a restart makes it */
	struct sim_oracle *oracle;
	struct sw_actions actions;
	struct sim_event *log; /* [n] */
	size_t n, cap;
	uint64_t *digest; /* [n] of the actions of each that was accepted */
	struct sw_suggestion *
		*made; /* [n] the suggestion that came with it, where the sampler learns */
	uint64_t restarts;
	struct sim_stats *stats;
	struct sim_world *world; /* NULL: a list is fed */
	void (*watch)(size_t i, const struct sim_event *e, const struct sw_actions *actions);
};

void sim_feed_init(struct sim_feed *f, const struct sim_plan *p, struct sim_stats *stats);
void sim_feed_fini(struct sim_feed *f);
/* Feeds one event and has the oracle check it. The answer is in f->actions. */
sw_status sim_feed_event(struct sim_feed *f, struct sim_event e);
/* The end of a list: a last restart, and the comparison. */
void sim_feed_end(struct sim_feed *f);

/* ---- the rest ---- */

void sim_world_run(struct sim_feed *f); /* the plan's whole life */
void sim_world_free(struct sim_feed *f);
/* f->log fails with sim_failure; *list becomes shorter, and still does. Returns its length. */
size_t sim_shrink(struct sim_plan *p, struct sim_event *list, size_t n);
void sim_print_plan(const struct sim_plan *p);
void sim_print_event(size_t i, const struct sim_event *e, const struct sw_actions *actions);
const char *sim_pruner_name(enum sw_pruner_kind kind);
const char *sim_event_name(enum sw_event_kind kind);

#endif
