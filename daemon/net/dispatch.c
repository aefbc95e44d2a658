#include "daemon/net/dispatch.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "proto/json.h"
#include "proto/methods.h"
#include "proto/nearest.h"
#include "proto/rpc.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX   1000
#define HANDLER_MAX 128
/* The longest line that is read on the loop: `[1,1,...` takes 0.3 to 0.6 ms, one of 32 KiB 1.4 to
 * 2.5, and a turn that began with small requests may end with it. */
#define LINE_HERE ((size_t)8 * 1024)

static const struct sw_handler *find_handler(const struct sw_daemon *d, const char *method)
{
	for (size_t i = 0; i < d->net.handler_n; i++)
		if (strcmp(d->net.handlers[i].method, method) == 0)
			return &d->net.handlers[i];
	return NULL;
}

sw_status sw_dispatch_verify(const struct sw_daemon *d, struct sw_err *err)
{
	/* Both ways, at the start: a method without a handler, or the reverse, is a mistake of the
	 * build, and is found by every run of it and not by the first client that calls it. */
	assert(d->net.handler_n <= HANDLER_MAX);
	for (size_t i = 0; i < sw_methods_size(d->net.methods); i++)
		if (find_handler(d, sw_methods_name(d->net.methods, i)) == NULL)
			return sw_err_set(err, SW_INTERNAL, "methods.json: %s has no handler",
					  sw_methods_name(d->net.methods, i));
	for (size_t i = 0; i < d->net.handler_n; i++)
		if (sw_methods_find(d->net.methods, d->net.handlers[i].method) < 0)
			return sw_err_set(err, SW_INTERNAL, "%s is not in methods.json",
					  d->net.handlers[i].method);
	return SW_OK;
}

static void unknown_method(struct sw_call *call, const char *method)
{
	const struct sw_daemon *d = call->d;
	const char *names[HANDLER_MAX];
	struct sw_err err = SW_ERR_INIT;
	char did[SW_DID_YOU_MEAN];

	for (size_t i = 0; i < d->net.handler_n; i++)
		names[i] = d->net.handlers[i].method;
	const char *near = sw_nearest(method, names, d->net.handler_n);
	(void)sw_err_set(&err, SW_NOT_FOUND, "unknown method \"%.64s\"%s", method,
			 near != NULL ? sw_did_you_mean(near, did) : "; rpc.discover lists them");
	sw_call_errors(call, SW_RPC_METHOD_NOT_FOUND, &err, 1, 0);
}

/* Errors of the envelope are answered even without an id: the standard wants "id": null there. */
static void envelope_error(struct sw_conn *c, struct sw_message *m, const cJSON *id, int code,
			   const struct sw_err *err)
{
	c->d->net.n_errors++;
	if (m->batch)
		(void)sw_buf_adds(&m->out, m->out.len == 0 ? "[" : ",");
	sw_rpc_write_error(&m->out, id, code, err);
}

static void refuse_peer(struct sw_call *call, const char *method)
{
	sw_log(SW_LOG_WARN, "port.denied", "pilot=%s method=\"%.64s\"", call->conn->peer, method);
	sw_call_refuse(call, SW_DENIED, "", "on this port there are the worker's methods alone");
}

void sw_dispatch_request(struct sw_conn *c, struct sw_message *m)
{
	const cJSON *v = m->rest;
	struct sw_err err = SW_ERR_INIT;
	struct sw_rpc_request req;
	struct sw_call *call;

	m->rest = v->next; /* first: the request may close the connection */
	c->d->net.n_requests++;
	/* No call is made of it: there may be no id, and there is nothing to run. */
	if (sw_rpc_request_read(v, &req, &err) != SW_OK) {
		envelope_error(c, m, req.id, SW_RPC_INVALID_REQUEST, &err);
		return;
	}
	/* params stay in the message's tree: they live until the last call of the message is
	 * answered. */
	call = sw_call_create(c, m, req.id, req.params);
	/* Without memory for an answer the order of answers would break. */
	if (call == NULL) {
		sw_conn_close(c);
		return;
	}
	const int method = sw_methods_find(c->d->net.methods, req.method);
	const struct sw_handler *handler = find_handler(c->d, req.method);
	/* Over the network workers speak, never people. */
	if (c->peer[0] != '\0' && strncmp(req.method, "worker.", 7) != 0)
		refuse_peer(call, req.method);
	else if (method < 0 || handler == NULL)
		unknown_method(call, req.method);
	else if (sw_methods_check(c->d->net.methods, (size_t)method, req.params, &err) != SW_OK)
		sw_call_error(call, &err);
	else if (handler->fn != NULL)
		handler->fn(call);
	else
		handler->gate(call, handler->then);
}

