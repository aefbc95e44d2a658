/* tests/base/test_process.c — what base/process.h says of children, their marks and their ends. */
#include "base/process.h"
#include "tests/run.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char mark[64];

static void setup(void)
{
	(void)snprintf(mark, sizeof mark, "SWEEPD_COOKIE=test-%ld", (long)getpid());
}

/* A program that does nothing, with this in its environment; it is exec'd when this returns. */
static pid_t start(const char *script, const char *entry)
{
	char *const argv[] = {"sh", "-c", (char *)script, NULL};
	char *const env[] = {"PATH=/usr/bin:/bin", (char *)entry, NULL};
	int done[2];
	char byte;

	ck_assert_int_eq(pipe2(done, O_CLOEXEC), 0);
	const pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		execve("/bin/sh", argv, env);
		_exit(127);
	}
	close(done[1]);
	ck_assert_int_eq(read(done[0], &byte, 1), 0);
	close(done[0]);
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(process_list_has_a_child_and_whose_it_is)
{
	const pid_t child = start("exec sleep 1000", mark);
	struct sw_process *all;
	size_t n, found = 0;

	ck_assert_int_eq(sw_process_list(&all, &n), SW_OK);
	for (size_t i = 0; i < n; i++)
		found += all[i].pid == child && all[i].parent == getpid() && all[i].start > 0;
	free(all);
	ck_assert_uint_eq(found, 1);
	kill(child, SIGKILL);
	ck_assert_int_eq(end_of(child), SIGKILL);
}

static bool is_marked(pid_t pid, const char *entry)
{
	return sw_process_marked(pid, &entry, 1);
}

TEST(process_mark_is_the_whole_entry)
{
	const pid_t child = start("exec sleep 1000", mark);
	char longer[80], shorter[64];

	(void)snprintf(longer, sizeof longer, "%s0", mark);
	(void)snprintf(shorter, sizeof shorter, "%.*s", (int)strlen(mark) - 1, mark);
	while (!is_marked(child, mark)) /* sh becomes sleep: in between it has no environment */
		;
	ck_assert(!is_marked(child, longer));
	ck_assert(!is_marked(child, shorter));
	ck_assert(!is_marked(getpid(), mark));
	kill(child, SIGKILL);
	end_of(child);
}

TEST(process_signal_reaches_no_later_one)
{
	const pid_t child = start("exec sleep 1000", mark);
	struct sw_process p, other;

	ck_assert(sw_process_read(child, &p));
	other = p;
	other.start--; /* as if the number had been another's when it was looked at */
	ck_assert(!sw_process_signal(&other, SIGKILL));
	ck_assert_int_eq(kill(child, 0), 0);
	ck_assert(sw_process_signal(&p, SIGTERM));
	ck_assert_int_eq(end_of(child), SIGTERM);
	ck_assert(!sw_process_signal(&p, SIGKILL));
}

static size_t count_marked(void)
{
	struct sw_process *all;
	size_t n, found = 0;

	ck_assert_int_eq(sw_process_list(&all, &n), SW_OK);
	for (size_t i = 0; i < n; i++)
		found += is_marked(all[i].pid, mark);
	free(all);
	return found;
}

/* The second one has left its session and its parent, and ignores SIGTERM. */
TEST(process_end_marked_ends_what_forked_away)
{
	static const char *const marks[] = {"SWEEPD_COOKIE=of nobody", mark};
	const pid_t other = start("exec sleep 1000", "SWEEPD_COOKIE=another");
	const pid_t child = start(
		"trap '' TERM; setsid sh -c 'sleep 1000 & sleep 1000 &' ; exec sleep 1000", mark);

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	while (count_marked() != 3)
		;
	ck_assert_uint_ge(sw_process_end_marked(marks, 2), 3);
	ck_assert_uint_eq(count_marked(), 0);
	ck_assert_int_eq(end_of(child), SIGKILL);
	ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	end_of(other);
}

RUN_TESTS(setup, NULL)
