/*
 * tests/e2e/fake_os.c — preloaded into a daemon by tests (harness.fake_os): a monotonic clock that
 * runs faster, so that limits of minutes are met in seconds, a wall clock that jumps, and a disk
 * that can be made to wait.
 *
 * FAKE_OS_SPEED  how many times faster (1: as it is). Waits of the loop shrink by as much.
 * FAKE_OS_WALL   a path: the file has an int64, by how many seconds CLOCK_REALTIME is ahead now.
 * FAKE_OS_GATE   a path: while a file is there, every sync waits.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long speed(void)
{
	static long n;

	if (n == 0) {
		const char *text = getenv("FAKE_OS_SPEED");

		n = text != NULL ? atol(text) : 1;
		if (n < 1)
			n = 1;
	}
	return n;
}

static time_t wall_ahead(void)
{
	static const int64_t none;
	static const volatile int64_t *ahead; /* the same whoever sets it first */

	if (ahead == NULL) {
		const char *path = getenv("FAKE_OS_WALL");
		const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		void *at = fd >= 0 ? mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0)
				   : MAP_FAILED;

		if (fd >= 0)
			close(fd);
		ahead = at != MAP_FAILED ? at : &none;
	}
	return (time_t)*ahead;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static long long began; /* the same whoever sets it first */
	const long rc = syscall(SYS_clock_gettime, clock, t);

	if (rc == 0 && clock == CLOCK_REALTIME)
		t->tv_sec += wall_ahead();
	if (rc != 0 || speed() == 1 ||
	    (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE &&
	     clock != CLOCK_BOOTTIME))
		return (int)rc;
	const long long now = t->tv_sec * 1000000000LL + t->tv_nsec;
	if (began == 0)
		began = now;
	const long long then = began + (now - began) * speed();
	t->tv_sec = (time_t)(then / 1000000000LL);
	t->tv_nsec = (long)(then % 1000000000LL);
	return 0;
}

static int shorter(int ms)
{
	return ms <= 0 ? ms : (int)((ms + speed() - 1) / speed());
}

int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	return (int)syscall(SYS_epoll_pwait, fd, events, n, shorter(ms), NULL, 8);
}

int epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
	return (int)syscall(SYS_epoll_pwait, fd, events, n, shorter(ms), mask, 8);
}

static void wait_at_gate(void)
{
	const char *gate = getenv("FAKE_OS_GATE");

	while (gate != NULL && access(gate, F_OK) == 0)
		(void)usleep(1000);
}

int fsync(int fd)
{
	wait_at_gate();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	wait_at_gate();
	return (int)syscall(SYS_fdatasync, fd);
}
