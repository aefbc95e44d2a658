/* tests/sched/test_sweep.c — the sweep's machine as stories: an event a line, and what it causes.
 */
#include "base/fault.h"
#include "sched/sweep.h"
#include "tests/sched/script.h"
#include <math.h>

enum space_kind { FREE, GRID3 };

static struct sw_space *make_space(enum space_kind kind)
{
	const struct sw_param line = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	const struct sw_param three = {.dist = SW_DIST_CATEGORICAL, .n_choices = 3};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, kind == FREE ? &line : &three, NULL), SW_OK);
	return s;
}

#define ASHA .has_asha = true, .asha = {1, 9, 3, 1, 3}

struct story {
	const char *name;
	struct sw_sweep_config c;
	enum space_kind space;
	const char *line[48]; /* event, outcome, event, outcome, ... */
};

/* clang-format off: an event and its outcome a line */
static const struct story stories[] = {
	{"a cap of two ends after two",
	 {.run_cap = 2},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "ask",
	  "EXHAUSTED nothing to hand out: all 2 trials are made",
	  "report 1 1 1 1 0.5",
	  "go",
	  "tell 1 1 COMPLETED",
	  "end 1.1 COMPLETED",
	  "tell 2 1 FAILED exit:1",
	  "end 2.1 FAILED exit:1; sweep COMPLETED",
	  "ask",
	  "EXHAUSTED nothing to hand out: the sweep is COMPLETED",
	  "pause",
	  "CONFLICT the sweep has ended: COMPLETED",
	  "resume",
	  "CONFLICT the sweep has ended: COMPLETED",
	  "cancel",
	  "CONFLICT the sweep has ended: COMPLETED",
	  "fail x",
	  "CONFLICT the sweep has ended: COMPLETED",
	  "report 1 1 2 2 0.5",
	  "CONFLICT trial 1 has ended: COMPLETED"}},
	{"all failed is failed, with the last cause",
	 {.run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1", "ask", "create 2; start 2.1", "tell 2 1 FAILED exit:2",
	  "end 2.1 FAILED exit:2", "tell 1 1 FAILED exit:1",
	  "end 1.1 FAILED exit:1; sweep FAILED exit:1", "extend 9",
	  "CONFLICT the sweep has ended: FAILED"}},
	{"told without a cause, or without a metric",
	 {.run_cap = 4},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "note 1 1 1 5",
	  "go",
	  "tell 1 1 COMPLETED",
	  "end 1.1 FAILED no-metric",
	  "ask",
	  "create 2; start 2.1",
	  "tell 2 1 FAILED",
	  "end 2.1 FAILED failed",
	  "ask",
	  "create 3; start 3.1",
	  "tell 3 1 INFEASIBLE",
	  "end 3.1 INFEASIBLE infeasible",
	  "ask",
	  "create 4; start 4.1",
	  "tell 4 1 PRUNED",
	  "INVALID /state a trial is told COMPLETED, FAILED or INFEASIBLE",
	  "tell 4 1 RUNNING",
	  "INVALID /state a trial is told COMPLETED, FAILED or INFEASIBLE",
	  "tell 4 1 INFEASIBLE oom",
	  "end 4.1 INFEASIBLE oom; sweep COMPLETED"}},
	{"reports in their order",
	 {.run_cap = 1},
	 FREE,
	 {"report 1 1 1 1 0.5",
	  "NOT_FOUND /trial there is no trial 1",
	  "ask",
	  "create 1; start 1.1",
	  "report 0 1 1 1 0.5",
	  "NOT_FOUND /trial there is no trial 0",
	  "report 2 1 1 1 0.5",
	  "NOT_FOUND /trial there is no trial 2",
	  "report 1 1 0 1 0.5",
	  "CONFLICT /seq report 0 of trial 1 was taken before; the next is 1",
	  "report 1 1 2 1 0.5",
	  "CONFLICT /seq report 2 of trial 1 is out of order; the next is 1",
	  "report 1 1 1 0 0.5",
	  "INVALID /step step 0 is not above the last step, 0",
	  "report 1 1 1 4 0.5",
	  "go",
	  "report 1 1 1 4 0.5",
	  "CONFLICT /seq report 1 of trial 1 was taken before; the next is 2",
	  "report 1 1 2 4 0.5",
	  "INVALID /step step 4 is not above the last step, 4",
	  "report 1 0 2 5 0.5",
	  "CONFLICT /attempt trial 1 has no attempt 0 yet",
	  "report 1 2 2 5 0.5",
	  "CONFLICT /attempt trial 1 has no attempt 2 yet",
	  "report 1 1 2 5 0.5",
	  "go"}},
	{"a lost attempt is fenced by the next, and the retries run out",
	 {.run_cap = 1, .retries = 1},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "report 1 1 1 3 0.5",
	  "go",
	  "lost 1 1 signal:9",
	  "retry 1.1 signal:9",
	  "report 1 1 2 4 0.5",
	  "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for "
	  "another",
	  "lost 1 1",
	  "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
	  "ask",
	  "start 1.2",
	  "report 1 1 2 4 0.5",
	  "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
	  "tell 1 1 COMPLETED",
	  "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
	  "lost 1 1",
	  "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
	  "release 1 1",
	  "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
	  "report 1 2 1 1 0.5",
	  "go",
	  "release 1 2",
	  "retry 1.2 released",
	  "ask",
	  "start 1.3",
	  "release 1 3 lease expired",
	  "retry 1.3 lease expired",
	  "ask",
	  "start 1.4",
	  "lost 1 4",
	  "end 1.4 FAILED lost; sweep FAILED lost",
	  "lost 1 4",
	  "CONFLICT trial 1 has ended: FAILED"}},
	{"retries 0 forgives nothing, a value of an earlier attempt counts",
	 {.run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1", "report 1 1 1 1 0.5", "go", "release 1 1",
	  "retry 1.1 released", "ask", "start 1.2", "tell 1 2 COMPLETED", "end 1.2 COMPLETED",
	  "ask", "create 2; start 2.1", "lost 2 1 exit:3",
	  "end 2.1 FAILED exit:3; sweep COMPLETED"}},
	{"the lowest waiting trial first, then new ones",
	 {.run_cap = 4, .retries = 3},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "ask",
	  "create 3; start 3.1",
	  "lost 3 1",
	  "retry 3.1 lost",
	  "lost 1 1",
	  "retry 1.1 lost",
	  "lost 2 1",
	  "retry 2.1 lost",
	  "cancel-trial 1",
	  "end 1.1 CANCELLED cancelled",
	  "ask",
	  "start 2.2",
	  "ask",
	  "start 3.2",
	  "ask",
	  "create 4; start 4.1",
	  "ask",
	  "EXHAUSTED nothing to hand out: all 4 trials are made"}},
	{"max_concurrent counts what runs",
	 {.run_cap = 3, .max_concurrent = 1, .retries = 1},
	 FREE,
	 {"ask", "create 1; start 1.1", "ask",
	  "EXHAUSTED nothing to hand out now: 1 trials run, and max_concurrent allows no more",
	  "lost 1 1", "retry 1.1 lost", "ask", "start 1.2", "ask",
	  "EXHAUSTED nothing to hand out now: 1 trials run, and max_concurrent allows no more",
	  "cancel-trial 1", "kill 1.2; end 1.2 CANCELLED cancelled", "ask", "create 2; start 2.1"}},
	{"pausing hands out nothing; what runs goes on and may end the sweep",
	 {.run_cap = 2, .retries = 1},
	 FREE,
	 {"resume",
	  "CONFLICT the sweep is not paused",
	  "ask",
	  "create 1; start 1.1",
	  "pause",
	  "sweep PAUSED",
	  "pause",
	  "CONFLICT the sweep is paused already",
	  "ask",
	  "EXHAUSTED nothing to hand out: the sweep is PAUSED",
	  "report 1 1 1 1 0.5",
	  "go",
	  "tell 1 1 COMPLETED",
	  "end 1.1 COMPLETED",
	  "resume",
	  "sweep RUNNING",
	  "ask",
	  "create 2; start 2.1",
	  "pause",
	  "sweep PAUSED",
	  "lost 2 1",
	  "retry 2.1 lost",
	  "ask",
	  "EXHAUSTED nothing to hand out: the sweep is PAUSED",
	  "resume",
	  "sweep RUNNING",
	  "ask",
	  "start 2.2",
	  "pause",
	  "sweep PAUSED",
	  "tell 2 2 FAILED x",
	  "end 2.2 FAILED x; sweep COMPLETED",
	  "resume",
	  "CONFLICT the sweep has ended: COMPLETED"}},
	{"cancel ends all that lives",
	 {.run_cap = 9, .retries = 1},
	 FREE,
	 {"ask", "create 1; start 1.1", "ask", "create 2; start 2.1", "ask", "create 3; start 3.1",
	  "tell 2 1 FAILED x", "end 2.1 FAILED x", "lost 1 1", "retry 1.1 lost", "cancel",
	  "end 1.1 CANCELLED sweep-cancelled; kill 3.1; end 3.1 CANCELLED "
	  "sweep-cancelled; sweep CANCELLED",
	  "extend 20", "CONFLICT the sweep has ended: CANCELLED", "lost 3 1",
	  "CONFLICT trial 3 has ended: CANCELLED"}},
	{"fail ends all with its cause, a paused sweep too",
	 {.run_cap = 9},
	 FREE,
	 {"ask", "create 1; start 1.1", "pause", "sweep PAUSED", "fail data set is missing",
	  "kill 1.1; end 1.1 CANCELLED sweep-failed; sweep FAILED data "
	  "set is missing",
	  "resume", "CONFLICT the sweep has ended: FAILED"}},
	{"cancelling the last trial completes the sweep",
	 {.run_cap = 1, .retries = 1},
	 FREE,
	 {"cancel-trial 1", "NOT_FOUND /trial there is no trial 1", "ask", "create 1; start 1.1",
	  "lost 1 1", "retry 1.1 lost", "cancel-trial 1",
	  "end 1.1 CANCELLED cancelled; sweep COMPLETED", "cancel-trial 1",
	  "CONFLICT trial 1 has ended: CANCELLED"}},
	{"extend",
	 {.run_cap = 1},
	 FREE,
	 {"extend 1",
	  "INVALID /run_cap run_cap 1 is not above the present cap 1",
	  "extend 0",
	  "INVALID /run_cap run_cap 0 is not above the present cap 1",
	  "extend 2",
	  "",
	  "ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "report 1 1 1 1 3",
	  "go",
	  "tell 1 1 COMPLETED",
	  "end 1.1 COMPLETED",
	  "tell 2 1 FAILED x",
	  "end 2.1 FAILED x; sweep COMPLETED",
	  "extend 3",
	  "sweep RUNNING",
	  "ask",
	  "create 3; start 3.1",
	  "pause",
	  "sweep PAUSED",
	  "extend 4",
	  "",
	  "tell 3 1 INFEASIBLE x",
	  "end 3.1 INFEASIBLE x",
	  "resume",
	  "sweep RUNNING",
	  "ask",
	  "create 4; start 4.1"}},
	{"without a cap there is nothing to extend, and no end",
	 {.run_cap = 0},
	 FREE,
	 {"extend 5", "CONFLICT /run_cap the sweep has no run cap: there is nothing to extend",
	  "ask", "create 1; start 1.1", "tell 1 1 FAILED x", "end 1.1 FAILED x", "ask",
	  "create 2; start 2.1"}},
	{"a grid ends by itself, and does not extend past its points",
	 {.sampler = SW_SAMPLER_GRID},
	 GRID3,
	 {"extend 5", "INVALID /run_cap the grid has only 3 points, and the run cap covers them",
	  "ask", "create 1; start 1.1", "ask", "create 2; start 2.1", "ask", "create 3; start 3.1",
	  "ask", "EXHAUSTED nothing to hand out: all 3 trials are made", "report 2 1 1 1 0", "go",
	  "tell 2 1 COMPLETED", "end 2.1 COMPLETED", "cancel-trial 3",
	  "kill 3.1; end 3.1 CANCELLED cancelled", "tell 1 1 FAILED x",
	  "end 1.1 FAILED x; sweep COMPLETED"}},
	{"a capped grid extends up to its points",
	 {.sampler = SW_SAMPLER_GRID, .run_cap = 1},
	 GRID3,
	 {"ask", "create 1; start 1.1", "cancel-trial 1",
	  "kill 1.1; end 1.1 CANCELLED cancelled; sweep COMPLETED", "extend 50", "sweep RUNNING",
	  "extend 60", "INVALID /run_cap the grid has only 3 points, and the run cap covers them",
	  "ask", "create 2; start 2.1", "ask", "create 3; start 3.1", "ask",
	  "EXHAUSTED nothing to hand out: all 3 trials are made"}},
	{"asha prunes, completes and never judges the diverged",
	 {ASHA, .run_cap = 5},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "ask",
	  "create 3; start 3.1",
	  "ask",
	  "create 4; start 4.1",
	  "ask",
	  "create 5; start 5.1",
	  "report 1 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "report 2 1 1 1 0.6",
	  "go (rung 1 value 0.6 rank 2/2 keep 1 cutoff none)",
	  "report 3 1 1 1 0.7",
	  "stop (rung 1 value 0.7 rank 3/3 keep 1 cutoff 0.5); end 3.1 PRUNED rung 1: rank 3 of 3",
	  "report 3 1 2 2 0.7",
	  "CONFLICT trial 3 has ended: PRUNED",
	  "report 4 1 1 1 nan",
	  "stop; end 4.1 INFEASIBLE diverged",
	  "report 5 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/4 keep 1 cutoff 0.5)",
	  "report 1 1 2 2 0.4",
	  "go",
	  "note 1 1 3 3",
	  "go",
	  "report 1 1 4 4 0.3",
	  "go (rung 3 value 0.4 rank 1/1 keep 1 cutoff none)",
	  "report 5 1 2 2 -inf",
	  "stop; end 5.1 INFEASIBLE diverged",
	  "report 1 1 5 12 0.9",
	  "stop (rung 9 value 0.3 rank 1/1 keep 1 cutoff none); end 1.1 COMPLETED",
	  "report 2 1 2 9 0.9",
	  "stop (rung 9 value 0.9 rank 2/2 keep 1 cutoff none); end 2.1 COMPLETED; sweep "
	  "COMPLETED"}},
	{"maximize turns round inside and back outside",
	 {ASHA, .maximize = true, .run_cap = 9},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "ask",
	  "create 3; start 3.1",
	  "ask",
	  "create 4; start 4.1",
	  "report 1 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "report 2 1 1 1 0.9",
	  "go (rung 1 value 0.9 rank 1/2 keep 1 cutoff none)",
	  "report 3 1 1 1 0.95",
	  "go (rung 1 value 0.95 rank 1/3 keep 1 cutoff 0.95)",
	  "report 4 1 1 1 0.8",
	  "stop (rung 1 value 0.8 rank 3/4 keep 1 cutoff 0.95); end 4.1 PRUNED rung 1: rank 3 of 4",
	  "lost 1 1",
	  "end 1.1 FAILED lost",
	  "report 2 1 2 2 inf",
	  "stop; end 2.1 INFEASIBLE diverged"}},
	{"a second attempt is not judged twice at a rung",
	 {ASHA, .run_cap = 3, .retries = 1},
	 FREE,
	 {"ask", "create 1; start 1.1", "report 1 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)", "lost 1 1", "retry 1.1 lost", "ask",
	  "start 1.2", "report 1 2 1 1 0.1", "go", "report 1 2 2 3 0.2",
	  "go (rung 3 value 0.2 rank 1/1 keep 1 cutoff none)", "ask", "create 2; start 2.1",
	  "report 2 1 1 1 0.6", "go (rung 1 value 0.6 rank 2/2 keep 1 cutoff none)"}},
	{"a final report fills its rungs and leaves the end to the tell",
	 {ASHA, .run_cap = 4},
	 FREE,
	 {"ask",
	  "create 1; start 1.1",
	  "ask",
	  "create 2; start 2.1",
	  "ask",
	  "create 3; start 3.1",
	  "ask",
	  "create 4; start 4.1",
	  "final 1 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "tell 1 1 COMPLETED",
	  "end 1.1 COMPLETED",
	  "report 2 1 1 1 0.6",
	  "go (rung 1 value 0.6 rank 2/2 keep 1 cutoff none)",
	  "final 3 1 1 1 0.7",
	  "go (rung 1 value 0.7 rank 3/3 keep 1 cutoff 0.5)",
	  "tell 3 1 FAILED exit:1",
	  "end 3.1 FAILED exit:1",
	  "final 2 1 2 9 0.1",
	  "go (rung 9 value 0.1 rank 1/1 keep 1 cutoff none)",
	  "tell 2 1 COMPLETED",
	  "end 2.1 COMPLETED",
	  "final 4 1 1 1 nan",
	  "stop; end 4.1 INFEASIBLE diverged; sweep COMPLETED"}},
};

