/* tests/sched/space/test_space_solve.c — points where the constraints leave few: found, or proven
 * not to be. */
#include "base/fault.h"
#include "sched/sampler/sampler_internal.h"
#include "sched/space/space.h"
#include "sched/sweep/samplers.h"
#include "tests/run.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"
#include <math.h>
#include <string.h>

/* Sums over up to five parameters, as coefficients; products of the first two. */
struct few {
	const char *name;
	struct sw_param param; /* of each */
	size_t n;
	double product, sum[5], right;
	enum sw_compare op;
	enum sw_solved want;
};

#define INTEGERS(m)                                                                                \
	{                                                                                          \
		.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = (m)                                  \
	}
#define REALS                                                                                      \
	{                                                                                          \
		.dist = SW_DIST_UNIFORM, .min = 0, .max = 1                                        \
	}

#define QUARTERS                                                                                   \
	{                                                                                          \
		.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.25                           \
	}

static const struct few few[] = {
	{"difference", INTEGERS(1000), 2, 0, {1, -1}, 999, SW_EQ, SW_SOLVED},
	{"product", INTEGERS(1000), 2, 1, {0}, 997, SW_EQ, SW_SOLVED},
	{"product, none", INTEGERS(1000), 2, 1, {0}, 1009, SW_EQ, SW_SOLVED_NONE},
	{"sum at an end", INTEGERS(1e6), 5, 0, {1, 1, 1, 1, 1}, 5, SW_LE, SW_SOLVED},
	{"sum past an end", INTEGERS(1e6), 5, 0, {1, 1, 1, 1, 1}, 5, SW_LT, SW_SOLVED_NONE},
	{"both signs", INTEGERS(100), 5, 0, {7, -11, 13, -17, 19}, 1234, SW_EQ, SW_SOLVED},
	{"large integers", INTEGERS(0x1p52), 2, 0, {1, -1}, 123456789012345, SW_EQ, SW_SOLVED},
	{"reals", REALS, 5, 0, {1, 1, 1, 1, 1}, 1, SW_EQ, SW_SOLVED},
	{"reals at an end", REALS, 2, 0, {1, 1}, 2, SW_GE, SW_SOLVED},
	{"reals past an end", REALS, 2, 0, {1, 1}, 2.001, SW_GE, SW_SOLVED_NONE},
	{"product of reals", REALS, 2, 1, {0}, 0.25, SW_EQ, SW_SOLVED},
	{"quarters", QUARTERS, 2, 0, {1, -1}, 0.75, SW_EQ, SW_SOLVED},
	{"quarters, none", QUARTERS, 2, 0, {1, -1}, 0.7, SW_EQ, SW_SOLVED_NONE},
	{"no end", {.dist = SW_DIST_NORMAL, .sigma = 1}, 2, 0, {1, -3}, 0.5, SW_EQ, SW_SOLVED},
	{"steps",
	 {.dist = SW_DIST_Q_UNIFORM, .min = -50, .max = 50, .q = 0.1},
	 2,
	 0,
	 {1, -1},
	 99.9,
	 SW_EQ,
	 SW_SOLVED},
	{"ordered",
	 {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 5},
	 2,
	 0,
	 {1, -1},
	 3,
	 SW_GT,
	 SW_SOLVED},
	{"ordered fractions",
	 {.dist = SW_DIST_POW2, .min = 0.125, .max = 1},
	 2,
	 0,
	 {1, -1},
	 0,
	 SW_LT,
	 SW_SOLVED},
	{"ordered, none", INTEGERS(5), 2, 0, {1, -1}, 4, SW_GT, SW_SOLVED_NONE},
	{"powers",
	 {.dist = SW_DIST_POW2, .min = 1, .max = 0x1p30},
	 2,
	 1,
	 {0},
	 0x1p41,
	 SW_EQ,
	 SW_SOLVED},
};

