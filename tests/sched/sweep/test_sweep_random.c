/*
 * tests/sched/sweep/test_sweep_random.c — sweeps under random events: the invariant after each, no
 * more trials than the budget, the same actions when the accepted events are fed again, and a
 * failed allocation anywhere that leaves no trace.
 */
#include "base/fault.h"
#include "sched/sweep/sweep.h"
#include "tests/run.h"
#include "tests/sched/suite.h"
#include "tests/sched/sweep/invariant.h"
#include <math.h>
#include <string.h>

enum { EVENTS = 400, MAX_ACTIONS = 4000 };

static struct sw_space *make_space(bool grid)
{
	const struct sw_param p[] = {{.dist = SW_DIST_CATEGORICAL, .n_choices = 5},
				     {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8},
				     {.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1}};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < (grid ? 2 : 3); i++)
		ck_assert_int_eq(sw_space_add(s, &p[i], NULL), SW_OK);
	return s;
}

static struct sw_pruner_config random_pruner(uint64_t *rng)
{
	struct sw_pruner_config c = {.kind = (enum sw_pruner_kind)below(rng, SW_PRUNER_KIND_N)};

	c.asha = (struct sw_asha_config){1, 9 + below(rng, 20), 2 + below(rng, 2),
					 1 + below(rng, 2), 1 + below(rng, 4)};
	c.hyperband = (struct sw_hyperband_config){
		.min_iter = 1 + below(rng, 3), .eta = 2 + below(rng, 2), .strict = below(rng, 2)};
	c.median = below(rng, 2) == 0
			   ? (struct sw_median_config){.running_mean = true,
						       .grace_period = below(rng, 4),
						       .min_samples = 1 + below(rng, 3)}
			   : (struct sw_median_config){.startup_trials = below(rng, 3),
						       .interval_steps = 1 + below(rng, 2),
						       .min_trials = 1 + below(rng, 2)};
	c.patience = (struct sw_patience_config){.patience = 2 + below(rng, 3)};
	c.threshold = (struct sw_threshold_config){
		.has_upper = true, .upper = (double)below(rng, 6), .interval_steps = 1};
	c.pbt = (struct sw_pbt_config){.perturbation_interval = 1 + below(rng, 5),
				       .burn_in_period = below(rng, 4),
				       .quantile_fraction = 0.1 * (double)(1 + below(rng, 5)),
				       .resample_probability = 0.25,
				       .factor = {1.2, 0.8},
				       .factor_n = 2};
	return c;
}

static struct sw_sweep_config random_config(uint64_t *rng)
{
	struct sw_sweep_config c = {.seed = next_u64(rng)};

	c.sampler = below(rng, 3) == 0 ? SW_SAMPLER_GRID : SW_SAMPLER_RANDOM;
	c.maximize = below(rng, 2) == 0;
	c.pruner = random_pruner(rng);
	c.run_cap = below(rng, 3) == 0 ? 0 : 1 + below(rng, 30);
	if (c.pruner.kind == SW_PRUNER_PBT && c.run_cap == 0)
		c.run_cap = 1 + below(rng, 12);
	c.max_concurrent = below(rng, 2) == 0 ? 0 : 1 + below(rng, 6);
	c.retries = (unsigned)below(rng, 3);
	c.has_target = below(rng, 6) == 0;
	c.target = c.maximize ? 4.5 : -5.5;
	if (below(rng, 5) == 0)
		c.plateau = (struct sw_plateau){
			.top = 1 + below(rng, 4), .std = 0.5, .patience = below(rng, 4)};
	c.slice = below(rng, 2) == 0 ? 0 : 1 + below(rng, 4);
	return c;
}

static struct sw_sweep *make_sweep(const struct sw_sweep_config *c)
{
	struct sw_sweep *s;

	ck_assert_int_eq(sw_sweep_create(&s, c, make_space(c->sampler == SW_SAMPLER_GRID), NULL),
			 SW_OK);
	return s;
}