/* clang-format on */

START_TEST(sweep_story_goes_as_told)
{
	const struct story *story = &stories[_i];
	struct sw_sweep *s;
	struct sw_actions actions = {0};

	ck_assert_int_eq(sw_sweep_create(&s, &story->c, make_space(story->space), NULL), SW_OK);
	sw_sweep_invariant(s);
	for (size_t i = 0; i < ROWS(story->line) && story->line[i] != NULL; i += 2) {
		ck_assert_ptr_nonnull(story->line[i + 1]);
		const char *got = play(s, &actions, story->line[i]);
		ck_assert_msg(strcmp(got, story->line[i + 1]) == 0,
			      "%s, line %zu: %s\n got: %s\nwant: %s", story->name, i / 2,
			      story->line[i], got, story->line[i + 1]);
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}
END_TEST

/* ---- what a sweep refuses to be ---- */

static const struct {
	struct sw_sweep_config c;
	sw_status rc;
	const char *ptr, *msg;
} refused[] = {
	{{.has_asha = true, .asha = {5, 4, 3, 1, 3}},
	 SW_INVALID,
	 "/early_terminate/max_t",
	 "max_t 4 is below grace_period 5"},
	{{.has_asha = true, .asha = {1, 9, 1, 1, 3}},
	 SW_INVALID,
	 "/early_terminate/reduction_factor",
	 "reduction_factor must be at least 2; it is 1"},
	{{.sampler = SW_SAMPLER_GRID},
	 SW_INVALID,
	 "/parameters/0/q",
	 "grid needs a list of values: give q, values, or another method for this continuous "
	 "parameter"},
};

START_TEST(sweep_bad_config_is_refused_and_the_space_stays_the_callers)
{
	struct sw_space *space = make_space(FREE);
	struct sw_sweep *s;
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_sweep_create(&s, &refused[_i].c, space, &e), refused[_i].rc);
	ck_assert_ptr_null(s);
	ck_assert_str_eq(e.ptr, refused[_i].ptr);
	ck_assert_str_eq(e.msg, refused[_i].msg);
	sw_space_destroy(space);
}
END_TEST

