#include "cli/client.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"
#include "cli/host.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include "proto/socket_path.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct sw_client {
	int fd;
	const char *host; /* of sw_client_dial(); else NULL */
	pid_t ssh;        /* 0: none, or it has ended */
	bool up;          /* it has answered once */
	int64_t next_id;
	struct sw_buf in;
	size_t scanned; /* bytes of `in` known to hold no newline */
};

/* Waits for events; SW_BUSY at the deadline (a monotonic time in us, or -1 for none). */
static sw_status await(int fd, short events, int64_t deadline, struct sw_err *err)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = -1;

		if (deadline >= 0) {
			/* Rounded up, or the last millisecond would be spent in a loop of empty
			 * polls. */
			left = (deadline - sw_clock_mono_us() + 999) / 1000;
			if (left < 0)
				left = 0;
		}
		const int n = poll(&p, 1, (int)left);

		if (n > 0)
			return SW_OK;
		if (n == 0)
			return SW_BUSY;
		if (errno != EINTR)
			return sw_err_set(err, SW_IO, "poll: %s", strerror(errno));
	}
}

static int64_t deadline_of(int timeout_ms)
{
	return timeout_ms < 0 ? -1 : sw_clock_mono_us() + (int64_t)timeout_ms * 1000;
}

/* Says whose the socket is, or the first folder above it that we may see: a daemon of another user
 * does run, so "no daemon" would be wrong. */
static sw_status say_denied(const char *path, int e, struct sw_err *err)
{
	char part[sizeof((struct sockaddr_un *)0)->sun_path];
	struct stat st;
	char *slash;

	(void)snprintf(part, sizeof part, "%s", path);
	while (lstat(part, &st) != 0) {
		slash = strrchr(part, '/');
		if (slash == NULL || slash == part)
			return sw_err_set(err, SW_DENIED, "connect to %s: %s", path, strerror(e));
		*slash = '\0';
	}
	if (st.st_uid == geteuid())
		return sw_err_set(err, SW_DENIED, "connect to %s: %s", path, strerror(e));
	const struct passwd *who = getpwuid(st.st_uid);
	return sw_err_set(err, SW_DENIED,
			  "permission denied: the daemon at %s is another user's (%s, uid %lu); "
			  "run this as that user, or start your own with: sweepd --socket PATH",
			  path, who != NULL ? who->pw_name : "?", (unsigned long)st.st_uid);
}

/* EAGAIN on a unix socket means that the backlog is full: there is nothing to poll for, so a few
 * tries are spread over the time. */
static sw_status connect_to(int fd, const struct sockaddr_un *addr, int timeout_ms,
			    struct sw_err *err)
{
	const int64_t deadline = deadline_of(timeout_ms);

	while (connect(fd, (const struct sockaddr *)addr, sizeof *addr) != 0) {
		const int e = errno;

		if (e == EINTR)
			continue;
		if (e == EACCES || e == EPERM)
			return say_denied(addr->sun_path, e, err);
		if (e != EAGAIN)
			return sw_err_set(err, SW_NOT_FOUND, "connect to %s: %s", addr->sun_path,
					  strerror(e));
		if (deadline >= 0 && sw_clock_mono_us() >= deadline)
			return sw_err_set(err, SW_BUSY, "%s takes no connection", addr->sun_path);
		(void)poll(NULL, 0, 20);
	}
	return SW_OK;
}

struct sw_client *sw_client_adopt(int fd)
{
	struct sw_client *c = sw_calloc(1, sizeof *c);

	if (c == NULL || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		(void)close(fd);
		free(c);
		return NULL;
	}
	sw_buf_init(&c->in, SW_CLIENT_MAX_LINE);
	c->fd = fd;
	return c;
}

