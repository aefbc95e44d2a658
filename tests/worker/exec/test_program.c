/* tests/worker/exec/test_program.c — processes and all that they start; several lanes of one
 * worker. */
#include "tests/run.h"
#include "worker/exec/program.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* A script of sh, whose mark tells it from another lane's. */
static void start(struct sw_program *p, const char *script, const char *mark)
{
	struct sw_err err = SW_ERR_INIT;
	char *const argv[] = {"sh", "-c", (char *)script, NULL};
	char *const env[] = {"PATH=/usr/bin:/bin", (char *)mark, NULL};

	ck_assert_msg(sw_program_start(p, "/bin/sh", argv, env, "/", -1, mark, &err) == SW_OK, "%s",
		      err.msg);
}

/* Waits for a byte that the script prints. */
static void wait_said(const struct sw_program *p)
{
	struct pollfd fd = {.fd = p->out, .events = POLLIN};
	char byte;

	ck_assert_int_eq(poll(&fd, 1, -1), 1);
	ck_assert_int_eq(read(p->out, &byte, 1), 1);
}

static void wait_ended(struct sw_program *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	ck_assert_int_eq(poll(&fd, 1, -1), 1);
	sw_program_reap(); /* what a lane reaps is never another one's program */
	ck_assert(sw_program_has_ended(p));
}

static void wait_gone(const struct sw_program *p)
{
	while (sw_program_is_left(p))
		(void)poll(NULL, 0, 1);
}

TEST(program_says_how_it_ended)
{
	struct sw_program p;

	start(&p, "exit 3", "M=1");
	wait_ended(&p);
	ck_assert_int_eq(p.code, 3);
	ck_assert_int_eq(p.signal, 0);
	ck_assert(!sw_program_is_left(&p));
	sw_program_close(&p);
	start(&p, "kill -9 $$", "M=1");
	wait_ended(&p);
	ck_assert_int_eq(p.signal, SIGKILL);
	sw_program_close(&p);
}

/* The worker ignores SIGINT and SIGPIPE; what it starts does not. */
TEST(program_has_signals_and_descriptors_of_its_own)
{
	struct sw_program p;
	const int other = fcntl(STDIN_FILENO, F_DUPFD, 50); /* not closed on exec */

	ck_assert_int_eq(other, 50);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	start(&p, "kill -INT $$; exit 1", "M=1");
	wait_ended(&p);
	ck_assert_int_eq(p.signal, SIGINT);
	sw_program_close(&p);
	start(&p, "test -e /proc/$$/fd/3 && test ! -e /proc/$$/fd/50", "M=1");
	wait_ended(&p);
	ck_assert_int_eq(p.code, 0);
	sw_program_close(&p);
}

static const struct {
	const char *file, *cwd, *says;
	sw_status rc;
} wrong[] = {
	{"/no/such/file", "/", "cannot start /no/such/file: No such file or directory",
	 SW_NOT_FOUND},
	{"/dev/null", "/", "cannot start /dev/null: Permission denied", SW_DENIED},
	{"/bin/sh", "/no/such", "run.cwd: /no/such: No such file or directory", SW_NOT_FOUND},
	{"/bin/sh", "/dev/null", "run.cwd: /dev/null: not a folder", SW_INVALID},
};

