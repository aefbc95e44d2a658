/* tests/sched/space/test_space_constraint.c — comparisons between parameters; points from
 * outside. */
#include "sched/space/space.h"
#include "sched/sweep/samplers.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"
#include <float.h>
#include <math.h>

enum { A, B, X, Y, BATCH, WORD, FIXED, N };

static const double batches[] = {16, 32, 64}, eight[] = {8};

static struct sw_space *make(void)
{
	static const struct sw_param params[N] = {
		[A] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 0x1p53},
		[B] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 0x1p53},
		[X] = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
		[Y] = {.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.1},
		[BATCH] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 3, .numbers = batches},
		[WORD] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 2},
		[FIXED] = {.dist = SW_DIST_CONSTANT, .numbers = eight},
	};
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_int_eq(sw_space_add(s, &params[i], NULL), SW_OK);
	return s;
}

#define TERM(c, ...)                                                                               \
	{                                                                                          \
		.coef = (c), .n_factors = sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t),    \
		.factor = {                                                                        \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

#define NONE                                                                                       \
	{                                                                                          \
		.coef = 0                                                                          \
	}

/* Up to two terms on the left, one on the right; coef 0: no term. */
struct row {
	struct sw_term left[2];
	double left_constant;
	enum sw_compare op;
	struct sw_term right;
	double right_constant;
	double a, b, x, y;
	uint32_t batch;
	bool want;
};

static const struct row rows[] = {
	{{TERM(1, B)}, 0, SW_LE, TERM(1, A), 0, 5, 5, 0, 0, 0, true},
	{{TERM(1, B)}, 0, SW_LE, TERM(1, A), 0, 5, 6, 0, 0, 0, false},
	{{TERM(1, B)}, 0, SW_LT, TERM(1, A), 0, 5, 5, 0, 0, 0, false},
	{{TERM(1, B)}, 0, SW_GE, TERM(1, A), 0, 5, 4, 0, 0, 0, false},
	{{TERM(1, B)}, 0, SW_GT, TERM(1, A), 0, 5, 6, 0, 0, 0, true},
	{{TERM(1, B)}, 0, SW_EQ, TERM(1, A), 0, 5, 5, 0, 0, 0, true},
	{{TERM(1, B)}, 0, SW_NE, TERM(1, A), 0, 5, 5, 0, 0, 0, false},
	/* 2^53 - 1 < 2^53: no rounding is allowed for where nothing is rounded */
	{{TERM(1, B)}, 0, SW_LT, TERM(1, A), 0, 0x1p53, 0x1p53 - 1, 0, 0, 0, true},
	{{TERM(1, B)}, 0, SW_EQ, TERM(1, A), 0, 0x1p53, 0x1p53 - 1, 0, 0, 0, false},
	{{TERM(1, A), TERM(1, B)}, 0, SW_LE, NONE, 512, 256, 256, 0, 0, 0, true},
	{{TERM(1, A), TERM(1, B)}, 0, SW_LE, NONE, 512, 256, 257, 0, 0, 0, false},
	{{TERM(2, A)}, -1, SW_LT, TERM(1, B), 0, 3, 6, 0, 0, 0, true},
	{{TERM(2, A)}, 0, SW_LT, TERM(1, B), 0, 3, 6, 0, 0, 0, false},
	{{TERM(1, X)}, 0, SW_LE, NONE, 0.1, 1, 1, 0.1, 0, 0, true},
	{{TERM(1, X)}, 0, SW_LE, NONE, 0.1, 1, 1, 0.1 + DBL_EPSILON, 0, 0, false},
	/* 0.1 + 0.2 is 0.30000000000000004 */
	{{TERM(1, X), TERM(1, Y)}, 0, SW_LE, NONE, 0.3, 1, 1, 0.1, 0.2, 0, true},
	{{TERM(1, Y), TERM(2, Y)}, 0, SW_EQ, NONE, 0.3, 1, 1, 0, 0.1, 0, true},
	{{TERM(1, X), TERM(1, Y)}, 0, SW_GT, NONE, 0.3, 1, 1, 0.1, 0.2, 0, false},
	{{TERM(1, X), TERM(1, Y)}, 0, SW_LE, NONE, 0.3, 1, 1, 0.1001, 0.2, 0, false},
	{{TERM(1, BATCH, A)}, 0, SW_LE, NONE, 65536, 1024, 1, 0, 0, 2, true},
	{{TERM(1, BATCH, A)}, 0, SW_LE, NONE, 65536, 1025, 1, 0, 0, 2, false},
	{{TERM(1, BATCH, A)}, 0, SW_LE, NONE, 65536, 1025, 1, 0, 0, 1, true},
	{{TERM(1, A, A, A, B)}, 0, SW_EQ, NONE, 54, 3, 2, 0, 0, 0, true},
	{{TERM(1, A)}, 0, SW_LT, TERM(1, FIXED), 0, 7, 1, 0, 0, 0, true},
	{{TERM(1, A)}, 0, SW_LT, TERM(1, FIXED), 0, 8, 1, 0, 0, 0, false},
	/* beyond what a number holds: never met, rather than met by chance */
	{{TERM(1e300, A, A)}, 0, SW_GT, NONE, 0, 0x1p53, 1, 0, 0, 0, false},
};

static struct sw_constraint constraint_of(const struct row *r)
{
	return (struct sw_constraint){
		.left = {.terms = r->left,
			 .n_terms = (r->left[0].coef != 0) + (size_t)(r->left[1].coef != 0),
			 .constant = r->left_constant},
		.right = {.terms = &r->right,
			  .n_terms = r->right.coef != 0,
			  .constant = r->right_constant},
		.op = r->op,
	};
}

TEST_ROWS(space_constraint_holds_exactly_where_it_says, rows)
{
	const struct row *r = &rows[_i];
	const struct sw_constraint c = constraint_of(r);
	struct sw_space *s = make();
	const struct sw_value v[N] = {[A] = {.number = r->a},
				      [B] = {.number = r->b},
				      [X] = {.number = r->x},
				      [Y] = {.number = r->y},
				      [BATCH] = {.choice = r->batch}};

	ck_assert(!sw_space_constrained(s) && sw_space_feasible(s, v));
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	ck_assert(sw_space_constrained(s));
	ck_assert_int_eq(sw_space_feasible(s, v), r->want);
	ck_assert_uint_eq(sw_space_constraint_find(s, v), r->want ? 1 : 0);
	sw_space_destroy(s);
}

TEST(space_constraint_that_names_an_inactive_parameter_does_not_apply)
{
	struct sw_space *s = make();
	const struct sw_term a = TERM(1, A), b = TERM(1, B);
	const struct sw_constraint c = {.left = {.terms = &b, .n_terms = 1},
					.right = {.terms = &a, .n_terms = 1},
					.op = SW_LE};
	struct sw_value v[N] = {[A] = {.number = 1}, [B] = {.number = 2}};

	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	ck_assert_int_eq(sw_space_when(s, B, WORD, &(struct sw_value){.choice = 1}, 1, NULL),
			 SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	ck_assert(sw_space_feasible(s, v));
	v[WORD].choice = 1;
	ck_assert(!sw_space_feasible(s, v));
	sw_space_destroy(s);
}

TEST(space_constraint_without_meaning_is_refused)
{
	const struct sw_term word = TERM(1, WORD), inf = TERM(INFINITY, A), a = TERM(1, A);
	struct sw_term many[SW_SPACE_MAX_TERMS + 1];
	const struct {
		struct sw_constraint c;
		sw_status rc;
		const char *msg;
	} bad[] = {
		{{.left = {.terms = &word, .n_terms = 1}},
		 SW_INVALID,
		 "a constraint compares numbers, and not all values of parameter 6 are"},
		{{.right = {.terms = &word, .n_terms = 1}},
		 SW_INVALID,
		 "a constraint compares numbers, and not all values of parameter 6 are"},
		{{.left = {.terms = &inf, .n_terms = 1}},
		 SW_INVALID,
		 "a constraint's numbers must be finite"},
		{{.left = {.terms = &a, .n_terms = 1}, .right = {.constant = NAN}},
		 SW_INVALID,
		 "a constraint's numbers must be finite"},
		{{.left = {.constant = 1}}, SW_INVALID, "a constraint without a parameter"},
		{{.left = {.terms = many, .n_terms = ROWS(many)}},
		 SW_TOO_BIG,
		 "a side of a constraint has at most 64 terms"},
	};
	struct sw_space *s = make();

	for (size_t i = 0; i < ROWS(many); i++)
		many[i] = a;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct sw_err e = SW_ERR_INIT;

		ck_assert_int_eq(sw_space_constrain(s, &bad[i].c, &e), bad[i].rc);
		ck_assert_str_eq(e.msg, bad[i].msg);
	}
	ck_assert(!sw_space_constrained(s));
	const struct sw_constraint fine = {.left = {.terms = &a, .n_terms = 1}};
	for (size_t i = 0; i < SW_SPACE_MAX_CONSTRAINTS; i++)
		ck_assert_int_eq(sw_space_constrain(s, &fine, NULL), SW_OK);
	ck_assert_int_eq(sw_space_constrain(s, &fine, NULL), SW_TOO_BIG);
	sw_space_destroy(s);
}

/* ---- is there anything to try? ---- */

static struct sw_space *three_integers(double max)
{
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sw_space_add(s,
					      &(struct sw_param){.dist = SW_DIST_INT_UNIFORM,
								 .min = 1,
								 .max = max},
					      NULL),
				 SW_OK);
	return s;
}

