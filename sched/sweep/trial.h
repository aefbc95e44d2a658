/*
 * sched/sweep/trial.h — the states of a trial, and the moves between them.
 *
 *   PENDING -> RUNNING             an attempt starts
 *   RUNNING -> PENDING             the attempt was lost and the trial gets another
 *   RUNNING -> PAUSED              at a rung: it waits with a checkpoint until it may go on
 *   PAUSED -> RUNNING              it was resumed: another attempt starts from the checkpoint
 *   PAUSED -> PRUNED               nothing is left that could bring it on
 *   RUNNING -> COMPLETED | PRUNED | FAILED | INFEASIBLE | CANCELLED
 *   PENDING, PAUSED -> CANCELLED
 *
 * docs/states.md draws it. Every change goes through sw_trial_move(), which asserts the table.
 */
#ifndef SW_SCHED_SWEEP_TRIAL_H
#define SW_SCHED_SWEEP_TRIAL_H

#include "base/status.h"
#include "sched/pruner/pruner.h"
#include <stdbool.h>
#include <stdint.h>

enum sw_trial_state {
	SW_TRIAL_PENDING,
	SW_TRIAL_RUNNING,
	SW_TRIAL_PAUSED,
	SW_TRIAL_COMPLETED,
	SW_TRIAL_PRUNED,
	SW_TRIAL_FAILED,
	SW_TRIAL_INFEASIBLE,
	SW_TRIAL_CANCELLED,
	SW_TRIAL_STATE_N
};

struct sw_trial {
	struct sw_prune_trial prune;
	uint64_t seq;         /* last report taken in this attempt; 0: none */
	uint64_t step;        /* of it; before the first, resume_step */
	uint64_t resume_step; /* the next attempt goes on from the checkpoint of this step; 0:
			       * none */
	uint32_t attempt;     /* from 1; 0: never started */
	uint16_t lost;        /* attempts lost that count against retries */
	uint8_t state;        /* enum sw_trial_state */
	bool has_value : 1;   /* some report of the trial carried the metric */
	bool diverged : 1;    /* a report of this attempt carried it as NaN or infinite */
	bool inherited : 1;   /* the checkpoint of resume_step is its parent's */
};

const char *sw_trial_state_name(enum sw_trial_state s);
SW_NODISCARD sw_status sw_trial_state_find(const char *name, enum sw_trial_state *out);
bool sw_trial_ended(enum sw_trial_state s); /* COMPLETED and the states after it */
/* Is this attempt its live one? NULL: there is no such trial. */
bool sw_trial_runs(const struct sw_trial *t, uint32_t attempt);
bool sw_trial_may_move(enum sw_trial_state from, enum sw_trial_state to);
void sw_trial_move(struct sw_trial *t, enum sw_trial_state to);

#endif
