/* tests/sched/sweep/test_sweep_pbt.c — populations: a story, and whole sweeps under random events
 * with few lanes: the population stays as large as it was, children go on where their donor stood,
 * and every member gets its turn. */
#include "base/fault.h"
#include "sched/sweep/sweep.h"
#include "tests/run.h"
#include "tests/sched/space/check.h"
#include "tests/sched/sweep/invariant.h"
#include "tests/sched/sweep/story.h"
#include <math.h>

#define PBT(interval, fraction)                                                                    \
	.pruner = {.kind = SW_PRUNER_PBT,                                                          \
		   .pbt = {.perturbation_interval = (interval),                                    \
			   .quantile_fraction = (fraction),                                        \
			   .resample_probability = 0.25,                                           \
			   .factor = {1.2, 0.8},                                                   \
			   .factor_n = 2}}

/* clang-format off: an event and its outcome a line */
static const struct story stories[] = {
	{"two members on one lane take turns, the worse is replaced by a copy of the better",
	 {PBT(5, 0.5), .run_cap = 2, .max_concurrent = 1, .retries = 9},
	 FREE,
	 {"ask",
	  "create 1; start 1.1 until 5",
	  "keep 1 1 1 4 9",
	  "go",
	  "keep 1 1 2 5 0.5",
	  "hold (rung 5 value 0.5 rank 1/1 keep 1 cutoff none); "
	  "pause 1.1@5 waits for the others: rank 1 of 1 at step 5",
	  "ask",
	  "create 2; start 2.1 until 5",
	  "keep 2 1 1 5 0.9",
	  "stop (rung 5 value 0.9 rank 2/2 keep 1 cutoff 0.5); "
	  "end 2.1 PRUNED exploited: rank 2 of 2 at step 5, trial 3 goes on from trial 1 at step "
	  "5; "
	  "create 3<1@5",
	  "ask",
	  "start 1.2@5 until 10",
	  "keep 1 2 1 10 0.6",
	  "hold (rung 10 value 0.6 rank 1/1 keep 1 cutoff none); "
	  "pause 1.2@10 waits for the others: rank 1 of 1 at step 10",
	  "ask",
	  "start 3.1@5<1 until 10",
	  "lost 3 1",
	  "retry 3.1 lost",
	  "ask",
	  "start 3.2@5<1 until 10",
	  "keep 3 2 1 6 0.8",
	  "go",
	  "release 3 2",
	  "retry 3.2 released",
	  "ask",
	  "start 3.3@6 until 10",
	  "keep 3 3 1 10 0.1",
	  "hold (rung 10 value 0.1 rank 1/2 keep 1 cutoff 0.1); "
	  "pause 3.3@10 waits for the others: rank 1 of 2 at step 10",
	  "ask",
	  "start 1.3@10 until 15",
	  "tell 1 3 COMPLETED",
	  "end 1.3 COMPLETED",
	  "extend 2",
	  "INVALID /run_cap run_cap 2 is not above the present cap 2",
	  "ask",
	  "start 3.4@10 until 15",
	  "tell 3 4 COMPLETED",
	  "end 3.4 COMPLETED; sweep COMPLETED"}},
	{"about to end: no child, and nobody pauses",
	 {PBT(1, 0.5), .run_cap = 3, .has_target = true, .target = 0},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1",
	  "report 1 1 1 1 0.5",
	  "hold (rung 1 value 0.5 rank 1/1 keep 1 cutoff none); "
	  "pause 1.1@1 waits for the others: rank 1 of 1 at step 1",
	  "report 2 1 1 1 0",
	  "go (rung 1 value 0 rank 1/2 keep 1 cutoff 0); end 1.1 PRUNED sweep-ended",
	  "report 2 1 2 2 3", "go (rung 2 value 3 rank 1/1 keep 1 cutoff none)",
	  "tell 2 1 COMPLETED", "end 2.1 COMPLETED; sweep COMPLETED target 0 reached by trial 2"}},
	{"a donor that stands on its parent's checkpoint: so does its copy",
	 {PBT(1, 0.5), .run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1",
	  "keep 1 1 1 1 0.5", "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "keep 2 1 1 1 0.9",
	  "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); "
	  "end 2.1 PRUNED exploited: rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step "
	  "1; "
	  "create 3<1@1",
	  "ask", "start 3.1@1<1 until 2", "report 3 1 1 2 0.1",
	  "go (rung 2 value 0.1 rank 1/2 keep 1 cutoff 0.1)", "keep 1 1 2 2 0.7",
	  "stop (rung 2 value 0.7 rank 2/2 keep 1 cutoff 0.1); "
	  "end 1.1 PRUNED exploited: rank 2 of 2 at step 2, trial 4 goes on from trial 3 at step "
	  "1; "
	  "create 4<1@1",
	  "ask", "start 4.1@1<1 until 2"}},
	{"a donor without a checkpoint: its copy starts from scratch",
	 {PBT(1, 0.5), .run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1",
	  "report 1 1 1 1 0.5", "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "report 2 1 1 1 0.9",
	  "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); "
	  "end 2.1 PRUNED exploited: rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step "
	  "0; "
	  "create 3<1",
	  "cancel-trial 3", "end 3.0 CANCELLED cancelled"}},
	{"a child whose donor stood at its last step ends with nothing to train; one that reported "
	 "without the metric does not",
	 {PBT(1, 0.5), .run_cap = 2, .retries = 3},
	 FREE,
	 {"ask",
	  "create 1; start 1.1 until 1",
	  "ask",
	  "create 2; start 2.1 until 1",
	  "keep 1 1 1 1 0.5",
	  "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "keep 2 1 1 1 0.9",
	  "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); "
	  "end 2.1 PRUNED exploited: rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step "
	  "1; "
	  "create 3<1@1",
	  "ask",
	  "start 3.1@1<1 until 2",
	  "lost 3 1",
	  "retry 3.1 lost",
	  "ask",
	  "start 3.2@1<1 until 2",
	  "tell 3 2 COMPLETED",
	  "end 3.2 PRUNED nothing to train after step 1 of trial 1",
	  "keep 1 1 2 2 0.6",
	  "go (rung 2 value 0.6 rank 1/1 keep 1 cutoff none)",
	  "tell 1 1 COMPLETED",
	  "end 1.1 COMPLETED; sweep COMPLETED"}},
	{"a child that reported, but not the metric",
	 {PBT(1, 0.5), .run_cap = 2},
	 FREE,
	 {"ask", "create 1; start 1.1 until 1", "ask", "create 2; start 2.1 until 1",
	  "keep 1 1 1 1 0.5", "go (rung 1 value 0.5 rank 1/1 keep 1 cutoff none)",
	  "keep 2 1 1 1 0.9",
	  "stop (rung 1 value 0.9 rank 2/2 keep 1 cutoff 0.5); "
	  "end 2.1 PRUNED exploited: rank 2 of 2 at step 1, trial 3 goes on from trial 1 at step "
	  "1; "
	  "create 3<1@1",
	  "ask", "start 3.1@1<1 until 2", "note 3 1 1 2", "go", "tell 3 1 COMPLETED",
	  "end 3.1 FAILED no-metric"}},
};
/* clang-format on */

