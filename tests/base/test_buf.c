/* tests/base/test_buf.c — the bounded buffer, and errors that are one line. */
#include "base/buf.h"
#include "tests/run.h"
#include "tests/walk.h"

TEST(buf_append_keeps_bytes_and_nul)
{
	struct sw_buf b;

	sw_buf_init(&b, 1000);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(sw_buf_addf(&b, "%d,", i), SW_OK);
	ck_assert_uint_eq(strlen(b.data), b.len);
	ck_assert_int_eq(strncmp(b.data, "0,1,2,3,", 8), 0);
	sw_buf_drop(&b, 4);
	ck_assert_int_eq(strncmp(b.data, "2,3,", 4), 0);
	sw_buf_fini(&b);
}

TEST(buf_over_its_limit_latches_and_keeps_what_it_had)
{
	struct sw_buf b;

	sw_buf_init(&b, 8);
	ck_assert_int_eq(sw_buf_adds(&b, "12345678"), SW_OK);
	ck_assert_int_eq(sw_buf_adds(&b, "9"), SW_TOO_BIG);
	ck_assert_int_eq(sw_buf_adds(&b, ""), SW_TOO_BIG);
	ck_assert_str_eq(b.data, "12345678");
	ck_assert_ptr_null(sw_buf_take(&b, NULL));
}

TEST(buf_without_memory_fails_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_buf b;

		sw_buf_init(&b, 100000);
		walk_arm();
		for (int i = 0; i < 5000; i++)
			(void)sw_buf_adds(&b, "abc");
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(b.failed, fired ? SW_NOMEM : SW_OK);
		ck_assert_uint_eq(b.len % 3, 0);
		sw_buf_fini(&b);
	}
}

TEST(err_keeps_the_first_error_on_one_line)
{
	struct sw_err e = SW_ERR_INIT;

	ck_assert_int_eq(sw_err_at(&e, SW_INVALID, "/min", "a\nb%s", "c"), SW_INVALID);
	ck_assert_int_eq(sw_err_set(&e, SW_IO, "later"), SW_INVALID);
	sw_err_prefix(&e, "/parameters/lr");
	ck_assert_str_eq(e.msg, "a?bc");
	ck_assert_str_eq(e.ptr, "/parameters/lr/min");
}

RUN_TESTS(NULL, NULL)
