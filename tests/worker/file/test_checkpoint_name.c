/* tests/worker/file/test_checkpoint_name.c — whose file it is, by its name. */
#include "tests/run.h"
#include "worker/file/checkpoint.h"

START_TEST(checkpoint_name_is_read_back_exactly)
{
	static const char *const none[] = {
		"",          "7-9",       "7-9.ckpt.x", ".tmp-7-9-abcdef", "07-9.ckpt",
		"7-09.ckpt", "-7-9.ckpt", " 7-9.ckpt",  "7-9.ckpt/"};
	uint64_t trial, epoch;

	ck_assert(sw_checkpoint_name("/a/b-1/123-4567.ckpt", &trial, &epoch));
	ck_assert_uint_eq(trial, 123);
	ck_assert_uint_eq(epoch, 4567);
	ck_assert(sw_checkpoint_name("1-2.ckpt", &trial, &epoch));
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		ck_assert_msg(!sw_checkpoint_name(none[i], &trial, &epoch), "%s", none[i]);
}
END_TEST

SUITE(tcase)
{
	tcase_add_test(tcase, checkpoint_name_is_read_back_exactly);
}