START_TEST(sweep_story_goes_as_told)
{
	run_story(&stories[_i]);
}
END_TEST

enum { LAST = 40 };

struct population {
	struct sw_sweep *s;
	struct sw_actions actions;
	uint64_t rng, n, children;
};

static struct sw_sweep *make(uint64_t seed, uint64_t n, uint64_t *rng)
{
	const struct sw_param p[] = {
		{.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1},
		{.dist = SW_DIST_CATEGORICAL, .n_choices = 5},
		{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 64},
	};
	struct sw_space *space;
	struct sw_sweep *s;
	const struct sw_sweep_config c = {PBT(1 + below(rng, 6), 0.25),
					  .seed = seed,
					  .run_cap = n,
					  .maximize = below(rng, 2) == 0,
					  .sampler = below(rng, 2) == 0 ? SW_SAMPLER_RANDOM
									: SW_SAMPLER_TPE,
					  .max_concurrent = 1 + below(rng, n),
					  .retries = 1000};
	struct sw_sweep_config with = c;

	ck_assert_int_eq(sw_space_create(&space), SW_OK);
	for (size_t i = 0; i < ROWS(p); i++)
		ck_assert_int_eq(sw_space_add(space, &p[i], NULL), SW_OK);
	with.pruner.pbt.last_step = LAST;
	with.pruner.pbt.fixed[2] = true;
	ck_assert_int_eq(sw_sweep_create(&s, &with, space, NULL), SW_OK);
	return s;
}