/* Finds the requests in the line of m, which was read: rc, err and m->tree came of it. */
static void find_requests(struct sw_conn *c, struct sw_message *m, sw_status rc, struct sw_err *err)
{
	if (rc != SW_OK) {
		envelope_error(c, m, NULL, sw_rpc_code(rc), err);
		return;
	}
	/* One request is a batch of one whose answer has no brackets. */
	if (!cJSON_IsArray(m->tree)) {
		m->rest = m->tree;
		return;
	}
	const int n = cJSON_GetArraySize(m->tree);
	if (n == 0)
		(void)sw_err_set(err, SW_INVALID, "an empty batch");
	else if (n > BATCH_MAX)
		/* Each request costs a call and an answer before the first of them can leave, so
		 * their number bounds what one line of 1 MiB can make of memory. */
		(void)sw_err_set(err, SW_TOO_BIG, "a batch of %d requests; at most %d are allowed",
				 n, BATCH_MAX);
	if (err->code != SW_OK) {
		envelope_error(c, m, NULL, n == 0 ? SW_RPC_INVALID_REQUEST : SW_RPC_LIMIT, err);
		return;
	}
	m->batch = true;
	m->rest = m->tree->child;
}

/* --- long lines --- */

struct long_line {
	struct sw_pool_job job;
	struct sw_message *m;
	sw_status rc; /* SW_BUSY: it was not read */
	struct sw_err err;
	size_t len;
	char text[]; /* a copy: the connection's own goes when it closes */
};

/* On the pool. The loop leaves m->tree alone until on_line_read(). */
static void run_read_line(void *arg)
{
	struct long_line *l = arg;

	/* Nobody waits for it. `closing` alone of the connection may be read here (it is
	 * atomic): a peer that has gone should not cost the pool the reading of its megabyte. */
	if (!l->job.c->closing)
		l->rc = sw_json_parse(&l->m->tree, l->text, l->len, &l->err);
}

static void on_line_read(void *arg, bool stopping)
{
	struct long_line *l = arg;
	struct sw_conn *c = l->job.c;

	if (stopping && l->rc == SW_BUSY)
		(void)sw_err_set(&l->err, SW_BUSY, "the daemon is stopping");
	l->m->unread = false;
	if (!c->closing) {
		find_requests(c, l->m, l->rc, &l->err);
		/* Not at once: this runs between two turns, and others wait in the queue since
		 * before. */
		sw_conn_go_on_later(c);
	}
	sw_conn_answered(c, l->m);
	free(l);
}

static void read_long_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len)
{
	struct long_line *l = sw_malloc(sizeof *l + len);

	if (l == NULL) {
		sw_conn_close(c);
		return;
	}
	*l = (struct long_line){.m = m, .rc = SW_BUSY, .err = SW_ERR_INIT, .len = len};
	/* The frame's buffer is used again as soon as the loop goes on, and the pool reads
	 * meanwhile. */
	memcpy(l->text, line, len);
	/* Held open, so that neither the message nor the connection is freed under the thread. */
	m->unread = true;
	m->n_open++;
	c->n_open++;
	sw_pool_start(&l->job, SW_POOL_LINE, c, run_read_line, on_line_read, l);
}

void sw_dispatch_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len)
{
	struct sw_err err = SW_ERR_INIT;

	if (len > LINE_HERE)
		read_long_line(c, m, line, len);
	else
		find_requests(c, m, sw_json_parse(&m->tree, line, len, &err), &err);
}
