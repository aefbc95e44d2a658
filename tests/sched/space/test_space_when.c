/* tests/sched/space/test_space_when.c — which parameters are active at a point. */
#include "sched/space/space.h"
#include "tests/sched/suite.h"

/* Parameters of the tests' space. */
enum { OPT, MOMENTUM, NESTEROV, LAYERS, WIDTH2, FIXED, RATE, STEP, N };

static const double three[] = {1, 2, 3};

static struct sw_space *make(void)
{
	static const struct sw_param params[N] = {
		[OPT] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 3},
		[MOMENTUM] = {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
		[NESTEROV] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 2},
		[LAYERS] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 4},
		[WIDTH2] = {.dist = SW_DIST_POW2, .min = 4, .max = 64},
		[FIXED] = {.dist = SW_DIST_CONSTANT, .numbers = three},
		[RATE] = {.dist = SW_DIST_LOG_UNIFORM, .min = 0.01, .max = 1},
		[STEP] = {.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.1},
	};
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < N; i++)
		ck_assert_int_eq(sw_space_add(s, &params[i], NULL), SW_OK);
	return s;
}

static void choice(struct sw_space *s, size_t child, size_t parent, uint32_t value)
{
	ck_assert_int_eq(
		sw_space_when(s, child, parent, &(struct sw_value){.choice = value}, 1, NULL),
		SW_OK);
}

static void number(struct sw_space *s, size_t child, size_t parent, double value)
{
	ck_assert_int_eq(
		sw_space_when(s, child, parent, &(struct sw_value){.number = value}, 1, NULL),
		SW_OK);
}

/* Nesterov needs momentum's parent, and it needs layers 2 or 4; given in an order that is not the
 * one of the tree. */
static struct sw_space *make_tree(void)
{
	static const struct sw_value even[] = {{.number = 4}, {.number = 2}};
	struct sw_space *s = make();

	choice(s, STEP, NESTEROV, 1);
	choice(s, NESTEROV, OPT, 0);
	choice(s, OPT, FIXED, 0);
	ck_assert_int_eq(sw_space_when(s, NESTEROV, LAYERS, even, 2, NULL), SW_OK);
	choice(s, MOMENTUM, OPT, 0);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK); /* again: nothing */
	return s;
}

TEST(space_without_conditions_is_all_active)
{
	struct sw_space *s = make();
	struct sw_value v[N] = {{0}};
	bool active[N];

	ck_assert(!sw_space_conditional(s));
	sw_space_active(s, v, active);
	for (size_t i = 0; i < N; i++)
		ck_assert(active[i]);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	sw_space_destroy(s);
}

TEST(space_child_is_active_where_all_its_parents_say_so)
{
	static const struct {
		uint32_t opt, nesterov;
		double layers;
		bool want_momentum, want_nesterov, want_step;
	} rows[] = {
		{0, 1, 2, true, true, true},    {0, 0, 2, true, true, false},
		{0, 1, 4, true, true, true},    {0, 1, 3, true, false, false},
		{1, 1, 2, false, false, false}, {2, 1, 4, false, false, false},
	};
	struct sw_space *s = make_tree();

	ck_assert(sw_space_conditional(s));
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct sw_value v[N] = {[OPT] = {.choice = rows[i].opt},
					[NESTEROV] = {.choice = rows[i].nesterov},
					[LAYERS] = {.number = rows[i].layers}};
		bool active[N];

		sw_space_active(s, v, active);
		ck_assert_int_eq(active[MOMENTUM], rows[i].want_momentum);
		ck_assert_int_eq(active[NESTEROV], rows[i].want_nesterov);
		ck_assert_int_eq(active[STEP], rows[i].want_step);
		ck_assert(active[OPT] && active[LAYERS] && active[RATE] && active[FIXED]);
	}
	sw_space_destroy(s);
}

TEST(space_canonical_points_of_one_configuration_have_equal_bits)
{
	struct sw_space *s = make_tree();
	uint64_t rng = 4;

	for (int i = 0; i < 2000; i++) {
		double unit_a[N], unit_b[N];
		struct sw_value a[N], b[N];
		bool active[N], after[N];

		for (size_t k = 0; k < N; k++)
			unit_a[k] = unit(&rng);
		sw_space_decode(s, unit_a, a);
		sw_space_active(s, a, active);
		for (size_t k = 0; k < N; k++) /* the same where it counts */
			unit_b[k] = active[k] ? unit_a[k] : unit(&rng);
		sw_space_decode(s, unit_b, b);
		ck_assert(sw_space_equal(s, a, b) && sw_space_equal(s, b, a));
		sw_space_canonical(s, a);
		sw_space_canonical(s, b);
		for (size_t k = 0; k < N; k++) {
			ck_assert_double_eq(a[k].number, b[k].number);
			ck_assert_uint_eq(a[k].choice, b[k].choice);
		}
		sw_space_active(s, a, after);
		for (size_t k = 0; k < N; k++)
			ck_assert_int_eq(active[k], after[k]);
		b[RATE].number *= 0.99;
		ck_assert(!sw_space_equal(s, a, b));
	}
	sw_space_destroy(s);
}