/* Mostly what a daemon would send; now and then what only a broken peer would. */
static struct sw_event random_event(const struct sw_sweep *s, uint64_t *rng)
{
	static const enum sw_event_kind often[] = {
		SW_EVENT_ASK,    SW_EVENT_ASK,    SW_EVENT_ASK,    SW_EVENT_REPORT,
		SW_EVENT_REPORT, SW_EVENT_REPORT, SW_EVENT_REPORT, SW_EVENT_REPORT,
		SW_EVENT_REPORT, SW_EVENT_TELL,   SW_EVENT_LOST,   SW_EVENT_RELEASE};
	static const struct sw_value wanted[][3] = {
		{{.choice = 0}, {.number = 1}, {.number = 0.5}},
		{{.choice = 4}, {.number = 8}, {.number = 1e-4}},
	};
	static const struct sw_range ranges[] = {
		{1, 2, 6}, {1, 1, 8}, {2, 0.01, 0.1}, {1, 9, 3}, {2, 1e-4, 2}};
	static const struct sw_edit edits[] = {
		{.n_ranges = 1, .ranges = &ranges[0]},
		{.n_ranges = 2, .ranges = &ranges[1]},
		{.n_ranges = 1, .ranges = &ranges[3]},
		{.n_ranges = 1, .ranges = &ranges[4]},
		{.has_run_cap = true, .run_cap = 25},
		{.has_run_cap = true, .run_cap = 6, .has_max_concurrent = true},
		{.has_max_concurrent = true, .max_concurrent = 2},
		{.has_target = true, .target = 5.5},
	};
	static const char *const causes[] = {NULL, "", "oom", "exit:1", "signal:9"};
	const uint64_t n = sw_sweep_trial_n(s);
	struct sw_event ev = {.kind = often[below(rng, ROWS(often))]};

	if (below(rng, 40) == 0)
		ev.kind = (enum sw_event_kind)below(rng, SW_EVENT_KIND_N);
	else if (below(rng, 12) == 0)
		ev.kind = below(rng, 2) == 0 ? SW_EVENT_ENQUEUE : SW_EVENT_EDIT;
	if (sw_sweep_settling(s) && below(rng, 2) == 0)
		ev.kind = SW_EVENT_SETTLE;
	ev.values = wanted[below(rng, ROWS(wanted))];
	ev.edit = &edits[below(rng, ROWS(edits))];
	if ((ev.kind == SW_EVENT_CANCEL || ev.kind == SW_EVENT_FAIL || ev.kind == SW_EVENT_STOP) &&
	    below(rng, 8) != 0)
		ev.kind = SW_EVENT_RESUME;
	ev.trial = below(rng, n + 2);
	for (int i = 0; i < 10 && n > 0; i++) { /* look for one that runs */
		const struct sw_trial *t = sw_sweep_trial(s, 1 + below(rng, n));

		if (t->state != (below(rng, 12) == 0 ? SW_TRIAL_PAUSED : SW_TRIAL_RUNNING))
			continue;
		ev.trial = 0;
		while (sw_sweep_trial(s, ++ev.trial) != t)
			;
		break;
	}
	const struct sw_trial *t = sw_sweep_trial(s, ev.trial);
	if (t != NULL) {
		ev.attempt = t->attempt - (below(rng, 20) == 0);
		ev.seq = t->seq + 1 - (below(rng, 20) == 0) + (below(rng, 20) == 0);
		ev.step = t->step + 1 + below(rng, 4) - (below(rng, 20) == 0);
	}
	ev.has_value = below(rng, 8) != 0;
	ev.final = below(rng, 16) == 0;
	ev.checkpoint = below(rng, 3) == 0;
	ev.value = below(rng, 60) == 0 ? NAN : (double)below(rng, 12) - 6.0;
	ev.end = (enum sw_trial_state)(SW_TRIAL_PENDING + below(rng, SW_TRIAL_STATE_N));
	if (below(rng, 4) != 0)
		ev.end = SW_TRIAL_COMPLETED;
	ev.run_cap = below(rng, 60);
	ev.cause = causes[below(rng, ROWS(causes))];
	return ev;
}

/* An action with its values beside it: what a pointer says is gone after the next step. */
struct kept {
	struct sw_action action;
	struct sw_value values[3];
};

