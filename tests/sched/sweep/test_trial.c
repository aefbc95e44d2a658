/* tests/sched/sweep/test_trial.c — the trial's states: every pair of them, and their names. */
#include "sched/sweep/trial.h"
#include "tests/sched/suite.h"
#include <signal.h>

/* The drawing of sched/sweep/trial.h, written out: row from, column to. */
static const char *const moves[SW_TRIAL_STATE_N] = {
	/*                     P R Z C X F I K */
	[SW_TRIAL_PENDING] = ". x . . . . . x",    [SW_TRIAL_RUNNING] = "x . x x x x x x",
	[SW_TRIAL_PAUSED] = ". x . . x . . x",     [SW_TRIAL_COMPLETED] = ". . . . . . . .",
	[SW_TRIAL_PRUNED] = ". . . . . . . .",     [SW_TRIAL_FAILED] = ". . . . . . . .",
	[SW_TRIAL_INFEASIBLE] = ". . . . . . . .", [SW_TRIAL_CANCELLED] = ". . . . . . . .",
};

TEST_LOOP(trial_pair_of_states_moves_as_drawn, 0, SW_TRIAL_STATE_N *SW_TRIAL_STATE_N)
{
	const enum sw_trial_state from = (enum sw_trial_state)(_i / SW_TRIAL_STATE_N);
	const enum sw_trial_state to = (enum sw_trial_state)(_i % SW_TRIAL_STATE_N);
	struct sw_trial t = {.state = (uint8_t)from};
	const bool drawn = moves[from][2 * to] == 'x';

	ck_assert_msg(sw_trial_may_move(from, to) == drawn, "%s -> %s", sw_trial_state_name(from),
		      sw_trial_state_name(to));
	if (drawn) {
		sw_trial_move(&t, to);
		ck_assert_int_eq(t.state, to);
	}
	ck_assert_int_eq(sw_trial_ended(from), strchr(moves[from], 'x') == NULL);
}

#ifndef NDEBUG
START_TEST(trial_forbidden_move_is_caught)
{
	struct sw_trial t = {.state = SW_TRIAL_PRUNED};

	sw_trial_move(&t, SW_TRIAL_RUNNING);
}
END_TEST
#endif

TEST_LOOP(trial_name_finds_its_state, 0, SW_TRIAL_STATE_N)
{
	enum sw_trial_state got;
	const enum sw_trial_state s = (enum sw_trial_state)_i;

	ck_assert_int_eq(sw_trial_state_find(sw_trial_state_name(s), &got), SW_OK);
	ck_assert_int_eq(got, s);
}

TEST(trial_unknown_name_is_refused)
{
	enum sw_trial_state got;

	ck_assert_int_eq(sw_trial_state_find("running", &got), SW_INVALID);
	ck_assert_int_eq(sw_trial_state_find("", &got), SW_INVALID);
}

SUITE(tcase)
{
#ifndef NDEBUG
	tcase_add_test_raise_signal(tcase, trial_forbidden_move_is_caught, SIGABRT);
#endif
}