TEST_ROWS(program_that_cannot_start_is_said, wrong)
{
	struct sw_err err = SW_ERR_INIT;
	char *const argv[] = {"x", NULL}, *const env[] = {"M=1", NULL};
	struct sw_program p;

	ck_assert_int_eq(
		sw_program_start(&p, wrong[_i].file, argv, env, wrong[_i].cwd, -1, "M=1", &err),
		wrong[_i].rc);
	ck_assert_str_eq(err.msg, wrong[_i].says);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

TEST(program_is_found_in_path)
{
	char out[100];

	ck_assert(sw_program_find("sh", "/no/such:/bin", out, sizeof out));
	ck_assert_str_eq(out, "/bin/sh");
	ck_assert(sw_program_find("./x/y", "/bin", out, sizeof out));
	ck_assert_str_eq(out, "./x/y");
	ck_assert(!sw_program_find("sh", "/no/such", out, sizeof out));
	ck_assert(!sw_program_find("", "/bin", out, sizeof out));
	ck_assert(!sw_program_find("bin", "/", out, sizeof out)); /* a folder */
}

/* Its child leaves its session and its parent, ignores SIGTERM, and has another environment. */
TEST(program_tree_has_what_forked_away)
{
	struct sw_program p;

	start(&p,
	      "trap '' TERM; env -i setsid sh -c 'echo; trap \"\" TERM; exec sleep 1000' & exit 0",
	      "M=1");
	wait_said(&p);
	wait_ended(&p);
	ck_assert(sw_program_is_left(&p));
	ck_assert_uint_eq(sw_program_signal(&p, SW_PROGRAM_ALL, 0, NULL), 1);
	ck_assert_uint_eq(sw_program_signal(&p, SW_PROGRAM_ALL, SIGKILL, NULL), 1);
	wait_gone(&p);
	sw_program_close(&p);
}

/* Two lanes: the signals of one reach nothing of the other, whether it is an orphan or not. */
TEST(program_tree_ends_without_another_lanes)
{
	struct sw_program a, b;
	static const char *const script =
		"(setsid sh -c 'echo; exec sleep 1000' &); exec sleep 1000";

	start(&a, script, "M=a");
	start(&b, script, "M=b");
	wait_said(&a);
	wait_said(&b);
	while (sw_program_signal(&a, SW_PROGRAM_ALL, 0, NULL) != 2 ||
	       sw_program_signal(&b, SW_PROGRAM_ALL, 0, NULL) != 2)
		(void)poll(NULL, 0, 1);
	ck_assert_uint_eq(sw_program_signal(&a, SW_PROGRAM_ALL, SIGKILL, NULL), 2);
	wait_ended(&a);
	wait_gone(&a);
	sw_program_reap(); /* not the other lane's program */
	ck_assert(!sw_program_has_ended(&b));
	ck_assert_uint_eq(sw_program_signal(&b, SW_PROGRAM_ALL, SIGTERM, NULL), 2);
	sw_program_close(&a);
	wait_ended(&b);
	ck_assert_int_eq(b.signal, SIGTERM);
	wait_gone(&b);
	sw_program_close(&b);
}

/* Both programs have ended, and one of them left something: the other's lane does not wait. */
TEST(program_that_ended_waits_for_no_other_lanes_orphan)
{
	struct sw_program a, b;

	start(&a, "exit 0", "M=a");
	start(&b, "sleep 1000 & echo; exit 0", "M=b");
	wait_said(&b);
	wait_ended(&a);
	wait_ended(&b);
	ck_assert(!sw_program_is_left(&a));
	ck_assert_uint_eq(sw_program_signal(&a, SW_PROGRAM_ALL, 0, NULL), 0);
	ck_assert(sw_program_is_left(&b));
	sw_program_close(&a);
	ck_assert_uint_eq(sw_program_signal(&b, SW_PROGRAM_ALL, SIGKILL, NULL), 1);
	wait_gone(&b);
	sw_program_close(&b);
}

/* Two ranks have one mark: each process counts once. */
TEST(program_processes_of_two_ranks_count_once)
{
	struct sw_program a, b;

	start(&a, "sleep 1000 & echo; wait", "M=a");
	start(&b, "exec sleep 1000", "M=a");
	wait_said(&a);
	ck_assert_uint_eq(sw_program_signal(&b, SW_PROGRAM_ALL, 0, NULL), 3);
	ck_assert_uint_eq(sw_program_signal(&a, SW_PROGRAM_ALL, SIGKILL, NULL), 3);
	wait_ended(&a);
	wait_ended(&b);
	wait_gone(&a);
	sw_program_close(&a);
	sw_program_close(&b);
}

RUN_TESTS(NULL, NULL)
