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
#define LOOK_EVERY_US  ((int64_t)1000000)
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
		/* Only the soft limit, which a process may raise to its hard one without any
		 * privilege. */
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
	/* The path fits: proto/socket_path.h and the reader of --socket bound it to sun_path. */
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
	/* Anything but a socket is someone's file, named by mistake: it is never removed. */
	if (!S_ISSOCK(st.st_mode))
		return sw_err_set(err, SW_CONFLICT, "%s is there and is not a socket", path);
	if (answered(path))
		return sw_err_set(err, SW_CONFLICT, "another daemon answers at %s", path);
	if (unlink(path) != 0)
		return sw_err_set(err, SW_IO, "cannot remove the stale socket %s: %s", path,
				  strerror(errno));
	return SW_OK;
}

static sw_status bind_path(const char *path, int *fd, struct sw_err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	sw_status rc = sw_statedir_parents(path, err);

	if (rc == SW_OK)
		rc = check_folder(path, err);
	if (rc == SW_OK)
		rc = clear_path(path, err);
	if (rc != SW_OK)
		return rc;
	memcpy(a.sun_path, path, strlen(path) + 1);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Before bind(): on Linux the file is 0600 from its first moment, whatever the umask. */
	if (*fd >= 0 && fchmod(*fd, 0600) == 0 && bind(*fd, (struct sockaddr *)&a, sizeof a) == 0)
		return SW_OK;
	rc = sw_err_set(err, SW_IO, "cannot listen at %s: %s", path, strerror(errno));
	if (*fd >= 0)
		(void)close(*fd);
	return rc;
}

/* Is the file at its path still the one that clients of this daemon find? */
static bool is_in_place(const struct sw_daemon *d)
{
	struct stat st;

	return lstat(d->config.socket, &st) == 0 && st.st_dev == d->net.socket_dev &&
	       st.st_ino == d->net.socket_ino;
}

/* Takes fd. Its file is not libuv's, which would remove whatever lies at the path by then. */
static sw_status listen_at(struct sw_daemon *d, int fd, struct sw_err *err)
{
	struct stat st;
	int uv = uv_pipe_open(&d->net.listener, fd);

	if (uv != 0)
		(void)close(fd);
	else
		/* The kernel cuts the backlog to net.core.somaxconn; what is asked for beyond costs
		 * nothing. */
		uv = uv_listen((uv_stream_t *)&d->net.listener, 1024, on_connection);
	/* Device and inode, because a path says nothing: another daemon may have removed the file
	 * and bound its own there. */
	if (uv == 0 && lstat(d->config.socket, &st) == 0) {
		d->net.socket_dev = st.st_dev;
		d->net.socket_ino = st.st_ino;
	}
	return uv == 0 ? SW_OK
		       : sw_err_set(err, SW_IO, "cannot listen at %s: %s", d->config.socket,
				    uv_strerror(uv));
}

sw_status sw_server_start(struct sw_daemon *d, struct sw_err *err)
{
	int fd = d->config.systemd.listen_fd; /* its file stays where it is closed */
	const bool given = fd > 0;
	const sw_status rc = given ? check_folder(d->config.socket, err)
				   : bind_path(d->config.socket, &fd, err);

	if (rc != SW_OK)
		return rc;
	/* Before the first accept: a connection over the number of descriptors would take one that
	 * the store needs for its log. */
	d->net.conn_max = conn_limit();
	d->net.bound = !given;
	return listen_at(d, fd, err);
}

static void on_listener_closed(uv_handle_t *h)
{
	struct sw_daemon *d = h->data;
	struct sw_err err = SW_ERR_INIT;

	if (d->phase != SW_UP) { /* it stops meanwhile: sw_server_stop() found it closing */
		(void)close(d->net.next_fd);
		(void)unlink(d->config.socket);
		return;
	}
	(void)uv_pipe_init(d->loop, &d->net.listener, 0);
	d->net.listener.data = d;
	d->net.accept_owed = false;
	d->net.bound = true;
	if (listen_at(d, d->net.next_fd, &err) != SW_OK) /* the next look tries again */
		sw_log(SW_LOG_WARN, "server.socket", "why=\"%s\"", err.msg);
}

void sw_server_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_err err = SW_ERR_INIT;

	if (now_us < d->net.look_us || uv_is_closing((uv_handle_t *)&d->net.listener))
		return;
	d->net.look_us = now_us + LOOK_EVERY_US;
	if (is_in_place(d))
		return;
	if (bind_path(d->config.socket, &d->net.next_fd, &err) == SW_OK) {
		sw_log(SW_LOG_WARN, "server.socket",
		       "socket=\"%s\" why=\"its file was removed: made again\"", d->config.socket);
		d->net.socket_why[0] = '\0';
		/* A libuv handle listens on one descriptor for its whole life: the new one needs
		 * the handle back first. Connections that exist stay, they have handles of their
		 * own. */
		uv_close((uv_handle_t *)&d->net.listener, on_listener_closed);
	} else if (strcmp(d->net.socket_why, err.msg) != 0) {
		(void)snprintf(d->net.socket_why, sizeof d->net.socket_why, "%s", err.msg);
		sw_log(SW_LOG_WARN, "server.socket",
		       "why=\"the socket was removed, and nobody finds this daemon: %s\"", err.msg);
	}
}

void sw_server_stop(struct sw_daemon *d)
{
	if (uv_is_closing((uv_handle_t *)&d->net.listener))
		return;
	/* Another daemon may have its own there by now. A socket that systemd bound stays: it hands
	 * the same one to the next start, and clients that connect meanwhile wait in its
	 * backlog. */
	if (d->net.bound && is_in_place(d))
		(void)unlink(d->config.socket);
	uv_close((uv_handle_t *)&d->net.listener, NULL);
}
