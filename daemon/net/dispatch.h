/* daemon/net/dispatch.h — from a line to the handlers of its requests. */
#ifndef SW_DAEMON_NET_DISPATCH_H
#define SW_DAEMON_NET_DISPATCH_H

#include "base/status.h"
#include <stddef.h>

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_message;

typedef void sw_handler(struct sw_call *call);

/* Checks that every method of methods.json has its handler here, and the other way round. */
SW_NODISCARD sw_status sw_dispatch_verify(const struct sw_daemon *d, struct sw_err *err);

/* Parses the line and starts its calls, or writes the error into m. Of a batch it starts as many as
 * fit into the connection's turn; m->rest then stands at the next one. */
void sw_dispatch_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len);
/* Starts more of them. The first at least. */
void sw_dispatch_rest(struct sw_conn *c, struct sw_message *m);

#endif
