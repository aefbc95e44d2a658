#include "daemon/net/call.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "proto/rpc.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct sw_call *sw_call_create(struct sw_conn *c, struct sw_message *m, const cJSON *id,
			       const cJSON *params)
{
	struct sw_call *call = sw_malloc(sizeof *call);

	if (call == NULL)
		return NULL;
	*call = (struct sw_call){.d = c->d,
				 .conn = c,
				 .message = m,
				 .id = id,
				 .params = params,
				 .since_us = c->d->clock->mono_us()};
	/* Both counts: the message leaves the queue when its own is 0, and the connection's memory
	 * may go when its own is. The call points into both until finish_call(). */
	m->n_open++;
	c->n_open++;
	return call;
}

static void finish_call(struct sw_call *call)
{
	struct sw_conn *c = call->conn;
	struct sw_message *m = call->message;

	/* Before sw_conn_answered(), which may free the connection, and the message with it. */
	free(call);
	sw_conn_answered(c, m);
}

/* The answers of a batch stand in one array: "[" before the first, "," between. */
static struct sw_buf *open_answer(struct sw_call *call)
{
	struct sw_message *m = call->message;

	/* A notification gets no answer, and a closed connection can take none. */
	if (call->id == NULL || call->conn->closing)
		return NULL;
	if (m->batch)
		(void)sw_buf_adds(&m->out, m->out.len == 0 ? "[" : ",");
	return &m->out;
}

void sw_call_result(struct sw_call *call, struct sw_buf *result)
{
	if (result->failed == SW_TOO_BIG) {
		sw_call_refuse(call, SW_TOO_BIG, "",
			       "the answer is too large: ask for a smaller page");
	} else if (result->failed != SW_OK || result->data == NULL) {
		sw_call_refuse(call, SW_NOMEM, "", "out of memory");
	} else {
		/* Not before: an answer that grew too large is refused above, and has one place in
		 * a batch. */
		struct sw_buf *out = open_answer(call);

		if (out != NULL)
			sw_rpc_write_result(out, call->id, result->data);
		finish_call(call);
	}
	sw_buf_fini(result);
}

struct sw_jw *sw_call_reply(struct sw_call *call)
{
	sw_buf_init(&call->out, SW_REPLY_MAX);
	sw_jw_init_obj(&call->w, &call->out);
	return &call->w;
}

void sw_call_reply_end(struct sw_call *call)
{
	struct sw_buf out = call->out; /* the call goes before it */

	call->w.b = &out;
	sw_jw_obj_end(&call->w);
	sw_call_result(call, &out);
}

void sw_call_errors(struct sw_call *call, int code, const struct sw_err *list, size_t n,
		    size_t more)
{
	struct sw_buf *out = open_answer(call);

	/* Counted even where nobody gets the answer: the figure is of requests that failed. */
	call->d->net.n_errors++;
	if (out != NULL)
		sw_rpc_write_errors(out, call->id, code, list, n, more);
	finish_call(call);
}

void sw_call_error(struct sw_call *call, const struct sw_err *err)
{
	sw_call_errors(call, sw_rpc_code(err->code), err, 1, 0);
}

void sw_call_refuse(struct sw_call *call, sw_status code, const char *ptr, const char *fmt, ...)
{
	struct sw_err err = SW_ERR_INIT;
	char line[sizeof err.msg];
	va_list ap;

	/* Two steps, because sw_err_at() takes no va_list. */
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	(void)sw_err_at(&err, code, ptr, "%s", line);
	sw_call_error(call, &err);
}

bool sw_call_gone(const struct sw_call *call)
{
	return call->conn->closing;
}

int64_t sw_call_int(const struct sw_call *call, const char *name, int64_t absent)
{
	const cJSON *v = sw_json_get(call->params, name);

	return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : absent;
}

double sw_call_num(const struct sw_call *call, const char *name, double absent)
{
	return sw_json_number(call->params, name, absent);
}

const char *sw_call_str(const struct sw_call *call, const char *name, const char *absent)
{
	return sw_json_text(call->params, name, absent);
}
