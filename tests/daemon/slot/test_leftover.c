/* tests/daemon/slot/test_leftover.c — what a slot's program left running is ended, and nothing
 * else. */
#include "daemon/daemon.h"
#include "daemon/slot/leftover.h"
#include "daemon/slot/slot.h"
#include "tests/run.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* A process with this cookie in its environment, which has begun when this returns. */
static pid_t start_marked(const char *cookie)
{
	char entry[160], byte;
	char *const argv[] = {"cat", NULL}, *const env[] = {entry, NULL};
	int in[2], out[2];

	(void)snprintf(entry, sizeof entry, "SWEEPD_COOKIE=%s", cookie);
	ck_assert_int_eq(pipe(in), 0);
	ck_assert_int_eq(pipe(out), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)execve("/bin/cat", argv, env);
		_exit(127);
	}
	ck_assert_int_eq(write(in[1], "x", 1), 1);
	ck_assert_int_eq(read(out[0], &byte, 1), 1); /* it is cat by now */
	return pid;
}

TEST(leftover_of_the_slot_is_ended_and_no_other)
{
	struct sw_daemon d = {.lock_fd = open("/dev/null", O_RDONLY)};
	char cookie[2][64];
	pid_t pid[2];
	int status;

	for (int32_t k = 0; k < 2; k++) {
		sw_slot_cookie(&d, k, cookie[k]);
		pid[k] = start_marked(cookie[k]);
	}
	ck_assert_str_ne(cookie[0], cookie[1]);
	sw_leftover_end_now(&d, (int32_t[]){2, 1}, 2);
	ck_assert_int_eq(waitpid(pid[1], &status, 0), pid[1]);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	ck_assert_int_eq(waitpid(pid[0], &status, WNOHANG), 0);
	ck_assert_int_eq(kill(pid[0], SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid[0], &status, 0), pid[0]);
	(void)close(d.lock_fd);
}

RUN_TESTS(NULL, NULL)
