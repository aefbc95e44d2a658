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

/* A method and what answers its calls, each exactly once (daemon/net/call.h). */
struct sw_handler {
	const char *method;
	void (*fn)(struct sw_call *call);
};

/* Checks that every method of methods.json has its handler, and the other way round. */
SW_NODISCARD sw_status sw_dispatch_verify(const struct sw_daemon *d, struct sw_err *err);

/* These are a connection's `line` and `request` (daemon/net/conn.h). A request without a method, or
 * with parameters that it does not take, is answered here. */
void sw_dispatch_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len);
void sw_dispatch_request(struct sw_conn *c, struct sw_message *m);

#endif
