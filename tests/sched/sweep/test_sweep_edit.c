/* tests/sched/sweep/test_sweep_edit.c — ranges edited while a sweep runs: what the sampler may
 * know. That a new trial lies in the ranges of its time, and an old one stays: tests/sim. */
#include "sched/sweep/samplers.h"
#include "sched/sweep/sweep.h"
#include "tests/sched/space/check.h"
#include "tests/sched/sweep/script.h"
#include <math.h>

enum { X, N, W, SIZE };

/* x in [0, 1], n in 1..8, w by 0.25 in [0, 2]; w where n <= 4; x <= n / 4 */
static struct sw_space *make_space(bool conditional, bool constrained)
{
	const struct sw_param p[SIZE] = {
		[X] = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
		[N] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8},
		[W] = {.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 2, .q = 0.25}};
	const struct sw_value few[] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
	const struct sw_term x = {.coef = 1, .n_factors = 1, .factor = {X}};
	const struct sw_term n = {.coef = 0.25, .n_factors = 1, .factor = {N}};
	const struct sw_constraint c = {.left = {.terms = &x, .n_terms = 1},
					.right = {.terms = &n, .n_terms = 1},
					.op = SW_LE};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < SIZE; i++)
		ck_assert_int_eq(sw_space_add(s, &p[i], NULL), SW_OK);
	if (conditional)
		ck_assert_int_eq(sw_space_when(s, W, N, few, ROWS(few), NULL), SW_OK);
	if (constrained)
		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	return s;
}

static struct sw_sweep *make_sweep(enum sw_sampler_kind kind, bool conditional, bool constrained)
{
	static const struct sw_value init[] = {{.number = 0.9}, {.number = 7}, {.number = 1}};
	static const struct sw_value prior[2][SIZE] = {
		{{.number = 0.1}, {.number = 2}, {.number = 0.5}},
		{{.number = 0.8}, {.number = 3}, {.number = 1.5}}};
	static const double prior_y[] = {3, 4};
	const struct sw_sweep_config c = {
		.seed = 11,
		.sampler = kind,
		.run_cap = 200,
		.n_init = 1,
		.init = init,
		.n_prior = 2,
		.prior = &prior[0][0],
		.prior_y = prior_y,
		.retries = 1,
		.pruner = {.kind = SW_PRUNER_ASHA, .asha = {1, 9, 3, 1, 3}}};
	struct sw_sweep *s;

	ck_assert_int_eq(sw_sweep_create(&s, &c, make_space(conditional, constrained), NULL),
			 SW_OK);
	return s;
}

struct made {
	struct sw_value v[SIZE];
};

/* One more trial: its values, as CREATE had them. */
static struct made ask(struct sw_sweep *s, struct sw_actions *actions)
{
	struct made m;

	(void)play(s, actions, "ask");
	ck_assert_uint_eq(actions->n, 2);
	ck_assert_int_eq(actions->v[0].kind, SW_ACTION_CREATE);
	memcpy(m.v, actions->v[0].values, sizeof m.v);
	return m;
}

/* It runs to a rung and ends; the value is a function of the point. */
static void finish(struct sw_sweep *s, struct sw_actions *actions, uint64_t trial,
		   const struct made *m)
{
	char line[80];

	(void)snprintf(line, sizeof line, "report %llu 1 1 1 %.17g", (unsigned long long)trial,
		       (m->v[X].number - 0.3) * (m->v[X].number - 0.3) + m->v[N].number / 8);
	(void)play(s, actions, line);
	if (sw_sweep_trial(s, trial)->state != SW_TRIAL_RUNNING)
		return;
	(void)snprintf(line, sizeof line, "tell %llu 1 COMPLETED", (unsigned long long)trial);
	(void)play(s, actions, line);
}

static void check_values(const struct sw_sweep *s, const struct made *m, size_t n)
{
	struct sw_value v[SIZE];

	for (size_t t = 0; t < n; t++) {
		ck_assert_int_eq(sw_sweep_values(s, t + 1, v), SW_OK);
		for (size_t i = 0; i < SIZE; i++)
			ck_assert_msg(v[i].number == m[t].v[i].number, "trial %zu: %g, was %g",
				      t + 1, v[i].number, m[t].v[i].number);
	}
}

static const enum sw_sampler_kind kinds[] = {SW_SAMPLER_TPE, SW_SAMPLER_BOHB, SW_SAMPLER_BAYES};

static size_t count(const struct sw_history *h, uint64_t trial, enum sw_obs_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_obs; i++)
		n += h->obs[i].trial == trial && h->obs[i].kind == kind;
	return n;
}

