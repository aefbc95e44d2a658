/* tests/sched/sweep/test_sweep_promote.c — sweeps of the promote variant: stories, and whole sweeps
 * under random events beside a plain model of the paper's get_job (Li et al., arXiv:1810.05934,
 * Algorithm 2), in which a free lane looks at every rung from the top and sorts all that it ever
 * recorded. */
#include "sched/sweep/sweep.h"
#include "tests/run.h"
#include "tests/sched/pruner/promote_model.h"
#include "tests/sched/sweep/invariant.h"
#include "tests/sched/sweep/story.h"
#include <math.h>

#define PROMOTE .pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {1, 9, 3, 1, 1}}

/* clang-format off: an event and its outcome a line */
static const struct story stories[] = {
	{"three pause, the best goes on from its checkpoint; in the end the others are pruned",
	 {PROMOTE, .run_cap = 3},
	 FREE,
	 {"ask",
	  "create 1; start 1.1 until 1",
	  "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "ask",
	  "create 2; start 2.1 until 1",
	  "keep 2 1 1 1 0.7",
	  "hold (rung 1 value 0.7 rank 2/2 keep 0 cutoff none); pause 2.1@1 rung 1: rank 2 of 2",
	  "ask",
	  "create 3; start 3.1 until 1",
	  "ask",
	  "EXHAUSTED nothing to hand out now: all 3 trials are made, and none of the 2 paused ones "
	  "may go on yet",
	  "report 3 1 1 1 0.6",
	  "hold (rung 1 value 0.6 rank 2/3 keep 1 cutoff 0.5); pause 3.1@1 rung 1: rank 2 of 3",
	  "report 1 1 2 2 0.4",
	  "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
	  "tell 1 1 COMPLETED",
	  "CONFLICT /attempt attempt 1 of trial 1 is over; the trial waits for another",
	  "ask",
	  "start 1.2@1 until 3",
	  "report 1 1 2 2 0.4",
	  "CONFLICT /attempt attempt 1 of trial 1 was replaced by attempt 2",
	  "report 1 2 1 1 0.4",
	  "INVALID /step step 1 is not above the last step, 1",
	  "report 1 2 1 2 0.4",
	  "go",
	  "report 1 2 2 3 0.3",
	  "hold (rung 3 value 0.3 rank 1/1 keep 0 cutoff none); pause 1.2@3 rung 3: rank 1 of 1; "
	  "end 1.2 PRUNED rung 3: rank 1 of 1, not promoted; "
	  "end 2.1 PRUNED rung 1: rank 3 of 3, not promoted; "
	  "end 3.1 PRUNED rung 1: rank 2 of 3, not promoted; sweep COMPLETED",
	  "extend 4",
	  "sweep RUNNING"}},
	{"an attempt that is lost goes on from the last checkpoint, and pauses once a rung",
	 {PROMOTE, .run_cap = 3, .retries = 9},
	 FREE,
	 {"ask",
	  "create 1; start 1.1 until 1",
	  "lost 1 1",
	  "retry 1.1 lost",
	  "ask",
	  "start 1.2 until 1",
	  "report 1 2 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.2@1 rung 1: rank 1 of 1",
	  "ask",
	  "create 2; start 2.1 until 1",
	  "report 2 1 1 1 0.7",
	  "hold (rung 1 value 0.7 rank 2/2 keep 0 cutoff none); pause 2.1@1 rung 1: rank 2 of 2",
	  "ask",
	  "create 3; start 3.1 until 1",
	  "report 3 1 1 1 0.6",
	  "hold (rung 1 value 0.6 rank 2/3 keep 1 cutoff 0.5); pause 3.1@1 rung 1: rank 2 of 3",
	  "ask",
	  "start 1.3@1 until 3",
	  "lost 1 3",
	  "retry 1.3 lost",
	  "ask",
	  "start 1.4@1 until 3",
	  "keep 1 4 1 2 0.4",
	  "go",
	  "release 1 4 lease expired",
	  "retry 1.4 lease expired",
	  "ask",
	  "start 1.5@2 until 3",
	  "report 1 5 1 3 nan",
	  "stop; end 1.5 INFEASIBLE diverged; "
	  "end 2.1 PRUNED rung 1: rank 3 of 3, not promoted; "
	  "end 3.1 PRUNED rung 1: rank 2 of 3, not promoted; sweep COMPLETED"}},
	{"one that is paused is cancelled; its value stays in the rung",
	 {PROMOTE, .run_cap = 4},
	 FREE,
	 {"ask",
	  "create 1; start 1.1 until 1",
	  "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "ask",
	  "create 2; start 2.1 until 1",
	  "report 2 1 1 1 0.7",
	  "hold (rung 1 value 0.7 rank 2/2 keep 0 cutoff none); pause 2.1@1 rung 1: rank 2 of 2",
	  "cancel-trial 1",
	  "end 1.1 CANCELLED cancelled",
	  "cancel-trial 1",
	  "CONFLICT trial 1 has ended: CANCELLED",
	  "ask",
	  "create 3; start 3.1 until 1",
	  "report 3 1 1 1 0.6",
	  "hold (rung 1 value 0.6 rank 2/3 keep 1 cutoff 0.5); pause 3.1@1 rung 1: rank 2 of 3",
	  "ask",
	  "create 4; start 4.1 until 1",
	  "cancel",
	  "end 2.1 CANCELLED sweep-cancelled; end 3.1 CANCELLED sweep-cancelled; kill 4.1; "
	  "end 4.1 CANCELLED sweep-cancelled; sweep CANCELLED"}},
	{"the last that runs is cancelled: the paused ones end with it",
	 {PROMOTE, .run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "ask", "create 2; start 2.1 until 1", "cancel-trial 2",
	  "kill 2.1; end 2.1 CANCELLED cancelled; "
	  "end 1.1 PRUNED rung 1: rank 1 of 1, not promoted; sweep COMPLETED"}},
	{"a pause of the sweep holds a promotion back, and ends nothing",
	 {.pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {1, 2, 2, 1, 1}}, .run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "ask", "create 2; start 2.1 until 1", "pause", "sweep PAUSED", "report 2 1 1 1 0.4",
	  "hold (rung 1 value 0.4 rank 1/2 keep 1 cutoff 0.4); pause 2.1@1 rung 1: rank 1 of 2",
	  "ask", "EXHAUSTED nothing to hand out: the sweep is PAUSED", "resume", "sweep RUNNING",
	  "ask", "start 2.2@1 until 2", "report 2 2 1 2 0.3",
	  "stop (rung 2 value 0.3 rank 1/1 keep 0 cutoff none); end 2.2 COMPLETED; "
	  "end 1.1 PRUNED rung 1: rank 2 of 2, not promoted; sweep COMPLETED"}},
	{"a target: what is paused is pruned, and the best of those that run go on through the "
	 "rungs",
	 {PROMOTE, .run_cap = 9, .has_target = true, .target = 0.1},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1", "ask",
	  "create 3; start 3.1 until 1", "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "report 2 1 1 1 0.1",
	  "go (rung 1 value 0.1 rank 1/2 keep 0 cutoff none); "
	  "end 1.1 PRUNED rung 1: rank 2 of 2, not promoted",
	  "report 3 1 1 1 0.2",
	  "stop (rung 1 value 0.2 rank 2/3 keep 1 cutoff 0.1); end 3.1 PRUNED rung 1: rank 2 of 3",
	  "report 2 1 2 3 0.3", "go (rung 3 value 0.3 rank 1/1 keep 0 cutoff none)",
	  "report 2 1 3 9 0.3",
	  "stop (rung 9 value 0.3 rank 1/1 keep 0 cutoff none); end 2.1 COMPLETED; "
	  "sweep COMPLETED target 0.1 reached by trial 2"}},
	{"a word to stop, and a cap that is lowered",
	 {PROMOTE, .run_cap = 9},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1",
	  "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "edit run_cap 2", "", "edit run_cap 3", "", "stop",
	  "end 1.1 PRUNED rung 1: rank 1 of 1, not promoted; kill 2.1; "
	  "end 2.1 CANCELLED sweep-ended; sweep COMPLETED"}},
	{"a cap that is lowered to what was made, with nothing left to run",
	 {PROMOTE, .run_cap = 9},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 0 cutoff none); pause 1.1@1 rung 1: rank 1 of 1",
	  "edit run_cap 1", "end 1.1 PRUNED rung 1: rank 1 of 1, not promoted; sweep COMPLETED"}},
};
/* clang-format on */

