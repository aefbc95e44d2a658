#include "daemon/net/server.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "daemon/statedir.h"
#include "proto/socket_path.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CONN_MAX       ((rlim_t)8192)
#define ACCEPTS_A_TURN 16
#define FD_SPARE       ((rlim_t)64) /* for the store, the workers' pipes, logs */

/* As many connections as there are descriptors for, the limit raised as far as it goes. */
static size_t conn_limit(void)
{
	const rlim_t most = CONN_MAX + FD_SPARE;
	struct rlimit r;

	/* Never seen to fail; so few go well with any limit. */
	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 256;
	if (r.rlim_cur < most && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max < most ? r.rlim_max : most;
		(void)setrlimit(RLIMIT_NOFILE, &r);
		(void)getrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur >= most)
		return CONN_MAX;
	return r.rlim_cur > 2 * FD_SPARE ? (size_t)(r.rlim_cur - FD_SPARE) : (size_t)FD_SPARE;
}

/* Does a process listen at this path? EAGAIN: one does, and its backlog is full. It is not waited
 * for: a process that is stopped never makes room. */
static bool answered(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool yes;

	/* Without a descriptor to ask by, bind() says what is wrong. */
	if (fd < 0)
		return false;
	memcpy(a.sun_path, path, strlen(path) + 1);
	yes = connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 || errno == EAGAIN;
	(void)close(fd);
	return yes;
}

/* libuv accepts for as long as connections wait, so clients that come and go in a loop could hold
 * this turn for ever. While one accept is owed, libuv does not look for more. */
static void on_connection(uv_stream_t *listener, int status)
{
	struct sw_daemon *d = listener->data;

	if (status < 0)
		sw_log(SW_LOG_WARN, "server.accept", "why=\"%s\"", uv_strerror(status));
	else if (d->net.accepted_n++ < ACCEPTS_A_TURN)
		sw_conn_accept(d, listener);
	else
		d->net.accept_owed = true;
}

void sw_server_turn(struct sw_daemon *d)
{
	d->net.accepted_n = 0;
	if (d->net.accept_owed && !uv_is_closing((uv_handle_t *)&d->net.listener))
		sw_conn_accept(d, (uv_stream_t *)&d->net.listener);
}

/* A user who may rename the socket could put another in its place and be taken for this daemon. */
static sw_status check_folder(const char *path, struct sw_err *err)
{
	char folder[SW_SOCKET_PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		(void)snprintf(folder, sizeof folder, ".");
	else
		(void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + (slash == path),
			       path);
	return sw_statedir_check(folder, true, "the socket's folder",
				 "remove it, or choose another with --socket PATH", err);
}

static sw_status clear_path(const char *path, struct sw_err *err)
{
	struct stat st;

	/* Nothing is there to clear, or it cannot be seen: bind() says why then. */
	if (lstat(path, &st) != 0)
		return SW_OK;
	if (!S_ISSOCK(st.st_mode))
		return sw_err_set(err, SW_CONFLICT, "%s is there and is not a socket", path);
	if (answered(path))
		return sw_err_set(err, SW_CONFLICT, "another daemon answers at %s", path);
	if (unlink(path) != 0)
		return sw_err_set(err, SW_IO, "cannot remove the stale socket %s: %s", path,
				  strerror(errno));
	return SW_OK;
}

sw_status sw_server_start(struct sw_daemon *d, struct sw_err *err)
{
	const char *path = d->config.socket;
	const int given = d->config.systemd.listen_fd;
	sw_status rc = given > 0 ? SW_OK : sw_statedir_parents(path, err);
	int uv;

	if (rc == SW_OK)
		rc = check_folder(path, err);
	if (rc == SW_OK && given == 0)
		rc = clear_path(path, err);
	if (rc != SW_OK)
		return rc;
	d->net.conn_max = conn_limit();
	if (given > 0) {
		uv = uv_pipe_open(&d->net.listener, given); /* its file stays where it is closed */
	} else {
		const mode_t mask = umask(0177); /* the socket is 0600 from its first moment */

		uv = uv_pipe_bind(&d->net.listener, path);
		(void)umask(mask);
	}
	if (uv == 0)
		uv = uv_listen((uv_stream_t *)&d->net.listener, 1024, on_connection);
	if (uv != 0)
		return sw_err_set(err, SW_IO, "cannot listen at %s: %s", path, uv_strerror(uv));
	return SW_OK;
}

void sw_server_stop(struct sw_daemon *d)
{
	/* libuv removes the socket file when it closes a pipe that it bound. */
	if (!uv_is_closing((uv_handle_t *)&d->net.listener))
		uv_close((uv_handle_t *)&d->net.listener, NULL);
}