sw_status sw_client_open(struct sw_client **out, const char *path, int timeout_ms,
			 struct sw_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	*out = NULL;
	if (strlen(path) >= sizeof addr.sun_path)
		return sw_err_set(err, SW_NOT_FOUND, "%s is too long for a socket's path", path);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sw_err_set(err, SW_IO, "socket: %s", strerror(errno));
	struct sw_client *c = sw_client_adopt(fd);
	if (c == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	sw_status rc = connect_to(fd, &addr, timeout_ms, err);
	if (rc == SW_OK)
		rc = sw_socket_server_check(fd, path, err);
	if (rc == SW_OK)
		*out = c;
	else
		sw_client_close(c);
	return rc;
}

/* The connection has ended. */
static sw_status say_gone(struct sw_client *c, const char *what, const char *why,
			  struct sw_err *err)
{
	const pid_t ssh = c->ssh;

	if (ssh == 0)
		return sw_err_set(err, SW_IO, "the daemon %s%s", what, why);
	/* It is waited for here, and sw_client_close() must not wait for it again. */
	c->ssh = 0;
	return sw_host_lost(c->host, sw_host_end(ssh), c->up, err);
}

sw_status sw_client_dial(struct sw_client **out, const char *host, bool quiet, struct sw_err *err)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err why = SW_ERR_INIT;
	pid_t ssh = 0;
	int fd;
	sw_status rc = sw_host_start(host, quiet, &fd, &ssh, err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	struct sw_client *c = sw_client_adopt(fd);
	if (c == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	c->host = host;
	c->ssh = ssh;
	/* A first call tells a link that works from one whose shell only printed something. */
	rc = sw_client_call(c, "daemon.info", NULL, SW_CLIENT_DIAL_MS, &r, &why);
	c->up = rc == SW_OK;
	if (rc == SW_PARSE || rc == SW_TOO_BIG)
		(void)sw_err_set(err, rc,
				 "%s: what comes is no answer of sweepd's: '%.60s'; what its shell "
				 "prints at its start (~/.bashrc) must not go to stdout",
				 host, r.line != NULL ? r.line : "");
	else if (rc == SW_BUSY)
		(void)sw_err_set(err, rc, "%s: no answer within %d s", host,
				 SW_CLIENT_DIAL_MS / 1000);
	else if (rc != SW_OK)
		(void)sw_err_set(err, rc, "%s", why.msg);
	sw_client_reply_fini(&r);
	if (rc == SW_OK)
		*out = c;
	else
		sw_client_close(c);
	return rc;
}

void sw_client_close(struct sw_client *c)
{
	if (c == NULL)
		return;
	if (c->fd >= 0)
		(void)close(c->fd);
	if (c->ssh != 0) /* it ends now that its stdin has */
		(void)sw_host_end(c->ssh);
	sw_buf_fini(&c->in);
	free(c);
}

int sw_client_fd(const struct sw_client *c)
{
	return c->fd;
}

static sw_status send_all(struct sw_client *c, const char *bytes, size_t n, int64_t deadline,
			  struct sw_err *err)
{
	while (n > 0) {
		/* A daemon that went away is an error to tell, not a SIGPIPE that ends the program
		 * unsaid. */
		const ssize_t k = send(c->fd, bytes, n, MSG_NOSIGNAL);

		if (k >= 0) {
			bytes += k;
			n -= (size_t)k;
		} else if (errno == EAGAIN) {
			const sw_status rc = await(c->fd, POLLOUT, deadline, err);

			if (rc == SW_BUSY)
				return sw_err_set(err, rc, "the daemon does not read");
			if (rc != SW_OK)
				return rc;
		} else if (errno != EINTR) {
			return say_gone(c, "went away: ", strerror(errno), err);
		}
	}
	return SW_OK;
}

sw_status sw_client_send(struct sw_client *c, const char *method, const char *params,
			 int timeout_ms, int64_t *id, struct sw_err *err)
{
	struct sw_buf b;
	sw_status rc;

	/* From 1, as 0 means that no answer is awaited. */
	*id = ++c->next_id;
	sw_buf_init(&b, SW_CLIENT_MAX_LINE);
	sw_rpc_write_request(&b, *id, method, params);
	(void)sw_buf_adds(&b, "\n");
	if (b.failed != SW_OK)
		rc = sw_err_set(err, b.failed, "request: %s", sw_status_str(b.failed));
	else
		rc = send_all(c, b.data, b.len, deadline_of(timeout_ms), err);
	sw_buf_fini(&b);
	return rc;
}

/* Takes one whole line out of `in` as a string of its own; *line NULL: no line is whole yet. */
static sw_status take_line(struct sw_client *c, char **line, size_t *len, struct sw_err *err)
{
	const char *nl = NULL;

	*line = NULL;
	if (c->in.len > c->scanned)
		nl = memchr(c->in.data + c->scanned, '\n', c->in.len - c->scanned);
	if (nl == NULL) { /* what was searched is not searched again when more comes */
		c->scanned = c->in.len;
		return SW_OK;
	}
	*len = (size_t)(nl - c->in.data);
	*line = sw_malloc(*len + 1);
	if (*line == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	memcpy(*line, c->in.data, *len);
	(*line)[*len] = '\0';
	sw_buf_drop(&c->in, *len + 1);
	c->scanned = 0;
	return SW_OK;
}

static sw_status fill(struct sw_client *c, struct sw_err *err)
{
	const sw_status rc = sw_buf_reserve(&c->in, 65536);
	ssize_t n;

	if (rc == SW_TOO_BIG)
		return sw_err_set(err, rc, "the daemon's reply is over %zu bytes",
				  SW_CLIENT_MAX_LINE);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "out of memory");
	do
		n = sw_fault_hit(SW_FAULT_IO) ? 0 : recv(c->fd, c->in.data + c->in.len, 65536, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return SW_BUSY;
	if (n <= 0)
		return say_gone(c, "closed the connection", "", err);
	c->in.len += (size_t)n;
	return SW_OK;
}

/* The refusal of an error response as err: its message, and data.pointer without the "/spec" that
 * is an artefact of the request. */
static sw_status refusal(const cJSON *error, struct sw_err *err)
{
	const char *p = sw_json_text(sw_json_get(error, "data"), "pointer", "");

	if (strncmp(p, "/spec", 5) == 0 && (p[5] == '/' || p[5] == '\0'))
		p += 5;
	return sw_err_at(err, SW_INVALID, p, "%s", sw_json_text(error, "message", "refused"));
}

static sw_status understand(struct sw_reply *r, size_t len, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	const cJSON *id, *method;
	sw_status rc = sw_json_parse(&r->tree, r->line, len, &why);
	uint64_t n;

	if (rc == SW_NOMEM)
		return sw_err_set(err, rc, "out of memory");
	if (rc != SW_OK)
		return sw_err_set(err, SW_PARSE, "the daemon's reply is not JSON: %s", why.msg);
	method = sw_json_get(r->tree, "method");
	if (cJSON_IsString(method)) {
		r->method = method->valuestring;
		r->params = sw_json_get(r->tree, "params");
		return SW_OK;
	}
	id = sw_json_get(r->tree, "id");
	r->id = sw_json_u64(id, &n) ? (int64_t)n : -1; /* an error without an id answers no call */
	if (sw_json_get(r->tree, "error") != NULL)
		return refusal(sw_json_get(r->tree, "error"), err);
	r->result = sw_json_get(r->tree, "result");
	if (r->result == NULL)
		return sw_err_set(err, SW_PARSE, "the daemon's reply has neither result nor error");
	return SW_OK;
}

sw_status sw_client_read(struct sw_client *c, int timeout_ms, struct sw_reply *r,
			 struct sw_err *err)
{
	const int64_t deadline = deadline_of(timeout_ms);
	size_t len = 0;

	sw_client_reply_fini(r);
	for (;;) {
		sw_status rc = take_line(c, &r->line, &len, err);

		if (rc != SW_OK)
			return rc;
		if (r->line != NULL)
			return understand(r, len, err);
		/* Reads before it waits: with a timeout of 0 it takes what is there and never
		 * sleeps. */
		rc = fill(c, err);
		if (rc == SW_BUSY)
			rc = await(c->fd, POLLIN, deadline, err);
		if (rc == SW_BUSY && timeout_ms != 0)
			return sw_err_set(err, SW_BUSY, "the daemon did not answer within %d s",
					  timeout_ms / 1000);
		if (rc != SW_OK)
			return rc;
	}
}

sw_status sw_client_call(struct sw_client *c, const char *method, const char *params,
			 int timeout_ms, struct sw_reply *r, struct sw_err *err)
{
	int64_t id;
	sw_status rc = sw_client_send(c, method, params, timeout_ms, &id, err);

	while (rc == SW_OK) {
		rc = sw_client_read(c, timeout_ms, r, err);
		/* A refusal without an id is of a request that could not be read: it can only be
		 * this one. */
		if (rc == SW_INVALID || (rc == SW_OK && r->id == id))
			break;
	}
	return rc;
}

void sw_client_reply_fini(struct sw_reply *r)
{
	free(r->line);
	cJSON_Delete(r->tree);
	*r = (struct sw_reply)SW_REPLY_INIT;
}