START_TEST(sweep_without_parameters_is_refused)
{
	struct sw_space *space;
	struct sw_sweep *s;
	struct sw_err e = SW_ERR_INIT;
	const struct sw_sweep_config c = {.run_cap = 1};

	ck_assert_int_eq(sw_space_create(&space), SW_OK);
	ck_assert_int_eq(sw_sweep_create(&s, &c, space, &e), SW_INVALID);
	ck_assert_str_eq(e.ptr, "/parameters");
	sw_space_destroy(space);
}
END_TEST

START_TEST(sweep_answers_questions)
{
	const struct sw_sweep_config c = {ASHA, .maximize = true, .run_cap = 5,
					  .max_concurrent = 1};
	struct sw_space *space = make_space(FREE);
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	struct sw_value value;
	uint64_t counts[SW_TRIAL_STATE_N];

	ck_assert_int_eq(sw_sweep_create(&s, &c, space, NULL), SW_OK);
	ck_assert_ptr_eq(sw_sweep_space(s), space);
	ck_assert(sw_sweep_maximize(s) && sw_sweep_has_work(s));
	ck_assert_uint_eq(sw_sweep_run_cap(s), 5);
	ck_assert_uint_eq(sw_asha_rung_n(sw_sweep_asha(s), 0), 3);
	ck_assert_ptr_null(sw_sweep_trial(s, 1));
	ck_assert_str_eq(play(s, &actions, "ask"), "create 1; start 1.1");
	ck_assert_uint_eq(sw_sweep_trial_n(s), 1);
	ck_assert_uint_eq(sw_sweep_points(s), 0);
	ck_assert_int_eq(sw_sweep_values(s, 1, &value), SW_OK);
	ck_assert_double_eq(value.number, actions.v[0].values[0].number);
	ck_assert_int_eq(sw_sweep_values(s, 0, &value), SW_NOT_FOUND);
	ck_assert_int_eq(sw_sweep_values(s, 2, &value), SW_NOT_FOUND);
	ck_assert(!sw_sweep_has_work(s));
	ck_assert_str_eq(play(s, &actions, "report 1 1 1 2 0.5"), "go");
	ck_assert_uint_eq(sw_sweep_trial(s, 1)->step, 2);
	ck_assert_uint_eq(sw_sweep_trial(s, 1)->seq, 1);
	ck_assert_ptr_null(sw_sweep_trial(s, 0));
	ck_assert_ptr_null(sw_sweep_trial(s, 2));
	sw_sweep_counts(s, counts);
	ck_assert_uint_eq(counts[SW_TRIAL_RUNNING], 1);
	ck_assert_str_eq(sw_sweep_cause(s), "");
	(void)play(s, &actions, "fail no metric val_loss");
	ck_assert_str_eq(sw_sweep_cause(s), "no metric val_loss");
	ck_assert_int_eq(sw_sweep_state(s), SW_SWEEP_FAILED);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
	sw_sweep_destroy(NULL);
}
END_TEST

