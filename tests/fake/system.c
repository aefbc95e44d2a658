/*
 * tests/fake/system.c — a machine whose clock is set and whose disk fails, for end-to-end tests:
 * LD_PRELOAD it into a daemon.
 *
 * SWEEPD_FAKE_CLOCK  a file that holds the seconds by which the wall clock is off; none, or no
 *                    file: right.
 * SWEEPD_FAKE_DISK   while this file exists every sync fails with EIO, and the thread that would
 *                    log "store.fatal" hangs there: the loop's thread comes first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long off_by_s(void)
{
	const char *path = getenv("SWEEPD_FAKE_CLOCK");
	const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[32] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof text - 1) < 0)
		text[0] = '\0';
	(void)close(fd);
	return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (syscall(SYS_clock_gettime, id, t) != 0)
		return -1;
	if (id == CLOCK_REALTIME)
		t->tv_sec += off_by_s();
	return 0;
}

static bool disk_fails(void)
{
	const char *path = getenv("SWEEPD_FAKE_DISK");

	return path != NULL && access(path, F_OK) == 0;
}

int fdatasync(int fd)
{
	if (disk_fails()) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	if (disk_fails()) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	while (disk_fails() && memmem(bytes, n, "store.fatal", 11) != NULL)
		(void)pause();
	return syscall(SYS_write, fd, bytes, n);
}
