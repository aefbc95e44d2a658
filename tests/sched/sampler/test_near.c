/* tests/sched/sampler/test_near.c — the nearest trials that were told. */
#include "base/fault.h"
#include "sched/sampler/near.h"
#include "tests/run.h"
#include "tests/sched/sampler/learn.h"

TEST(near_finds_the_three_nearest_in_order)
{
	static const double x[][2] = {{0.9, 0.9}, {0.5, 0.5}, {0.1, 0.1}, {0.4, 0.5}, {0.52, 0.5}};
	struct sw_space *space = learn_cube(2);
	const struct sw_value at[2] = {{.number = 0.5}, {.number = 0.5}};
	struct sw_suggestion out = {.near_n = 9};
	struct sw_history h;
	struct sw_near near;

	sw_history_init(&h, 2, 1);
	ck_assert_int_eq(sw_near_init(&near, space), SW_OK);
	sw_near_find(&near, &h, at, &out);
	ck_assert_uint_eq(out.near_n, 0);
	for (size_t i = 0; i < ROWS(x); i++)
		learn_point(&h, x[i], i == 3 ? SW_OBS_INFEASIBLE : SW_OBS_FINAL, 1.0);
	learn_add(&h, at); /* pending: not told */
	sw_near_find(&near, &h, at, &out);
	ck_assert_uint_eq(out.near_n, 3);
	ck_assert_uint_eq(out.near[0], 2);
	ck_assert_uint_eq(out.near[1], 5);
	ck_assert_uint_eq(out.near[2], 4);
	ck_assert_double_eq(out.near_distance[0], 0.0);
	ck_assert_double_eq_tol(out.near_distance[1], 0.02, 1e-12);
	ck_assert_double_eq_tol(out.near_distance[2], 0.1, 1e-12);
	sw_near_fini(&near);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

TEST(near_categories_differ_or_not)
{
	const struct sw_param p[] = {{.dist = SW_DIST_CATEGORICAL, .n_choices = 10},
				     {.dist = SW_DIST_UNIFORM, .min = 0, .max = 1}};
	struct sw_space *space = learn_space(p, 2);
	struct sw_suggestion out = {.near_n = 0};
	struct sw_value v[2] = {{.choice = 4}, {.number = 0.5}};
	struct sw_history h;
	struct sw_near near;
	const double y = 0.0;

	sw_history_init(&h, 2, 1);
	ck_assert_int_eq(sw_near_init(&near, space), SW_OK);
	learn_add(&h, v);
	learn_tell(&h, 1, SW_OBS_FINAL, 0, &y);
	v[0].choice = 5; /* the neighbour in the list is as far as any */
	sw_near_find(&near, &h, v, &out);
	ck_assert_uint_eq(out.near_n, 1);
	ck_assert_double_eq(out.near_distance[0], 1.0);
	v[0].choice = 9;
	sw_near_find(&near, &h, v, &out);
	ck_assert_double_eq(out.near_distance[0], 1.0);
	sw_near_fini(&near);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

/* A trial at its rung has told something, and counts once when it ends. */
TEST(near_knows_trials_from_their_first_rung_on)
{
	struct sw_space *space = learn_cube(1);
	struct sw_suggestion out = {.near_n = 0};
	struct sw_value v = {.number = 0.5};
	struct sw_history h;
	struct sw_near near;
	const double y = 0.0;

	sw_history_init(&h, 1, 1);
	ck_assert_int_eq(sw_near_init(&near, space), SW_OK);
	learn_add(&h, &v);
	sw_near_find(&near, &h, &v, &out);
	ck_assert_uint_eq(out.near_n, 0);
	learn_tell(&h, 1, SW_OBS_RUNG, 0, &y);
	sw_near_find(&near, &h, &v, &out);
	ck_assert_uint_eq(out.near_n, 1);
	learn_tell(&h, 1, SW_OBS_RUNG, 1, &y);
	learn_tell(&h, 1, SW_OBS_FINAL, 0, &y);
	sw_near_find(&near, &h, &v, &out);
	ck_assert_uint_eq(out.near_n, 1);
	ck_assert_uint_eq(out.near[0], 1);
	sw_near_fini(&near);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

TEST(near_looks_at_the_last_told_only)
{
	struct sw_space *space = learn_cube(1);
	const struct sw_value at[1] = {{.number = 0.5}};
	struct sw_suggestion out = {.near_n = 0}, all = {.near_n = 0};
	struct sw_history h;
	struct sw_near near, late;
	double x = 0.5;

	sw_history_init(&h, 1, 1);
	ck_assert_int_eq(sw_near_init(&near, space), SW_OK);
	ck_assert_int_eq(sw_near_init(&late, space), SW_OK);
	learn_point(&h, &x, SW_OBS_FINAL, 0.0); /* the very point, but too long ago */
	for (size_t i = 0; i < SW_NEAR_TOLD + 100; i++) {
		x = 0.6 + 0.0001 * (double)i;
		learn_point(&h, &x, SW_OBS_FINAL, 0.0);
		if (i % 50 == 0)
			sw_near_find(&near, &h, at, &out);
	}
	sw_near_find(&near, &h, at, &out);
	sw_near_find(&late, &h, at, &all);
	ck_assert_uint_eq(out.near[0], 102);
	ck_assert_int_eq(memcmp(out.near, all.near, sizeof out.near), 0);
	sw_near_fini(&near);
	sw_near_fini(&late);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

#ifdef SW_FAULTS
TEST(near_each_failed_allocation_is_clean)
{
	struct sw_space *space = learn_cube(2);
	struct sw_near near;

	for (unsigned nth = 1;; nth++) {
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_near_init(&near, space);
		const unsigned fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired != 0 ? SW_NOMEM : SW_OK);
		if (rc == SW_OK)
			break;
	}
	sw_near_fini(&near);
	sw_space_destroy(space);
}
#endif

RUN_TESTS(NULL, NULL)
