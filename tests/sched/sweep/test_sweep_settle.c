/* tests/sched/sweep/test_sweep_settle.c — a sweep's end in slices: what it allows meanwhile, and
 * that in the end it is the end that it would have been in one step. */
#include "sched/sweep/sweep.h"
#include "tests/run.h"
#include "tests/sched/sweep/invariant.h"
#include "tests/sched/sweep/story.h"

#define PROMOTE .pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {1, 9, 3, 1, 3}}
#define PBT                                                                                        \
	.pruner = {.kind = SW_PRUNER_PBT,                                                          \
		   .pbt = {.perturbation_interval = 2,                                             \
			   .quantile_fraction = 0.25,                                              \
			   .resample_probability = 0.25,                                           \
			   .factor = {1.2, 0.8},                                                   \
			   .factor_n = 2}}

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
	{"a cancellation takes what waits and what runs, and what is told meanwhile counts",
	 {.run_cap = 9, .retries = 2, .slice = 2}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"ask", "create 3; start 3.1",
		"ask", "create 4; start 4.1",
		"ask", "create 5; start 5.1",
		"ask", "create 6; start 6.1",
		"lost 2 1", "retry 2.1 lost",
		"cancel",
		 "kill 1.1; end 1.1 CANCELLED sweep-cancelled; end 2.1 CANCELLED sweep-cancelled",
		"cancel", "CONFLICT the sweep is about to end",
		"ask", "EXHAUSTED nothing to hand out: the sweep is about to end",
		"report 3 1 1 1 0.5", "go",
		"tell 3 1 COMPLETED", "end 3.1 COMPLETED",
		"lost 4 1", "end 4.1 CANCELLED sweep-cancelled",
		"settle",
		 "kill 5.1; end 5.1 CANCELLED sweep-cancelled; kill 6.1; end 6.1 CANCELLED "
		 "sweep-cancelled; sweep CANCELLED"}},
	{"a target whose slices go on while a trial runs, and then a word ends it",
	 {PROMOTE, .run_cap = 9, .has_target = true, .target = 0, .slice = 1}, FREE, {
		"ask", "create 1; start 1.1 until 1",
		"ask", "create 2; start 2.1 until 1",
		"ask", "create 3; start 3.1 until 1",
		"release 2 1", "retry 2.1 released",
		"report 3 1 1 1 0.7",
		 "hold (rung 1 value 0.7 rank 1/1 keep 0 cutoff none); pause 3.1@1 rung 1: rank 1 "
		 "of 1",
		"report 1 1 1 1 -1",
		 "go (rung 1 value -1 rank 1/2 keep 0 cutoff none); end 2.1 CANCELLED sweep-ended",
		"report 1 1 2 2 -2", "go",
		"stop time", "kill 1.1; end 1.1 CANCELLED sweep-ended",
		"fail", "CONFLICT the sweep is about to end: time",
		"settle", "end 3.1 PRUNED rung 1: rank 2 of 2, not promoted; sweep COMPLETED time"}},
	{"a trial that ends what was left leaves the end to the slice",
	 {.run_cap = 3, .slice = 1}, FREE, {
		"ask", "create 1; start 1.1",
		"ask", "create 2; start 2.1",
		"fail it went wrong", "kill 1.1; end 1.1 CANCELLED sweep-failed",
		"tell 2 1 FAILED", "end 2.1 FAILED failed",
		"settle", "sweep FAILED it went wrong"}},
};
/* clang-format on */

TEST_ROWS(sweep_story_goes_as_told, stories)
{
	run_story(&stories[_i]);
}

/* --- slices and the whole --- */

struct pair {
	struct sw_sweep *whole, *sliced;
	struct sw_actions actions[2];
	struct text told[2];
	uint64_t slices;
};

static void tell(struct text *t, const struct sw_actions *a)
{
	for (size_t i = 0; i < a->n; i++) {
		write_action(t, &a->v[i]);
		addf(t, "; ");
	}
}

/* The event into both, and then every slice of the second. */
static void step_both(struct pair *p, const struct sw_event *ev)
{
	static const struct sw_event settle = {.kind = SW_EVENT_SETTLE};
	const sw_status rc = sw_sweep_step(p->whole, ev, &p->actions[0], NULL);

	p->told[0].n = p->told[1].n = 0;
	p->told[0].s[0] = p->told[1].s[0] = '\0';
	ck_assert_int_eq(sw_sweep_step(p->sliced, ev, &p->actions[1], NULL), rc);
	tell(&p->told[0], &p->actions[0]);
	tell(&p->told[1], &p->actions[1]);
	while (sw_sweep_settling(p->sliced)) {
		const uint64_t before = sw_sweep_unsettled(p->sliced);

		ck_assert_uint_eq(sw_sweep_has_work(p->sliced), false);
		ck_assert_int_eq(sw_sweep_step(p->sliced, &settle, &p->actions[1], NULL), SW_OK);
		tell(&p->told[1], &p->actions[1]);
		sweep_invariant(p->sliced);
		ck_assert_uint_lt(sw_sweep_unsettled(p->sliced), before);
		p->slices++;
	}
	ck_assert_str_eq(p->told[1].s, p->told[0].s);
	sweep_invariant(p->whole);
	sweep_invariant(p->sliced);
	ck_assert_int_eq(sw_sweep_state(p->sliced), sw_sweep_state(p->whole));
	ck_assert_str_eq(sw_sweep_cause(p->sliced), sw_sweep_cause(p->whole));
}

