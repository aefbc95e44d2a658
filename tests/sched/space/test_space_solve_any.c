/* tests/sched/space/test_space_solve_any.c — the search for rare points beside a look at all of
 * them, in random small spaces. */
#include "sched/space/space.h"
#include "tests/run.h"
#include "tests/sched/space/check.h"
#include "tests/sched/suite.h"

#define SMALL_MOST 4

static const double small_numbers[] = {-2, 0.5, 3};
static const struct sw_param small_kinds[] = {
	{.dist = SW_DIST_INT_UNIFORM, .min = -2, .max = 3},
	{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 5},
	{.dist = SW_DIST_POW2, .min = 0.25, .max = 4},
	{.dist = SW_DIST_POW2, .min = 1, .max = 8},
	{.dist = SW_DIST_Q_UNIFORM, .min = -1, .max = 1, .q = 0.5},
	{.dist = SW_DIST_CATEGORICAL, .n_choices = 3, .numbers = small_numbers},
};

/* Values of parameter i: how many, and the k-th. */
static size_t small_values(const struct sw_space *s, size_t i, size_t k, struct sw_value *v)
{
	const struct sw_param *p = sw_space_param(s, i);
	const bool is_choice = p->dist == SW_DIST_CATEGORICAL;
	size_t n = 0;

	for (int at = -8; !is_choice && at <= 32; at++) { /* all of them are quarters */
		const struct sw_value quarter = {.number = 0.25 * at};

		if (sw_space_nearest(s, i, quarter).number == quarter.number && n++ == k)
			*v = quarter;
	}
	if (is_choice)
		*v = (struct sw_value){.choice = (uint32_t)k};
	return is_choice ? p->n_choices : n;
}

static bool small_has_point(const struct sw_space *s, size_t i, struct sw_value *v)
{
	if (i == sw_space_size(s))
		return sw_space_feasible(s, v);
	for (size_t k = 0, n = 1; k < n; k++) {
		n = small_values(s, i, k, &v[i]);
		if (small_has_point(s, i + 1, v))
			return true;
	}
	return false;
}

/* whole: of integers times the parameters. */
static size_t small_sum(uint64_t *rng, size_t params, bool whole, struct sw_term *terms,
			double *constant)
{
	const double step = whole ? 1.0 : 0.5;
	const size_t n = 1 + below(rng, 3);

	for (size_t t = 0; t < n; t++) {
		terms[t] = (struct sw_term){.coef = step * ((double)below(rng, 9) - 4.0),
					    .n_factors = 1 + below(rng, 3)};
		for (size_t k = 0; k < terms[t].n_factors; k++)
			terms[t].factor[k] = (uint16_t)below(rng, params);
	}
	*constant = step * ((double)below(rng, 21) - 10.0);
	return n;
}

static struct sw_space *make_small(uint64_t *rng)
{
	const size_t n = 2 + below(rng, SMALL_MOST - 1), constraints = 1 + below(rng, 3);
	struct sw_space *s = NULL;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(sw_space_add(s, &small_kinds[below(rng, ROWS(small_kinds))], NULL),
				 SW_OK);
	for (size_t i = 0; i < constraints; i++) {
		struct sw_term left[3], right[3];
		struct sw_constraint c = {.op = (enum sw_compare)below(rng, 6)};
		const bool whole = below(rng, 2) == 0;

		c.left.terms = left;
		c.left.n_terms = small_sum(rng, n, whole, left, &c.left.constant);
		c.right.terms = right;
		c.right.n_terms = small_sum(rng, n, whole, right, &c.right.constant);
		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	}
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	return s;
}

/* Where all points can be looked at: it finds one if there is one, else proves that there is
 * none. */
TEST(space_solve_is_right_beside_all_points)
{
	uint64_t rng = 11;
	int found = 0;

	for (int i = 0; i < 4000; i++) {
		struct sw_space *s = make_small(&rng);
		struct sw_value v[SMALL_MOST] = {{.number = 0}}, any[SMALL_MOST] = {{.number = 0}};
		const bool has = small_has_point(s, 0, any);
		const enum sw_solved got = sw_space_solve(s, 1, (uint64_t)i, NULL, SW_SOLVE_ASK, v);

		ck_assert_msg(got == (has ? SW_SOLVED : SW_SOLVED_NONE), "space %d: %d", i, got);
		if (has)
			ck_assert_int_eq(space_check(s, v, NULL), SW_OK);
		found += has;
		sw_space_destroy(s);
	}
	ck_assert_msg(found > 800 && found < 3200, "%d of 4000", found);
}

RUN_TESTS(NULL, NULL)