/* Equal bits, so that NaN equals itself and 0 is not -0. */
static bool same_number(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_judgement(const struct sw_judgement *a, const struct sw_judgement *b)
{
	return a->verdict == b->verdict && a->rung == b->rung && a->n == b->n &&
	       a->better == b->better && a->keep == b->keep && same_number(a->cutoff, b->cutoff) &&
	       same_number(a->value, b->value) && a->bracket == b->bracket && a->donor == b->donor;
}

/* By fields: what lies between them is nobody's. */
static bool same_kept(const struct kept *k, const struct kept *other)
{
	const struct sw_action *a = &k->action, *b = &other->action;

	for (size_t i = 0; i < ROWS(k->values); i++)
		if (!same_number(k->values[i].number, other->values[i].number) ||
		    k->values[i].choice != other->values[i].choice)
			return false;
	return a->kind == b->kind && a->trial == b->trial && a->attempt == b->attempt &&
	       a->decision == b->decision && same_judgement(&a->judgement, &b->judgement) &&
	       a->end == b->end && a->sweep == b->sweep && strcmp(a->cause, b->cause) == 0 &&
	       a->resume_step == b->resume_step && a->from == b->from && a->until == b->until &&
	       a->parent == b->parent;
}

struct log {
	struct sw_event event[EVENTS];
	size_t event_n;
	struct kept kept[MAX_ACTIONS];
	size_t n;
};

static void keep(struct log *log, const struct sw_actions *actions, size_t params)
{
	for (size_t i = 0; i < actions->n; i++) {
		struct kept *k = &log->kept[log->n++];

		ck_assert_uint_le(log->n, MAX_ACTIONS);
		memset(k, 0, sizeof *k);
		memcpy(&k->action, &actions->v[i], sizeof k->action);
		if (k->action.values != NULL)
			memcpy(k->values, k->action.values, params * sizeof k->values[0]);
		k->action.values = NULL;
	}
}

/* A sweep nobody may change: everything that can be asked of it, as bytes. */
struct snapshot {
	enum sw_sweep_state state;
	uint64_t n, cap, counts[SW_TRIAL_STATE_N], rungs[64], epoch, next, next_n, parents;
	const struct sw_space *space;
	struct sw_trial trial[64];
};

static void take(const struct sw_sweep *s, struct snapshot *to)
{
	memset(to, 0, sizeof *to);
	to->state = sw_sweep_state(s);
	to->n = sw_sweep_trial_n(s);
	to->cap = sw_sweep_run_cap(s);
	sw_sweep_counts(s, to->counts);
	to->epoch = sw_sweep_epoch(s);
	to->space = sw_sweep_space(s);
	to->next = sw_pruner_next(sw_sweep_pruner(s));
	to->next_n = sw_pruner_next_n(sw_sweep_pruner(s), 100);
	ck_assert_uint_le(to->n, EVENTS);
	for (uint64_t i = 1; i <= to->n; i++)
		to->parents += sw_sweep_parent(s, i);
	for (uint64_t i = 0; i < to->n && i < ROWS(to->trial); i++)
		memcpy(&to->trial[i], sw_sweep_trial(s, i + 1), sizeof to->trial[i]);
	for (size_t k = 0; k < sw_pruner_rung_n(sw_sweep_pruner(s), 0); k++)
		to->rungs[k] = sw_pruner_rung_count(sw_sweep_pruner(s), 0, k);
}

static void check_step(const struct sw_sweep *s, const struct snapshot *before, bool had_work,
		       const struct sw_event *ev, sw_status rc, const struct sw_err *e)
{
	struct snapshot after;

	sweep_invariant(s);
	ck_assert_int_eq(e->code, rc);
	if (ev->kind == SW_EVENT_ASK)
		ck_assert_int_eq(rc, had_work ? SW_OK : SW_EXHAUSTED);
	if (rc == SW_OK)
		return;
	ck_assert(e->msg[0] != '\0');
	take(s, &after);
	ck_assert_mem_eq(before, &after, sizeof after);
}

/* ASK handed out what was foreseen. */
static void check_foreseen(struct sw_sweep *s, const struct sw_actions *actions, sw_status foreseen,
			   const struct sw_value *next)
{
	const struct sw_action *start = &actions->v[actions->n - 1];
	struct sw_value values[SW_SPACE_MAX_PARAMS];

	ck_assert_int_eq(foreseen, SW_OK);
	ck_assert_int_eq(start->kind, SW_ACTION_START);
	ck_assert_int_eq(sw_sweep_values(s, start->trial, values), SW_OK);
	ck_assert(sw_space_equal(sw_sweep_space(s), values, next));
}

static void run_random(uint64_t seed, struct log *log, struct sw_sweep_config *c)
{
	uint64_t rng = seed;
	struct sw_actions actions = {0};
	static struct snapshot before;

	*c = random_config(&rng);
	log->n = log->event_n = 0;
	struct sw_sweep *s = make_sweep(c);
	for (int i = 0; i < EVENTS; i++) {
		const struct sw_event ev = random_event(s, &rng);
		const bool had_work = sw_sweep_has_work(s);
		struct sw_value next[SW_SPACE_MAX_PARAMS];
		const sw_status foreseen = sw_sweep_next(s, NULL, next);
		struct sw_err e = SW_ERR_INIT;

		take(s, &before);
		const sw_status rc = sw_sweep_step(s, &ev, &actions, &e);
		check_step(s, &before, had_work, &ev, rc, &e);
		if (rc != SW_OK)
			continue;
		if (ev.kind == SW_EVENT_ASK)
			check_foreseen(s, &actions, foreseen, next);
		log->event[log->event_n++] = ev;
		keep(log, &actions, sw_space_size(sw_sweep_space(s)));
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

START_TEST(sweep_random_events_keep_the_invariant_and_replay_alike)
{
	struct log *log = malloc(sizeof *log), *again = malloc(sizeof *again);

	ck_assert(log != NULL && again != NULL);
	for (uint64_t seed = (uint64_t)_i * 100; seed < (uint64_t)_i * 100 + 100; seed++) {
		struct sw_sweep_config c;
		struct sw_actions actions = {0};

		run_random(seed, log, &c);
		struct sw_sweep *s = make_sweep(&c);
		again->n = 0;
		for (size_t i = 0; i < log->event_n; i++) {
			ck_assert_int_eq(sw_sweep_step(s, &log->event[i], &actions, NULL), SW_OK);
			keep(again, &actions, sw_space_size(sw_sweep_space(s)));
		}
		ck_assert_uint_eq(again->n, log->n);
		for (size_t i = 0; i < log->n; i++)
			ck_assert_msg(same_kept(&again->kept[i], &log->kept[i]),
				      "seed %llu action %zu", (unsigned long long)seed, i);
		sw_actions_fini(&actions);
		sw_sweep_destroy(s);
	}
	free(log);
	free(again);
}
END_TEST

/* Only what moves a sweep on: it must come to its end, with the budget used exactly. */
START_TEST(sweep_budget_is_used_exactly)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		uint64_t rng = seed, counts[SW_TRIAL_STATE_N], ended = 0;
		struct sw_actions actions = {0};
		struct sw_sweep_config c = random_config(&rng);

		c.run_cap = 1 + below(&rng, 60);
		c.has_target = false;
		c.plateau.top = 0;
		const uint64_t want = c.sampler == SW_SAMPLER_GRID && c.run_cap > 40 ? 40
										     : c.run_cap;
		struct sw_sweep *s = make_sweep(&c);
		ck_assert_uint_eq(sw_sweep_run_cap(s), want);
		for (int i = 0; i < 20000 && sw_sweep_state(s) == SW_SWEEP_RUNNING; i++) {
			struct sw_event ev = random_event(s, &rng);

			if (ev.kind > SW_EVENT_RELEASE && ev.kind != SW_EVENT_SETTLE)
				ev.kind = SW_EVENT_ASK;
			(void)!sw_sweep_step(s, &ev, &actions, NULL);
		}
		sw_sweep_counts(s, counts);
		for (int k = SW_TRIAL_COMPLETED; k < SW_TRIAL_STATE_N; k++)
			ended += counts[k];
		const uint64_t children = sw_sweep_run_cap(s) - want; /* of a population */
		ck_assert(children == 0 || c.pruner.kind == SW_PRUNER_PBT);
		ck_assert_uint_eq(sw_sweep_trial_n(s), want + children);
		ck_assert_uint_eq(ended, want + children);
		ck_assert_int_eq(sw_sweep_state(s), counts[SW_TRIAL_FAILED] == ended
							    ? SW_SWEEP_FAILED
							    : SW_SWEEP_COMPLETED);
		sw_actions_fini(&actions);
		sw_sweep_destroy(s);
	}
}
END_TEST

#ifdef SW_FAULTS
/* Each event is tried without memory first: it fails and changes nothing, or did not need any. */
START_TEST(sweep_without_memory_changes_nothing_at_any_event)
{
	struct log *log = malloc(sizeof *log), *again = malloc(sizeof *again);
	static struct snapshot before, after;
	unsigned failures = 0;

	ck_assert(log != NULL && again != NULL);
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sw_sweep_config c;

		run_random(seed, log, &c);
		struct sw_sweep *s = make_sweep(&c);
		again->n = 0;
		for (size_t i = 0; i < log->event_n; i++) {
			struct sw_actions actions = {0};
			sw_status rc = SW_NOMEM;

			for (unsigned nth = 1; rc == SW_NOMEM; nth++) {
				ck_assert_uint_lt(nth, 100);
				take(s, &before);
				sw_fault_arm(SW_FAULT_MALLOC, nth, false);
				rc = sw_sweep_step(s, &log->event[i], &actions, NULL);
				sw_fault_arm(SW_FAULT_MALLOC, 0, false);
				sweep_invariant(s);
				if (rc == SW_OK)
					break;
				ck_assert_int_eq(rc, SW_NOMEM);
				ck_assert_uint_eq(actions.n, 0);
				take(s, &after);
				ck_assert_mem_eq(&before, &after, sizeof after);
				failures++;
			}
			keep(again, &actions, sw_space_size(sw_sweep_space(s)));
			sw_actions_fini(&actions);
		}
		ck_assert_uint_eq(again->n, log->n);
		for (size_t i = 0; i < log->n; i++)
			ck_assert(same_kept(&again->kept[i], &log->kept[i]));
		sw_sweep_destroy(s);
	}
	ck_assert_uint_gt(failures, 1000);
	free(log);
	free(again);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_set_timeout(tcase, 240);
	tcase_add_loop_test(tcase, sweep_random_events_keep_the_invariant_and_replay_alike, 0, 5);
	tcase_add_test(tcase, sweep_budget_is_used_exactly);
#ifdef SW_FAULTS
	tcase_add_test(tcase, sweep_without_memory_changes_nothing_at_any_event);
#endif
}
