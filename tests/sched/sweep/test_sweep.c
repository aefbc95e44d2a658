/* tests/sched/sweep/test_sweep.c — the sweep's machine as stories: an event a line, and what it
 * causes. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/story.h"

/* an event and its outcome a line */
/* clang-format off */
static const struct story stories[] = {
	{"a cap of two ends after two", {.run_cap = 2}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "EXHAUSTED nothing to hand out: all 2 trials are made",
		"report 1 1 1 1 0.5", "go",
		"tell 1 1 COMPLETED", "end 1.1 COMPLETED",
		"tell 2 1 FAILED exit:1", "end 2.1 FAILED exit:1; sweep COMPLETED",
		"ask", "EXHAUSTED nothing to hand out: the sweep is COMPLETED",
		"pause", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)",
		"resume", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)",
		"cancel", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)",
		"fail x", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)",
		"report 1 1 2 2 0.5", "CONFLICT trial 1 has ended: COMPLETED"}},
	{"told without a cause, or without a metric", {.run_cap = 5}, FREE, {
		"ask", "create 1; start 1.1",
		"note 1 1 1 5", "go",
		"tell 1 1 COMPLETED", "end 1.1 FAILED no-metric",
		"ask", "create 2; start 2.1",
		"tell 2 1 FAILED", "end 2.1 FAILED failed",
		"ask", "create 3; start 3.1",
		"tell 3 1 INFEASIBLE", "end 3.1 INFEASIBLE infeasible",
		"ask", "create 4; start 4.1",
		"tell 4 1 CANCELLED",
		 "INVALID /state a trial is told COMPLETED, PRUNED, FAILED or INFEASIBLE",
		"tell 4 1 RUNNING",
		 "INVALID /state a trial is told COMPLETED, PRUNED, FAILED or INFEASIBLE",
		"tell 4 1 PRUNED", "end 4.1 PRUNED pruned",
		"ask", "create 5; start 5.1",
		"tell 5 1 INFEASIBLE oom", "end 5.1 INFEASIBLE oom; sweep COMPLETED"}},
	{"a lost attempt is fenced by the next, and the retries run out",
	 {.run_cap = 1, .retries = 1}, FREE, {
		"ask", "create 1; start 1.1",
		"report 1 1 1 3 0.5", "go",
		"lost 1 1 signal:9", "retry 1.1 signal:9",
		"report 1 1 2 4 0.5",
		 "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
		"lost 1 1",
		 "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
		"ask", "start 1.2",
		"report 1 1 2 4 0.5",
		 "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
		"tell 1 1 COMPLETED",
		 "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
		"lost 1 1", "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
		"release 1 1", "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
		"report 1 2 1 1 0.5", "go",
		"release 1 2", "retry 1.2 released",
		"ask", "start 1.3",
		"release 1 3 lease expired", "retry 1.3 lease expired",
		"ask", "start 1.4",
		"lost 1 4", "end 1.4 FAILED lost; sweep FAILED lost",
		"lost 1 4", "CONFLICT trial 1 has ended: FAILED"}},
	{"pausing hands out nothing; what runs goes on and may end the sweep",
	 {.run_cap = 2, .retries = 1}, FREE, {
		"resume", "CONFLICT the sweep is not paused",
		"ask", "create 1; start 1.1",
		"pause", "sweep PAUSED",
		"pause", "CONFLICT the sweep is paused already",
		"ask", "EXHAUSTED nothing to hand out: the sweep is PAUSED",
		"report 1 1 1 1 0.5", "go",
		"tell 1 1 COMPLETED", "end 1.1 COMPLETED",
		"resume", "sweep RUNNING",
		"ask", "create 2; start 2.1",
		"pause", "sweep PAUSED",
		"lost 2 1", "retry 2.1 lost",
		"ask", "EXHAUSTED nothing to hand out: the sweep is PAUSED",
		"resume", "sweep RUNNING",
		"ask", "start 2.2",
		"pause", "sweep PAUSED",
		"tell 2 2 FAILED x", "end 2.2 FAILED x; sweep COMPLETED",
		"resume", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)"}},
	{"fail ends all with its cause, a paused sweep too", {.run_cap = 9}, FREE, {
		"ask", "create 1; start 1.1",
		"pause", "sweep PAUSED",
		"fail data set is missing",
		 "kill 1.1; end 1.1 CANCELLED sweep-failed; sweep FAILED data set is missing",
		"resume", "CONFLICT the sweep has ended: FAILED"}},
	{"without a cap there is nothing to extend, and no end", {.run_cap = 0}, FREE, {
		"extend 5",
		 "CONFLICT /run_cap the sweep has no run cap: there is nothing to extend",
		"ask", "create 1; start 1.1",
		"tell 1 1 FAILED x", "end 1.1 FAILED x",
		"ask", "create 2; start 2.1"}},
	{"a grid ends by itself, and does not extend past its points",
	 {.sampler = SW_SAMPLER_GRID}, GRID3, {
		"extend 5",
		 "INVALID /run_cap the grid has only 3 points, and the run cap covers them; retry runs a failed one again",
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "create 3; start 3.1",
		"ask", "EXHAUSTED nothing to hand out: all 3 trials are made",
		"report 2 1 1 1 0", "go",
		"tell 2 1 COMPLETED", "end 2.1 COMPLETED",
		"cancel-trial 3", "kill 3.1; end 3.1 CANCELLED cancelled",
		"tell 1 1 FAILED x",
		 "end 1.1 FAILED x; sweep COMPLETED grid exhausted: 3 points tried"}},
	{"a grid that ends before its run cap says so",
	 {.sampler = SW_SAMPLER_GRID, .run_cap = 2}, GRID3, {
		"ask", "create 1; start 1.1",
		"cancel-trial 1", "kill 1.1; end 1.1 CANCELLED cancelled",
		"ask", "create 2; start 2.1",
		"cancel-trial 2", "kill 2.1; end 2.1 CANCELLED cancelled; sweep COMPLETED",
		"extend 5", "sweep RUNNING",
		"ask", "create 3; start 3.1",
		"cancel-trial 3",
		 "kill 3.1; end 3.1 CANCELLED cancelled; sweep COMPLETED grid exhausted: 3 points "
		 "tried, run_cap is 5"}},
};

/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

RUN_TESTS(NULL, NULL)
