/*
 * daemon/net/dispatch.h — from a line to the handlers of its requests.
 *
 * The handlers are the rooms' above, which put their table into d->net.handlers.
 */
#ifndef SW_DAEMON_NET_DISPATCH_H
#define SW_DAEMON_NET_DISPATCH_H

#include "base/status.h"
#include <stddef.h>

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_message;
struct sw_running; /* a sweep */

typedef void sw_handler_fn(struct sw_running *live, struct sw_call *call);

/* A method and what answers its calls, each exactly once (daemon/net/call.h): fn; or the gate,
 * which refuses the call or goes on to `then` with the sweep that the call names. */
struct sw_handler {
	const char *method;
	void (*fn)(struct sw_call *call); /* NULL: gate and then */
	void (*gate)(struct sw_call *call, sw_handler_fn *then);
	sw_handler_fn *then;
};

/* Checks that every method of methods.json has its handler, and the other way round. */
SW_NODISCARD sw_status sw_dispatch_verify(const struct sw_daemon *d, struct sw_err *err);

/* These are a connection's `line` and `request` (daemon/net/conn.h). A request without a method, or
 * with parameters that it does not take, is answered here. */
void sw_dispatch_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len);
void sw_dispatch_request(struct sw_conn *c, struct sw_message *m);

#endif