TEST(space_probe_names_the_constraint_that_breaks_most)
{
	static const struct sw_term first = TERM(1, 0),
				    sum[] = {TERM(1, 0), TERM(1, 1), TERM(1, 2)};
	const struct sw_constraint mild = {.left = {.terms = &first, .n_terms = 1},
					   .op = SW_GT,
					   .right = {.constant = 1}},
				   never = {.left = {.terms = sum, .n_terms = 3},
					    .op = SW_LT,
					    .right = {.constant = 3}};
	static const struct {
		double max;
		const char *msg;
	} spaces[] = {
		{4, "no point of the space meets the constraints: of all its 64 this one breaks "
		    "64"},
		{1e6, "no point was found that meets the constraints, by 10000 draws and a walk "
		      "from the last of them; of the draws this one breaks 10000"},
	};

	for (size_t i = 0; i < ROWS(spaces); i++) {
		struct sw_space *s = three_integers(spaces[i].max);
		struct sw_err e = SW_ERR_INIT;

		ck_assert_int_eq(sw_space_constrain(s, &mild, NULL), SW_OK);
		ck_assert_int_eq(sw_space_constrain(s, &never, NULL), SW_OK);
		ck_assert_int_eq(sw_space_probe(s, 7, NULL, &e), SW_INVALID);
		ck_assert_str_eq(e.msg, spaces[i].msg);
		ck_assert_str_eq(e.ptr, "/constraints/1");
		sw_space_destroy(s);
	}
}

