#include "sched/sweep/trial.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char *const names[SW_TRIAL_STATE_N] = {
	[SW_TRIAL_PENDING] = "PENDING",       [SW_TRIAL_RUNNING] = "RUNNING",
	[SW_TRIAL_PAUSED] = "PAUSED",         [SW_TRIAL_COMPLETED] = "COMPLETED",
	[SW_TRIAL_PRUNED] = "PRUNED",         [SW_TRIAL_FAILED] = "FAILED",
	[SW_TRIAL_INFEASIBLE] = "INFEASIBLE", [SW_TRIAL_CANCELLED] = "CANCELLED",
};

#define TO(state) (1u << SW_TRIAL_##state)

/* Row: from. A state that has ended has no way out. */
static const unsigned moves[SW_TRIAL_STATE_N] = {
	[SW_TRIAL_PENDING] = TO(RUNNING) | TO(CANCELLED),
	[SW_TRIAL_RUNNING] = TO(PENDING) | TO(PAUSED) | TO(COMPLETED) | TO(PRUNED) | TO(FAILED) |
			     TO(INFEASIBLE) | TO(CANCELLED),
	[SW_TRIAL_PAUSED] = TO(RUNNING) | TO(PRUNED) | TO(CANCELLED),
};

const char *sw_trial_state_name(enum sw_trial_state s)
{
	assert(s < SW_TRIAL_STATE_N);
	return names[s];
}

sw_status sw_trial_state_find(const char *name, enum sw_trial_state *out)
{
	for (unsigned i = 0; i < SW_TRIAL_STATE_N; i++) {
		if (strcmp(name, names[i]) == 0) {
			*out = (enum sw_trial_state)i;
			return SW_OK;
		}
	}
	return SW_INVALID;
}

bool sw_trial_ended(enum sw_trial_state s)
{
	return s >= SW_TRIAL_COMPLETED;
}

bool sw_trial_runs(const struct sw_trial *t, uint32_t attempt)
{
	return t != NULL && t->attempt == attempt && t->state == SW_TRIAL_RUNNING;
}

bool sw_trial_may_move(enum sw_trial_state from, enum sw_trial_state to)
{
	assert(from < SW_TRIAL_STATE_N && to < SW_TRIAL_STATE_N);
	return (moves[from] >> to & 1u) != 0;
}

void sw_trial_move(struct sw_trial *t, enum sw_trial_state to)
{
	assert(sw_trial_may_move((enum sw_trial_state)t->state, to));
	t->state = (uint8_t)to;
}