static struct sw_space *make_few(const struct few *f)
{
	struct sw_term terms[6] = {{.coef = f->product, .n_factors = 2, .factor = {0, 1}}};
	struct sw_constraint c = {.left = {.terms = terms, .n_terms = 1},
				  .op = f->op,
				  .right = {.constant = f->right}};
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < f->n; i++) {
		ck_assert_int_eq(sw_space_add(s, &f->param, NULL), SW_OK);
		if (f->sum[i] != 0.0)
			terms[c.left.n_terms++] = (struct sw_term){
				.coef = f->sum[i], .n_factors = 1, .factor = {(uint16_t)i}};
	}
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	return s;
}

TEST_ROWS(space_solve_finds_the_few_points_or_proves_that_there_are_none, few)
{
	const struct few *f = &few[_i];
	struct sw_space *s = make_few(f);
	struct sw_value v[5], again[5];

	for (uint64_t k = 1; k <= 50; k++) {
		memset(v, 0, sizeof v);
		memset(again, 0, sizeof again);
		const enum sw_solved got = sw_space_solve(s, 7, k, NULL, SW_SOLVE_ASK, v);

		ck_assert_msg(got == f->want, "%s: %d, not %d", f->name, (int)got, (int)f->want);
		if (got != SW_SOLVED)
			continue;
		ck_assert_msg(space_check(s, v, NULL) == SW_OK, "%s", f->name);
		ck_assert_int_eq(sw_space_solve(s, 7, k, NULL, SW_SOLVE_ASK, again), SW_SOLVED);
		ck_assert_mem_eq(v, again, sizeof v);
	}
	sw_space_destroy(s);
}

TEST_ROWS(space_with_few_points_has_a_suggestion_for_every_trial, few)
{
	const struct few *f = &few[_i];
	static const enum sw_sampler_kind kinds[] = {SW_SAMPLER_RANDOM, SW_SAMPLER_SOBOL};

	for (size_t i = 0; i < ROWS(kinds); i++) {
		struct sw_space *s = make_few(f);
		const struct sw_sampler_config config = {.kind = kinds[i], .seed = 3, .space = s};
		struct sw_sampler *sampler = NULL;
		struct sw_err e = SW_ERR_INIT;
		struct sw_value v[5];
		const sw_status rc = sw_samplers_create(&sampler, &config, &e);

		ck_assert_int_eq(rc, f->want == SW_SOLVED ? SW_OK : SW_INVALID);
		if (rc != SW_OK)
			ck_assert_msg(strncmp(e.msg, "no point of the space meets", 27) == 0, "%s",
				      e.msg);
		for (uint64_t t = 1; t <= 20 && rc == SW_OK; t++) {
			ck_assert_int_eq(sw_sampler_next(sampler, NULL, t, v), SW_OK);
			ck_assert_msg(space_check(s, v, NULL) == SW_OK, "%s", f->name);
		}
		sw_sampler_destroy(sampler);
		sw_space_destroy(s);
	}
}

/* What is given stays; where it leaves nothing that is proven, too. */
TEST(space_solve_keeps_what_is_fixed)
{
	struct sw_space *s = make_few(&few[0]);
	struct sw_value v[2] = {{.number = 1000}, {.number = 5}};
	const bool first[2] = {true, false};

	ck_assert_int_eq(sw_space_solve(s, 1, 1, first, SW_SOLVE_ASK, v), SW_SOLVED);
	ck_assert_double_eq(v[0].number, 1000);
	ck_assert_double_eq(v[1].number, 1);
	v[0].number = 999;
	ck_assert_int_eq(sw_space_solve(s, 1, 1, first, SW_SOLVE_ASK, v), SW_SOLVED_NONE);
	ck_assert_double_eq(v[0].number, 999);
	sw_space_destroy(s);
}

/* Half the sums of subsets are odd: what no narrowing sees is not called proven. */
TEST(space_probe_that_found_nothing_says_no_more)
{
	const struct few f = {"even", INTEGERS(1000),   5, 0, {2, 4, -6, 8, -10}, 1,
			      SW_EQ,  SW_SOLVED_UNKNOWN};
	struct sw_space *s = make_few(&f);
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_space_probe(s, 1, NULL, &e), SW_INVALID);
	ck_assert_str_eq(e.ptr, "/constraints/0");
	ck_assert_msg(strncmp(e.msg, "no point was found that meets the constraints", 45) == 0,
		      "%s", e.msg);
	sw_space_destroy(s);
}

