#include "daemon/conn.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/dispatch.h"
#include "daemon/supervisor.h"
#include "daemon/watch.h"
#include "proto/rpc.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX                                                                                 \
	((size_t)64 * 1024 * 1024) /* one message's answers; the queue limit cuts before */
#define SLOW_LIMIT_US    ((int64_t)10 * 1000000)
#define PARTIAL_LIMIT_US ((int64_t)60 * 1000000)
#define IDLE_LIMIT_US    ((int64_t)600 * 1000000)

struct write {
	uv_write_t req;
	char *text; /* owned; freed in on_written() */
};

static void read_lines(struct sw_conn *c);
static bool can_read(const struct sw_conn *c);

/* --- the end --- */

static void free_message(struct sw_message *m)
{
	cJSON_Delete(m->tree);
	sw_buf_fini(&m->out);
	free(m);
}

static void free_when_done(struct sw_conn *c)
{
	struct sw_message *m, *next;

	if (!c->closed || c->n_open > 0)
		return;
	for (m = c->head; m != NULL; m = next) {
		next = m->next;
		free_message(m);
	}
	sw_frame_fini(&c->frame);
	free(c);
}

static void on_closed(uv_handle_t *h)
{
	struct sw_conn *c = h->data;

	c->closed = true;
	free_when_done(c);
}

void sw_conn_close(struct sw_conn *c)
{
	struct sw_daemon *d = c->d;

	if (c->closing)
		return;
	c->closing = true;
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		d->conns = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	d->conn_n--;
	for (struct sw_conn **p = &d->dirty; *p != NULL; p = &(*p)->next_dirty)
		if (*p == c) {
			*p = c->next_dirty;
			break;
		}
	sw_watch_drop_conn(d, c);
	sw_supervisor_drop_conn(d, c);
	uv_close((uv_handle_t *)&c->pipe, on_closed);
}

/* --- out --- */

static void mark_dirty(struct sw_conn *c)
{
	if (c->dirty || c->closing)
		return;
	c->dirty = true;
	c->next_dirty = c->d->dirty;
	c->d->dirty = c;
}

size_t sw_conn_backlog(const struct sw_conn *c)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&c->pipe);
}

bool sw_conn_is_slow(const struct sw_conn *c)
{
	return sw_conn_backlog(c) >= SW_CONN_MAX_BACKLOG;
}

bool sw_conn_is_full(const struct sw_conn *c)
{
	return c->n_messages >= SW_CONN_MAX_INFLIGHT || c->ready_bytes >= SW_CONN_MAX_BACKLOG ||
	       sw_conn_is_slow(c);
}

static void on_written(uv_write_t *req, int status)
{
	struct write *w = (struct write *)req; /* req is the first member */
	struct sw_conn *c = req->handle->data;

	free(w->text);
	free(w);
	if (status < 0) {
		sw_conn_close(c); /* after sw_conn_close() this is UV_ECANCELED: no-op */
		return;
	}
	c->active_us = sw_clock_mono_us();
	mark_dirty(c); /* what waited for room may go on */
}

/* Takes the bytes of b. */
static void send_bytes(struct sw_conn *c, struct sw_buf *b)
{
	struct write *w = NULL;
	size_t len = 0;
	char *text;

	if (c->closing || b->len == 0) {
		sw_buf_fini(b);
		return;
	}
	text = sw_buf_take(b, &len);
	if (text == NULL || (w = sw_malloc(sizeof *w)) == NULL)
		goto fail;
	w->text = text;
	c->sent += len;
	const uv_buf_t out = uv_buf_init(text, (unsigned)len);
	if (uv_write(&w->req, (uv_stream_t *)&c->pipe, &out, 1, on_written) != 0)
		goto fail;
	return;
fail:
	free(w);
	free(text);
	sw_conn_close(c); /* an answer that cannot be sent must not be skipped */
}