START_TEST(sweep_story_goes_as_told)
{
	run_story(&stories[_i]);
}
END_TEST

START_TEST(sweep_place_says_where_a_paused_trial_stands)
{
	const struct sw_sweep_config c = {PROMOTE, .run_cap = 9};
	struct sw_actions actions = {0};
	struct sw_pruner_place place;
	struct sw_sweep *s;
	char line[80];

	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	for (int i = 1; i <= 5; i++) {
		if (i == 4) /* trial 3 is the best of three */
			ck_assert_str_eq(play(s, &actions, "ask"), "start 3.2@1 until 3");
		(void)play(s, &actions, "ask");
		(void)snprintf(line, sizeof line, "report %d 1 1 1 %d", i, i < 4 ? 10 - i : i + 5);
		(void)play(s, &actions, line);
	}
	ck_assert_int_eq(sw_sweep_place(s, 0, &place), SW_NOT_FOUND);
	ck_assert_int_eq(sw_sweep_place(s, 99, &place), SW_NOT_FOUND);
	/* 9 8 7 9 10, by trial: 3, 2, 1 and 4 with the same, 5 */
	ck_assert_int_eq(sw_sweep_trial(s, 3)->state, SW_TRIAL_RUNNING);
	ck_assert_int_eq(sw_sweep_place(s, 3, &place), SW_CONFLICT);
	static const uint64_t ranks[] = {3, 2, 0, 4, 5};
	for (uint64_t i = 1; i <= 5; i++) {
		if (i == 3)
			continue;
		ck_assert_int_eq(sw_sweep_place(s, i, &place), SW_OK);
		ck_assert_uint_eq(place.rung, 1);
		ck_assert_uint_eq(place.n, 5);
		ck_assert_uint_eq(place.rank, ranks[i - 1]);
		ck_assert_uint_eq(place.keep, 1);
		ck_assert_uint_eq(place.ahead, ranks[i - 1] - 2); /* trial 3 is not in the queue */
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}
END_TEST

/* --- whole sweeps --- */

static void compare(const struct sw_sweep *s, const struct model *m, uint64_t seed, int event)
{
	ck_assert_uint_eq(sw_sweep_trial_n(s), m->n);
	for (uint64_t i = 1; i <= m->n; i++) {
		const struct sw_trial *t = sw_sweep_trial(s, i);

		if (t->state == m->t[i].state && t->attempt == m->t[i].attempt &&
		    t->resume_step == m->t[i].resume_step &&
		    (t->state != SW_TRIAL_RUNNING || t->step == m->t[i].step))
			continue; /* an assertion each time would cost more than the sweep */
		ck_abort_msg(
			"seed %" PRIu64 " event %d trial %" PRIu64 ": %s attempt %u resume %" PRIu64
			" step %" PRIu64 ", the model says %s %u %" PRIu64 " %" PRIu64,
			seed, event, i, sw_trial_state_name((enum sw_trial_state)t->state),
			t->attempt, t->resume_step, t->step, sw_trial_state_name(m->t[i].state),
			m->t[i].attempt, m->t[i].resume_step, m->t[i].step);
	}
}

struct run {
	struct sw_sweep *s;
	struct sw_actions actions;
	struct model *m;
	struct sw_sweep_config c;
	uint64_t seed, rng, promoted, lost;
	int event;
};

static void ask_one(struct run *r)
{
	const uint64_t want = model_job(r->m, r->c.max_concurrent);
	const struct sw_event ev = {.kind = SW_EVENT_ASK};
	const sw_status rc = sw_sweep_step(r->s, &ev, &r->actions, NULL);

	ck_assert_int_eq(rc, want != 0 ? SW_OK : SW_EXHAUSTED);
	if (want == 0)
		return;
	const struct sw_action *start = &r->actions.v[r->actions.n - 1];
	ck_assert_msg(start->kind == SW_ACTION_START && start->trial == want,
		      "seed %" PRIu64 " event %d: trial %" PRIu64 ", the model says %" PRIu64,
		      r->seed, r->event, start->trial, want);
	r->promoted += want <= r->m->n && r->m->t[want].state == SW_TRIAL_PAUSED;
	model_start(r->m, want);
	ck_assert_uint_eq(start->resume_step, r->m->t[want].resume_step);
	ck_assert_uint_eq(start->from, start->resume_step != 0 ? want : 0);
}

static void report_one(struct run *r, uint64_t trial)
{
	const struct model_trial *t = &r->m->t[trial];
	const struct sw_event ev = {.kind = SW_EVENT_REPORT,
				    .trial = trial,
				    .attempt = t->attempt,
				    .seq = t->seq + 1,
				    .step = t->step + 1 + below(&r->rng, 3) / 2 * below(&r->rng, 6),
				    .has_value = true,
				    .checkpoint = below(&r->rng, 4) == 0,
				    .value = (double)below(&r->rng, 20)};

	ck_assert_int_eq(sw_sweep_step(r->s, &ev, &r->actions, NULL), SW_OK);
	const enum sw_trial_state now = model_report(
		r->m, trial, ev.step, r->c.maximize ? -ev.value : ev.value, ev.checkpoint);
	ck_assert_int_eq(r->actions.v[0].kind, SW_ACTION_DECIDE);
	ck_assert_int_eq(r->actions.v[0].decision, now == SW_TRIAL_RUNNING  ? SW_DECISION_CONTINUE
						   : now == SW_TRIAL_PAUSED ? SW_DECISION_PAUSE
									    : SW_DECISION_STOP);
}

/* An attempt ends without the trial, or the trial does. */
static void break_one(struct run *r, uint64_t trial)
{
	struct model_trial *t = &r->m->t[trial];
	struct sw_event ev = {.trial = trial, .attempt = t->attempt};

	switch (below(&r->rng, 4)) {
	case 0:
		ev.kind = SW_EVENT_LOST;
		t->state = ++t->lost > r->c.retries ? SW_TRIAL_FAILED : SW_TRIAL_PENDING;
		r->lost++;
		break;
	case 1:
		ev.kind = SW_EVENT_RELEASE;
		t->state = SW_TRIAL_PENDING;
		break;
	case 2:
		ev.kind = SW_EVENT_TELL;
		ev.end = below(&r->rng, 2) == 0 ? SW_TRIAL_COMPLETED : SW_TRIAL_FAILED;
		t->state = ev.end == SW_TRIAL_COMPLETED && !t->has_value ? SW_TRIAL_FAILED : ev.end;
		break;
	default:
		ev.kind = SW_EVENT_CANCEL_TRIAL;
		t->state = SW_TRIAL_CANCELLED;
		break;
	}
	ck_assert_int_eq(sw_sweep_step(r->s, &ev, &r->actions, NULL), SW_OK);
}

static void make_run(struct run *r, struct model *m, uint64_t seed)
{
	*r = (struct run){.m = m, .seed = seed, .rng = seed};
	const uint64_t rf = 2 + below(&r->rng, 3), grace = 1 + below(&r->rng, 2);
	const uint64_t max_t = grace + below(&r->rng, 40);

	*m = (struct model){.cap = 1 + below(&r->rng, TRIALS), .max_t = max_t, .rf = rf};
	for (uint64_t step = grace; step < max_t; step *= rf)
		m->step[m->rungs++] = step;
	r->c = (struct sw_sweep_config){
		.seed = seed,
		.maximize = below(&r->rng, 2) == 0,
		.run_cap = m->cap,
		.max_concurrent = below(&r->rng, 3) == 0 ? 0 : 1 + below(&r->rng, 12),
		.retries = (unsigned)below(&r->rng, 3),
		.pruner = {.kind = SW_PRUNER_PROMOTE, .asha = {grace, max_t, rf, 1, 1}}};
	ck_assert_int_eq(sw_sweep_create(&r->s, &r->c, story_space(FREE), NULL), SW_OK);
}

START_TEST(sweep_promote_hands_out_what_get_job_would)
{
	static struct model model;
	uint64_t promoted = 0, lost = 0, pruned = 0, completed = 0;

	for (uint64_t seed = (uint64_t)_i * 50 + 1; seed <= (uint64_t)_i * 50 + 50; seed++) {
		struct run r;
		bool ended = false;
		uint64_t counts[SW_TRIAL_STATE_N];

		make_run(&r, &model, seed);
		for (; !ended && r.event < 100000; r.event++) {
			const uint64_t trial = 1 + below(&r.rng, model.n + 1);
			const bool runs = trial <= model.n &&
					  model.t[trial].state == SW_TRIAL_RUNNING;

			if (runs && below(&r.rng, 40) == 0)
				break_one(&r, trial);
			else if (runs)
				report_one(&r, trial);
			else
				ask_one(&r);
			ended = model_settle(&model);
			compare(r.s, &model, seed, r.event);
			if (r.event % 4 == 0) {
				sweep_invariant(r.s);
				ck_assert_int_eq(sw_sweep_has_work(r.s),
						 !ended && model_job(&model, r.c.max_concurrent) !=
								   0);
			}
			ck_assert_int_eq(sw_sweep_state(r.s) >= SW_SWEEP_COMPLETED, ended);
		}
		ck_assert_uint_eq(model.n, model.cap);
		sw_sweep_counts(r.s, counts);
		pruned += counts[SW_TRIAL_PRUNED];
		completed += counts[SW_TRIAL_COMPLETED];
		promoted += r.promoted;
		lost += r.lost;
		sw_actions_fini(&r.actions);
		sw_sweep_destroy(r.s);
	}
	ck_assert_uint_gt(promoted, 400);
	ck_assert_uint_gt(lost, 20);
	ck_assert_uint_gt(pruned, 400);
	ck_assert_uint_gt(completed, 40);
}
END_TEST

/* How many suggestions the next asks take, against asking. */
START_TEST(sweep_wants_suggestions_counts_the_promotions_before_them)
{
	uint64_t mixed = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		static struct model model;
		struct run r;

		make_run(&r, &model, seed);
		sw_sweep_destroy(r.s);
		r.c.sampler = SW_SAMPLER_TPE;
		ck_assert_int_eq(sw_sweep_create(&r.s, &r.c, story_space(FREE), NULL), SW_OK);
		for (bool ended = false; !ended && r.event < 300; r.event++) {
			const uint64_t trial = 1 + below(&r.rng, model.n + 1);

			if (r.event % 10 == 0) { /* ask as often as it can be asked */
				const uint64_t want = sw_sweep_wants_suggestions(r.s, 7);
				uint64_t made = 0, resumed = 0;

				for (int i = 0; i < 7; i++) {
					const uint64_t before = model.n;
					const bool wants = sw_sweep_wants_suggestion(r.s);
					const uint64_t job = model_job(&model, r.c.max_concurrent);

					resumed += job != 0 && job <= before;
					ask_one(&r);
					made += model.n > before;
					ck_assert_int_eq(wants, model.n > before);
				}
				ck_assert_uint_eq(made, want);
				mixed += made > 0 && resumed > 0;
			} else if (trial <= model.n && model.t[trial].state == SW_TRIAL_RUNNING) {
				report_one(&r, trial);
			}
			ended = model_settle(&model);
		}
		sw_actions_fini(&r.actions);
		sw_sweep_destroy(r.s);
	}
	ck_assert_uint_gt(mixed, 20);
}
END_TEST

SUITE(tcase)
{
	tcase_set_timeout(tcase, 240);
	tcase_add_rows(tcase, sweep_story_goes_as_told, stories);
	tcase_add_test(tcase, sweep_place_says_where_a_paused_trial_stands);
	tcase_add_loop_test(tcase, sweep_promote_hands_out_what_get_job_would, 0, 3);
	tcase_add_test(tcase, sweep_wants_suggestions_counts_the_promotions_before_them);
}
