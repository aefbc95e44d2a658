/* tests/sched/space/test_space.c — what a space accepts, what it refuses and how it says so. */
#include "sched/space/space.h"
#include "tests/sched/suite.h"
#include "tests/walk.h"
#include <float.h>
#include <math.h>

static const double negative[] = {0.5, -0.1}, zeros[] = {0.0, 0.0}, nan_weight[] = {NAN, 1.0},
		    huge_weights[] = {DBL_MAX, DBL_MAX}, good_weights[] = {1.0, 3.0};

#define REFUSED(at, words, kind, ...)                                                              \
	{                                                                                          \
		{.dist = SW_DIST_##kind, __VA_ARGS__}, SW_INVALID, at, words                       \
	}

static const struct {
	struct sw_param p;
	sw_status rc;
	const char *ptr, *msg;
} refused[] = {
	REFUSED("/min", "min 5 is above max 3", UNIFORM, .min = 5, .max = 3),
	REFUSED("/min", "min must be a finite number", UNIFORM, .min = NAN, .max = 3),
	REFUSED("/max", "max must be a finite number", UNIFORM, .min = 0, .max = INFINITY),
	REFUSED("/max", "the range from min -1e+308 to max 1e+308 is too wide", UNIFORM,
		.min = -1e308, .max = 1e308),
	REFUSED("/min", "a log distribution needs min > 0; min is 0", LOG_UNIFORM, .min = 0,
		.max = 1),
	REFUSED("/min", "min 1.5 is not an integer", INT_UNIFORM, .min = 1.5, .max = 3),
	REFUSED("/max", "max 3.25 is not an integer", INT_UNIFORM, .min = 1, .max = 3.25),
	REFUSED("/max", "max 1e+300 is beyond 2^53, where integers are no longer exact",
		INT_UNIFORM, .min = 1, .max = 1e300),
	REFUSED("/q", "q must be above 0; q is 0", Q_UNIFORM, .min = 0, .max = 1, .q = 0),
	REFUSED("/q", "q must be a finite number", Q_UNIFORM, .min = 0, .max = 1, .q = NAN),
	REFUSED("/q", "no multiple of q 10 lies between min 1 and max 9", Q_UNIFORM, .min = 1,
		.max = 9, .q = 10),
	REFUSED("/q", "q 1e-300 is too small for these bounds", Q_UNIFORM, .min = 0, .max = 1,
		.q = 1e-300),
	REFUSED("/min", "min 3 is not a power of two", POW2, .min = 3, .max = 8),
	REFUSED("/max", "max 100 is not a power of two", POW2, .min = 4, .max = 100),
	REFUSED("/min", "a log distribution of integers needs min >= 1; min is 0", INT_LOG_UNIFORM,
		.min = 0, .max = 8),
	REFUSED("/max", "a log distribution of integers ends at 2^40; max is 1.099511628e+12",
		INT_LOG_UNIFORM, .min = 1, .max = 0x1p40 + 1),
	REFUSED("/values", "value 1 is not a finite number", CONSTANT, .numbers = nan_weight),
	REFUSED("/values", "value 1 is not a finite number", CATEGORICAL, .n_choices = 2,
		.weights = good_weights, .numbers = nan_weight),
	REFUSED("/sigma", "sigma must be above 0; sigma is 0", NORMAL, .mu = 0, .sigma = 0),
	REFUSED("/mu", "mu must be a finite number", NORMAL, .mu = INFINITY, .sigma = 1),
	REFUSED("/sigma", "mu 0 and sigma 1e+308 reach beyond what a number can hold", NORMAL,
		.mu = 0, .sigma = 1e308),
	REFUSED("/sigma", "mu 0 and sigma 100 reach beyond what a number can hold", LOG_NORMAL,
		.mu = 0, .sigma = 100),
	REFUSED("/q", "q must be above 0; q is 0", Q_NORMAL, .mu = 0, .sigma = 1, .q = 0),
	REFUSED("/q", "q 1e-300 is too small for these values", Q_LOG_NORMAL, .mu = 0, .sigma = 50,
		.q = 1e-300),
	REFUSED("/values", "values is empty", CATEGORICAL, .n_choices = 0),
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 10001},
	 SW_TOO_BIG,
	 "/values",
	 "10001 values are too many: at most 10000"},
	REFUSED("/probabilities", "probability 2 is not a number of 0 or more", CATEGORICAL,
		.n_choices = 2, .weights = negative),
	REFUSED("/probabilities", "probability 1 is not a number of 0 or more", CATEGORICAL,
		.n_choices = 2, .weights = nan_weight),
	REFUSED("/probabilities", "the probabilities add up to 0", CATEGORICAL, .n_choices = 2,
		.weights = zeros),
	REFUSED("/probabilities", "the probabilities add up to more than a number can hold",
		CATEGORICAL, .n_choices = 2, .weights = huge_weights),
	{{.dist = (enum sw_dist)99}, SW_INVALID, "/distribution", "no such distribution"},
};