START_TEST(sweep_long_cause_is_cut_between_characters)
{
	const struct sw_sweep_config c = {.run_cap = 1};
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	char cause[400];
	const char *const euro = "\xe2\x82\xac"; /* three bytes: 66 of them are 198, no 67th fits */

	cause[0] = '\0';
	for (int i = 0; i < 100; i++)
		strcat(cause, euro);
	ck_assert_int_eq(sw_sweep_create(&s, &c, make_space(FREE), NULL), SW_OK);
	const struct sw_event ev = {.kind = SW_EVENT_FAIL, .cause = cause};
	ck_assert_int_eq(sw_sweep_step(s, &ev, &actions, NULL), SW_OK);
	ck_assert_uint_eq(strlen(sw_sweep_cause(s)), 198);
	ck_assert_int_eq(strncmp(cause, sw_sweep_cause(s), 198), 0);
	ck_assert_str_eq(actions.v[0].cause, sw_sweep_cause(s));
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}
END_TEST

START_TEST(sweep_unknown_event_is_refused)
{
	const struct sw_sweep_config c = {.run_cap = 1};
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	const struct sw_event ev = {.kind = SW_EVENT_KIND_N};

	ck_assert_int_eq(sw_sweep_create(&s, &c, make_space(FREE), NULL), SW_OK);
	ck_assert_int_eq(sw_sweep_step(s, &ev, &actions, NULL), SW_INVALID);
	sw_sweep_destroy(s);
}
END_TEST

