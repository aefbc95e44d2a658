/* tests/sched/pruner/test_pbt.c — the edges of a population, and the copies that are made of its
 * best. Whole histories against Ray's quantiles: tests/sim/oracle_pbt.c. */
#include "sched/num/rng.h"
#include "sched/pruner/pbt_explore.h"
#include "tests/sched/pruner/prune.h"
#include "tests/sched/space/check.h"

enum { SEED = 11 };

/* ---- explore ---- */

enum { LR, UNITS, POWER, KIND, CONST, SMALL, SHARE, EIGHTHS, PARAMS };

static struct sw_space *make_space(bool constrained)
{
	static const struct sw_param params[PARAMS] = {
		[LR] = {.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1e-1},
		[UNITS] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 100},
		[POWER] = {.dist = SW_DIST_POW2, .min = 8, .max = 64},
		[KIND] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 4},
		[CONST] = {.dist = SW_DIST_CONSTANT, .n_choices = 1},
		[SMALL] = {.dist = SW_DIST_Q_UNIFORM, .min = -1, .max = 1, .q = 0.25},
		[SHARE] = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
		[EIGHTHS] = {.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.125},
	};
	const struct sw_term units = {.coef = 1, .n_factors = 1, .factor = {UNITS}};
	const struct sw_term power = {.coef = 1, .n_factors = 1, .factor = {POWER}};
	const struct sw_constraint c = {{&units, 1, 0}, {&power, 1, 0}, SW_LE};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < PARAMS; i++)
		ck_assert_int_eq(sw_space_add(s, &params[i], NULL), SW_OK);
	if (constrained)
		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	return s;
}

static const struct sw_value donor[PARAMS] = {
	[LR] = {.number = 0.01},      [UNITS] = {.number = 2},     [POWER] = {.number = 16},
	[KIND] = {.choice = 3},       [SMALL] = {.number = -0.25}, [SHARE] = {.number = 0.875},
	[EIGHTHS] = {.number = 0.125}};

TEST(explore_changes_by_factor_or_neighbour)
{
	const struct sw_pbt_config c = {.factor = {1.2, 0.8}, .factor_n = 2};
	struct sw_space *s = make_space(false);
	unsigned up[PARAMS] = {0};

	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS];

		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(space_check(s, v, NULL) == SW_OK);
		ck_assert(v[LR].number == 0.01 * 1.2 || v[LR].number == 0.01 * 0.8);
		/* 2.4 and 1.6 are nearest to 2 again: the next one is taken. */
		ck_assert(v[UNITS].number == 3 || v[UNITS].number == 1);
		ck_assert(v[POWER].number == 32 || v[POWER].number == 8);
		ck_assert(v[KIND].choice == 3 ||
			  v[KIND].choice == 2); /* the last has one neighbour */
		ck_assert(v[CONST].choice == 0);
		ck_assert(v[SMALL].number == -0.5 || v[SMALL].number == 0.0);
		/* 1.05 is beyond the end. */
		ck_assert(v[SHARE].number == 1 || v[SHARE].number == 0.875 * 0.8);
		ck_assert(v[EIGHTHS].number == 0.25 || v[EIGHTHS].number == 0.0);
		up[LR] += v[LR].number > 0.01;
		up[UNITS] += v[UNITS].number > 2;
		up[POWER] += v[POWER].number > 16;
		up[KIND] += v[KIND].choice > 2;
		up[SMALL] += v[SMALL].number > -0.25;
		up[SHARE] += v[SHARE].number > 0.875;
		up[EIGHTHS] += v[EIGHTHS].number > 0.125;
	}
	for (size_t i = 0; i < PARAMS; i++) /* half of them, within six deviations */
		ck_assert_msg(i == CONST || (up[i] > 405 && up[i] < 595), "%zu: %u", i, up[i]);
	sw_space_destroy(s);
}

static void fix_all_but_units(struct sw_pbt_config *c)
{
	for (size_t i = 0; i < PARAMS; i++)
		c->fixed[i] = i != UNITS;
}

TEST(explore_resamples_and_keeps_what_may_not_change)
{
	struct sw_pbt_config c = {.resample_probability = 1, .factor = {1.2}, .factor_n = 1};
	struct sw_space *s = make_space(false);
	double sum = 0;

	fix_all_but_units(&c);
	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS], again[PARAMS];

		memcpy(v, donor, sizeof v);
		sw_pbt_explore(&c, s, SEED, child, v, v); /* the same array */
		sw_pbt_explore(&c, s, SEED, child, donor, again);
		ck_assert(memcmp(v, again, sizeof v) == 0);
		for (size_t i = 0; i < PARAMS; i++)
			ck_assert(i == UNITS || (v[i].number == donor[i].number &&
						 v[i].choice == donor[i].choice));
		sum += v[UNITS].number;
	}
	ck_assert_double_eq_tol(sum / 1000, 50.5, 6); /* 29 / sqrt(1000) is 0.9 */
	sw_space_destroy(s);
}

TEST(explore_keeps_constraints_and_ends_are_clipped)
{
	const struct sw_pbt_config c = {
		.resample_probability = 0.5, .factor = {100, 0.001}, .factor_n = 2};
	struct sw_space *s = make_space(true);
	unsigned low = 0, high = 0;

	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS];

		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(sw_space_feasible(s, v) && space_check(s, v, NULL) == SW_OK);
		ck_assert(v[UNITS].number <= v[POWER].number);
		low += v[LR].number == 1e-4;
		high += v[LR].number == 1e-1;
	}
	ck_assert_uint_gt(low, 100);
	ck_assert_uint_gt(high, 100);
	sw_space_destroy(s);
}

TEST(explore_that_finds_nothing_keeps_the_donor)
{
	/* units <= power, but only units may change, and only to what is above power. */
	struct sw_pbt_config c = {.factor = {50}, .factor_n = 1};
	struct sw_space *s = make_space(true);
	struct sw_value v[PARAMS];

	fix_all_but_units(&c);
	for (uint64_t child = 1; child <= 50; child++) {
		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(v[UNITS].number <= 16); /* walked, or the donor's */
		ck_assert(v[POWER].number == 16 && v[LR].number == 0.01);
	}
	sw_space_destroy(s);
}

RUN_TESTS(NULL, NULL)
