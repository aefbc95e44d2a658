/* tests/sched/sampler/test_sampler.c — random: order-free points. grid: the product, each point
 * once. */
#include "sched/num/rng.h"
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"

static sw_status start(struct sw_sampler **out, enum sw_sampler_kind kind,
		       const struct sw_space *space, uint64_t seed, struct sw_err *err)
{
	const struct sw_sampler_config c = {.kind = kind, .seed = seed, .space = space};

	return sw_samplers_create(out, &c, err);
}

static const struct sw_param small[] = {
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 3},
	{.dist = SW_DIST_CONSTANT},
	{.dist = SW_DIST_INT_UNIFORM, .min = -1, .max = 2},
	{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 0.5},
	{.dist = SW_DIST_POW2, .min = 2, .max = 4},
};

TEST(grid_gives_each_point_once_last_parameter_fastest)
{
	struct sw_space *space = learn_space(small, ROWS(small));
	struct sw_sampler *s;
	struct sw_value v[ROWS(small)];
	uint64_t trial = 0;

	ck_assert_int_eq(start(&s, SW_SAMPLER_GRID, space, 1, NULL), SW_OK);
	ck_assert_uint_eq(sw_sampler_points(s), 3 * 4 * 3 * 2);
	for (uint32_t a = 0; a < 3; a++)
		for (int b = -1; b <= 2; b++)
			for (int c = 0; c <= 2; c++)
				for (int d = 2; d <= 4; d += 2) {
					ck_assert_int_eq(sw_sampler_next(s, NULL, ++trial, v),
							 SW_OK);
					ck_assert_uint_eq(v[0].choice, a);
					ck_assert_uint_eq(v[1].choice, 0);
					ck_assert_double_eq(v[2].number, b);
					ck_assert_double_eq(v[3].number, c * 0.5);
					ck_assert_double_eq(v[4].number, d);
				}
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sw_sampler_next(s, NULL, trial + 1, v), SW_EXHAUSTED);
	ck_assert_int_eq(sw_sampler_next(s, NULL, UINT64_MAX, v), SW_EXHAUSTED);
	ck_assert_int_eq(sw_sampler_next(s, NULL, 1, v), SW_OK);
	ck_assert_uint_eq(v[0].choice, 0);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}

#define CONTINUOUS                                                                                 \
	"grid needs a list of values: give q, values, or another method for this continuous "      \
	"parameter"
#define ENDLESS                                                                                    \
	"grid needs a list of values: a normal distribution has no end, so give values, or "       \
	"another method"

static const struct {
	struct sw_param p;
	sw_status rc;
	const char *ptr, *msg;
} refused[] = {
	{{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}, SW_INVALID, "/1/q", CONTINUOUS},
	{{.dist = SW_DIST_LOG_UNIFORM, .min = 1, .max = 2}, SW_INVALID, "/1/q", CONTINUOUS},
	{{.dist = SW_DIST_NORMAL, .sigma = 1}, SW_INVALID, "/1/distribution", ENDLESS},
	{{.dist = SW_DIST_Q_NORMAL, .sigma = 1, .q = 1}, SW_INVALID, "/1/distribution", ENDLESS},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1e9},
	 SW_TOO_BIG,
	 "",
	 "the grid has over 10^9 points"},
	{{.dist = SW_DIST_INT_UNIFORM, .min = -0x1p53, .max = 0x1p53},
	 SW_TOO_BIG,
	 "",
	 "the grid has over 10^9 points"},
};

TEST_ROWS(grid_without_an_end_is_refused, refused)
{
	const struct sw_param p[] = {{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 2},
				     refused[_i].p};
	struct sw_space *space = learn_space(p, 2);
	struct sw_sampler *s;
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(start(&s, SW_SAMPLER_GRID, space, 1, &e), refused[_i].rc);
	ck_assert_ptr_null(s);
	ck_assert_str_eq(e.ptr, refused[_i].ptr);
	ck_assert_str_eq(e.msg, refused[_i].msg);
	ck_assert_int_eq(start(&s, SW_SAMPLER_RANDOM, space, 1, NULL), SW_OK);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}

TEST(grid_of_a_billion_points_is_the_largest)
{
	const struct sw_param p[] = {{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1e5},
				     {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 1e4}};
	struct sw_space *space = learn_space(p, 2);
	struct sw_sampler *s;
	struct sw_value v[2];

	ck_assert_int_eq(start(&s, SW_SAMPLER_GRID, space, 1, NULL), SW_OK);
	ck_assert_uint_eq(sw_sampler_points(s), 1000000000);
	ck_assert_int_eq(sw_sampler_next(s, NULL, 1000000000, v), SW_OK);
	ck_assert_double_eq(v[0].number, 1e5);
	ck_assert_double_eq(v[1].number, 1e4);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}

TEST(random_trial_is_the_same_in_any_order)
{
	const struct sw_param p[] = {{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
				     {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}};
	struct sw_space *space = learn_space(p, 2);
	struct sw_sampler *a, *b, *other;
	struct sw_value seen[50][2], v[2];

	ck_assert_int_eq(start(&a, SW_SAMPLER_RANDOM, space, 7, NULL), SW_OK);
	ck_assert_int_eq(start(&b, SW_SAMPLER_RANDOM, space, 7, NULL), SW_OK);
	ck_assert_int_eq(start(&other, SW_SAMPLER_RANDOM, space, 8, NULL), SW_OK);
	ck_assert_uint_eq(sw_sampler_points(a), 0);
	for (uint64_t t = 1; t <= 50; t++)
		ck_assert_int_eq(sw_sampler_next(a, NULL, t, seen[t - 1]), SW_OK);
	for (uint64_t t = 50; t >= 1; t--) {
		ck_assert_int_eq(sw_sampler_next(b, NULL, t, v), SW_OK);
		for (uint32_t i = 0; i < 2; i++) {
			ck_assert_double_eq(v[i].number, seen[t - 1][i].number);
			ck_assert_double_eq(v[i].number, sw_rng_unit(7, SW_RNG_SAMPLE, t, i));
		}
		ck_assert_double_ne(v[0].number, v[1].number);
		ck_assert_int_eq(sw_sampler_next(other, NULL, t, v), SW_OK);
		ck_assert_double_ne(v[0].number, seen[t - 1][0].number);
	}
	sw_sampler_destroy(a);
	sw_sampler_destroy(b);
	sw_sampler_destroy(other);
	sw_space_destroy(space);
}

TEST(sampler_name_finds_its_kind)
{
	enum sw_sampler_kind kind = SW_SAMPLER_RANDOM;

	ck_assert_int_eq(sw_samplers_find("grid", &kind), SW_OK);
	ck_assert_int_eq(kind, SW_SAMPLER_GRID);
	ck_assert_int_eq(sw_samplers_find("random", &kind), SW_OK);
	ck_assert_int_eq(kind, SW_SAMPLER_RANDOM);
	ck_assert_int_eq(sw_samplers_find("Random", &kind), SW_INVALID);
}

RUN_TESTS(NULL, NULL)
