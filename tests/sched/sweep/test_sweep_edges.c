/* tests/sched/sweep/test_sweep_edges.c — a sweep's questions, refusals and limits, beside its
 * stories. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/story.h"
#include "tests/walk.h"
#include <math.h>

#define ASHA .pruner = {.kind = SW_PRUNER_ASHA, .asha = {1, 9, 3, 1, 3}}

static const struct {
	struct sw_sweep_config c;
	const char *ptr, *msg;
} refused[] = {
	{{.pruner = {.kind = SW_PRUNER_ASHA, .asha = {1, 9, 3, 4, 3}}},
	 "/early_terminate/brackets",
	 "brackets 4 is too many: there are only 3 rungs up to max_t 9"},
	{{.sampler = SW_SAMPLER_GRID},
	 "/parameters/0/q",
	 "grid needs a list of values: give q, values, or another method for this continuous "
	 "parameter"},
	{{.has_target = true, .target = NAN}, "/metric/target", ""},
	{{.has_target = true, .target = INFINITY}, "/metric/target", ""},
	{{.plateau = {.top = SW_PLATEAU_TOP_MAX + 1}}, "/plateau/top", ""},
	{{.plateau = {.top = 1, .std = -1}}, "/plateau/std", ""},
	{{.plateau = {.top = 1, .std = NAN}}, "/plateau/std", ""},
	{{.pruner.kind = SW_PRUNER_PBT}, "/run_cap", ""},
};

TEST_ROWS(sweep_bad_config_is_refused_and_the_space_stays_the_callers, refused)
{
	struct sw_space *space = story_space(FREE);
	struct sw_sweep *s;
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_sweep_create(&s, &refused[_i].c, space, &e), SW_INVALID);
	ck_assert_ptr_null(s);
	ck_assert_str_eq(e.ptr, refused[_i].ptr);
	ck_assert_msg(strstr(e.msg, refused[_i].msg) != NULL, "%s", e.msg);
	sw_space_destroy(space);
}

TEST(sweep_without_parameters_is_refused)
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

TEST(sweep_answers_questions)
{
	const struct sw_sweep_config c = {ASHA, .maximize = true, .run_cap = 5,
					  .max_concurrent = 1};
	struct sw_space *space = story_space(FREE);
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	struct sw_value value;
	uint64_t counts[SW_TRIAL_STATE_N];

	ck_assert_int_eq(sw_sweep_create(&s, &c, space, NULL), SW_OK);
	ck_assert_ptr_eq(sw_sweep_space(s), space);
	ck_assert(sw_sweep_has_work(s));
	ck_assert_uint_eq(sw_sweep_run_cap(s), 5);
	ck_assert_uint_eq(sw_pruner_rung_n(sw_sweep_pruner(s), 0), 3);
	ck_assert_ptr_null(sw_sweep_trial(s, 1));
	ck_assert_str_eq(play(s, &actions, "ask"), "create 1; start 1.1");
	ck_assert_uint_eq(sw_sweep_trial_n(s), 1);
	ck_assert_uint_eq(sw_sweep_points(s), 0);
	ck_assert_int_eq(sw_sweep_values(s, 1, &value), SW_OK);
	ck_assert_double_eq(value.number, actions.v[0].values[0].number);
	ck_assert_int_eq(sw_sweep_values(s, 0, &value), SW_NOT_FOUND);
	ck_assert_int_eq(sw_sweep_values(s, 2, &value), SW_NOT_FOUND);
	ck_assert(!sw_sweep_has_work(s));
	ck_assert_int_eq(sw_sweep_idle(s), SW_IDLE_BUSY);
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
	ck_assert_int_eq(sw_sweep_idle(s), SW_IDLE_DONE);
	ck_assert_int_eq(sw_sweep_state(s), SW_SWEEP_FAILED);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
	sw_sweep_destroy(NULL);
}

TEST(sweep_long_cause_is_cut_between_characters)
{
	const struct sw_sweep_config c = {.run_cap = 1};
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	char cause[400];
	const char *const euro = "\xe2\x82\xac"; /* three bytes: 66 of them are 198, no 67th fits */

	cause[0] = '\0';
	for (int i = 0; i < 100; i++)
		strcat(cause, euro);
	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	const struct sw_event ev = {.kind = SW_EVENT_FAIL, .cause = cause};
	ck_assert_int_eq(sw_sweep_step(s, &ev, &actions, NULL), SW_OK);
	ck_assert_uint_eq(strlen(sw_sweep_cause(s)), 198);
	ck_assert_int_eq(strncmp(cause, sw_sweep_cause(s), 198), 0);
	ck_assert_str_eq(actions.v[0].cause, sw_sweep_cause(s));
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

TEST(sweep_unknown_event_is_refused)
{
	const struct sw_sweep_config c = {.run_cap = 1};
	struct sw_sweep *s;
	struct sw_actions actions = {0};
	const struct sw_event ev = {.kind = SW_EVENT_KIND_N};

	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	ck_assert_int_eq(sw_sweep_step(s, &ev, &actions, NULL), SW_INVALID);
	sw_sweep_destroy(s);
}

TEST_LOOP(sweep_name_finds_its_state, 0, SW_SWEEP_STATE_N)
{
	enum sw_sweep_state got;
	const enum sw_sweep_state state = (enum sw_sweep_state)_i;

	ck_assert_int_eq(sw_sweep_state_find(sw_sweep_state_name(state), &got), SW_OK);
	ck_assert_int_eq(got, state);
	ck_assert_int_eq(sw_sweep_state_find("DONE", &got), SW_INVALID);
}

/* A sweep with each of the pruners. */
static const struct sw_pruner_config pruners[] = {
	{.kind = SW_PRUNER_NONE},
	{.kind = SW_PRUNER_ASHA, .asha = {1, 27, 3, 3, 3}},
	{.kind = SW_PRUNER_PROMOTE, .asha = {1, 27, 3, 2, 0}},
	{.kind = SW_PRUNER_HYPERBAND, .hyperband = {.min_iter = 1, .eta = 3}},
	{.kind = SW_PRUNER_MEDIAN, .median = {.running_mean = true, .min_samples_required = 3}},
	{.kind = SW_PRUNER_MEDIAN, .median = {.interval_steps = 1, .n_min_trials = 1}},
	{.kind = SW_PRUNER_PATIENCE, .patience = {1, 0}},
	{.kind = SW_PRUNER_THRESHOLD, .threshold = {.has_lower = true, .interval_steps = 1}},
	{.kind = SW_PRUNER_PBT,
	 .pbt = {.perturbation_interval = 2, .factor = {1.2, 0.8}, .factor_n = 2}},
};

TEST_ROWS(sweep_without_memory_is_not_made, pruners)
{
	const struct sw_sweep_config c = {.pruner = pruners[_i], .run_cap = 3};

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_space *space = story_space(FREE);
		struct sw_sweep *s;
		struct sw_err e = SW_ERR_INIT;

		walk_arm();
		const sw_status rc = sw_sweep_create(&s, &c, space, &e);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(e.code, rc);
		ck_assert_int_eq(s == NULL, fired != 0);
		if (s == NULL)
			sw_space_destroy(space);
		sw_sweep_destroy(s);
	}
}

RUN_TESTS(NULL, NULL)
