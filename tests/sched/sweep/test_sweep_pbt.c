/* tests/sched/sweep/test_sweep_pbt.c — populations, as stories. */
#include "sched/sweep/sweep.h"
#include "tests/sched/space/check.h"
#include "tests/sched/sweep/story.h"
#include <math.h>

#define PBT(interval, fraction)                                                                    \
	.pruner = {.kind = SW_PRUNER_PBT,                                                          \
		   .pbt = {.perturbation_interval = (interval),                                    \
			   .quantile_fraction = (fraction),                                        \
			   .resample_probability = 0.25,                                           \
			   .factor = {1.2, 0.8},                                                   \
			   .factor_n = 2}}

/* an event and its outcome a line */
/* clang-format off */
static const struct story stories[] = {
	{"two members on one lane take turns, the worse is replaced by a copy of the better",
	 {PBT(5, 0.5), .run_cap = 2, .max_concurrent = 1, .retries = 9}, FREE, {
		"ask", "create 1; start 1.1 until 5",
		"keep 1 1 1 4 9", "go",
		"keep 1 1 2 5 0.5",
		 "hold (rung 5 value 0.5 rank 1/1 keep 1 cutoff none); pause 1.1@5 waits for the "
		 "others: rank 1 of 1 at step 5",
		"ask", "create 2; start 2.1 until 5",
		"keep 2 1 1 5 0.9",
		 "stop (rung 5 value 0.9 rank 2/2 keep 1 cutoff 0.5); end 2.1 PRUNED exploited: "
		 "rank 2 of 2 at step 5, trial 3 goes on from trial 1 at step 5; create 3<1@5",
		"ask", "start 1.2@5 until 10",
		"keep 1 2 1 10 0.6",
		 "hold (rung 10 value 0.6 rank 1/1 keep 1 cutoff none); pause 1.2@10 waits for "
		 "the others: rank 1 of 1 at step 10",
		"ask", "start 3.1@5<1 until 10",
		"lost 3 1", "retry 3.1 lost",
		"ask", "start 3.2@5<1 until 10",
		"keep 3 2 1 6 0.8", "go",
		"release 3 2", "retry 3.2 released",
		"ask", "start 3.3@6 until 10",
		"keep 3 3 1 10 0.1",
		 "hold (rung 10 value 0.1 rank 1/2 keep 1 cutoff 0.1); pause 3.3@10 waits for the "
		 "others: rank 1 of 2 at step 10",
		"ask", "start 1.3@10 until 15",
		"tell 1 3 COMPLETED", "end 1.3 COMPLETED",
		"extend 2", "INVALID /run_cap run_cap 2 is not above the present cap 2",
		"ask", "start 3.4@10 until 15",
		"tell 3 4 COMPLETED", "end 3.4 COMPLETED; sweep COMPLETED"}},
	{"a child whose donor stood at its last step ends with nothing to train; one that reported without the metric does not",
	 {PBT(1, 0.5), .run_cap = 2, .retries = 3}, FREE, {
		"ask", "create 1; start 1.1 until 1",
		"ask", "create 2; start 2.1 until 1",
		"keep 1 1 1 1 0.5", "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
		"keep 2 1 1 1 0.9",
		 "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); end 2.1 PRUNED exploited: "
		 "rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step 1; create 3<1@1",
		"ask", "start 3.1@1<1 until 2",
		"lost 3 1", "retry 3.1 lost",
		"ask", "start 3.2@1<1 until 2",
		"tell 3 2 COMPLETED", "end 3.2 PRUNED nothing to train after step 1 of trial 1",
		"keep 1 1 2 2 0.6", "go (rung 2 value 0.6 rank 1/1 keep 1 cutoff none)",
		"tell 1 1 COMPLETED", "end 1.1 COMPLETED; sweep COMPLETED"}},
	{"a child that reported, but not the metric", {PBT(1, 0.5), .run_cap = 2}, FREE, {
		"ask", "create 1; start 1.1 until 1",
		"ask", "create 2; start 2.1 until 1",
		"keep 1 1 1 1 0.5", "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
		"keep 2 1 1 1 0.9",
		 "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); end 2.1 PRUNED exploited: "
		 "rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step 1; create 3<1@1",
		"ask", "start 3.1@1<1 until 2",
		"note 3 1 1 2", "go",
		"tell 3 1 COMPLETED", "end 3.1 FAILED no-metric"}},
};
/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

RUN_TESTS(NULL, NULL)
