#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/conn_internal.h"
#include "proto/rpc.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void start_reading(struct sw_conn *c);

/* --- the end --- */

void sw_conn_free_when_done(struct sw_conn *c)
{
	/* A call that is still open has the connection's address, and libuv has it until
	 * on_closed(). */
	if (!c->closed || c->n_open > 0)
		return;
	sw_conn_free_messages(c);
	sw_frame_fini(&c->frame);
	free(c);
}

static void on_closed(uv_handle_t *h)
{
	struct sw_conn *c = h->data;

	c->closed = true;
	sw_conn_free_when_done(c);
}

static void leave_later(struct sw_conn *c)
{
	/* Most connections never wait for a turn. */
	if (c->is_later)
		TAILQ_REMOVE(&c->d->net.later, c, later);
	c->is_later = false;
}

/* The message was held open while its requests were started. */
static void end_batch(struct sw_conn *c)
{
	struct sw_message *m = c->batch;

	c->batch = NULL;
	sw_conn_answered(c, m);
}

void sw_conn_close(struct sw_conn *c)
{
	struct sw_daemon *d = c->d;
	struct sw_message *m;

	/* Its end may be found twice: by a read, and by a write that fails. */
	if (c->closing)
		return;
	/* From here on every path back into this connection (a call's answer, a write's callback, a
	 * turn in the queue) finds it closing and lets go; none of them may find it on a list. */
	c->closing = true;
	LIST_REMOVE(c, link);
	d->net.conn_n--;
	/* sw_conn_flush_all() walks a list that it has taken off d->net.dirty, and skips those that
	 * close; only one that is still on the daemon's own list has to leave it. */
	for (struct sw_conn **p = &d->net.dirty; c->dirty && *p != NULL; p = &(*p)->next_dirty)
		if (*p == c) {
			*p = c->next_dirty;
			break;
		}
	leave_later(c);
	if (c->batch != NULL) /* the rest of it is not started */
		end_batch(c);
	/* Its memory goes now: many may be cut in one turn, and are closed at its end. */
	sw_frame_fini(&c->frame);
	STAILQ_FOREACH (m, &c->messages, next)
		sw_buf_fini(&m->out);
	sw_conn_charge(c);
	/* Last: it is off all lists, so those above cannot meet it there while they let go. */
	d->net.events->gone(c);
	/* libuv calls on_written() with UV_ECANCELED for every write under way before on_closed(),
	 * so their texts are freed by their own callback. */
	uv_close((uv_handle_t *)&c->pipe, on_closed);
}

/* --- in --- */

/* Has this turn of the loop done enough for the connection? */
static bool turn_is_over(const struct sw_conn *c)
{
	return c->d->clock->mono_us() - c->turn_us >= SW_CONN_TURN_US;
}

/* Starts at least one, so that a batch comes to its end however late its turn begins. */
static void start_requests(struct sw_conn *c, struct sw_message *m)
{
	for (bool over = false; m->rest != NULL && !c->closing && !over; over = turn_is_over(c))
		c->d->net.events->request(c, m);
}

static void take_line(struct sw_conn *c, const char *line, size_t len, sw_status framing)
{
	/* In the queue before it is read: even an answer that says its line is no JSON has its
	 * place behind the answers of earlier lines. */
	struct sw_message *m = sw_conn_push_message(c);

	if (m == NULL) {
		sw_conn_close(c);
		return;
	}
	/* Held open while it is dispatched, so that an answer given at once does not finish it. */
	m->n_open++;
	c->n_open++;
	m->asked = len;
	c->asked += len;
	if (framing == SW_TOO_BIG) {
		struct sw_err err = SW_ERR_INIT;

		(void)sw_err_set(&err, SW_TOO_BIG, "the line is longer than %zu bytes",
				 SW_FRAME_MAX);
		/* The frame has thrown the line away and goes on behind it, so the connection
		 * stays: a client that sends one too long keeps its other requests. */
		sw_rpc_write_error(&m->out, NULL, SW_RPC_LIMIT, &err);
		c->d->net.n_errors++;
	} else {
		c->d->net.events->line(c, m, line, len);
		start_requests(c, m);
	}
	assert(c->n_open > 1); /* sw_conn_read_lines() holds one: the connection is still there */
	if ((m->rest != NULL || m->unread) && !c->closing)
		c->batch = m; /* it stays open until all of it is started */
	else
		sw_conn_answered(c, m);
}

