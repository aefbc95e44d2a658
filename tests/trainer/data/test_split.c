/* tests/trainer/data/test_split.c — what every split of a table keeps, for many sizes, shares and
 * seeds. */
#include "tests/run.h"
#include "trainer/data/split.h"
#include <math.h>

#define SEEDS 200

/* A case that hangs on the seed alone. */
struct case_of {
	uint64_t state;
	struct sw_split_by by;
	struct sw_split split;
	size_t rows;
	int32_t label[300];
	uint64_t group[300];
	double order[300];
	int part[300]; /* 0 validation, 1 test, 2 training */
};

static uint32_t next(struct case_of *c)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(c->state >> 33);
}

static void make(struct case_of *c, uint64_t seed)
{
	c->state = seed;
	c->rows = 40 + next(c) % 260;
	c->by = (struct sw_split_by){
		.val = 0.1 + next(c) % 20 / 100.0, .test = next(c) % 20 / 100.0, .seed = seed};
	for (size_t i = 0; i < c->rows; i++) {
		c->label[i] = (int32_t)(next(c) % 100 < 80 ? 0 : next(c) % 4);
		c->group[i] = next(c) % 25;
		c->order[i] = (double)(next(c) % 50) - 20;
	}
}

/* Splits; each row is in one part, once. */
static void split(struct case_of *c)
{
	ck_assert_int_eq(sw_split_make(&c->split, c->rows, &c->by), SW_OK);
	for (size_t i = 0; i < c->rows; i++)
		c->part[i] = -1;
	for (size_t i = 0; i < c->rows; i++) {
		const int32_t row = c->split.order[i];

		ck_assert(row >= 0 && (size_t)row < c->rows && c->part[row] == -1);
		c->part[row] = i < c->split.val ? 0 : i < c->split.val + c->split.test ? 1 : 2;
	}
	free(c->split.order);
}

static void check_sizes(const struct case_of *c)
{
	ck_assert_uint_eq(c->split.val, (size_t)floor((double)c->rows * c->by.val));
	ck_assert_uint_eq(c->split.test, (size_t)floor((double)c->rows * c->by.test));
}

TEST_LOOP(split_by_chance_has_its_sizes, 0, SEEDS)
{
	struct case_of c;

	make(&c, (uint64_t)_i);
	split(&c);
	check_sizes(&c);
}

TEST_LOOP(split_of_classes_gives_each_part_its_share_of_each, 0, SEEDS)
{
	struct case_of c;
	double n[4][3] = {{0}}, all[4] = {0}, rows;

	make(&c, (uint64_t)_i);
	c.by.label = c.label;
	split(&c);
	check_sizes(&c);
	rows = (double)c.rows;
	for (size_t i = 0; i < c.rows; i++) {
		n[c.label[i]][c.part[i]]++;
		all[c.label[i]]++;
	}
	for (int k = 0; k < 4; k++) {
		ck_assert_double_le(fabs(n[k][0] - all[k] * (double)c.split.val / rows), 1.5);
		ck_assert_double_le(fabs(n[k][1] - all[k] * (double)c.split.test / rows), 1.5);
	}
}

TEST_LOOP(split_of_groups_keeps_each_whole, 0, SEEDS)
{
	struct case_of c;
	int part[25];

	make(&c, (uint64_t)_i);
	c.by.group = c.group;
	split(&c);
	for (size_t g = 0; g < ROWS(part); g++)
		part[g] = -1;
	for (size_t i = 0; i < c.rows; i++) {
		ck_assert(part[c.group[i]] == -1 || part[c.group[i]] == c.part[i]);
		part[c.group[i]] = c.part[i];
	}
	ck_assert_uint_gt(c.split.val, 0);
	ck_assert_uint_lt(c.split.val + c.split.test, c.rows);
	ck_assert((c.split.test > 0) == (floor((double)c.rows * c.by.test) > 0));
}

/* One of 900 of 1,000 rows is always trained on; of two halves neither can be judged by. */
TEST_LOOP(split_of_large_groups_leaves_most_rows_to_train_on, 0, 20)
{
	uint64_t group[1000];
	struct sw_split_by by = {.val = 0.2, .test = 0.1, .seed = (uint64_t)_i, .group = group};
	struct sw_split s;

	for (size_t i = 0; i < ROWS(group); i++)
		group[i] = i < 900 ? 0 : i / 10;
	ck_assert_int_eq(sw_split_make(&s, ROWS(group), &by), SW_OK);
	ck_assert_uint_gt(s.val, 0);
	ck_assert_uint_gt(s.test, 0);
	ck_assert_uint_ge(s.rows - s.val - s.test, 900);
	free(s.order);
	for (size_t i = 0; i < ROWS(group); i++)
		group[i] = i % 2;
	ck_assert_int_eq(sw_split_make(&s, ROWS(group), &by), SW_INVALID);
	free(s.order);
}

TEST_LOOP(split_by_order_has_nothing_to_train_on_after_what_it_is_judged_by, 0, SEEDS)
{
	struct case_of c;
	double first[3] = {INFINITY, INFINITY, INFINITY};
	double last[3] = {-INFINITY, -INFINITY, -INFINITY};

	make(&c, (uint64_t)_i);
	c.by.order = c.order;
	split(&c);
	check_sizes(&c);
	for (size_t i = 0; i < c.rows; i++) {
		first[c.part[i]] = fmin(first[c.part[i]], c.order[i]);
		last[c.part[i]] = fmax(last[c.part[i]], c.order[i]);
	}
	ck_assert_double_le(last[2], first[0]);
	if (c.split.test)
		ck_assert_double_le(last[0], first[1]);
}

static void nothing(void)
{
}

RUN_TESTS(nothing, nothing)
