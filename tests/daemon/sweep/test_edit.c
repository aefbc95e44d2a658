/* tests/daemon/sweep/test_edit.c — edits as JSON, in and out, and the time that a sweep has run. */
#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/budget.h"
#include "daemon/sweep/edit.h"
#include "daemon/sweep/running.h"
#include "tests/spec/spec_text.h"

#define SPEC                                                                                       \
	"{\"metric\":{\"name\":\"loss\"},\"seed\":1,\"method\":\"random\",\"run_cap\":40,"         \
	"\"weight\":2,\"parameters\":{\"lr\":{\"min\":0.25,\"max\":0.5},"                          \
	"\"opt\":{\"parameters\":{\"wd\":{\"min\":1,\"max\":8}}},"                                 \
	"\"kind\":{\"values\":[\"a\",\"b\"]}}}"

static const struct {
	const char *object, *ptr, *says;
} refused[] = {
	{"{}", "", "nothing to change"},
	{"{\"sweep\":3}", "", "nothing to change"},
	{"{\"weight\":0}", "/weight", "above 0"},
	{"{\"weight\":-1}", "/weight", "above 0"},
	{"{\"ranges\":{\"lrr\":{\"min\":0,\"max\":1}}}", "/ranges/lrr", "did you mean \"lr\"?"},
	{"{\"ranges\":{\"zzzzzz\":{\"min\":0,\"max\":1}}}", "/ranges/zzzzzz", "no parameter"},
	{"{\"ranges\":{\"kind\":{\"min\":0,\"max\":1}}}", "/ranges/kind", "categorical"},
	{"{\"ranges\":{\"lr\":{\"min\":0}}}", "/ranges/lr", "a range is"},
	{"{\"ranges\":{\"lr\":{\"min\":0,\"max\":\"1\"}}}", "/ranges/lr", "a range is"},
	{"{\"ranges\":{\"lr\":[0,1]}}", "/ranges/lr", "a range is"},
	{"{\"ranges\":{\"lr\":{\"min\":0,\"max\":1,\"mu\":1}}}", "/ranges/lr/mu", "a range is"},
	{"{\"run_cap\":80,\"ranges\":{\"lr\":3}}", "/ranges/lr", "a range is"},
};

TEST_ROWS(edit_row_is_refused_at_its_place, refused)
{
	struct sw_spec *spec = read_spec(SPEC);
	struct sw_err err = SW_ERR_INIT;
	struct sw_edits e;
	cJSON *v = parse(refused[_i].object);

	ck_assert_int_eq(sw_edits_read(&e, spec, v, &err), SW_INVALID);
	ck_assert_str_eq(err.ptr, refused[_i].ptr);
	ck_assert_msg(strstr(err.msg, refused[_i].says) != NULL, "%s", err.msg);
	cJSON_Delete(v);
}

/* A sweep as far as an edit looks at it. */
static void fill_host(struct sw_running *live)
{
	struct sw_settings settings;
	struct sw_err err = SW_ERR_INIT;

	*live = (struct sw_running){.spec = read_spec(SPEC), .run_cap = 40};
	ck_assert_int_eq(sw_plan_build(&live->sched, live->spec, 1, NULL, &err), SW_OK);
	sw_settings_init(&settings, live->spec);
	sw_settings_use(live, &settings);
}

static void drop_host(struct sw_running *live)
{
	sw_sweep_destroy(live->sched);
}

#define WHOLE                                                                                      \
	"{\"run_cap\":80,\"max_concurrent\":4,\"weight\":3,\"time_budget_s\":60,\"gpu_hours\":0,"  \
	"\"target\":0.5,\"ranges\":{\"lr\":{\"min\":0.25,\"max\":0.375},"                          \
	"\"opt.wd\":{\"min\":2,\"max\":4}}"