/* Nothing can be started: what is under way comes first. */
static bool must_wait(const struct sw_conn *c)
{
	return c->batch != NULL ? c->batch->unread : sw_conn_is_full(c);
}

/* The next of what the peer has sent. False: nothing more can be started now. */
static bool take_next(struct sw_conn *c)
{
	char *line;
	size_t len;

	/* Answers come first: on_written() and sw_conn_flush_all() come back here. A batch that has
	 * begun comes first and alone: a line behind it would otherwise be started before the
	 * batch's last requests, and two writes of one client would change places. */
	if (must_wait(c))
		return false;
	if (c->batch != NULL) {
		start_requests(c, c->batch);
		/* NULL: one of them closed the connection, which has ended it */
		if (c->batch != NULL && c->batch->rest == NULL)
			end_batch(c);
		return true;
	}
	const sw_status rc = sw_frame_next(&c->frame, &line, &len);
	/* The line is not whole yet. */
	if (rc == SW_OK && line == NULL)
		return false;
	take_line(c, line, len, rc);
	return true;
}

/* Waits for more than the first free place, or reading would start and stop at every answer. */
bool sw_conn_can_read(const struct sw_conn *c)
{
	return c->n_messages <= SW_CONN_MAX_INFLIGHT / 2 && c->asked <= SW_CONN_MAX_ASKED / 2 &&
	       c->ready_bytes < SW_CONN_MAX_BACKLOG && !sw_conn_is_slow(c);
}

/* Starts what the peer has asked for. When this turn is over, sw_conn_go_on() comes back here; when
 * too many requests wait for answers, reading stops and sw_conn_flush_all() comes back. */
void sw_conn_read_lines(struct sw_conn *c)
{
	bool had_line = false, more = true;

	/* It has a place in the queue of turns; to begin now would overtake those before it. */
	if (c->is_later)
		return;
	c->turn_us = c->d->clock->mono_us();
	if (c->d->net.turn_us >= SW_CONN_TURN_ALL_US) { /* others have had this turn of the loop */
		(void)uv_read_stop((uv_stream_t *)&c->pipe);
		c->stopped = true;
		sw_conn_go_on_later(c);
		sw_frame_rest(&c->frame);
		sw_conn_charge(c);
		return;
	}
	c->n_open++; /* a line may close the connection; it stays until this is done */
	while (!c->closing && more && !(had_line && turn_is_over(c))) {
		more = take_next(c);
		had_line = had_line || more;
	}
	c->n_open--;
	c->d->net.turn_us += c->d->clock->mono_us() - c->turn_us;
	if (c->closing) {
		sw_conn_free_when_done(c);
		return;
	}
	/* The bytes that wait are in the frame already, so libuv will never report them: either the
	 * queue of turns comes back for them, or an answer that makes room does. */
	const bool waits = c->batch != NULL || sw_frame_pending(&c->frame);
	const bool full = must_wait(c);
	if (full || !sw_frame_unfinished(&c->frame))
		c->partial_us = 0;
	else if (c->partial_us == 0 || had_line) /* a byte now and then does not start it anew */
		c->partial_us = c->turn_us;
	if (waits && !full)
		sw_conn_go_on_later(c);
	const bool stop = full || c->is_later;
	if (stop && !c->stopped)
		(void)uv_read_stop((uv_stream_t *)&c->pipe);
	else if (!stop && c->stopped)
		start_reading(c);
	c->stopped = stop;
	sw_frame_rest(&c->frame);
	sw_conn_charge(c);
}

/* Waits for the next turn, behind the connections that wait already. */
void sw_conn_go_on_later(struct sw_conn *c)
{
	if (c->is_later)
		return;
	TAILQ_INSERT_TAIL(&c->d->net.later, c, later);
	c->is_later = true;
	(void)uv_async_send(&c->d->store_wake); /* the loop does not sleep meanwhile */
}