START_TEST(sweep_name_finds_its_state)
{
	enum sw_sweep_state got;
	const enum sw_sweep_state state = (enum sw_sweep_state)_i;

	ck_assert_int_eq(sw_sweep_state_find(sw_sweep_state_name(state), &got), SW_OK);
	ck_assert_int_eq(got, state);
	ck_assert_int_eq(sw_sweep_state_find("DONE", &got), SW_INVALID);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(sweep_without_memory_is_not_made)
{
	const struct sw_sweep_config c = {ASHA, .run_cap = 3};
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_space *space = make_space(FREE);
		struct sw_sweep *s;
		struct sw_err e = SW_ERR_INIT;

		ck_assert_uint_lt(nth, 100);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_sweep_create(&s, &c, space, &e);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(e.code, rc);
		ck_assert_int_eq(s == NULL, fired != 0);
		if (s == NULL)
			sw_space_destroy(space);
		sw_sweep_destroy(s);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("sweep");
	TCase *tcase = tcase_create("machine");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, sweep_story_goes_as_told, 0, (int)ROWS(stories));
	tcase_add_loop_test(tcase, sweep_bad_config_is_refused_and_the_space_stays_the_callers, 0,
			    (int)ROWS(refused));
	tcase_add_test(tcase, sweep_without_parameters_is_refused);
	tcase_add_test(tcase, sweep_answers_questions);
	tcase_add_test(tcase, sweep_long_cause_is_cut_between_characters);
	tcase_add_test(tcase, sweep_unknown_event_is_refused);
	tcase_add_loop_test(tcase, sweep_name_finds_its_state, 0, SW_SWEEP_STATE_N);
#ifdef SW_FAULTS
	tcase_add_test(tcase, sweep_without_memory_is_not_made);
#endif
	return run_suite(suite);
}
