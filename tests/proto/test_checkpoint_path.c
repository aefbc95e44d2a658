/* tests/proto/test_checkpoint_path.c — the name of a trial's state, and whose it is. */
#include "proto/checkpoint_path.h"
#include "tests/run.h"

TEST(checkpoint_path_is_read_back_exactly)
{
	static const char *const none[] = {
		"",          "7-9",       "7-9.ckpt.x", ".tmp-7-9-abcdef", "07-9.ckpt",
		"7-09.ckpt", "-7-9.ckpt", " 7-9.ckpt",  "7-9.ckpt/",       "7-0.ckpt",
		"07.dir",    "7.dir.x",   "7.live-1",   "7.resume"};
	uint64_t trial, step;
	char path[SW_CHECKPOINT_NAME_MAX + 8];

	sw_checkpoint_path(path, sizeof path, "/a/b-1", UINT64_MAX, 4567);
	ck_assert_str_eq(path, "/a/b-1/18446744073709551615-4567.ckpt");
	ck_assert(sw_checkpoint_path_read(path, &trial, &step));
	ck_assert(trial == UINT64_MAX && step == 4567);
	sw_checkpoint_path(path, sizeof path, NULL, 1, 2);
	ck_assert_str_eq(path, "1-2.ckpt");
	ck_assert(sw_checkpoint_path_read(path, &trial, &step));
	sw_checkpoint_path(path, sizeof path, "/a", 12, 0);
	ck_assert_str_eq(path, "/a/12.dir");
	ck_assert(sw_checkpoint_path_read(path, &trial, &step));
	ck_assert(trial == 12 && step == 0);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		ck_assert_msg(!sw_checkpoint_path_read(none[i], &trial, &step), "%s", none[i]);
}

RUN_TESTS(NULL, NULL)