TEST_ROWS(space_meaningless_parameter_is_refused, refused)
{
	struct sw_space *s;
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &refused[_i].p, &e), refused[_i].rc);
	ck_assert_str_eq(e.msg, refused[_i].msg);
	ck_assert_str_eq(e.ptr, refused[_i].ptr);
	ck_assert_uint_eq(sw_space_size(s), 0);
	ck_assert_int_eq(sw_space_add(s, &refused[_i].p, NULL), refused[_i].rc);
	sw_space_destroy(s);
}

static const struct {
	struct sw_param p;
	uint64_t levels;
	double first, last; /* of the levels, or of u = 0 and u = 1 */
} accepted[] = {
	{{.dist = SW_DIST_CONSTANT}, 1, 0, 0},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 1}, 1, 0, 0},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 10000}, 10000, 0, 9999},
	{{.dist = SW_DIST_CATEGORICAL, .n_choices = 2, .weights = good_weights}, 2, 0, 1},
	{{.dist = SW_DIST_INT_UNIFORM, .min = -3, .max = 3}, 7, -3, 3},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 5, .max = 5}, 1, 5, 5},
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 0x1p53}, UINT64_C(1) << 53, 1, 0x1p53},
	/* More values than coordinates: the last one that a coordinate reaches. */
	{{.dist = SW_DIST_INT_UNIFORM, .min = -0x1p53, .max = 0x1p53}, 0, -0x1p53, 0x1p53 - 2.0},
	{{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 100}, 100, 1, 100},
	{{.dist = SW_DIST_UNIFORM, .min = 0.25, .max = 0.25}, 0, 0.25, 0.25},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0.1, .max = 0.3, .q = 0.1}, 3, 0.1, 0.3},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0.15, .max = 0.45, .q = 0.15}, 3, 0.15, 0.45},
	{{.dist = SW_DIST_Q_UNIFORM, .min = -0.7, .max = 0.7, .q = 0.1}, 15, -0.7, 0.7},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 1, .max = 10, .q = 3}, 3, 3, 9},
	{{.dist = SW_DIST_Q_UNIFORM, .min = -4, .max = -1, .q = 2}, 2, -4, -2},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1, .q = 1.0 / 3.0}, 4, 0, 1},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 1e-4, .q = 1e-5}, 11, 0, 1e-4},
	{{.dist = SW_DIST_Q_UNIFORM, .min = 0, .max = 0, .q = 1}, 1, 0, 0},
	{{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 8, .max = 100, .q = 8}, 12, 8, 96},
	{{.dist = SW_DIST_POW2, .min = 4, .max = 256}, 7, 4, 256},
	{{.dist = SW_DIST_POW2, .min = 0.125, .max = 2}, 5, 0.125, 2},
	{{.dist = SW_DIST_POW2, .min = 8, .max = 8}, 1, 8, 8},
};