/* The child of a report: what it is a copy of, and what may differ. */
static void check_child(struct population *p, const struct sw_action *create)
{
	const struct sw_trial *donor = sw_sweep_trial(p->s, create->parent);
	struct sw_value of_donor[3], own[3];

	ck_assert_ptr_nonnull(donor);
	ck_assert_uint_eq(sw_sweep_parent(p->s, create->trial), create->parent);
	ck_assert(sw_sweep_origin(p->s, create->trial).enqueued == 0);
	ck_assert_uint_eq(create->resume_step, donor->resume_step);
	ck_assert_uint_eq(sw_sweep_from(p->s, create->trial),
			  donor->resume_step != 0 ? create->parent : 0);
	ck_assert_int_eq(sw_sweep_values(p->s, create->parent, of_donor), SW_OK);
	ck_assert_int_eq(sw_sweep_values(p->s, create->trial, own), SW_OK);
	ck_assert_int_eq(space_check(sw_sweep_space(p->s), own, NULL), SW_OK);
	ck_assert(own[0].number != of_donor[0].number || own[0].number == 1e-4 ||
		  own[0].number == 1);                          /* clipped */
	ck_assert_double_eq(own[2].number, of_donor[2].number); /* may not change */
	p->children++;
}

static uint64_t alive(const struct sw_sweep *s)
{
	uint64_t counts[SW_TRIAL_STATE_N];

	sw_sweep_counts(s, counts);
	return counts[SW_TRIAL_PENDING] + counts[SW_TRIAL_RUNNING] + counts[SW_TRIAL_PAUSED];
}

/* Reports the next step of a running trial; at the last it is told COMPLETED. */
static void advance(struct population *p, uint64_t trial)
{
	const struct sw_trial *t = sw_sweep_trial(p->s, trial);
	const uint64_t before = alive(p->s);
	struct sw_event ev = {.kind = SW_EVENT_REPORT,
			      .trial = trial,
			      .attempt = t->attempt,
			      .seq = t->seq + 1,
			      .step = t->step + 1,
			      .has_value = true,
			      .checkpoint = true,
			      .value = unit(&p->rng)};

	if (t->step >= LAST) {
		ev.kind = SW_EVENT_TELL;
		ev.end = SW_TRIAL_COMPLETED;
	} else if (below(&p->rng, 30) == 0) {
		ev.kind = below(&p->rng, 2) == 0 ? SW_EVENT_LOST : SW_EVENT_RELEASE;
	}
	ck_assert_int_eq(sw_sweep_step(p->s, &ev, &p->actions, NULL), SW_OK);
	for (size_t i = 0; i < p->actions.n; i++)
		if (p->actions.v[i].kind == SW_ACTION_CREATE)
			check_child(p, &p->actions.v[i]);
	ck_assert_uint_eq(alive(p->s), ev.kind == SW_EVENT_TELL ? before - 1 : before);
}

/* 0: none runs. */
static uint64_t any_running(struct population *p)
{
	const uint64_t n = sw_sweep_trial_n(p->s), from = below(&p->rng, n + 1);

	for (uint64_t i = 0; i < n; i++)
		if (sw_sweep_trial(p->s, 1 + (from + i) % n)->state == SW_TRIAL_RUNNING)
			return 1 + (from + i) % n;
	return 0;
}

/* Hands out a trial. One that is made by a sampler that learns has been announced: a suggestion
 * that is costly is made ahead of time, not in the step. */
static void take_one(struct population *p)
{
	const struct sw_event ask = {.kind = SW_EVENT_ASK};
	const bool wants = sw_sweep_wants_suggestion(p->s);
	const bool learns = sw_sweep_learns(p->s);

	ck_assert_int_eq(sw_sweep_step(p->s, &ask, &p->actions, NULL), SW_OK);
	ck_assert(wants == (learns && p->actions.v[0].kind == SW_ACTION_CREATE));
}

