/* tests/sched/sweep/test_sweep_points.c — where points can be counted, none comes twice before all
 * have come: whatever the sampler, and whoever suggested the ones before. */
#include "sched/sweep/sweep.h"
#include "tests/sched/sweep/script.h"

enum { DIMS = 3 };

static const enum sw_sampler_kind kinds[] = {SW_SAMPLER_RANDOM, SW_SAMPLER_SOBOL, SW_SAMPLER_TPE,
					     SW_SAMPLER_BOHB, SW_SAMPLER_BAYES};

static const double chances[] = {1, 4, 45, 50};

/* levels of an integer, a step and a choice */
static struct sw_sweep *make_sweep(enum sw_sampler_kind kind, const size_t levels[DIMS],
				   const double *weights, const struct sw_value *init)
{
	const struct sw_param p[DIMS] = {
		{.dist = SW_DIST_INT_UNIFORM, .min = -1, .max = (double)levels[0] - 2},
		{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 0.1 * (double)levels[1], .q = 0.1},
		{.dist = SW_DIST_CATEGORICAL, .n_choices = levels[2], .weights = weights},
	};
	const struct sw_sweep_config c = {
		.seed = 5, .sampler = kind, .n_init = init != NULL, .init = init};
	struct sw_space *space;
	struct sw_sweep *s;

	ck_assert_int_eq(sw_space_create(&space), SW_OK);
	for (size_t i = 0; i < DIMS; i++)
		ck_assert_int_eq(sw_space_add(space, &p[i], NULL), SW_OK);
	ck_assert_int_eq(sw_sweep_create(&s, &c, space, NULL), SW_OK);
	return s;
}

/* Which of the trials before had the point of the last; 0: none. */
static uint64_t find_twin(const struct sw_sweep *s)
{
	struct sw_value v[DIMS], twin[DIMS];
	const uint64_t n = sw_sweep_trial_n(s);

	ck_assert_int_eq(sw_sweep_values(s, n, v), SW_OK);
	for (uint64_t t = 1; t < n; t++) {
		ck_assert_int_eq(sw_sweep_values(s, t, twin), SW_OK);
		if (sw_space_equal(sw_sweep_space(s), v, twin))
			return t;
	}
	return 0;
}

/* One more trial. twin: may it have a point that one before had? */
static void ask(struct sw_sweep *s, bool twin)
{
	struct sw_actions actions = {.n = 0};

	(void)play(s, &actions, "ask");
	ck_assert_uint_ge(actions.n, 1);
	const uint64_t trial = sw_sweep_trial_n(s), of = find_twin(s);

	ck_assert_msg((of != 0) == twin, "trial %u has the point of trial %u", (unsigned)trial,
		      (unsigned)of);
	sw_actions_fini(&actions);
}

static void end(struct sw_sweep *s, uint64_t trial)
{
	struct sw_actions actions = {.n = 0};
	struct sw_value v[DIMS];
	char line[80];

	ck_assert_int_eq(sw_sweep_values(s, trial, v), SW_OK);
	(void)snprintf(line, sizeof line, "report %u 1 1 1 %.9g", (unsigned)trial,
		       (v[0].number - 1) * v[1].number + v[2].choice);
	(void)play(s, &actions, line);
	/* A sampler hears nothing of one that was cancelled. */
	(void)snprintf(line, sizeof line,
		       trial % 5 == 3 ? "cancel-trial %u" : "tell %u 1 COMPLETED", (unsigned)trial);
	(void)play(s, &actions, line);
	sw_actions_fini(&actions);
}

static void enqueue(struct sw_sweep *s, double x, double y, uint32_t choice)
{
	const struct sw_value v[DIMS] = {{.number = x}, {.number = y}, {.choice = choice}};
	const struct sw_event e = {.kind = SW_EVENT_ENQUEUE, .values = v};
	struct sw_actions actions = {.n = 0};

	ck_assert_int_eq(sw_sweep_step(s, &e, &actions, NULL), SW_OK);
	sw_actions_fini(&actions);
}