TEST_ROWS(space_parameter_has_its_levels, accepted)
{
	struct sw_space *s;
	const struct sw_param *p = &accepted[_i].p;
	const bool named = p->dist == SW_DIST_CATEGORICAL;
	struct sw_value v;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, p, NULL), SW_OK);
	ck_assert_uint_eq(sw_space_levels(s, 0), accepted[_i].levels);
	ck_assert_int_eq(sw_space_param(s, 0)->dist, p->dist);
	if (accepted[_i].levels > 0) {
		v = sw_space_level(s, 0, 0);
		ck_assert_double_eq(named ? v.choice : v.number, accepted[_i].first);
		v = sw_space_level(s, 0, accepted[_i].levels - 1);
		ck_assert_double_eq(named ? v.choice : v.number, accepted[_i].last);
	}
	sw_space_decode(s, &(double){0.0}, &v);
	ck_assert_double_eq(named ? v.choice : v.number, accepted[_i].first);
	sw_space_decode(s, &(double){1.0}, &v);
	ck_assert_double_eq(named ? v.choice : v.number, accepted[_i].last);
	sw_space_destroy(s);
}

TEST(space_keeps_its_own_weights)
{
	struct sw_space *s;
	double w[] = {1.0, 3.0};
	const struct sw_param p = {.dist = SW_DIST_CATEGORICAL, .n_choices = 2, .weights = w};
	struct sw_value v;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &p, NULL), SW_OK);
	w[0] = 1e9;
	ck_assert_double_eq(sw_space_param(s, 0)->weights[0], 1.0);
	sw_space_decode(s, &(double){0.25}, &v);
	ck_assert_uint_eq(v.choice, 1);
	sw_space_destroy(s);
}

TEST(space_over_its_limit_is_refused)
{
	struct sw_space *s;
	const struct sw_param p = {.dist = SW_DIST_CONSTANT};
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < SW_SPACE_MAX_PARAMS; i++)
		ck_assert_int_eq(sw_space_add(s, &p, NULL), SW_OK);
	ck_assert_int_eq(sw_space_add(s, &p, &e), SW_TOO_BIG);
	ck_assert_str_eq(e.msg, "a search space has at most 256 parameters");
	ck_assert_uint_eq(sw_space_size(s), SW_SPACE_MAX_PARAMS);
	sw_space_destroy(s);
}

/* Parameters, then a condition on the first and a constraint of the second: what fails for want of
 * memory leaves the space as it was. */
TEST(space_without_memory_keeps_what_it_had)
{
	enum { N = 20 };
	static const struct sw_term second = {.coef = 1, .n_factors = 1, .factor = {1}};
	const struct sw_param p = {.dist = SW_DIST_CATEGORICAL,
				   .n_choices = 2,
				   .weights = good_weights,
				   .numbers = good_weights};
	const struct sw_constraint c = {.left = {.terms = &second, .n_terms = 1}};

	WALK (SW_FAULT_MALLOC, 1) {
		size_t held = 0, constraints = 0;
		bool conditional = false;
		struct sw_space *s;

		walk_arm();
		const sw_status rc = sw_space_create(&s);
		ck_assert(rc == SW_OK || walk.nth == 1);
		for (size_t i = 0; rc == SW_OK && i < N + 2; i++) {
			struct sw_err e = SW_ERR_INIT;
			const sw_status made =
				i < N    ? sw_space_add(s, &p, &e)
				: i == N ? sw_space_when(s, 1, 0, &(struct sw_value){.choice = 1},
							 1, &e)
					 : sw_space_constrain(s, &c, &e);
			const bool ok = made == SW_OK;

			held += ok && i < N;
			conditional = conditional || (ok && i == N);
			constraints += ok && i > N;
			ck_assert(ok || made == SW_NOMEM);
			ck_assert_int_eq(e.code, made);
			ck_assert_uint_eq(sw_space_size(s), held);
			ck_assert_int_eq(sw_space_conditional(s), conditional);
			ck_assert_uint_eq(sw_space_constraints(s), constraints);
		}
		(void)walk_disarm();
		sw_space_destroy(s);
	}
}

RUN_TESTS(NULL, NULL)