/* ---- points from outside ---- */

static const double word_weights[] = {1, 1, 2};

static const struct {
	struct sw_param p;
	struct sw_value v, nearest;
	const char *msg; /* NULL: a value of the parameter */
} values[] = {
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8}, {3, 0}, {3, 0}, NULL},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8}, {9, 0}, {8, 0}, "9 is above max 8"},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8}, {0, 0}, {1, 0}, "0 is below min 1"},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 8},
	 {2.5, 0},
	 {3, 0},
	 "2.5 is not an integer"},
	{{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 8},
	 {2.25, 0},
	 {2, 0},
	 "2.25 is not an integer"},
	{{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}, {1, 0}, {1, 0}, NULL},
	{{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}, {1.5, 0}, {1, 0}, "1.5 is above max 1"},
	{{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	 {NAN, 0},
	 {0, 0},
	 "the value must be a finite number"},
	{{.dist = SW_DIST_LOG_UNIFORM, .min = 0.25, .max = 1},
	 {0, 0},
	 {0.25, 0},
	 "0 is below min 0.25"},
	{{.dist = SW_DIST_INV_LOG_UNIFORM, .min = 0.25, .max = 1}, {0.3, 0}, {0.3, 0}, NULL},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.1}, {0.3, 0}, {0.3, 0}, NULL},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.25},
	 {0.375, 0},
	 {0.5, 0},
	 "0.375 is not a multiple of q 0.25; 0.5 is the nearest"},
	{{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 3, .max = 30, .q = 7},
	 {8, 0},
	 {7, 0},
	 "8 is not a multiple of q 7; 7 is the nearest"},
	{{.dist = SW_DIST_POW2, .min = 4, .max = 64}, {32, 0}, {32, 0}, NULL},
	{{.dist = SW_DIST_POW2, .min = 4, .max = 64},
	 {40, 0},
	 {32, 0},
	 "40 is not a power of two; 32 is"},
	{{.dist = SW_DIST_NORMAL, .mu = 0, .sigma = 1}, {-1e9, 0}, {-1e9, 0}, NULL},
	{{.dist = SW_DIST_LOG_NORMAL, .mu = 0, .sigma = 1}, {2, 0}, {2, 0}, NULL},
	{{.dist = SW_DIST_Q_NORMAL, .mu = 0, .sigma = 1, .q = 0.5}, {-1.5, 0}, {-1.5, 0}, NULL},
	{{.dist = SW_DIST_Q_NORMAL, .mu = 0, .sigma = 1, .q = 0.5},
	 {0.75, 0},
	 {1, 0},
	 "0.75 is not a multiple of q 0.5; 1 is the nearest"},
	{{.dist = SW_DIST_Q_LOG_NORMAL, .mu = 0, .sigma = 1, .q = 1},
	 {-1, 0},
	 {0, 0},
	 "-1 is not a multiple of q 1; 0 is the nearest"},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 3, .weights = word_weights},
	 {0, 2},
	 {0, 2},
	 NULL},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 3},
	 {0, 3},
	 {0, 2},
	 "there is no value number 4"},
	{{.dist = SW_DIST_CONSTANT}, {0, 0}, {0, 0}, NULL},
	{{.dist = SW_DIST_CONSTANT}, {0, 1}, {0, 0}, "there is no value number 2"},
};