TEST_ROWS(points_of_a_small_space_come_once_each, kinds)
{
	static const size_t levels[DIMS] = {3, 1, 2};
	struct sw_sweep *s = make_sweep(kinds[_i], levels, NULL, NULL);

	/* A step of one level has two values: 0 and 0.1. */
	for (uint64_t t = 1; t <= 12; t++) {
		ask(s, false);
		end(s, t);
	}
	for (uint64_t t = 13; t <= 20; t++) { /* then they come again */
		ask(s, true);
		end(s, t);
	}
	sw_sweep_destroy(s);
}

/* Four at once, an init point, one that the user enqueues, a choice that one draw in 100 has. */
TEST_ROWS(points_of_trials_that_run_and_of_the_user_come_once_each, kinds)
{
	static const size_t levels[DIMS] = {4, 3, 4};
	static const struct sw_value init[DIMS] = {{.number = 1}, {.number = 0.3}, {.choice = 1}};
	struct sw_sweep *s = make_sweep(kinds[_i], levels, chances, init);

	for (uint64_t t = 1; t <= 64; t++) {
		if (t == 2)
			enqueue(s, -1, 0.2, 0);
		ask(s, false);
		if (t > 4)
			end(s, t - 4);
	}
	ask(s, true);
	enqueue(s, -1, 0.2, 0); /* the user may have a point again */
	sw_sweep_destroy(s);
}

/* What a new range leaves out is not tried for it, and what it still holds is. A sampler that does
 * not learn has kept no history until a range leaves few points. */
static const struct {
	size_t levels[DIMS];
	uint64_t before; /* trials */
	const char *edit;
	double min, max;
	uint64_t points; /* of the new range */
} edits[] = {
	{{3, 1, 2}, 8, "edit 0 1 6", 1, 6, 24},
	{{4000, 1, 2}, 4, "edit 0 -1 1", -1, 1, 12},
};

TEST_LOOP(points_of_an_edited_range_come_once_each, 0, (int)(ROWS(kinds) * ROWS(edits)))
{
	const size_t row = (size_t)_i % ROWS(edits);
	struct sw_sweep *s =
		make_sweep(kinds[(size_t)_i / ROWS(edits)], edits[row].levels, NULL, NULL);
	struct sw_actions actions = {.n = 0};
	struct sw_value before[8][DIMS], v[DIMS];
	uint64_t t, kept = 0;

	for (t = 1; t <= edits[row].before; t++) {
		if (t == 2 && row == 1)
			enqueue(s, 0, 0.1, 1);
		ask(s, false);
		ck_assert_int_eq(sw_sweep_values(s, t, before[t - 1]), SW_OK);
		kept += before[t - 1][0].number >= edits[row].min &&
			before[t - 1][0].number <= edits[row].max;
		end(s, t);
	}
	ck_assert_str_eq(play(s, &actions, edits[row].edit), "");
	for (uint64_t k = 1; k < t; k++) {
		ck_assert_int_eq(sw_sweep_values(s, k, v), SW_OK);
		ck_assert(sw_space_equal(sw_sweep_space(s), v, before[k - 1]));
	}
	for (; t <= edits[row].before + edits[row].points - kept; t++) {
		ask(s, false);
		end(s, t);
	}
	ask(s, true);
	sw_actions_fini(&actions);
	sw_sweep_destroy(s);
}

/* Where a choice has no chance nothing is counted, and the choice never comes. */
TEST_ROWS(choice_without_a_chance_never_comes, kinds)
{
	static const size_t levels[DIMS] = {2, 1, 3};
	static const double never[] = {0, 1, 1};
	struct sw_sweep *s = make_sweep(kinds[_i], levels, never, NULL);

	for (uint64_t t = 1; t <= 30; t++) {
		struct sw_actions actions = {.n = 0};
		struct sw_value v[DIMS];

		(void)play(s, &actions, "ask");
		ck_assert_int_eq(sw_sweep_values(s, t, v), SW_OK);
		ck_assert_uint_ne(v[2].choice, 0);
		end(s, t);
		sw_actions_fini(&actions);
	}
	sw_sweep_destroy(s);
}

RUN_TESTS(NULL, NULL)