/* What a model sees of a trial: everything within the range, one NONE outside. */
static void check_seen(const struct sw_sweep *s, const struct made *made)
{
	const struct sw_history *h = sw_sweep_history(s);

	ck_assert_uint_eq(h->trials, sw_sweep_trial_n(s));
	for (uint64_t t = 1; t <= h->trials; t++) {
		const struct sw_trial *trial = sw_sweep_trial(s, t);
		const bool in = space_check(sw_sweep_space(s), made[t - 1].v, NULL) == SW_OK;
		size_t all = 0;

		for (size_t i = 0; i < h->n_obs; i++)
			all += h->obs[i].trial == t;
		ck_assert_uint_eq(count(h, t, SW_OBS_NONE), !in);
		ck_assert_uint_eq(count(h, t, SW_OBS_RUNG), in && trial->has_value);
		ck_assert_uint_eq(count(h, t, SW_OBS_FINAL),
				  in && trial->state == SW_TRIAL_COMPLETED);
		ck_assert_uint_eq(count(h, t, SW_OBS_PRUNED),
				  in && trial->state == SW_TRIAL_PRUNED);
		ck_assert_uint_eq(
			all, !in ? 1
				 : (size_t)trial->has_value +
					     sw_trial_ended((enum sw_trial_state)trial->state));
	}
}

