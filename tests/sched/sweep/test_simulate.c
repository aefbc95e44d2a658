/* tests/sched/sweep/test_simulate.c — stored curves under another pruner: by hand, and what must
 * hold of any. */
#include "sched/sweep/simulate.h"
#include "tests/sched/suite.h"
#include "tests/walk.h"
#include <math.h>

#define N     40
#define STEPS 16

/* Four trials of four steps, to minimise. */
static const double hand[4][4] = {{4, 3, 2, 1}, {5, 5, 5, 5}, {1, 0.9, 0.8, 0.7}, {3, 2.5, 2, 0.1}};

struct curves {
	struct sw_simulate_curve curve[N];
	struct sw_simulate_point point[N * STEPS];
	size_t n;
};

static void add(struct curves *c, size_t steps, const double *values, enum sw_simulate_end end)
{
	struct sw_simulate_curve *to = &c->curve[c->n];
	const size_t first = c->n++ * STEPS;

	*to = (struct sw_simulate_curve){.first = first, .n = steps, .step_s = 1, .end = end};
	for (size_t i = 0; i < steps; i++)
		c->point[first + i] = (struct sw_simulate_point){
			.step = i + 1, .value = values[i], .has_value = true};
}

static void add_hand(struct curves *c)
{
	for (size_t t = 0; t < 4; t++)
		add(c, 4, hand[t], SW_SIMULATE_COMPLETED);
}

static struct sw_simulate_config asha_of(const struct curves *c, uint64_t lanes)
{
	return (struct sw_simulate_config){
		.pruner = {.kind = SW_PRUNER_ASHA,
			   .asha = {.grace_period = 1,
				    .max_t = 4,
				    .reduction_factor = 2,
				    .brackets = 1,
				    .min_results = 2}},
		.lanes = lanes,
		.curves = c->curve,
		.n = c->n,
		.points = c->point,
	};
}

static struct sw_simulate_result run(const struct sw_simulate_config *config)
{
	struct sw_simulate_result r;
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_simulate(config, &r, &err) == SW_OK, "%s", err.msg);
	return r;
}

/* Rung 1: 4; 5 is stopped (2nd of 2); 1 goes on; 3 goes on (2nd of 4). Rung 2: 3; 0.9; 2.5 is
 * stopped (2nd of 3, of which one goes on). So the best trial, whose end is good, does not live. */
TEST_LOOP(asha_stops_those_that_a_hand_stops, 1, 5)
{
	static const double wall[4] = {11, 6, 4, 4};
	struct curves c = {.n = 0};

	add_hand(&c);
	const struct sw_simulate_config config = asha_of(&c, (uint64_t)_i);
	const struct sw_simulate_result r = run(&config);
	ck_assert_uint_eq(r.trials, 4);
	ck_assert_uint_eq(r.recorded, 16);
	ck_assert_uint_eq(r.resource, 11);
	ck_assert_uint_eq(r.stopped, 2);
	ck_assert_uint_eq(r.completed, 2);
	ck_assert_uint_eq(r.cut_short, 0);
	ck_assert_uint_eq(r.best.trial, 4);
	ck_assert_double_eq(r.best.value, 0.1);
	ck_assert(!r.survived);
	ck_assert_uint_eq(r.chosen.trial, 3);
	ck_assert_double_eq(r.chosen.value, 0.7);
	ck_assert_double_eq(r.wall_s, wall[_i - 1]);
}

TEST(metric_to_maximise_is_turned)
{
	struct curves c = {.n = 0};

	add_hand(&c);
	for (size_t i = 0; i < sizeof c.point / sizeof c.point[0]; i++)
		c.point[i].value = -c.point[i].value;
	struct sw_simulate_config config = asha_of(&c, 1);
	config.maximize = true;
	const struct sw_simulate_result r = run(&config);
	ck_assert_uint_eq(r.resource, 11);
	ck_assert_uint_eq(r.best.trial, 4);
	ck_assert_uint_eq(r.chosen.trial, 3);
	ck_assert_double_eq(r.chosen.value, -0.7);
}

TEST(pace_of_each_trial_is_its_own)
{
	struct curves c = {.n = 0};

	add_hand(&c);
	c.curve[0].step_s = 10; /* 40 s */
	c.curve[2].step_s = 0.5;
	const struct sw_simulate_config config = asha_of(&c, 2);
	/* The other lane: 5 comes first at each rung and goes on, 4 s; 1 beats it, 2 s; 3 is second
	 * of three and stopped. Then 4 comes, third of four. */
	const struct sw_simulate_result r = run(&config);
	ck_assert_double_eq(r.wall_s, 10);
	ck_assert_uint_eq(r.resource, 1 + 4 + 4 + 1);
	ck_assert_uint_eq(r.stopped, 2);
}

/* What was cut says nothing past its end; what failed fails again; what never ran takes no part,
 * but those after it keep their numbers. */
