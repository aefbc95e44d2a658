/* tests/daemon/test_statedir.c — the state directory: made 0700, locked once, refused with one
 * line. */
#include "daemon/statedir.h"
#include "tests/run.h"
#include <limits.h>
#include <sys/stat.h>

static char base[64];

static void setup(void)
{
	(void)snprintf(base, sizeof base, "/tmp/sw-statedir-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(base));
}

static void teardown(void)
{
	char command[128];

	(void)snprintf(command, sizeof command, "rm -rf %s", base);
	ck_assert_int_eq(system(command), 0);
}

TEST(statedir_is_made_private_and_locked_once)
{
	char path[PATH_MAX], again[PATH_MAX];
	struct sw_err err = SW_ERR_INIT;
	struct stat st;
	int fd = -1, second = -1;

	(void)snprintf(path, sizeof path, "%s/a/b//c", base);
	ck_assert_msg(sw_statedir_open(path, sizeof path, true, &fd, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	ck_assert_ptr_nonnull(strstr(path, "/a/b/c"));
	(void)snprintf(again, sizeof again, "%s/a/b/c", base);
	ck_assert_int_eq(sw_statedir_open(again, sizeof again, true, &second, &err), SW_CONFLICT);
	ck_assert_ptr_nonnull(strstr(err.msg, "another sweepd (pid"));
	ck_assert_int_eq(second, -1);
	(void)close(fd);
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_statedir_open(again, sizeof again, true, &second, &err), SW_OK);
	(void)close(second);
}

TEST(statedir_on_a_file_is_refused)
{
	char path[PATH_MAX];
	struct sw_err err = SW_ERR_INIT;
	int fd = -1;

	(void)snprintf(path, sizeof path, "%s/file", base);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	(void)fclose(f);
	ck_assert_int_ne(sw_statedir_open(path, sizeof path, true, &fd, &err), SW_OK);
	ck_assert_ptr_nonnull(strstr(err.msg, path));
	ck_assert_int_eq(fd, -1);
}

/* Modes of a state directory that is there already. */
static const struct {
	mode_t mode;
	sw_status rc;
} modes[] = {
	{0700, SW_OK},     {0755, SW_OK},     {0750, SW_OK},     {0770, SW_DENIED},
	{0775, SW_DENIED}, {0707, SW_DENIED}, {0777, SW_DENIED}, {01777, SW_DENIED},
};

TEST_ROWS(statedir_that_others_may_write_in_is_refused, modes)
{
	char path[PATH_MAX];
	struct sw_err err = SW_ERR_INIT;
	int fd = -1;

	(void)snprintf(path, sizeof path, "%s/there", base);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chmod(path, modes[_i].mode), 0);
	const sw_status rc = sw_statedir_open(path, sizeof path, true, &fd, &err);
	ck_assert_msg(rc == modes[_i].rc, "%o: %d %s", modes[_i].mode, rc, err.msg);
	if (rc != SW_OK) {
		ck_assert_ptr_nonnull(strstr(err.msg, "others may write in the state directory"));
		ck_assert_ptr_nonnull(strstr(err.msg, "chmod go-w"));
		ck_assert_int_eq(fd, -1);
	} else {
		(void)close(fd);
	}
}

TEST(statedir_of_another_user_is_refused)
{
	char path[PATH_MAX];
	struct sw_err err = SW_ERR_INIT;
	int fd = -1;

	if (geteuid() != 0)
		return; /* nobody else's can be made; tests/e2e/test_state_safety.py counts the
			 * skip */
	(void)snprintf(path, sizeof path, "%s/theirs", base);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	ck_assert_int_eq(sw_statedir_open(path, sizeof path, true, &fd, &err), SW_DENIED);
	ck_assert_ptr_nonnull(strstr(err.msg, "belongs to another user (uid 65534)"));
	ck_assert_int_eq(fd, -1);
}

TEST(lock_that_is_a_link_is_refused_and_its_target_stays)
{
	char path[PATH_MAX], lock[PATH_MAX], target[PATH_MAX];
	struct sw_err err = SW_ERR_INIT;
	struct stat st;
	int fd = -1;

	(void)snprintf(path, sizeof path, "%s", base);
	(void)snprintf(lock, sizeof lock, "%s/lock", base);
	(void)snprintf(target, sizeof target, "%s/target", base);
	FILE *f = fopen(target, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs("of somebody else, longer than a pid\n", f), 0);
	(void)fclose(f);
	ck_assert_int_eq(symlink(target, lock), 0);
	ck_assert_int_eq(sw_statedir_open(path, sizeof path, true, &fd, &err), SW_IO);
	ck_assert_msg(strstr(err.msg, "it is a link") != NULL, "%s", err.msg);
	ck_assert_int_eq(stat(target, &st), 0);
	ck_assert_int_eq(st.st_size, 36);
	ck_assert_int_eq(fd, -1);
}

RUN_TESTS(setup, teardown)