TEST_ROWS(space_value_from_outside_is_checked_against_its_parameter, values)
{
	struct sw_space *s = NULL;
	struct sw_err e = SW_ERR_INIT, point = SW_ERR_INIT;
	const char *msg = values[_i].msg;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &values[_i].p, NULL), SW_OK);
	const struct sw_value near = sw_space_nearest(s, 0, values[_i].v);
	ck_assert_double_eq(near.number, values[_i].nearest.number);
	ck_assert_uint_eq(near.choice, values[_i].nearest.choice);
	ck_assert_int_eq(sw_space_check_value(s, 0, near, NULL), SW_OK);
	ck_assert_int_eq(sw_space_check_value(s, 0, values[_i].v, &e),
			 msg == NULL ? SW_OK : SW_INVALID);
	ck_assert_str_eq(e.msg, msg == NULL ? "" : msg);
	ck_assert_int_eq(space_check(s, &values[_i].v, &point), e.code);
	ck_assert_str_eq(point.msg, e.msg);
	ck_assert_str_eq(point.ptr, msg == NULL ? "" : "/0");
	sw_space_destroy(s);
}

/* Ordered parameters: of 12 drawn at random one set in 479,001,600 is in order. */
TEST_LOOP(space_of_ordered_parameters_is_never_at_a_loss, 0, 2)
{
	enum { MOST = 12 };
	static const size_t sizes[] = {7, MOST};
	const size_t n = sizes[_i];
	struct sw_space *s;
	struct sw_sampler *sampler;
	struct sw_value v[MOST];

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < n; i++) {
		const struct sw_param p = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};

		ck_assert_int_eq(sw_space_add(s, &p, NULL), SW_OK);
	}
	for (size_t i = 0; i + 1 < n; i++) {
		struct sw_term terms[2] = {
			{.coef = 1, .n_factors = 1, .factor = {(uint16_t)i}},
			{.coef = 1, .n_factors = 1, .factor = {(uint16_t)(i + 1)}}};
		const struct sw_constraint c = {.op = SW_LT,
						.left = {.terms = &terms[0], .n_terms = 1},
						.right = {.terms = &terms[1], .n_terms = 1}};

		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	}
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	ck_assert_int_eq(sw_space_probe(s, 1, NULL, NULL), SW_OK);
	const struct sw_sampler_config config = {.kind = SW_SAMPLER_RANDOM, .seed = 5, .space = s};
	ck_assert_int_eq(sw_samplers_create(&sampler, &config, NULL), SW_OK);
	for (uint64_t trial = 1; trial <= 200; trial++) {
		bool given[MOST] = {false};

		ck_assert_int_eq(sw_sampler_next(sampler, NULL, trial, v), SW_OK);
		ck_assert(sw_space_feasible(s, v));
		given[n / 2] = true;
		v[n / 2].number = 0.4;
		ck_assert_int_eq(sw_sampler_fill(s, 9, trial, given, v, NULL), SW_OK);
		ck_assert(sw_space_feasible(s, v));
		ck_assert_double_eq(v[n / 2].number, 0.4);
	}
	sw_sampler_destroy(sampler);
	sw_space_destroy(s);
}