/* One that runs, or 0. */
static uint64_t running(const struct sw_sweep *s, uint64_t *rng)
{
	const uint64_t n = sw_sweep_trial_n(s), from = n > 0 ? below(rng, n) : 0;

	for (uint64_t i = 0; i < n; i++)
		if (sw_sweep_trial(s, (from + i) % n + 1)->state == SW_TRIAL_RUNNING)
			return (from + i) % n + 1;
	return 0;
}

static struct sw_event random_event(const struct sw_sweep *s, uint64_t *rng)
{
	static const enum sw_event_kind ends[] = {SW_EVENT_CANCEL, SW_EVENT_FAIL, SW_EVENT_STOP};
	const uint64_t trial = running(s, rng), what = below(rng, 100);
	struct sw_event ev = {.kind = SW_EVENT_ASK, .trial = trial};

	if (what < 2)
		ev.kind = ends[below(rng, ROWS(ends))];
	else if (what < 4)
		ev.run_cap = 60, ev.kind = SW_EVENT_EXTEND;
	if (what < 40 || trial == 0)
		return ev;
	const struct sw_trial *t = sw_sweep_trial(s, trial);
	ev.attempt = t->attempt;
	ev.kind = what < 45   ? SW_EVENT_RELEASE
		  : what < 50 ? SW_EVENT_LOST
		  : what < 60 ? SW_EVENT_TELL
			      : SW_EVENT_REPORT;
	ev.end = SW_TRIAL_COMPLETED;
	ev.seq = t->seq + 1;
	ev.step = t->step + 1;
	ev.has_value = true;
	ev.value = (double)below(rng, 30) - 0.5;
	return ev;
}

TEST(sweep_settled_in_slices_ends_as_in_one_step)
{
	uint64_t slices = 0;

	for (uint64_t seed = 1; seed <= 600; seed++) {
		uint64_t rng = seed;
		struct sw_sweep_config c = {PROMOTE, .run_cap = 1 + below(&rng, 40)};
		const struct sw_sweep_config pbt = {PBT, .run_cap = 1 + below(&rng, 12)};
		struct pair p = {.whole = NULL};

		if (below(&rng, 4) == 0)
			c = pbt;
		if (below(&rng, 4) == 0)
			c.pruner.kind = SW_PRUNER_NONE;
		c.retries = (unsigned)below(&rng, 3);
		c.has_target = below(&rng, 3) == 0;
		ck_assert_int_eq(sw_sweep_create(&p.whole, &c, story_space(FREE), NULL), SW_OK);
		c.slice = 1 + below(&rng, 5);
		ck_assert_int_eq(sw_sweep_create(&p.sliced, &c, story_space(FREE), NULL), SW_OK);
		for (int i = 0; i < 400; i++) {
			const struct sw_event ev = random_event(p.whole, &rng);

			step_both(&p, &ev);
		}
		slices += p.slices;
		sw_actions_fini(&p.actions[0]);
		sw_actions_fini(&p.actions[1]);
		sw_sweep_destroy(p.whole);
		sw_sweep_destroy(p.sliced);
	}
	ck_assert_uint_gt(slices, 500);
}

/* Hundreds have ended before the one that is left: a slice looks at no more than its share. */
TEST(sweep_slice_is_bounded_where_most_have_ended)
{
	const struct sw_sweep_config c = {.run_cap = 1000, .slice = 4};
	struct sw_actions actions = {0};
	struct sw_sweep *s;
	char line[40];
	int slices = 0;

	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	for (unsigned i = 1; i <= 999; i++) {
		ck_assert_str_ne(play(s, &actions, "ask"), "");
		(void)snprintf(line, sizeof line, "tell %u 1 FAILED", i);
		if (i != 999)
			(void)play(s, &actions, line);
	}
	ck_assert_str_eq(play(s, &actions, "cancel"), "");
	while (strcmp(play(s, &actions, "settle"), "") == 0)
		slices++;
	ck_assert_str_eq(play(s, &actions, "settle"),
			 "CONFLICT nothing of the sweep is left to settle");
	ck_assert_int_eq(slices,
			 998 / (4 * 32) - 1); /* the first was CANCEL's, the last ended it */
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

RUN_TESTS(NULL, NULL)