/* Shares of one: the first ones leave next to nothing to the last. */
TEST(space_solve_divides_one_among_many)
{
	enum { MANY = 60 };
	struct sw_term terms[MANY];
	const struct sw_constraint c = {
		.left = {.terms = terms, .n_terms = MANY}, .op = SW_EQ, .right = {.constant = 1}};
	const struct sw_param share = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	struct sw_space *s = NULL;
	struct sw_value v[MANY] = {{.number = 0}};

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_int_eq(sw_space_add(s, &share, NULL), SW_OK);
		terms[i] = (struct sw_term){.coef = 1, .n_factors = 1, .factor = {(uint16_t)i}};
	}
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	for (uint64_t k = 1; k <= 20; k++) {
		ck_assert_int_eq(sw_space_solve(s, 2, k, NULL, SW_SOLVE_ASK, v), SW_SOLVED);
		ck_assert_int_eq(space_check(s, v, NULL), SW_OK);
	}
	sw_space_destroy(s);
}

enum { CHAIN_MOST = 20 };

/* n integers up to most, each below the next. */
static struct sw_space *make_chain(uint16_t n, double most)
{
	const struct sw_param number = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = most};
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (uint16_t i = 0; i < n; i++)
		ck_assert_int_eq(sw_space_add(s, &number, NULL), SW_OK);
	for (uint16_t i = 0; i + 1 < n; i++) {
		const struct sw_term one = {.coef = 1, .n_factors = 1, .factor = {i}},
				     next = {.coef = 1, .n_factors = 1, .factor = {i + 1U}};
		const struct sw_constraint c = {.left = {.terms = &one, .n_terms = 1},
						.op = SW_LT,
						.right = {.terms = &next, .n_terms = 1}};

		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	}
	return s;
}

/* Twenty in order among twenty-five: one draw in 10^20. */
TEST(space_solve_orders_integers)
{
	struct sw_space *s = make_chain(CHAIN_MOST, 25);
	struct sw_value v[CHAIN_MOST] = {{.number = 0}};
	double least = 25, most = 1;

	for (uint64_t k = 1; k <= 50; k++) {
		ck_assert_int_eq(sw_space_solve(s, 2, k, NULL, SW_SOLVE_ASK, v), SW_SOLVED);
		ck_assert_int_eq(space_check(s, v, NULL), SW_OK);
		least = fmin(least, v[9].number);
		most = fmax(most, v[9].number);
	}
	ck_assert_double_ge(most - least, 3); /* of 10 to 15 */
	sw_space_destroy(s);
}

/* A range without an end is no value: the first of two normals is drawn, the other computed. */
TEST(space_solve_draws_normals_where_they_lie)
{
	const struct few sum = {
		"sum", {.dist = SW_DIST_NORMAL, .sigma = 1}, 3, 0, {1, 1, 1}, 0, SW_EQ, SW_SOLVED};
	struct sw_space *s = make_few(&sum);
	struct sw_value v[5] = {{.number = 0}};
	double square = 0;

	for (uint64_t k = 1; k <= 200; k++) {
		ck_assert_int_eq(sw_space_solve(s, 2, k, NULL, SW_SOLVE_ASK, v), SW_SOLVED);
		ck_assert_double_le(fabs(v[0].number), 6);
		square += v[0].number * v[0].number;
	}
	ck_assert_double_gt(square, 100); /* two thirds of 200 are expected of equals, or more */
	ck_assert_double_lt(square, 400);
	sw_space_destroy(s);
}

