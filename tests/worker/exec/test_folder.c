/* tests/worker/exec/test_folder.c — the folders that a program goes on from, over attempts. */
#include "tests/run.h"
#include "tests/worker/trial.h"
#include "worker/exec/folder.h"
#include <sys/syscall.h>

static struct sw_folder own;
static struct sw_job job;

static void setup(void)
{
	trial_setup();
	job = (struct sw_job){.sweep = 1, .trial = 7, .attempt = 1, .checkpoint_dir = folder};
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) { /* what is in folders, then they */
		char command[200];

		(void)snprintf(command, sizeof command, "rm -rf %s/*", folder);
		ck_assert_int_eq(system(command), 0);
	}
	trial_teardown();
}

static void open_attempt(uint64_t attempt)
{
	struct sw_err err = SW_ERR_INIT;

	job.attempt = attempt;
	ck_assert_msg(sw_folder_open(&own, &job, &err) == SW_OK, "%s", err.msg);
}

static void put(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	file_write(path, "x", 1);
}

static bool is_there(const char *name)
{
	char path[200];

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

TEST(folder_of_a_lost_attempt_is_what_the_next_goes_on_from)
{
	open_attempt(1);
	ck_assert_str_eq(own.resume, "");
	put(own.path, "state");
	/* lost: nobody closes it. Attempts 2 and 3 keep nothing of their own. */
	for (uint64_t attempt = 2; attempt <= 3; attempt++) {
		open_attempt(attempt);
		ck_assert(is_there("7.resume/state"));
		ck_assert_str_eq(strrchr(own.resume, '/'), "/7.resume");
		ck_assert(!is_there("7.live-1"));
		ck_assert(sw_folder_is_empty(&own));
		ck_assert_uint_eq(own.step, 0);
	}
	put(own.path, "newer");
	open_attempt(4);
	ck_assert(is_there("7.resume/newer") && !is_there("7.resume/state"));
	sw_folder_close(&own, false);
	ck_assert_uint_eq(names_in(folder, NULL), 0);
}

TEST(folder_that_is_kept_becomes_the_checkpoint)
{
	struct sw_err err = SW_ERR_INIT;
	char deep[PATH_MAX + 8];

	open_attempt(1);
	put(own.path, "state");
	(void)snprintf(deep, sizeof deep, "%s/deep", own.path);
	ck_assert_int_eq(mkdir(deep, 0700), 0);
	put(deep, "more");
	ck_assert_int_eq(symlink("/no/such/file", strcat(deep, "/link")), 0);
	ck_assert_msg(sw_folder_keep(&own, 9, &err) == SW_OK, "%s", err.msg);
	ck_assert(is_there("7-9.ckpt/state") && is_there("7-9.ckpt/deep/more"));
	ck_assert(sw_folder_is_empty(&own) && is_there("7.live-1"));
	ck_assert_uint_eq(own.step, 9);
	/* the same step once more, by a program that began again: the newer one counts */
	put(own.path, "again");
	ck_assert_int_eq(sw_folder_keep(&own, 9, &err), SW_OK);
	ck_assert(is_there("7-9.ckpt/again") && !is_there("7-9.ckpt/state"));
	sw_folder_close(&own, true);
	ck_assert_uint_eq(names_in(folder, NULL), 1);
}

TEST(folder_left_behind_goes_where_the_job_has_a_checkpoint)
{
	char path[200];

	open_attempt(1);
	put(own.path, "state");
	sw_folder_close(&own, true);
	ck_assert(is_there("7.live-1/state"));
	(void)snprintf(path, sizeof path, "%s/3-4.ckpt", folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	job.checkpoint = path;
	job.resume_step = 4;
	open_attempt(2);
	ck_assert_str_eq(own.resume, path);
	ck_assert_uint_eq(own.step, 4);
	ck_assert(!is_there("7.live-1") && !is_there("7.resume"));
	sw_folder_close(&own, false);
	ck_assert(is_there("3-4.ckpt")); /* another trial's */
	ck_assert_uint_eq(names_in(folder, NULL), 1);
}

TEST(folder_that_is_kept_names_what_is_open_for_writing)
{
	struct sw_err err = SW_ERR_INIT;
	char path[PATH_MAX + 8];

	open_attempt(1);
	put(own.path, "state");
	(void)snprintf(path, sizeof path, "%s/log", own.path);
	const int fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_msg(sw_folder_keep(&own, 9, &err) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(own.is_open, "log");
	(void)close(fd);
	put(own.path, "state");
	ck_assert_msg(sw_folder_keep(&own, 10, &err) == SW_OK, "%s", err.msg);
	ck_assert_str_eq(own.is_open, "");
	sw_folder_close(&own, false);
}

static size_t n_fsync, n_syncfs;
static bool full; /* the disk */

/* In place of the C library's. */
int mkdir(const char *path, mode_t mode)
{
	errno = ENOSPC;
	return full ? -1 : (int)syscall(SYS_mkdir, path, mode);
}

int fsync(int fd)
{
	n_fsync++;
	return (int)syscall(SYS_fsync, fd);
}

int syncfs(int fd)
{
	n_syncfs++;
	return (int)syscall(SYS_syncfs, fd);
}

static const struct {
	int files;
	size_t syncs;   /* one by one, with the working folder and the one that it is in */
	size_t systems; /* of the whole file system */
} many[] = {{20, 22, 0}, {1000, 257, 1}};

/* An fsync for each of 30,000 files takes a minute. */
TEST_ROWS(folder_of_many_files_is_synced_by_its_file_system, many)
{
	struct sw_err err = SW_ERR_INIT;
	char name[16];

	open_attempt(1);
	for (int i = 0; i < many[_i].files; i++) {
		(void)snprintf(name, sizeof name, "%d", i);
		put(own.path, name);
	}
	n_fsync = n_syncfs = 0;
	ck_assert_msg(sw_folder_keep(&own, 9, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(n_fsync, many[_i].syncs);
	ck_assert_uint_eq(n_syncfs, many[_i].systems);
	sw_folder_close(&own, false);
}

/* It goes on with what it has. */
TEST(folder_that_cannot_be_kept_on_a_full_disk_stays_the_program_s)
{
	struct sw_err err = SW_ERR_INIT;

	open_attempt(1);
	put(own.path, "state");
	full = true;
	ck_assert_int_eq(sw_folder_keep(&own, 9, &err), SW_FULL);
	ck_assert_str_eq(err.msg, "7-9.ckpt: no folder for the next one: No space left on device");
	ck_assert(is_there("7.live-1/state") && !is_there("7-9.ckpt"));
	full = false;
	ck_assert_int_eq(sw_folder_keep(&own, 9, &err), SW_OK);
	ck_assert(is_there("7-9.ckpt/state") && sw_folder_is_empty(&own));
	sw_folder_close(&own, false);
	ck_assert_uint_eq(names_in(folder, NULL), 1);
}

TEST(folder_checkpoint_that_is_gone_is_said)
{
	struct sw_err err = SW_ERR_INIT;
	char path[200];

	(void)snprintf(path, sizeof path, "%s/7-4.ckpt", folder);
	job.checkpoint = path;
	job.attempt = 2;
	ck_assert_int_eq(sw_folder_open(&own, &job, &err), SW_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.msg, "7-4.ckpt"));
	ck_assert_ptr_null(strstr(err.msg, folder));
	ck_assert_str_eq(own.resume, "");
	put(own.path, "state"); /* it has a place for its next one all the same */
	ck_assert(sw_folder_close(&own, false));
}

TEST(folder_without_a_place_is_none)
{
	struct sw_err err = SW_ERR_INIT;

	job.checkpoint_dir = NULL;
	ck_assert_int_eq(sw_folder_open(&own, &job, &err), SW_OK);
	ck_assert_str_eq(own.path, "");
	ck_assert(sw_folder_is_empty(&own));
	sw_folder_close(&own, false);
	job.checkpoint_dir = "/dev/null/x";
	ck_assert_int_eq(sw_folder_open(&own, &job, &err), SW_IO);
	ck_assert_str_eq(own.path, "");
	ck_assert(sw_folder_is_empty(&own));
	sw_folder_close(&own, false);
}

RUN_TESTS(setup, teardown)
