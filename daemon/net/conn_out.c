/* daemon/net/conn_out.c — answers leave a connection in the order of their requests. */
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/conn_internal.h"
#include "proto/rpc.h"
#include <assert.h>
#include <stdlib.h>

/* one message's answers; the queue limit cuts before */
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

struct write {
	uv_write_t req;
	char *text; /* owned; freed in on_written() */
};

/* --- messages --- */

static void free_message(struct sw_message *m)
{
	cJSON_Delete(m->tree);
	sw_buf_fini(&m->out);
	free(m);
}

void sw_conn_free_messages(struct sw_conn *c)
{
	struct sw_message *m;

	while ((m = STAILQ_FIRST(&c->messages)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->messages, next);
		free_message(m);
	}
}

struct sw_message *sw_conn_push_message(struct sw_conn *c)
{
	struct sw_message *m = sw_calloc(1, sizeof *m);

	if (m == NULL)
		return NULL;
	sw_buf_init(&m->out, ANSWER_MAX);
	STAILQ_INSERT_TAIL(&c->messages, m, next);
	c->n_messages++;
	return m;
}

/* --- bytes --- */

static void mark_dirty(struct sw_conn *c)
{
	/* It is in the list, or there is nobody to send to. */
	if (c->dirty || c->closing)
		return;
	c->dirty = true;
	c->next_dirty = c->d->net.dirty;
	c->d->net.dirty = c;
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
	return c->n_messages >= SW_CONN_MAX_INFLIGHT || c->asked >= SW_CONN_MAX_ASKED ||
	       c->ready_bytes >= SW_CONN_MAX_BACKLOG || sw_conn_is_slow(c);
}

static void on_written(uv_write_t *req, int status)
{
	struct write *w = (struct write *)req; /* req is the first member */
	struct sw_conn *c = req->handle->data;

	free(w->text);
	free(w);
	/* The bytes were the connection's only copy of these answers, so nothing can be sent in
	 * their place: the peer has to ask again on another connection. */
	if (status < 0) {
		sw_conn_close(c); /* after sw_conn_close() this is UV_ECANCELED: no-op */
		return;
	}
	c->active_us = c->d->clock->mono_us();
	sw_conn_charge(c);
	mark_dirty(c); /* what waited for room may go on */
}

/* Takes the bytes of b. */
static void send_bytes(struct sw_conn *c, struct sw_buf *b)
{
	struct write *w = NULL;
	size_t len = 0;
	char *text;

	/* Nothing to send: a notification alone has no answer. */
	if (c->closing || b->len == 0) {
		sw_buf_fini(b);
		return;
	}
	text = sw_buf_take(b, &len);
	if (text == NULL || (w = sw_malloc(sizeof *w)) == NULL)
		goto fail;
	/* libuv keeps a pointer into it until on_written(), also when the connection closes
	 * before. */
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

/* Appends a message's answers, or takes them where there is nothing before them: a copy of a large
 * batch would double what it takes. */
static void add_answers(struct sw_buf *out, struct sw_message *m)
{
	if (m->batch && m->out.len > 0)
		(void)sw_buf_adds(&m->out, "]");
	if (m->out.len > 0)
		(void)sw_buf_adds(&m->out, "\n");
	if (out->len == 0 && out->failed == SW_OK) {
		/* The empty buffer goes into the message, so that free_message() finds something
		 * valid to free. */
		const struct sw_buf none = *out;

		*out = m->out;
		m->out = none;
		return;
	}
	if (m->out.failed != SW_OK)
		out->failed = m->out.failed;
	(void)sw_buf_add(out, m->out.data, m->out.len);
}

/* Sends what stands ready at the head of the queue. */
static void flush(struct sw_conn *c)
{
	struct sw_message *m;
	struct sw_buf out;

	sw_buf_init(&out, ANSWER_MAX);
	/* In order: an answer that is ready waits for those before it. At most a backlog at a time,
	 * so that this bounds what a slow peer holds. */
	while ((m = STAILQ_FIRST(&c->messages)) != NULL && m->n_open == 0 && !sw_conn_is_slow(c) &&
	       (out.len == 0 || out.len + m->out.len < SW_CONN_MAX_BACKLOG)) {
		add_answers(&out, m);
		/* Its tree goes with it. No call points into that: n_open is 0, and each call
		 * counts. */
		STAILQ_REMOVE_HEAD(&c->messages, next);
		c->n_messages--;
		c->asked -= m->asked;
		c->ready_bytes -= m->counted;
		free_message(m);
	}
	/* An answer was lost, and the peer would take the next one for it. */
	if (out.failed != SW_OK) {
		sw_buf_fini(&out);
		sw_conn_close(c);
		return;
	}
	send_bytes(c, &out); /* and when that is written, on_written() comes back here */
	sw_conn_charge(c);
}

void sw_conn_flush_all(struct sw_daemon *d)
{
	struct sw_conn *c, *next;

	/* First, so that no answer is written to one that is about to be cut for its memory. */
	sw_conn_shed(d);
	c = d->net.dirty;
	d->net.dirty = NULL; /* what becomes dirty from here on is for the next turn */
	for (; c != NULL; c = next) {
		next = c->next_dirty;
		c->next_dirty = NULL;
		c->dirty = false;
		if (c->closing)
			continue;
		flush(c);
		/* Only now: reading was stopped because answers were in the way, and these have
		 * just left. */
		if (!c->closing && c->stopped && sw_conn_can_read(c))
			sw_conn_read_lines(c);
	}
	/* A message that became ready meanwhile without a byte to send has no other wake-up. */
	if (d->net.dirty != NULL)
		(void)uv_async_send(&d->store_wake);
}

/* Counts what was added to the message's answers, also while its batch is not finished. */
static void count_answers(struct sw_conn *c, struct sw_message *m)
{
	c->ready_bytes += m->out.len - m->counted;
	m->counted = m->out.len;
	sw_conn_charge(c);
}

void sw_conn_answered(struct sw_conn *c, struct sw_message *m)
{
	assert(m->n_open > 0 && c->n_open > 0);
	m->n_open--;
	c->n_open--;
	count_answers(c, m);
	if (c->closing)
		sw_conn_free_when_done(c);
	else if (m->n_open == 0)
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