TEST(ends_of_curves_are_told_apart)
{
	static const double diverged[2] = {2, NAN};
	struct curves c = {.n = 0};

	add(&c, 2, hand[0], SW_SIMULATE_CUT);
	add(&c, 0, NULL, SW_SIMULATE_ABSENT);
	add(&c, 3, hand[2], SW_SIMULATE_COMPLETED);
	add(&c, 1, hand[1], SW_SIMULATE_FAILED);
	add(&c, 0, NULL, SW_SIMULATE_FAILED);
	add(&c, 2, diverged, SW_SIMULATE_FAILED);
	struct sw_simulate_config config = asha_of(&c, 3);
	config.pruner.kind = SW_PRUNER_NONE;
	const struct sw_simulate_result r = run(&config);
	ck_assert_uint_eq(r.trials, 5);
	ck_assert_uint_eq(r.recorded, 8);
	ck_assert_uint_eq(r.resource, 8);
	ck_assert_uint_eq(r.cut_short, 1);
	ck_assert_uint_eq(r.failed, 3);
	ck_assert_uint_eq(r.completed, 1);
	ck_assert_uint_eq(r.stopped, 0);
	ck_assert_uint_eq(r.best.trial, 3);
	ck_assert(r.survived);
	ck_assert_uint_eq(r.chosen.trial, 3);
}

TEST(sweep_without_a_value_has_no_best)
{
	struct curves c = {.n = 0};

	add(&c, 0, NULL, SW_SIMULATE_CUT);
	const struct sw_simulate_config config = asha_of(&c, 1);
	const struct sw_simulate_result r = run(&config);
	ck_assert_uint_eq(r.best.trial + r.chosen.trial + r.recorded + r.resource, 0);
	ck_assert(!r.survived);
	ck_assert_uint_eq(r.cut_short, 1);
}

/* Curves at random: whole, cut, failed. */
static void add_any(struct curves *c, uint64_t seed)
{
	double values[STEPS];

	for (size_t t = 0; t < N; t++) {
		const double base = unit(&seed), slope = unit(&seed);
		const uint64_t what = below(&seed, 8);
		const size_t n = what == 0 ? below(&seed, STEPS) : STEPS;

		for (size_t i = 0; i < STEPS; i++)
			values[i] = base + slope / (double)(i + 1);
		add(c, n, values,
		    what > 1   ? SW_SIMULATE_COMPLETED
		    : what > 0 ? SW_SIMULATE_FAILED
			       : SW_SIMULATE_CUT);
		c->curve[t].step_s = 0.1 + unit(&seed);
	}
}

/* One that fails later may be stopped before, with a value that nothing takes from it. */
static void check_any(const struct curves *c, const struct sw_simulate_result *r)
{
	ck_assert_uint_eq(r->trials, N);
	ck_assert_uint_eq(r->stopped + r->completed + r->failed + r->cut_short, N);
	ck_assert_uint_le(r->resource, r->recorded);
	ck_assert_uint_ne(r->best.trial, 0);
	if (c->curve[r->chosen.trial - 1].end == SW_SIMULATE_FAILED)
		return;
	if (r->survived)
		ck_assert_double_eq(r->chosen.value, r->best.value);
	else
		ck_assert_double_ge(r->chosen.value, r->best.value);
}

TEST_LOOP(any_curves_under_any_lanes_add_up, 0, 30)
{
	static const enum sw_pruner_kind kinds[] = {SW_PRUNER_NONE, SW_PRUNER_ASHA,
						    SW_PRUNER_PROMOTE};
	const uint64_t lanes = (uint64_t)_i % 5 * 13 + 1;
	struct curves c = {.n = 0};

	add_any(&c, (uint64_t)_i);
	for (size_t k = 0; k < ROWS(kinds); k++) {
		struct sw_simulate_config config = asha_of(&c, lanes);

		config.pruner.kind = kinds[k];
		config.pruner.asha.max_t = STEPS;
		const struct sw_simulate_result r = run(&config), again = run(&config);
		check_any(&c, &r);
		ck_assert_uint_eq(r.resource, again.resource);
		ck_assert_uint_eq(r.stopped, again.stopped);
		ck_assert_double_eq(r.wall_s, again.wall_s);
		if (kinds[k] == SW_PRUNER_NONE)
			ck_assert(r.resource == r.recorded && r.stopped == 0 && r.survived);
		else
			ck_assert_uint_gt(r.stopped, 0);
	}
}

TEST(wrong_pruner_is_refused_with_its_key)
{
	struct curves c = {.n = 0};
	struct sw_simulate_result r;
	struct sw_err err = SW_ERR_INIT;

	add_hand(&c);
	struct sw_simulate_config config = asha_of(&c, 1);
	config.pruner.asha.brackets = 99;
	ck_assert_int_eq(sw_simulate(&config, &r, &err), SW_INVALID);
	ck_assert_str_eq(err.ptr, "/early_terminate/brackets");
}

TEST(want_of_memory_is_a_clean_error_wherever_it_comes)
{
	struct curves c = {.n = 0};

	add_any(&c, 3);
	const struct sw_simulate_config config = asha_of(&c, 4);
	WALK (SW_FAULT_MALLOC, 5) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_simulate_result r;

		walk_arm();
		const sw_status rc = sw_simulate(&config, &r, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired > 0 ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
	}
}

RUN_TESTS(NULL, NULL)
