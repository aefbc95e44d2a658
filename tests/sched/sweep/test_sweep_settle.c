/* tests/sched/sweep/test_sweep_settle.c — a sweep's end in slices, and what it allows meanwhile.
 * That slices end what one step would have ended, and look at no more than their share:
 * tests/sim. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/story.h"

#define PROMOTE .pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {1, 9, 3, 1, 3}}

/* an event and its outcome a line */
/* clang-format off */
static const struct story stories[] = {
	{"paused trials that nothing brings on, two at a time",
	 {PROMOTE, .run_cap = 6, .slice = 2}, FREE, {
		"ask", "create 1; start 1.1 until 1",
		"report 1 1 1 1 0.1",
		 "hold (rung 1 value 0.1 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 "
		 "of 1",
		"ask", "create 2; start 2.1 until 1",
		"report 2 1 1 1 0.2",
		 "hold (rung 1 value 0.2 rank 2/2 keep 0 cutoff none); pause 2.1@1 rung 1: rank 2 "
		 "of 2",
		"ask", "create 3; start 3.1 until 1",
		"report 3 1 1 1 0.3",
		 "hold (rung 1 value 0.3 rank 3/3 keep 1 cutoff 0.1); pause 3.1@1 rung 1: rank 3 "
		 "of 3",
		"ask", "start 1.2@1 until 3",
		"tell 1 2 COMPLETED", "end 1.2 COMPLETED",
		"ask", "create 4; start 4.1 until 1",
		"report 4 1 1 1 0.4",
		 "hold (rung 1 value 0.4 rank 4/4 keep 1 cutoff 0.1); pause 4.1@1 rung 1: rank 4 "
		 "of 4",
		"ask", "create 5; start 5.1 until 1",
		"report 5 1 1 1 0.5",
		 "hold (rung 1 value 0.5 rank 5/5 keep 1 cutoff 0.1); pause 5.1@1 rung 1: rank 5 "
		 "of 5",
		"settle", "CONFLICT nothing of the sweep is left to settle",
		"ask", "create 6; start 6.1 until 1",
		"tell 6 1 FAILED",
		 "end 6.1 FAILED failed; end 2.1 PRUNED rung 1: rank 2 of 5, not promoted; end "
		 "3.1 PRUNED rung 1: rank 3 of 5, not promoted",
		"ask", "EXHAUSTED nothing to hand out: the sweep is about to end",
		"extend 9", "CONFLICT the sweep is about to end",
		"edit run_cap 9", "CONFLICT the sweep is about to end",
		"pause", "sweep PAUSED",
		"cancel-trial 4", "end 4.1 CANCELLED cancelled",
		"settle", "end 5.1 PRUNED rung 1: rank 5 of 5, not promoted; sweep COMPLETED",
		"settle", "CONFLICT nothing of the sweep is left to settle",
		"extend 7", "sweep RUNNING",
		"ask", "create 7; start 7.1 until 1"}},
};
/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

RUN_TESTS(NULL, NULL)
