/* tests/sched/test_ostree.c — the order-statistic tree against a sorted array. */
#include "base/fault.h"
#include "sched/ostree.h"
#include "tests/sched/suite.h"
#include <math.h>
#include <string.h>

enum { N = 600 };

/* How the i-th value is chosen: the orders that break an unbalanced tree, and ties. */
static double value_at(int order, int i, uint64_t *rng)
{
	switch (order) {
	case 0:
		return i;
	case 1:
		return -i;
	case 2:
		return i % 2 == 0 ? i : -i;
	case 3:
		return 1.0;
	case 4:
		return (double)below(rng, 7);
	case 5:
		return (double)(i * 37 % 101);
	default:
		return unit(rng) - 0.5;
	}
}

static void insert_sorted(double *sorted, int n, double x)
{
	int i = n;

	for (; i > 0 && sorted[i - 1] > x; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = x;
}

START_TEST(ostree_any_order_agrees_with_a_sorted_array)
{
	struct sw_ostree t;
	double sorted[N];
	uint64_t rng = 42;

	sw_ostree_init(&t);
	for (int n = 0; n < N; n++) {
		const double x = value_at(_i, n, &rng);

		ck_assert_int_eq(sw_ostree_reserve(&t), SW_OK);
		sw_ostree_insert(&t, x);
		insert_sorted(sorted, n, x);
		sw_ostree_invariant(&t);
		ck_assert_uint_eq(t.n, (unsigned)n + 1);
	}
	for (int k = 0; k < N; k++) {
		int less = k;

		ck_assert_double_eq(sw_ostree_kth(&t, (uint64_t)k), sorted[k]);
		while (less > 0 && sorted[less - 1] == sorted[k])
			less--;
		ck_assert_uint_eq(sw_ostree_less(&t, sorted[k]), (unsigned)less);
	}
	ck_assert_uint_eq(sw_ostree_less(&t, -INFINITY), 0);
	ck_assert_uint_eq(sw_ostree_less(&t, INFINITY), N);
	sw_ostree_fini(&t);
}
END_TEST

START_TEST(ostree_of_many_rising_values_stays_balanced)
{
	enum { MANY = 200000 };
	struct sw_ostree t;

	sw_ostree_init(&t);
	for (int i = 0; i < MANY; i++) {
		ck_assert_int_eq(sw_ostree_reserve(&t), SW_OK);
		sw_ostree_insert(&t, i);
	}
	sw_ostree_invariant(&t);
	for (int i = 0; i < MANY; i += 997) {
		ck_assert_double_eq(sw_ostree_kth(&t, (uint64_t)i), i);
		ck_assert_uint_eq(sw_ostree_less(&t, i), (unsigned)i);
	}
	sw_ostree_fini(&t);
}
END_TEST

START_TEST(ostree_empty_has_nothing_below)
{
	struct sw_ostree t;

	sw_ostree_init(&t);
	ck_assert_uint_eq(sw_ostree_less(&t, 1.0), 0);
	sw_ostree_invariant(&t);
	sw_ostree_fini(&t);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(ostree_without_memory_keeps_what_it_had)
{
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_ostree t;
		uint32_t held = 0;

		ck_assert_uint_lt(nth, 100);
		sw_ostree_init(&t);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		for (int i = 0; i < 500; i++) {
			if (sw_ostree_reserve(&t) != SW_OK) {
				ck_assert_uint_eq(t.n, held);
				continue;
			}
			sw_ostree_insert(&t, i % 13);
			held++;
		}
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_uint_eq(held, 500 - fired);
		sw_ostree_invariant(&t);
		sw_ostree_fini(&t);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("ostree");
	TCase *tcase = tcase_create("tree");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, ostree_any_order_agrees_with_a_sorted_array, 0, 7);
	tcase_add_test(tcase, ostree_of_many_rising_values_stays_balanced);
	tcase_add_test(tcase, ostree_empty_has_nothing_below);
#ifdef SW_FAULTS
	tcase_add_test(tcase, ostree_without_memory_keeps_what_it_had);
#endif
	return run_suite(suite);
}
