/* tests/daemon/sweep/test_running.c — where a sweep's account of slot time stands when it comes or
 * comes back. */
#include "daemon/daemon.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/running.h"
#include "tests/spec/spec_text.h"

#define SWEEPS 3

/* The first is the one that comes; used: hours. */
static const struct {
	const char *name;
	struct {
		enum sw_sweep_state state;
		bool driven, busy; /* busy: as many run as may */
		int used;
	} v[SWEEPS];
	int level;
} rows[] = {
	{"alone",
	 {{.used = 2}, {.state = SW_SWEEP_COMPLETED, .used = 5}, {.state = SW_SWEEP_FAILED}},
	 2},
	{"level with the least served", {{.used = 0}, {.used = 7}, {.used = 4}}, 4},
	{"what it has used stays", {{.used = 9}, {.used = 7}, {.used = 4}}, 9},
	{"one that is paused shares nothing",
	 {{.used = 0}, {.state = SW_SWEEP_PAUSED}, {.used = 4}},
	 4},
	{"nor does one whose client runs its trials",
	 {{.used = 0}, {.driven = true}, {.used = 4}},
	 4},
	{"one that may run no more waits for nothing",
	 {{.used = 0}, {.busy = true}, {.used = 4}},
	 4},
	{"but counts where nobody waits",
	 {{.used = 0}, {.busy = true, .used = 3}, {.state = SW_SWEEP_PAUSED}},
	 3},
};

#define SPEC                                                                                       \
	"{\"metric\":{\"name\":\"loss\"},\"method\":\"random\",\"max_concurrent\":1,"              \
	"\"parameters\":{\"lr\":{\"min\":0.25,\"max\":0.5}}}"

TEST_ROWS(sweep_row_comes_level_with_those_that_wait, rows)
{
	const struct sw_event ask = {.kind = SW_EVENT_ASK};
	struct sw_actions actions = {0};
	struct sw_running live[SWEEPS], *sweeps[SWEEPS];
	struct sw_err err = SW_ERR_INIT;
	struct sw_daemon d = {.sweep = {.sweeps = sweeps, .sweep_n = SWEEPS}};

	for (size_t i = 0; i < SWEEPS; i++) {
		sweeps[i] = &live[i];
		live[i] = (struct sw_running){
			.d = &d,
			.state = rows[_i].v[i].state,
			.driven = rows[_i].v[i].driven,
			.claim.share = {.weight = 1, .used_us = rows[_i].v[i].used}};
		live[i].spec = read_spec(SPEC);
		ck_assert_int_eq(sw_plan_build(&live[i].sched, live[i].spec, 1, NULL, &err), SW_OK);
		if (rows[_i].v[i].busy)
			ck_assert_int_eq(sw_sweep_step(live[i].sched, &ask, &actions, NULL), SW_OK);
	}
	sw_running_level(&live[0]);
	ck_assert_msg(live[0].claim.share.used_us == rows[_i].level, "%s: %lld", rows[_i].name,
		      (long long)live[0].claim.share.used_us);
	for (size_t i = 0; i < SWEEPS; i++)
		sw_sweep_destroy(live[i].sched);
	sw_actions_fini(&actions);
}

RUN_TESTS(NULL, NULL)
