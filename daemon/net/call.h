/*
 * daemon/net/call.h — one request on its way to its answer.
 *
 * A handler gets a call and answers it exactly once, at once or later, by one of the functions
 * here, each of which ends the call's life. Its connection may close meanwhile; the answer is then
 * dropped.
 */
#ifndef SW_DAEMON_NET_CALL_H
#define SW_DAEMON_NET_CALL_H

#include "base/buf.h"
#include "base/status.h"
#include "proto/json.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct sw_daemon;
struct sw_conn;
struct sw_message;

#define SW_REPLY_MAX ((size_t)16 * 1024 * 1024)
/* For sw_call_refuse(), while the store refuses reads. */
#define SW_CALL_BUSY "sweepd is busy: its queue is full; try again in a second"

struct sw_call {
	struct sw_daemon *d;
	struct sw_conn *conn;
	struct sw_message *message;
	const cJSON *id;     /* NULL: a notification, whose answer is dropped */
	const cJSON *params; /* checked against methods.json; an object or NULL */
	int64_t since_us;    /* when it came */
	struct sw_buf out;   /* of sw_call_reply() */
	struct sw_jw w;
};

/* NULL: no memory. Counts as an open call of its message. */
struct sw_call *sw_call_create(struct sw_conn *c, struct sw_message *m, const cJSON *id,
			       const cJSON *params);

/* Begins an answer that is an object: what is returned writes its members. Then one call of
 * sw_call_reply_end(), which closes the object and answers. */
struct sw_jw *sw_call_reply(struct sw_call *call);
void sw_call_reply_end(struct sw_call *call);
/* Takes the bytes of result (JSON text); a buffer that failed becomes an internal error. */
void sw_call_result(struct sw_call *call, struct sw_buf *result);
void sw_call_error(struct sw_call *call, const struct sw_err *err);
/* By this code (proto/rpc.h) the first of n > 0 errors; of several, all of them are beside it, and
 * how many more there are. */
void sw_call_errors(struct sw_call *call, int code, const struct sw_err *list, size_t n,
		    size_t more);
/* The same, with the line of sw_err_at(): ptr is "" where no field is at fault. */
void sw_call_refuse(struct sw_call *call, sw_status code, const char *ptr, const char *fmt, ...)
	SW_PRINTF(4, 5);

bool sw_call_gone(const struct sw_call *call); /* its connection is closed */

/* Checked parameters: the default when absent. */
int64_t sw_call_int(const struct sw_call *call, const char *name, int64_t absent);
double sw_call_num(const struct sw_call *call, const char *name, double absent);
const char *sw_call_str(const struct sw_call *call, const char *name, const char *absent);

#endif