TEST(edit_is_written_with_what_was_and_read_back_the_same)
{
	struct sw_running live;
	struct sw_edits e, again;
	struct sw_err err = SW_ERR_INIT;
	struct sw_settings settings;
	struct sw_buf text, changes;
	struct sw_jw w;
	cJSON *v = parse(WHOLE "}"), *stored;

	fill_host(&live);
	sw_buf_init(&text, 4096);
	sw_buf_init(&changes, 4096);
	ck_assert_int_eq(sw_edits_read(&e, live.spec, v, &err), SW_OK);
	sw_edits_write(&e, &live, &text);
	ck_assert_str_eq(text.data,
			 WHOLE ",\"from\":{\"run_cap\":40,\"max_concurrent\":0,\"weight\":2,"
			       "\"time_budget_s\":0,\"gpu_hours\":0,\"ranges\":{\"lr\":{\"min\":"
			       "0.25,\"max\":0.5},\"opt.wd\":{\"min\":1,\"max\":8}}}}");
	stored = parse(text.data);
	ck_assert_int_eq(sw_edits_read(&again, live.spec, stored, &err), SW_OK);
	ck_assert_uint_eq(again.sched.run_cap, 80);
	ck_assert_uint_eq(again.sched.max_concurrent, 4);
	ck_assert(again.sched.has_target && again.sched.n_ranges == 2);
	ck_assert_uint_eq(again.sched.ranges[1].param, 1);
	ck_assert_double_eq(again.sched.ranges[1].max, 4);
	sw_jw_init(&w, &changes);
	sw_edits_changes(stored, &w);
	ck_assert_str_eq(
		changes.data,
		"[{\"key\":\"run_cap\",\"from\":40,\"to\":80},{\"key\":\"max_concurrent\",\"from\":"
		"null,\"to\":4},{\"key\":\"weight\",\"from\":2,\"to\":3},{\"key\":\"time_budget_"
		"s\","
		"\"from\":null,\"to\":60},{\"key\":\"gpu_hours\",\"from\":null,\"to\":null},{"
		"\"key\":\"target\",\"from\":null,\"to\":0.5},{\"key\":\"lr\",\"from\":{\"min\":"
		"0.25,\"max\":0.5},\"to\":{\"min\":0.25,\"max\":0.375}},{\"key\":\"opt.wd\","
		"\"from\":{\"min\":1,\"max\":8},\"to\":{\"min\":2,\"max\":4}}]");
	settings = live.settings;
	sw_settings_edit(&settings, &again);
	live.claim.share.used_us = 1000;
	sw_settings_use(&live, &settings);
	ck_assert_double_eq(live.claim.share.weight, 3);
	ck_assert_int_eq(live.claim.share.used_us, 1500); /* as much served as before */
	ck_assert_double_eq(live.settings.time_s, 60);
	ck_assert(live.settings.has_target && live.settings.max_concurrent == 4);
	cJSON_Delete(v);
	cJSON_Delete(stored);
	sw_buf_fini(&text);
	sw_buf_fini(&changes);
	drop_host(&live);
}

static const struct {
	struct {
		bool running;
		int64_t at;
	} said[3];
	size_t n;
	int64_t ask, ran;
} clocks[] = {
	/* a wall clock that is set back takes nothing away; the rest: run/test_settle_story.c */
	{{{true, 100}, {false, 90}, {true, 95}}, 3, 105, 10},
	{{{true, 100}}, 1, 50, 0},
};

TEST_ROWS(budget_clock_row_runs_while_the_sweep_does, clocks)
{
	struct sw_budget b = {.ran_ms = 0};

	for (size_t i = 0; i < clocks[_i].n; i++)
		sw_budget_state(&b, clocks[_i].said[i].running, clocks[_i].said[i].at);
	ck_assert_int_eq(sw_budget_ran_ms(&b, clocks[_i].ask), clocks[_i].ran);
}

TEST(budget_counts_ended_and_live_attempts_on_gpus_alone)
{
	struct sw_slot slots[] = {
		{.state = SW_SLOT_BUSY, .sweep = 1, .trial = 1},
		{.state = SW_SLOT_BUSY, .sweep = 1, .trial = 2},
		{.state = SW_SLOT_BUSY, .sweep = 2, .trial = 1}, /* another sweep's */
		{.state = SW_SLOT_IDLE, .sweep = 1, .trial = 1},
		{.state = SW_SLOT_BUSY, .sweep = 1, .trial = 3},
	};
	struct sw_run runs[] = {
		{.started_ms = 1000, .slot = 0, .gpu = SW_RUN_GPU},
		{.started_ms = 1000, .slot = 1}, /* on cores */
		{.started_ms = 1400, .slot = 4, .gpu = SW_RUN_GPU},
	};
	struct sw_daemon d = {.slot = {.slots = slots, .slot_n = ROWS(slots)}};
	const struct sw_running live = {
		.d = &d, .sweep = 1, .runs = runs, .budget = {.gpu_ms = 70}};

	ck_assert_int_eq(sw_budget_gpu_ms(&live, 1500), 70 + 500 + 100);
	ck_assert_int_eq(sw_budget_gpu_ms(&live, 1200), 70 + 200); /* a clock that was set back */
	ck_assert_int_eq(sw_budget_gpu_ms(&live, 900), 70);
}

RUN_TESTS(NULL, NULL)