static void run_population(uint64_t seed, uint64_t *children)
{
	struct population p = {.rng = seed};

	p.n = 2 + below(&p.rng, 10);
	p.s = make(seed, p.n, &p.rng);
	for (int i = 0; i < 20000 && sw_sweep_state(p.s) == SW_SWEEP_RUNNING; i++) {
		const uint64_t trial = any_running(&p);

		if (trial != 0 && below(&p.rng, 3) != 0)
			advance(&p, trial);
		else if (sw_sweep_has_work(p.s))
			take_one(&p);
		if (i % 8 == 0)
			sweep_invariant(p.s);
	}
	ck_assert_int_eq(sw_sweep_state(p.s), SW_SWEEP_COMPLETED);
	ck_assert_uint_eq(sw_sweep_trial_n(p.s), p.n + p.children);
	ck_assert_uint_eq(sw_sweep_run_cap(p.s), p.n + p.children);
	uint64_t counts[SW_TRIAL_STATE_N];
	sw_sweep_counts(p.s, counts);
	ck_assert_uint_eq(counts[SW_TRIAL_COMPLETED], p.n);
	ck_assert_uint_eq(counts[SW_TRIAL_PRUNED], p.children);
	*children += p.children;
	sw_actions_fini(&p.actions);
	sw_sweep_destroy(p.s);
}

START_TEST(sweep_population_stays_as_large_as_it_was)
{
	uint64_t children = 0;

	for (uint64_t seed = 1; seed <= 30; seed++)
		run_population(seed, &children);
	ck_assert_uint_gt(children, 100);
}
END_TEST

#ifdef SW_FAULTS
/* The report that makes a child, without memory at each of its allocations. */
START_TEST(sweep_child_without_memory_changes_nothing)
{
	struct sw_sweep_config c = stories[0].c;
	struct sw_actions actions = {0};
	struct sw_sweep *s;
	unsigned failures = 0;
	char line[80];

	c.run_cap = 64;
	c.max_concurrent = 0;
	ck_assert_int_eq(sw_sweep_create(&s, &c, story_space(FREE), NULL), SW_OK);
	for (unsigned i = 1; i <= 64; i++) {
		struct sw_event ev = {.kind = SW_EVENT_REPORT,
				      .trial = i,
				      .attempt = 1,
				      .seq = 1,
				      .step = 5,
				      .has_value = true,
				      .value = i};
		sw_status rc = SW_NOMEM;

		ck_assert_str_ne(play(s, &actions, "ask"), "");
		(void)snprintf(line, sizeof line, "trial %u", i);
		if (sw_sweep_trial(s, i) == NULL || sw_sweep_trial(s, i)->attempt != 1 ||
		    sw_sweep_trial(s, i)->state != SW_TRIAL_RUNNING)
			continue;
		const struct sw_trial before = *sw_sweep_trial(s, i);
		const uint64_t n = sw_sweep_trial_n(s);
		for (unsigned nth = 1; rc == SW_NOMEM; nth++) {
			sw_actions_fini(&actions);
			ck_assert_uint_lt(nth, 50);
			sw_fault_arm(SW_FAULT_MALLOC, nth, false);
			rc = sw_sweep_step(s, &ev, &actions, NULL);
			sw_fault_arm(SW_FAULT_MALLOC, 0, false);
			sweep_invariant(s);
			if (rc == SW_OK)
				break;
			ck_assert_int_eq(rc, SW_NOMEM);
			ck_assert_mem_eq(&before, sw_sweep_trial(s, i), sizeof before);
			ck_assert_uint_eq(n, sw_sweep_trial_n(s));
			failures++;
		}
	}
	ck_assert_uint_gt(failures, 20);
	ck_assert_uint_gt(sw_sweep_run_cap(s), 64);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_set_timeout(tcase, 240);
	tcase_add_rows(tcase, sweep_story_goes_as_told, stories);
	tcase_add_test(tcase, sweep_population_stays_as_large_as_it_was);
#ifdef SW_FAULTS
	tcase_add_test(tcase, sweep_child_without_memory_changes_nothing);
#endif
}