/* One constraint, met by no draw of 10,000: coefficients of a sum, or the product of all. */
static const struct {
	struct sw_param param; /* of each */
	size_t n;
	double coef[16]; /* the first 0: the product */
	enum sw_compare op;
	double right;
	unsigned least; /* different points of 100 */
} rare[] = {
	{{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	 16,
	 {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	 SW_LE,
	 1,
	 100},
	{{.dist = SW_DIST_LOG_NORMAL, .sigma = 1}, 4, {1, 1, 1, 1}, SW_LT, 0.5, 100},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1000}, 4, {0}, SW_LE, 1000, 95},
	{{.dist = SW_DIST_POW2, .min = 1, .max = 0x1p30}, 3, {0}, SW_GE, 0x1p88, 3},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1000}, 2, {1, -1}, SW_EQ, 990, 8},
	{{.dist = SW_DIST_Q_UNIFORM, .min = -50, .max = 50, .q = 0.1},
	 3,
	 {1, 1, 1},
	 SW_EQ,
	 149.5,
	 10},
};

TEST_ROWS(space_with_few_points_has_a_suggestion_for_every_trial, rare)
{
	const size_t n = rare[_i].n;
	struct sw_term terms[16] = {{.coef = 1, .n_factors = n}};
	const bool is_product = rare[_i].coef[0] == 0.0;
	struct sw_space *s = NULL;
	struct sw_sampler *sampler = NULL;
	struct sw_value v[101][16];
	unsigned different = 0;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(sw_space_add(s, &rare[_i].param, NULL), SW_OK);
		if (is_product)
			terms[0].factor[i] = (uint16_t)i;
		else
			terms[i] = (struct sw_term){
				.coef = rare[_i].coef[i], .n_factors = 1, .factor = {(uint16_t)i}};
	}
	const struct sw_constraint c = {.left = {.terms = terms, .n_terms = is_product ? 1 : n},
					.op = rare[_i].op,
					.right = {.constant = rare[_i].right}};
	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	const struct sw_sampler_config config = {.kind = SW_SAMPLER_RANDOM, .seed = 5, .space = s};
	ck_assert_int_eq(sw_samplers_create(&sampler, &config, NULL), SW_OK);
	for (uint64_t t = 1; t <= 100; t++) {
		uint64_t twin = 1;

		memset(v[t], 0, sizeof v[t]);
		ck_assert_int_eq(sw_sampler_next(sampler, NULL, t, v[t]), SW_OK);
		ck_assert_int_eq(space_check(s, v[t], NULL), SW_OK);
		while (!sw_space_equal(s, v[twin], v[t]))
			twin++;
		different += twin == t;
	}
	ck_assert_uint_ge(different, rare[_i].least);
	sw_sampler_destroy(sampler);
	sw_space_destroy(s);
}

TEST(space_equality_of_reals_is_refused)
{
	static const struct sw_term sum[] = {TERM(1, A), TERM(2, X)}, whole = TERM(1, Y, B);
	const struct sw_constraint c[] = {
		{.left = {.terms = &whole, .n_terms = 1},
		 .op = SW_EQ,
		 .right = {.terms = sum, .n_terms = 2}},
		{.left = {.terms = &whole, .n_terms = 1}, .op = SW_EQ, .right = {.constant = 3}},
	};
	struct sw_space *s = make();
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_space_constrain(s, &c[0], &e), SW_INVALID);
	ck_assert_str_eq(e.msg, "no draw meets an equality of real numbers: leave out one of its "
				"parameters, and let the trial compute it as the rest of the "
				"others");
	ck_assert_int_eq(sw_space_constrain(s, &c[1], NULL), SW_OK);
	sw_space_destroy(s);
}

RUN_TESTS(NULL, NULL)
