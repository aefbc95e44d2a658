#include "daemon/systemd.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTEN_FDS_START 3

/* A number of the environment that is meant for this process, or 0. */
static int64_t own_number(const char *name, const char *pid_name, bool need_pid)
{
	const char *pid = getenv(pid_name), *value = getenv(name);

	if (value == NULL || (pid == NULL && need_pid) ||
	    (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	const long long n = strtoll(value, NULL, 10);
	return n > 0 ? n : 0;
}

static void take_notify(struct sw_systemd *s)
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (name == NULL || (*name != '/' && *name != '@') ||
	    strlen(name) >= sizeof s->notify.sun_path)
		return;
	s->notify.sun_family = AF_UNIX;
	memcpy(s->notify.sun_path, name, strlen(name));
	/* An abstract name begins with a NUL and has no other end than its length. */
	if (*name == '@') /* Linux's names without a file */
		s->notify.sun_path[0] = '\0';
	s->notify_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static sw_status take_socket(struct sw_systemd *s, char *path, size_t cap, struct sw_err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNSPEC};
	socklen_t len = sizeof a - 1; /* a NUL is left behind the path */
	int listens = 0, type = 0;
	socklen_t listens_len = sizeof listens, type_len = sizeof type;
	const int fd = LISTEN_FDS_START;
	struct stat st;

	if (getsockname(fd, (struct sockaddr *)&a, &len) != 0 || a.sun_family != AF_UNIX ||
	    a.sun_path[0] != '/' || strlen(a.sun_path) >= cap ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) != 0 ||
	    listens == 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 ||
	    type != SOCK_STREAM)
		return sw_err_set(err, SW_INVALID,
				  "LISTEN_FDS: descriptor 3 is not a listening unix socket of "
				  "type stream with an absolute path: see ListenStream= of its "
				  "unit");
	if (lstat(a.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return sw_err_set(err, SW_INVALID,
				  "LISTEN_FDS: %s is gone, so nobody finds the socket: restart its "
				  "unit (sweepd.socket)",
				  a.sun_path);
	/* systemd passes it without that flag, for it has to survive an exec; no worker may listen
	 * on it. */
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)snprintf(path, cap, "%s", a.sun_path);
	s->listen_fd = fd;
	return SW_OK;
}

sw_status sw_systemd_take(struct sw_systemd *s, char *path, size_t cap, struct sw_err *err)
{
	static const char *const names[] = {"LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES",
					    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
	const int64_t fds = own_number("LISTEN_FDS", "LISTEN_PID", true);
	sw_status rc = SW_OK;

	*s = (struct sw_systemd){.watchdog_us = own_number("WATCHDOG_USEC", "WATCHDOG_PID", false)};
	take_notify(s);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		/* A worker or a program that inherited them would take descriptor 3, or the
		 * watchdog, for its own. */
		(void)unsetenv(names[i]);
	if (fds > 1)
		rc = sw_err_set(err, SW_INVALID, "LISTEN_FDS is %lld: sweepd has one socket",
				(long long)fds);
	else if (fds == 1)
		rc = take_socket(s, path, cap, err);
	return rc;
}

void sw_systemd_tell(const struct sw_systemd *s, const char *state)
{
	if (s->notify_len == 0)
		return;
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	/* Nothing follows from a failure: without READY or WATCHDOG systemd acts by its own
	 * rules. */
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&s->notify,
		      s->notify_len);
	(void)close(fd);
}

void sw_systemd_tick(struct sw_systemd *s, int64_t now_us)
{
	/* Half of the time, as sd_watchdog_enabled(3) advises. */
	if (s->watchdog_us == 0 || now_us - s->heard_us < s->watchdog_us / 2)
		return;
	s->heard_us = now_us;
	sw_systemd_tell(s, "WATCHDOG=1");
}