void sw_conn_go_on(struct sw_daemon *d)
{
	d->net.turn_us = 0;
	while (!TAILQ_EMPTY(&d->net.later) && d->net.turn_us < SW_CONN_TURN_US) {
		struct sw_conn *c = TAILQ_FIRST(&d->net.later);

		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
		leave_later(c);
		sw_conn_read_lines(c);
	}
	if (!TAILQ_EMPTY(&d->net.later))
		(void)uv_async_send(&d->store_wake);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	struct sw_conn *c = h->data;
	char *at = NULL;
	size_t n = 0;

	(void)hint;
	if (sw_frame_room(&c->frame, &at, &n) != SW_OK)
		n = 0; /* libuv reports UV_ENOBUFS, and the connection ends */
	*buf = uv_buf_init(at, (unsigned)n);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct sw_conn *c = s->data;
	struct sw_daemon *d = c->d;

	(void)buf;
	/* libuv says so for a read that would have waited: nothing came. */
	if (n == 0)
		return;
	/* The peer has closed, or memory is short (on_alloc()). */
	if (n < 0) {
		sw_conn_close(c);
		return;
	}
	c->active_us = d->clock->mono_us();
	sw_frame_fed(&c->frame, (size_t)n);
	sw_conn_read_lines(c);
	sw_conn_shed(d); /* now, for many may send much in one turn */
}

/* Serves a new connection, and one whose reading was stopped. */
static void start_reading(struct sw_conn *c)
{
	if (uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) != 0)
		sw_conn_close(c);
}

/* --- the beginning --- */

static bool admit(struct sw_conn *c)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	uv_os_fd_t fd;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf b;

	if (uv_fileno((uv_handle_t *)&c->pipe, &fd) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return false;
	/* As the kernel noted them when the peer connected; worker.hello compares the pid with that
	 * of the process which was started. */
	c->uid = peer.uid;
	c->pid = peer.pid;
	/* Root may speak to every daemon: it could read its memory anyhow. */
	if (peer.uid != geteuid() && peer.uid != 0)
		(void)sw_err_set(&err, SW_DENIED, "this sweepd belongs to another user");
	else if (c->d->net.conn_n > c->d->net.conn_max)
		(void)sw_err_set(&err, SW_TOO_BIG,
				 "%zu connections are open, the most that are allowed",
				 c->d->net.conn_max);
	if (err.code == SW_OK)
		return true;
	sw_log(SW_LOG_WARN, "conn.refused", "pid=%ld uid=%ld why=\"%s\"", (long)peer.pid,
	       (long)peer.uid, err.msg);
	sw_buf_init(&b, 4096);
	sw_rpc_write_error(&b, NULL, sw_rpc_code(err.code), &err);
	(void)sw_buf_adds(&b, "\n");
	const uv_buf_t out = uv_buf_init(b.data, (unsigned)b.len);
	(void)uv_try_write((uv_stream_t *)&c->pipe, &out, 1); /* a courtesy: it is closed anyway */
	sw_buf_fini(&b);
	return false;
}

static struct sw_conn *create_conn(struct sw_daemon *d)
{
	struct sw_conn *c = sw_calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->d = d;
	sw_frame_init(&c->frame);
	if (uv_pipe_init(d->loop, &c->pipe, 0) != 0) {
		sw_frame_fini(&c->frame);
		free(c); /* libuv knows nothing of c yet: the only direct free */
		return NULL;
	}
	/* From uv_pipe_init() on only uv_close() may end it: the handle is on the loop's list, and
	 * begin() closes whatever could not be served. */
	c->pipe.data = c;
	STAILQ_INIT(&c->messages);
	LIST_INSERT_HEAD(&d->net.conns, c, link);
	d->net.conn_n++;
	c->serial = ++d->net.serial != 0 ? d->net.serial : ++d->net.serial; /* 0: nobody's */
	c->active_us = d->clock->mono_us();
	return c;
}

static void begin(struct sw_conn *c, int rc)
{
	if (rc != 0 || !admit(c))
		sw_conn_close(c);
	else
		start_reading(c);
}

void sw_conn_accept(struct sw_daemon *d, uv_stream_t *listener)
{
	struct sw_conn *c = create_conn(d);

	/* libuv is deaf to the listener until this one is accepted: the next turn comes back for
	 * it. Without memory libuv holds the accepted descriptor, and sw_server_turn() tries
	 * again. */
	d->net.accept_owed = c == NULL;
	if (c != NULL)
		begin(c, uv_accept(listener, (uv_stream_t *)&c->pipe));
}

void sw_conn_adopt(struct sw_daemon *d, uv_os_sock_t fd, const char *peer)
{
	struct sw_conn *c = create_conn(d);

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	(void)snprintf(c->peer, sizeof c->peer, "%s", peer);
	begin(c, uv_pipe_open(&c->pipe, fd));
}
