/* tests/base/test_tree.c — what is below a folder: its size, its end, and nothing outside. */
#include "base/tree.h"
#include "tests/run.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char root[40];
static int at;

static void put(const char *name, const char *text)
{
	const int fd = openat(at, name, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

/* a/one (3 bytes), a/b/two (4 bytes), a/b/link -> ../../outside (a folder with a file of 5
 * bytes) */
static void begin(void)
{
	(void)snprintf(root, sizeof root, "/tmp/sw_tree.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	at = open(root, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(at, "a", 0700), 0);
	ck_assert_int_eq(mkdirat(at, "a/b", 0700), 0);
	ck_assert_int_eq(mkdirat(at, "outside", 0700), 0);
	put("a/one", "one");
	put("a/b/two", "two2");
	put("outside/five", "five5");
	ck_assert_int_eq(symlinkat("../../outside", at, "a/b/link"), 0);
}

static void end(void)
{
	(void)close(at);
	ck_assert(sw_tree_remove(AT_FDCWD, root));
	ck_assert_int_ne(access(root, F_OK), 0);
}

TEST(tree_bytes_are_those_of_files_below_it)
{
	ck_assert_uint_eq(sw_tree_bytes(at, "a"), 3 + 4 + strlen("../../outside"));
	ck_assert_uint_eq(sw_tree_bytes(at, "a/b/two"), 4);
	ck_assert_uint_eq(sw_tree_bytes(at, "none"), 0);
}

TEST(tree_removed_leaves_what_links_lead_to)
{
	ck_assert(sw_tree_remove(at, "a"));
	ck_assert_int_ne(faccessat(at, "a", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(at, "outside/five", F_OK, 0), 0);
}

/* As those of DVC, git-annex and Go's module cache. Root needs no rights. */
TEST(tree_of_read_only_folders_is_removed)
{
	ck_assert(geteuid() != 0 || (chown(root, 65534, 65534) == 0 && seteuid(65534) == 0));
	ck_assert_int_eq(mkdirat(at, "kept", 0700), 0);
	ck_assert_int_eq(mkdirat(at, "kept/deep", 0700), 0);
	put("kept/deep/file", "x");
	ck_assert_int_eq(fchmodat(at, "kept/deep/file", 0444, 0), 0);
	ck_assert_int_eq(fchmodat(at, "kept/deep", 0555, 0), 0);
	ck_assert_int_eq(fchmodat(at, "kept", 0, 0), 0);
	ck_assert(sw_tree_remove(at, "kept"));
	ck_assert_int_ne(faccessat(at, "kept", F_OK, 0), 0);
	ck_assert(getuid() != 0 || seteuid(0) == 0);
}

TEST(tree_that_is_a_file_or_a_link_or_nothing)
{
	put("file", "x");
	ck_assert_int_eq(symlinkat("outside", at, "link"), 0);
	ck_assert(sw_tree_remove(at, "file"));
	ck_assert(sw_tree_remove(at, "link"));
	ck_assert_int_eq(faccessat(at, "outside/five", F_OK, 0), 0);
	ck_assert(!sw_tree_remove(at, "none"));
	ck_assert_int_eq(errno, ENOENT);
}

static bool count(int folder, const char *name, bool is_folder, void *arg)
{
	int *left = arg;

	(void)folder;
	(void)name;
	(void)is_folder;
	return --*left > 0;
}

TEST(tree_walk_ends_when_it_is_told)
{
	int left = 100, few = 2;

	ck_assert(sw_tree_walk(at, "a", count, &left));
	ck_assert_int_eq(100 - left, 5); /* one, two, link, b, a */
	ck_assert(!sw_tree_walk(at, "a", count, &few));
	ck_assert_int_eq(few, 0);
}

TEST(tree_too_deep_is_refused)
{
	char path[200] = "d";
	int left = 100;

	for (int i = 0; i < 34; i++) {
		ck_assert_int_eq(mkdirat(at, path, 0700), 0);
		strcat(path, "/d");
	}
	ck_assert(!sw_tree_walk(at, "d", count, &left));
	ck_assert_int_eq(errno, ELOOP);
}

static void *remove_too(void *good)
{
	*(bool *)good = (sw_tree_remove(at, "a") || errno == ENOENT) &&
			faccessat(at, "a", F_OK, 0) != 0;
	return NULL;
}

/* As a worker and the daemon do at the end of a sweep. */
TEST(tree_that_two_remove_is_gone_for_both)
{
	for (int round = 0; round < 50; round++) {
		pthread_t other;
		bool good = false, too = false;
		char name[20];

		(void)mkdirat(at, "a", 0700);
		for (int i = 0; i < 100; i++) {
			(void)snprintf(name, sizeof name, "a/%d", i);
			if (i % 4 == 0)
				ck_assert_int_eq(mkdirat(at, name, 0700), 0);
			else
				put(name, "");
		}
		ck_assert_int_eq(pthread_create(&other, NULL, remove_too, &too), 0);
		(void)remove_too(&good);
		(void)pthread_join(other, NULL);
		ck_assert(good && too);
	}
}

/* Deeper than a path can be long, with files and links on each floor, and names like those that
 * folders are moved to. */
TEST(tree_of_any_depth_is_removed)
{
	int folder = dup(at), left;
	struct rlimit few = {40, 40};

	for (int i = 0; i < 3000; i++) {
		const char *name = i % 3 ? "d" : "2";

		ck_assert_int_eq(mkdirat(folder, name, 0700), 0);
		ck_assert_int_eq(symlinkat("/nowhere", folder, i % 2 ? "1" : "link"), 0);
		left = openat(folder, name, O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(left, 0);
		(void)close(folder);
		folder = left;
	}
	(void)close(folder);
	ck_assert_int_eq(symlinkat("../outside", at, "2/out"), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	ck_assert_msg(sw_tree_remove(at, "2"), "%s", strerror(errno));
	ck_assert_int_ne(faccessat(at, "2", F_OK, 0), 0);
	ck_assert_int_eq(faccessat(at, "outside/five", F_OK, 0), 0);
}

RUN_TESTS(begin, end)
