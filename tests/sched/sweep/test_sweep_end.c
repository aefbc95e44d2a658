/* tests/sched/sweep/test_sweep_end.c — what ends a sweep early: a target, a plateau, a word; and
 * edits of numbers while it runs. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/story.h"

#define ASHA .pruner = {.kind = SW_PRUNER_ASHA, .asha = {1, 9, 3, 1, 3}}

/* an event and its outcome a line */
/* clang-format off */
static const struct story stories[] = {
	{"a target: what waits is cancelled, what runs runs to its end",
	 {.run_cap = 9, .retries = 3, .has_target = true, .target = 0.2}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "create 3; start 3.1",
		"ask", "create 4; start 4.1",
		"lost 3 1", "retry 3.1 lost",
		"report 1 1 1 1 0.21", "go",
		"report 2 1 1 1 0.2", "go; end 3.1 CANCELLED sweep-ended",
		"ask",
		 "EXHAUSTED nothing to hand out: the sweep is about to end: target 0.2 reached by "
		 "trial 2",
		"extend 20", "CONFLICT the sweep is about to end: target 0.2 reached by trial 2",
		"edit target 0.1",
		 "CONFLICT the sweep is about to end: target 0.2 reached by trial 2",
		"report 1 1 2 2 0.1", "go",
		"lost 4 1 signal:9", "end 4.1 CANCELLED sweep-ended",
		"pause", "sweep PAUSED",
		"tell 1 1 FAILED exit:1", "end 1.1 FAILED exit:1",
		"tell 2 1 COMPLETED",
		 "end 2.1 COMPLETED; sweep COMPLETED target 0.2 reached by trial 2",
		"extend 9", "INVALID /run_cap run_cap 9 is not above the present cap 9",
		"extend 10", "sweep RUNNING",
		"ask", "create 5; start 5.1",
		"report 5 1 1 1 0.3", "go",
		"final 5 1 2 2 -1", "go",
		"tell 5 1 COMPLETED",
		 "end 5.1 COMPLETED; sweep COMPLETED target 0.2 reached by trial 5"}},
	{"a plateau of the best two, twice in a row",
	 {.run_cap = 9, .plateau = {.top = 2, .std = 0.05, .patience = 2}}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "create 3; start 3.1",
		"ask", "create 4; start 4.1",
		"ask", "create 5; start 5.1",
		"ask", "create 6; start 6.1",
		"report 1 1 1 1 0.5", "go",
		"tell 1 1 COMPLETED", "end 1.1 COMPLETED",
		"report 2 1 1 1 0.6", "go",
		/* flat: 0.5 and 0.6 lie 0.05 from their mean */
		"tell 2 1 COMPLETED",
		 "end 2.1 COMPLETED",
		"report 3 1 1 1 0.3", "go",
		"tell 3 1 COMPLETED", "end 3.1 COMPLETED", /* not flat: 0.3 and 0.5 */
		"report 4 1 1 1 0.31", "go",
		"tell 4 1 FAILED", "end 4.1 FAILED failed", /* does not count */
		"report 5 1 1 1 0.35", "go",
		"lost 6 1", "end 6.1 FAILED lost",
		"tell 5 1 COMPLETED", "end 5.1 COMPLETED", /* flat, once */
		"ask", "create 7; start 7.1",
		"ask", "create 8; start 8.1",
		"release 7 1", "retry 7.1 released",
		"report 8 1 1 1 0.9", "go",
		/* flat, twice: 0.9 is not among the best */
		"tell 8 1 COMPLETED",
		 "end 8.1 COMPLETED; end 7.1 CANCELLED sweep-ended; sweep COMPLETED plateau: the "
		 "best 2 values lie within a deviation of 0.05"}},
	{"a plateau of one without patience, then a longer sweep",
	 {.run_cap = 4, .maximize = true, .plateau = {.top = 1}}, FREE, {
		"ask", "create 1; start 1.1",
		"report 1 1 1 1 7", "go",
		"tell 1 1 COMPLETED",
		 "end 1.1 COMPLETED; sweep COMPLETED plateau: the best 1 values lie within a "
		 "deviation of 0",
		"extend 5", "sweep RUNNING",
		"ask", "create 2; start 2.1",
		"report 2 1 1 1 nan", "stop; end 2.1 INFEASIBLE diverged",
		"ask", "create 3; start 3.1",
		"tell 3 1 COMPLETED", "end 3.1 FAILED no-metric"}},
	{"no metric is named: a trial completes without a value, one without a report too",
	 {.run_cap = 2, .unmeasured = true}, FREE, {
		"ask", "create 1; start 1.1",
		"note 1 1 1 1", "go",
		"tell 1 1 COMPLETED", "end 1.1 COMPLETED",
		"ask", "create 2; start 2.1",
		"tell 2 1 COMPLETED", "end 2.1 COMPLETED; sweep COMPLETED"}},
	{"a word to stop: a budget is used up", {.run_cap = 9, .retries = 1}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "create 3; start 3.1",
		"lost 2 1", "retry 2.1 lost",
		"tell 1 1 FAILED exit:1", "end 1.1 FAILED exit:1",
		"stop time_budget_s 60 is used up",
		 "end 2.1 CANCELLED sweep-ended; kill 3.1; end 3.1 CANCELLED sweep-ended; sweep "
		 "COMPLETED time_budget_s 60 is used up",
		"stop again", "CONFLICT the sweep has ended: COMPLETED (retry runs a failed trial again)"}},
	{"edits of numbers", {.run_cap = 3, .max_concurrent = 2}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"edit max_concurrent 3", "",
		"ask", "create 3; start 3.1",
		"edit run_cap 2", "INVALID /run_cap run_cap 2 is below the 3 trials that were made",
		"edit run_cap 0", "INVALID /run_cap run_cap must be at least 1",
		"edit target nan", "INVALID /target the target must be a finite number",
		"edit run_cap 5 max_concurrent 1", "",
		"ask",
		 "EXHAUSTED nothing to hand out now: 3 trials run, and max_concurrent allows no "
		 "more",
		"release 1 1", "retry 1.1 released",
		"ask",
		 "EXHAUSTED nothing to hand out now: 2 trials run, and max_concurrent allows no "
		 "more",
		"edit max_concurrent 0", "",
		"ask", "start 1.2",
		"ask", "create 4; start 4.1",
		"edit run_cap 4", "",
		"ask", "EXHAUSTED nothing to hand out: all 4 trials are made",
		"cancel",
		 "kill 1.2; end 1.2 CANCELLED sweep-cancelled; kill 2.1; end 2.1 CANCELLED "
		 "sweep-cancelled; kill 3.1; end 3.1 CANCELLED sweep-cancelled; kill 4.1; end 4.1 "
		 "CANCELLED sweep-cancelled; sweep CANCELLED",
		"edit run_cap 9", "CONFLICT the sweep has ended: CANCELLED"}},
	{"a target that was reached before it was named", {.run_cap = 9}, FREE, {
		"ask", "create 1; start 1.1",
		"report 1 1 1 1 0.5", "go",
		"report 1 1 2 2 0.7", "go",
		"tell 1 1 FAILED", "end 1.1 FAILED failed",
		"ask", "create 2; start 2.1",
		"edit target 0.4", "",
		"edit target 0.6 run_cap 1",
		 "INVALID /run_cap run_cap 1 is below the 2 trials that were made",
		"edit target 0.6", "",
		"ask",
		 "EXHAUSTED nothing to hand out: the sweep is about to end: target 0.6 reached by "
		 "trial 1",
		"tell 2 1 FAILED",
		 "end 2.1 FAILED failed; sweep COMPLETED target 0.6 reached by trial 1"}},
	{"what a grid and a space of choices refuse", {.sampler = SW_SAMPLER_GRID}, GRID3, {
		"edit 0 0 1",
		 "INVALID /parameters the points of a grid are fixed: its ranges cannot be edited",
		"edit run_cap 2", "",
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "EXHAUSTED nothing to hand out: all 2 trials are made",
		"edit run_cap 7", "",
		"ask", "create 3; start 3.1",
		"ask", "EXHAUSTED nothing to hand out: all 3 trials are made"}},
	{"a parameter without a range, and one that is not there",
	 {.sampler = SW_SAMPLER_RANDOM}, GRID3, {
		"edit 0 0 1",
		 "INVALID /parameters/0 the parameter has no range that could be edited",
		"edit 1 0 1", "INVALID /parameters there is no parameter 2"}},
	{"ranges without meaning", {.run_cap = 2}, FREE, {
		"edit 0 0.5 0.2", "INVALID /parameters/0/min min 0.5 is above max 0.2",
		"edit 0 0.2 inf", "INVALID /parameters/0/max max must be a finite number",
		"edit 0 nan 1", "INVALID /parameters/0/min min must be a finite number",
		"edit 0 0.2 0.3 run_cap 0", "INVALID /run_cap run_cap must be at least 1",
		"edit 0 -7 -5", "",
		"ask", "create 1; start 1.1"}},
};
/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

RUN_TESTS(NULL, NULL)