TEST(sweep_sampler_that_learns_sees_what_lies_in_the_range)
{
	struct sw_sweep *s = make_sweep(SW_SAMPLER_TPE, false, false);
	struct sw_actions actions = {0};
	static struct made made[100];
	size_t n = 0, narrow = 0;

	ck_assert_uint_eq(sw_sweep_history(s)->n_prior, 2);
	for (; n < 40; n++) {
		made[n] = ask(s, &actions);
		if (n % 4 != 0)
			finish(s, &actions, n + 1, &made[n]);
	}
	check_seen(s, made);
	const size_t known = sw_sweep_history(s)->n_obs;

	ck_assert_str_eq(play(s, &actions, "edit 0 0 0.5"), "");
	size_t state_n;
	ck_assert_ptr_null(sw_sweep_sampler_state(s, &state_n));
	ck_assert_uint_eq(state_n, 0);
	check_seen(s, made);
	ck_assert_uint_eq(sw_sweep_history(s)->n_prior, 1);
	for (size_t i = 0; i < n; i++)
		narrow += made[i].v[X].number <= 0.5;
	ck_assert_uint_gt(narrow, 5);
	ck_assert_uint_lt(narrow, 35);

	/* Those that ran while the range changed go on: seen within it, unseen outside. */
	for (size_t i = 0; i < n; i += 4)
		finish(s, &actions, i + 1, &made[i]);
	check_seen(s, made);
	made[n] = ask(s, &actions);
	n++;
	check_seen(s, made);

	/* And with the old range all of it is back, and in its old order. */
	ck_assert_str_eq(play(s, &actions, "edit 0 0 1"), "");
	check_seen(s, made);
	const struct sw_history *h = sw_sweep_history(s);
	ck_assert_uint_eq(h->n_prior, 2);
	ck_assert_uint_gt(h->n_obs, known);
	for (size_t i = 0; i < h->n_obs; i++)
		ck_assert_int_ne(h->obs[i].kind, SW_OBS_NONE);
	finish(s, &actions, n, &made[n - 1]);
	check_seen(s, made);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

/* Points of the user's own that the range no longer holds stay as they are, and tell nothing. */
TEST(sweep_users_points_outside_the_range_stay)
{
	struct sw_sweep *s = make_sweep(SW_SAMPLER_TPE, false, false);
	const struct sw_value mine[SIZE] = {{.number = 0.7}, {.number = 6}, {.number = 0.75}};
	const struct sw_event enqueue = {.kind = SW_EVENT_ENQUEUE, .values = mine};
	struct sw_actions actions = {0};
	static struct made made[3];

	ck_assert_int_eq(sw_sweep_step(s, &enqueue, &actions, NULL), SW_OK);
	memcpy(made[0].v, mine, sizeof mine);
	ck_assert_str_eq(play(s, &actions, "edit 0 0 0.5"), "");
	ck_assert_str_eq(play(s, &actions, "ask"), "start 1.1");
	made[1] = ask(s, &actions);
	ck_assert_double_eq(made[1].v[X].number, 0.9); /* the first of init */
	made[2] = ask(s, &actions);
	check_values(s, made, 3);
	for (uint64_t t = 1; t <= 3; t++)
		finish(s, &actions, t, &made[t - 1]);
	check_seen(s, made);
	ck_assert_uint_eq(count(sw_sweep_history(s), 1, SW_OBS_NONE), 1);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

/* A suggestion made elsewhere after an edit is the one that is made here. */
TEST_ROWS(sweep_suggestion_after_an_edit_can_be_made_elsewhere, kinds)
{
	const enum sw_sampler_kind kind = kinds[_i];
	struct sw_sweep *here = make_sweep(kind, true, true);
	struct sw_sweep *there = make_sweep(kind, true, true);
	struct sw_actions a = {0}, b = {0};

	for (uint64_t t = 1; t <= 40; t++) {
		struct sw_suggestion out = {.state = NULL};
		struct sw_event ev = {.kind = SW_EVENT_ASK};
		struct sw_sampler *sampler;

		if (t % 13 == 0) {
			const char *edit = t == 13 ? "edit 0 0.1 0.6 1 2 5" : "edit 1 1 8";

			ck_assert_str_eq(play(here, &a, edit), "");
			ck_assert_str_eq(play(there, &b, edit), "");
		}
		const struct made m = ask(here, &a);
		if (sw_sweep_wants_suggestion(there)) {
			size_t n;
			const unsigned char *state = sw_sweep_sampler_state(there, &n);

			ck_assert_int_eq(
				sw_samplers_create(&sampler, sw_sweep_sampler_config(there), NULL),
				SW_OK);
			ck_assert_int_eq(sw_sampler_restore(sampler, state, n, NULL), SW_OK);
			ck_assert_int_eq(sw_sampler_suggest(sampler, sw_sweep_history(there),
							    sw_sweep_made(there) + 1, &out, NULL),
					 SW_OK);
			sw_sampler_destroy(sampler);
			ev.suggestion = &out;
		}
		ck_assert_int_eq(sw_sweep_step(there, &ev, &b, NULL), SW_OK);
		for (size_t i = 0; i < SIZE; i++)
			ck_assert_double_eq(b.v[0].values[i].number, m.v[i].number);
		sw_suggestion_fini(&out);
		if (t % 3 == 0)
			continue;
		finish(here, &a, t, &m);
		finish(there, &b, t, &m);
	}
	sw_actions_fini(&a);
	sw_actions_fini(&b);
	sw_sweep_destroy(here);
	sw_sweep_destroy(there);
}

/* A parent without a value that its child needs: the child is never active, until it is again. */
TEST(sweep_narrowed_parent_may_leave_its_child_inactive)
{
	struct sw_sweep *s = make_sweep(SW_SAMPLER_RANDOM, true, false);
	struct sw_actions actions = {0};
	bool active[SIZE], seen = false;

	(void)ask(s, &actions);
	ck_assert_str_eq(play(s, &actions, "edit 1 5 8"), "");
	for (int i = 0; i < 20; i++) {
		const struct made m = ask(s, &actions);

		sw_space_active(sw_sweep_space(s), m.v, active);
		ck_assert(!active[W]);
	}
	ck_assert_str_eq(play(s, &actions, "edit 1 1 8"), "");
	for (int i = 0; i < 20; i++) {
		const struct made m = ask(s, &actions);

		sw_space_active(sw_sweep_space(s), m.v, active);
		seen = seen || active[W];
	}
	ck_assert(seen);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

TEST(sweep_range_that_leaves_nothing_is_refused)
{
	static const struct {
		const char *edit, *want;
	} rows[] = {
		{"edit 0 3 4", "INVALID /constraints/0"},
		{"edit 2 0.3 0.4", "INVALID /parameters/2"},
		{"edit 1 2.2 2.8", "INVALID /parameters/1"},
		{"edit 0 0.2 0.3 1 9 3", "INVALID /parameters/1/min"},
		{"edit 0 0.2 0.3 2 nan 3", "INVALID /parameters/2/min"},
		{"edit 0 0.2 0.3 run_cap 0", "INVALID /run_cap"},
	};
	struct sw_sweep *s = make_sweep(SW_SAMPLER_TPE, true, true);
	struct sw_actions actions = {0};

	(void)ask(s, &actions);
	const struct sw_history *h = sw_sweep_history(s);
	const struct sw_space *space = sw_sweep_space(s);
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *got = play(s, &actions, rows[i].edit);

		ck_assert_msg(strncmp(got, rows[i].want, strlen(rows[i].want)) == 0, "%s: %s",
			      rows[i].edit, got);
		ck_assert_ptr_eq(sw_sweep_history(s), h);
		ck_assert_ptr_eq(sw_sweep_space(s), space);
		ck_assert_uint_eq(sw_sweep_epoch(s), 0);
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

RUN_TESTS(NULL, NULL)