TEST(space_points_with_other_parameters_active_differ)
{
	struct sw_space *s = make_tree();
	struct sw_value a[N] = {[LAYERS] = {.number = 2}}, b[N] = {[LAYERS] = {.number = 3}};

	ck_assert(!sw_space_equal(s, a, b));
	b[LAYERS].number = 2;
	ck_assert(sw_space_equal(s, a, b));
	b[NESTEROV].choice = 1;
	ck_assert(!sw_space_equal(s, a, b));
	a[OPT].choice = b[OPT].choice = 1; /* and now nobody asks for it */
	ck_assert(sw_space_equal(s, a, b));
	sw_space_destroy(s);
}

static const struct {
	size_t child, parent;
	struct sw_value value;
	size_t n;
	const char *msg;
} refused[] = {
	{OPT, OPT, {.choice = 0}, 1, "a parameter cannot depend on itself"},
	{OPT, RATE, {.number = 0.1}, 1, "the parameter that it depends on is continuous"},
	{OPT, MOMENTUM, {.number = 0.1}, 1, "the parameter that it depends on is continuous"},
	{OPT, LAYERS, {.number = 2}, 0, "no value is allowed"},
	{OPT, LAYERS, {.number = 5}, 1, "value 1 is not one that the parameter can have"},
	{OPT, LAYERS, {.number = 1.5}, 1, "value 1 is not one that the parameter can have"},
	{LAYERS, OPT, {.choice = 3}, 1, "value 1 is not one that the parameter can have"},
	{LAYERS, FIXED, {.choice = 1}, 1, "value 1 is not one that the parameter can have"},
	{LAYERS, WIDTH2, {.number = 12}, 1, "value 1 is not one that the parameter can have"},
	{LAYERS, STEP, {.number = 0.25}, 1, "value 1 is not one that the parameter can have"},
	{STEP, NESTEROV, {.choice = 1}, 1, "the same parameter is given twice"},
};

TEST_ROWS(space_condition_that_means_nothing_is_refused, refused)
{
	struct sw_space *s = make();
	struct sw_err e = SW_ERR_INIT;

	choice(s, STEP, NESTEROV, 0);
	ck_assert_int_eq(sw_space_when(s, refused[_i].child, refused[_i].parent, &refused[_i].value,
				       refused[_i].n, &e),
			 SW_INVALID);
	ck_assert_str_eq(e.msg, refused[_i].msg);
	ck_assert_str_eq(e.ptr, "/when");
	sw_space_destroy(s);
}

TEST(space_conditions_in_a_circle_are_refused)
{
	struct sw_space *s = make();
	struct sw_err e = SW_ERR_INIT;

	choice(s, LAYERS, OPT, 0);
	number(s, WIDTH2, LAYERS, 2);
	number(s, OPT, WIDTH2, 4);
	number(s, STEP, LAYERS, 1);
	ck_assert_int_eq(sw_space_seal(s, &e), SW_INVALID);
	ck_assert_str_eq(e.msg, "the conditions run in a circle");
	ck_assert_str_eq(e.ptr + strlen(e.ptr) - 5, "/when");
	sw_space_destroy(s);
}

TEST(space_chain_as_long_as_can_be_is_settled)
{
	struct sw_space *s = NULL;
	struct sw_value v[SW_SPACE_MAX_PARAMS] = {{0}};
	const struct sw_param two = {.dist = SW_DIST_CATEGORICAL, .n_choices = 2};
	bool active[SW_SPACE_MAX_PARAMS];

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < SW_SPACE_MAX_PARAMS; i++)
		ck_assert_int_eq(sw_space_add(s, &two, NULL), SW_OK);
	for (size_t i = 0; i + 1 < SW_SPACE_MAX_PARAMS; i++) /* each waits for the one after it */
		choice(s, i, i + 1, 0);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	sw_space_active(s, v, active);
	ck_assert(active[0]);
	v[SW_SPACE_MAX_PARAMS - 1].choice = 1;
	sw_space_active(s, v, active);
	for (size_t i = 0; i + 1 < SW_SPACE_MAX_PARAMS; i++)
		ck_assert(!active[i]);
	sw_space_destroy(s);
}

RUN_TESTS(NULL, NULL)
