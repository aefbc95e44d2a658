/* tests/base/test_memory.c — arrays that grow. */
#include "base/fault.h"
#include "base/memory.h"
#include "tests/run.h"

TEST(array_grows_and_keeps_what_it_held)
{
	int *v = NULL;
	size_t cap = 0;

	for (size_t n = 1; n <= 1000; n++) {
		ck_assert(sw_array_reserve(&v, &cap, n, sizeof *v));
		ck_assert_uint_ge(cap, n);
		ck_assert_uint_le(cap, n <= 8 ? 8 : 2 * n);
		v[n - 1] = (int)n;
	}
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(v[i], i + 1);
	ck_assert(sw_array_reserve(&v, &cap, 5000, sizeof *v));
	ck_assert_uint_ge(cap, 5000);
	ck_assert_int_eq(v[999], 1000);
	free(v);
}

TEST(array_without_elements_is_there)
{
	double *v = NULL;

	ck_assert(sw_array_resize(&v, 0, sizeof *v));
	ck_assert_ptr_nonnull(v);
	free(v);
}

#ifdef SW_FAULTS
TEST(array_without_memory_is_as_it_was)
{
	int *v = NULL, *was;
	size_t cap = 0;

	ck_assert(sw_array_reserve(&v, &cap, 3, sizeof *v));
	v[2] = 7;
	was = v;
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert(!sw_array_reserve(&v, &cap, 9, sizeof *v));
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_ptr_eq(v, was);
	ck_assert_uint_eq(cap, 8);
	ck_assert_int_eq(v[2], 7);
	free(v);
}
#endif

RUN_TESTS(NULL, NULL)