/* Sends what stands ready at the head of the queue. */
static void flush(struct sw_conn *c)
{
	struct sw_buf out;

	sw_buf_init(&out, ANSWER_MAX);
	while (c->head != NULL && c->head->n_open == 0 && !sw_conn_is_slow(c) &&
	       out.len < SW_CONN_MAX_BACKLOG) {
		struct sw_message *m = c->head;

		if (m->out.failed != SW_OK)
			out.failed = m->out.failed;
		if (m->out.len > 0) {
			(void)sw_buf_add(&out, m->out.data, m->out.len);
			if (m->batch)
				(void)sw_buf_adds(&out, "]");
			(void)sw_buf_adds(&out, "\n");
		}
		c->head = m->next;
		if (c->head == NULL)
			c->tail = NULL;
		c->n_messages--;
		c->ready_bytes -= m->out.len;
		free_message(m);
	}
	if (out.failed != SW_OK) {
		sw_buf_fini(&out);
		sw_conn_close(c);
		return;
	}
	send_bytes(c, &out); /* and when that is written, on_written() comes back here */
}

void sw_conn_flush_all(struct sw_daemon *d)
{
	struct sw_conn *c = d->dirty, *next;

	d->dirty = NULL; /* what becomes dirty from here on is for the next turn */
	for (; c != NULL; c = next) {
		next = c->next_dirty;
		c->next_dirty = NULL;
		c->dirty = false;
		if (c->closing)
			continue;
		flush(c);
		if (!c->closing && c->stopped && can_read(c))
			read_lines(c);
	}
	/* What became ready meanwhile without a byte to send has no other wake-up. */
	if (d->dirty != NULL)
		(void)uv_async_send(&d->store_wake);
}

static struct sw_message *push_message(struct sw_conn *c)
{
	struct sw_message *m = sw_calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	sw_buf_init(&m->out, ANSWER_MAX);
	if (c->tail != NULL)
		c->tail->next = m;
	else
		c->head = m;
	c->tail = m;
	c->n_messages++;
	return m;
}

void sw_conn_answered(struct sw_conn *c, struct sw_message *m)
{
	assert(m->n_open > 0 && c->n_open > 0);
	m->n_open--;
	c->n_open--;
	if (m->n_open == 0)
		c->ready_bytes += m->out.len;
	if (c->closing)
		free_when_done(c);
	else if (m->n_open == 0)
		mark_dirty(c);
}

void sw_conn_notify(struct sw_conn *c, const char *method, const char *params)
{
	struct sw_message *m = c->closing ? NULL : push_message(c);

	if (m == NULL)
		return;
	sw_rpc_write_notification(&m->out, method, params);
	c->ready_bytes += m->out.len;
	mark_dirty(c);
}

void sw_conn_push(struct sw_conn *c, const char *method, const char *params)
{
	struct sw_buf b;

	sw_buf_init(&b, ANSWER_MAX);
	sw_rpc_write_notification(&b, method, params);
	(void)sw_buf_adds(&b, "\n");
	send_bytes(c, &b);
}

/* --- in --- */

static void take_line(struct sw_conn *c, const char *line, size_t len, sw_status framing)
{
	struct sw_message *m = push_message(c);

	if (m == NULL) {
		sw_conn_close(c);
		return;
	}
	/* Held open while it is dispatched, so that an answer given at once does not finish it. */
	m->n_open++;
	c->n_open++;
	if (framing == SW_TOO_BIG) {
		struct sw_err err = SW_ERR_INIT;

		(void)sw_err_set(&err, SW_TOO_BIG, "the line is longer than %zu bytes",
				 SW_FRAME_MAX);
		sw_rpc_write_error(&m->out, NULL, SW_RPC_LIMIT, &err);
		c->d->n_errors++;
	} else {
		sw_dispatch_line(c, m, line, len);
	}
	assert(c->n_open >
	       1); /* read_lines() holds one: the connection is still there after this */
	sw_conn_answered(c, m);
}

/* Not at the first place that is free again: reading would start and stop at every answer. */
static bool can_read(const struct sw_conn *c)
{
	return c->n_messages <= SW_CONN_MAX_INFLIGHT / 2 && c->ready_bytes < SW_CONN_MAX_BACKLOG &&
	       !sw_conn_is_slow(c);
}

