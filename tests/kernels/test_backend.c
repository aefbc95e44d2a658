/* tests/kernels/test_backend.c — devices by name, and the CPU's memory. */
#include "base/fault.h"
#include "kernels/backend.h"
#include "tests/run.h"

static const struct {
	const char *device, *says; /* NULL: opens */
} names[] = {
	{"cpu", NULL},
	{"cpu:0", NULL},
	{"cpu:17", NULL},
	{"cpu:", "\"cpu:\" is no device"},
	{"cpu:1x", "\"cpu:1x\" is no device"},
	{"gpu", "\"gpu\" is no device"},
	{"gpu:-1", "\"gpu:-1\" is no device"},
	{"gpu:99999999999999999999", "is no device"},
	{"", "\"\" is no device"},
	{"gpu:0", "no GPU backend here"}, /* the tests have no module beside them */
};

TEST_ROWS(backend_opens_by_name_or_says_why_not, names)
{
	struct sw_err err = SW_ERR_INIT;
	const struct sw_ops *ops;
	const sw_status status = sw_backend_open(names[_i].device, 1, &ops, &err);

	if (!names[_i].says) {
		ck_assert_int_eq(status, SW_OK);
		ck_assert_str_eq(ops->name, "cpu");
		ck_assert_int_eq(ops->version, SW_OPS_VERSION);
		return;
	}
	ck_assert_int_ne(status, SW_OK);
	ck_assert_ptr_null(ops);
	ck_assert_msg(strstr(err.msg, names[_i].says) != NULL, "%s", err.msg);
}

TEST(cpu_memory_is_aligned_zeroed_and_copied)
{
	size_t avail = 0, total = 0;
	char text[128], back[3] = "";
	void *p, *none;

	ck_assert_int_eq(sw_ops_cpu.alloc(&p, 3), SW_OK);
	ck_assert_uint_eq((uintptr_t)p % SW_OPS_ALIGN, 0);
	ck_assert_int_eq(sw_ops_cpu.upload(NULL, p, "ab", 3), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.download(NULL, back, p, 3), SW_OK);
	ck_assert_str_eq(back, "ab");
	ck_assert_int_eq(sw_ops_cpu.zero(NULL, p, 3), SW_OK);
	ck_assert_int_eq(((char *)p)[1], 0);
	ck_assert_int_eq(sw_ops_cpu.alloc(&none, 0), SW_OK);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(sw_ops_cpu.alloc(&none, SIZE_MAX - 8), SW_NOMEM);
	ck_assert_int_eq(sw_ops_cpu.memory(&avail, &total), SW_OK);
	ck_assert_uint_gt(avail, 0);
	ck_assert_uint_ge(total, avail);
	sw_ops_cpu.describe(text, sizeof text);
	ck_assert_int_eq(strncmp(text, "CPU, ", 5), 0);
	sw_ops_cpu.free(p);
}

#ifdef SW_FAULTS
TEST(cpu_without_memory_fails_cleanly)
{
	struct sw_queue *q;
	void *p;

	sw_fault_arm(SW_FAULT_MALLOC, 1, true);
	ck_assert_int_eq(sw_ops_cpu.alloc(&p, 10), SW_NOMEM);
	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_ptr_null(p);
	ck_assert_ptr_null(q);
}
#endif

RUN_TESTS(NULL, NULL)
