/* tests/daemon/sweep/test_handed.c — what was handed out before its commit, as the next run reads
 * it. */
#include "daemon/sweep/handed.h"
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sw-handed-XXXXXX";

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void teardown(void)
{
	(void)unlink(path_of("handed"));
	(void)rmdir(path_of("handed.new"));
	(void)rmdir(dir);
	(void)snprintf(dir, sizeof dir, "/tmp/sw-handed-XXXXXX");
}

/* A run that noted trial 7 of sweep 1 and 900 of sweep 30. */
static uint64_t one_run(void)
{
	struct sw_handed now;

	sw_handed_draw(&now);
	ck_assert_uint_ne(now.run, 0);
	ck_assert(!sw_handed_note(&now, 1, 3)); /* not begun */
	sw_handed_begin(&now, dir);
	ck_assert(sw_handed_note(&now, 1, 6));
	ck_assert(sw_handed_note(&now, 1, 7));
	ck_assert(sw_handed_note(&now, 30, 900));
	sw_handed_close(&now);
	ck_assert(!sw_handed_note(&now, 1, 8));
	return now.run;
}

START_TEST(next_run_reads_what_was_noted)
{
	const uint64_t run = one_run();
	struct sw_handed past;

	sw_handed_open(&past, dir);
	ck_assert_uint_eq(past.run, run);
	ck_assert_uint_eq(sw_handed_up_to(&past, 1), 7);
	ck_assert_uint_eq(sw_handed_up_to(&past, 30), 900);
	ck_assert_uint_eq(sw_handed_up_to(&past, 2), 0);
	ck_assert_uint_eq(sw_handed_up_to(&past, 31), 0);
	sw_handed_close(&past);
}
END_TEST

START_TEST(each_run_begins_with_nothing_noted)
{
	const uint64_t first = one_run();
	struct sw_handed now, past;

	sw_handed_draw(&now);
	ck_assert_uint_ne(now.run, first);
	sw_handed_begin(&now, dir);
	sw_handed_open(&past, dir);
	ck_assert_uint_eq(past.run, now.run);
	ck_assert_uint_eq(sw_handed_up_to(&past, 1), 0);
	sw_handed_close(&past);
	sw_handed_close(&now);
}
END_TEST

/* Byte by byte: the mark, the run, the boot id. */
START_TEST(file_of_another_boot_or_of_nobody_says_nothing)
{
	static const struct {
		off_t at;
		bool good; /* another run's number is a number still */
	} bytes[] = {{0, false}, {7, false}, {8, true}, {16, false}, {51, false}, {63, false}};
	const uint64_t run = one_run();
	struct sw_handed past;

	const int fd = open(path_of("handed"), O_RDWR);
	ck_assert_int_ge(fd, 0);
	unsigned char was, other;
	ck_assert_int_eq(pread(fd, &was, 1, bytes[_i].at), 1);
	other = (unsigned char)(was ^ 2);
	ck_assert_int_eq(pwrite(fd, &other, 1, bytes[_i].at), 1);
	(void)close(fd);
	sw_handed_open(&past, dir);
	ck_assert_uint_ne(past.run, run);
	ck_assert(bytes[_i].good ? past.run != 0 : past.run == 0 && past.fd < 0);
	ck_assert_uint_eq(sw_handed_up_to(&past, 1), bytes[_i].good ? 7 : 0);
	sw_handed_close(&past);
}
END_TEST

START_TEST(no_file_and_a_short_one_say_nothing)
{
	struct sw_handed past;

	sw_handed_open(&past, dir);
	ck_assert(past.fd < 0 && past.run == 0);
	(void)one_run();
	ck_assert_int_eq(truncate(path_of("handed"), 63), 0);
	sw_handed_open(&past, dir);
	ck_assert(past.fd < 0 && past.run == 0);
}
END_TEST

START_TEST(without_a_file_nothing_can_be_noted)
{
	struct sw_handed now;

	ck_assert_int_eq(mkdir(path_of("handed.new"), 0700), 0);
	sw_handed_draw(&now);
	sw_handed_begin(&now, dir);
	ck_assert(!sw_handed_note(&now, 1, 1));
	sw_handed_close(&now);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("handed");
	TCase *t = tcase_create("handed");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, next_run_reads_what_was_noted);
	tcase_add_test(t, each_run_begins_with_nothing_noted);
	tcase_add_loop_test(t, file_of_another_boot_or_of_nobody_says_nothing, 0, 6);
	tcase_add_test(t, no_file_and_a_short_one_say_nothing);
	tcase_add_test(t, without_a_file_nothing_can_be_noted);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	const int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