/* Hands on every whole line, until too many wait for their answers: then reading stops, and flush
 * comes back here. */
static void read_lines(struct sw_conn *c)
{
	bool had_line = false;
	char *line;
	size_t len;

	c->n_open++; /* a line may close the connection; it stays until this is done */
	while (!c->closing && !sw_conn_is_full(c)) {
		const sw_status rc = sw_frame_next(&c->frame, &line, &len);

		if (rc == SW_OK && line == NULL)
			break;
		take_line(c, line, len, rc);
		had_line = true;
	}
	c->n_open--;
	if (c->closing) {
		free_when_done(c);
		return;
	}
	const bool full = sw_conn_is_full(c);
	if (full || !sw_frame_pending(&c->frame))
		c->partial_us = 0;
	else if (c->partial_us == 0 || had_line) /* a byte now and then does not start it anew */
		c->partial_us = c->active_us;
	if (full && !c->stopped)
		(void)uv_read_stop((uv_stream_t *)&c->pipe);
	else if (!full && c->stopped)
		sw_conn_read(c);
	c->stopped = full;
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

	(void)buf;
	if (n == 0)
		return;
	if (n < 0) {
		sw_conn_close(c);
		return;
	}
	c->active_us = sw_clock_mono_us();
	sw_frame_fed(&c->frame, (size_t)n);
	read_lines(c);
}

void sw_conn_read(struct sw_conn *c)
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
	c->uid = peer.uid;
	c->pid = peer.pid;
	if (peer.uid != geteuid() && peer.uid != 0)
		(void)sw_err_set(&err, SW_DENIED, "this sweepd belongs to another user");
	else if (c->d->conn_n > c->d->conn_max)
		(void)sw_err_set(&err, SW_TOO_BIG,
				 "%zu connections are open, the most that are allowed",
				 c->d->conn_max);
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

void sw_conn_accept(struct sw_daemon *d, uv_stream_t *listener)
{
	struct sw_conn *c = sw_calloc(1, sizeof *c);

	/* libuv is deaf to the listener until this one is accepted: the tick comes back for it. */
	d->accept_owed = c == NULL;
	if (c == NULL)
		return;
	c->d = d;
	sw_frame_init(&c->frame);
	if (uv_pipe_init(d->loop, &c->pipe, 0) != 0) {
		sw_frame_fini(&c->frame);
		free(c); /* libuv knows nothing of c yet: the only direct free */
		return;
	}
	c->pipe.data = c;
	c->next = d->conns;
	if (d->conns != NULL)
		d->conns->prev = c;
	d->conns = c;
	d->conn_n++;
	c->active_us = sw_clock_mono_us();
	if (uv_accept(listener, (uv_stream_t *)&c->pipe) != 0 || !admit(c)) {
		sw_conn_close(c);
		return;
	}
	sw_conn_read(c);
}

/* --- time --- */

static const char *overdue(struct sw_conn *c, int64_t now_us)
{
	const size_t backlog = sw_conn_backlog(c);

	if (backlog < SW_CONN_MAX_BACKLOG / 4) {
		c->slow_us = 0;
	} else if (c->slow_us == 0 || c->sent - backlog > c->slow_taken) {
		c->slow_us = now_us; /* it takes what there is, be it slowly */
		c->slow_taken = c->sent - backlog;
	} else if (now_us - c->slow_us > SLOW_LIMIT_US) {
		return "it reads too slowly";
	}
	if (c->partial_us != 0 && now_us - c->partial_us > PARTIAL_LIMIT_US)
		return "its line was never finished";
	if (c->slot == NULL && c->n_watches == 0 && c->n_open == 0 && backlog == 0 &&
	    now_us - c->active_us > IDLE_LIMIT_US)
		return "idle";
	return NULL;
}

void sw_conn_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_conn *c, *next;

	for (c = d->conns; c != NULL; c = next) {
		const char *why = overdue(c, now_us);

		next = c->next;
		if (why == NULL)
			continue;
		sw_log(SW_LOG_INFO, "conn.cut", "pid=%ld why=\"%s\"", (long)c->pid, why);
		sw_conn_close(c);
	}
}