/* As many parameters as there may be, in sums of eight: each trial has a point of its own. */
TEST(space_with_many_sums_has_different_suggestions)
{
	enum { SUM = 8 };
	const struct sw_param share = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	struct sw_space *s = NULL;
	struct sw_value a[SW_SPACE_MAX_PARAMS], b[SW_SPACE_MAX_PARAMS];
	struct sw_sampler *sampler = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < SW_SPACE_MAX_PARAMS; i++)
		ck_assert_int_eq(sw_space_add(s, &share, NULL), SW_OK);
	for (uint16_t i = 0; i < SW_SPACE_MAX_PARAMS; i += SUM) {
		struct sw_term terms[SUM];
		const struct sw_constraint c = {.left = {.terms = terms, .n_terms = SUM},
						.op = SW_EQ,
						.right = {.constant = 4}};

		for (uint16_t k = 0; k < SUM; k++)
			terms[k] = (struct sw_term){
				.coef = 1, .n_factors = 1, .factor = {(uint16_t)(i + k)}};
		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	}
	const struct sw_sampler_config config = {.kind = SW_SAMPLER_RANDOM, .seed = 3, .space = s};
	ck_assert_int_eq(sw_samplers_create(&sampler, &config, NULL), SW_OK);
	ck_assert_int_eq(sw_sampler_next(sampler, NULL, 1, a), SW_OK);
	for (uint64_t t = 2; t <= 5; t++) {
		ck_assert_int_eq(sw_sampler_next(sampler, NULL, t, b), SW_OK);
		ck_assert_int_eq(space_check(s, b, NULL), SW_OK);
		for (size_t i = 0; i < SW_SPACE_MAX_PARAMS; i++)
			ck_assert(a[i].number != b[i].number);
		memcpy(a, b, sizeof a);
	}
	sw_sampler_destroy(sampler);
	sw_space_destroy(s);
}

/* A condition is settled before what it is about; what is not active is in no constraint. */
TEST(space_solve_settles_conditions_first)
{
	const struct sw_param number = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1000},
			      choice = {.dist = SW_DIST_CATEGORICAL, .n_choices = 3};
	const struct sw_value second = {.choice = 1};
	const struct sw_term left = {.coef = 1, .n_factors = 2, .factor = {1, 2}},
			     right = {.coef = 1, .n_factors = 1, .factor = {2}};
	const struct sw_constraint equal = {.left = {.terms = &left, .n_terms = 1},
					    .op = SW_EQ,
					    .right = {.constant = 997}},
				   above = {.left = {.terms = &right, .n_terms = 1},
					    .op = SW_GE,
					    .right = {.constant = 900}};
	int active = 0;
	struct sw_space *s = NULL;
	struct sw_value v[3] = {{.number = 0}};

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &choice, NULL), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &number, NULL), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &number, NULL), SW_OK);
	ck_assert_int_eq(sw_space_when(s, 1, 0, &second, 1, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(s, &equal, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(s, &above, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	for (uint64_t k = 1; k <= 60; k++) {
		ck_assert_int_eq(sw_space_solve(s, 2, k, NULL, SW_SOLVE_ASK, v), SW_SOLVED);
		ck_assert_int_eq(space_check(s, v, NULL), SW_OK);
		active += v[0].choice == 1;
	}
	ck_assert_msg(active > 5 && active < 40, "%d of 60", active);
	sw_space_destroy(s);
}

#ifdef SW_FAULTS
TEST(space_with_few_points_without_memory_has_no_sampler)
{
	struct sw_space *s = make_few(&few[0]);
	const struct sw_sampler_config config = {.kind = SW_SAMPLER_RANDOM, .seed = 3, .space = s};
	struct sw_sampler *sampler = NULL;
	unsigned nth = 1;

	for (;; nth++) {
		struct sw_err e = SW_ERR_INIT;

		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		if (sw_samplers_create(&sampler, &config, &e) == SW_OK)
			break;
		ck_assert_int_eq(e.code, SW_NOMEM);
		ck_assert_ptr_null(sampler);
	}
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_uint_eq(nth, 3);
	sw_sampler_destroy(sampler);
	sw_space_destroy(s);
}
#endif

RUN_TESTS(NULL, NULL)
