/*
 * cli/client.h — a JSON-RPC client on a unix socket, blocking with timeouts.
 *
 * Memory   The client and its replies are the caller's (close, fini).
 * Errors   SW_NOT_FOUND  nobody listens at the path
 *          SW_DENIED     another user listens there
 *          SW_INVALID    the daemon refused; err has its line and its JSON pointer
 *          SW_BUSY       the timeout passed
 *          SW_IO         the connection ended
 *          SW_PEER_LOST  ssh could not make one, or the link was lost
 *          SW_PARSE, SW_TOO_BIG  what came is not a reply
 * Threads  One client, one thread.
 */
#ifndef SW_CLI_CLIENT_H
#define SW_CLI_CLIENT_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_CLIENT_CONNECT_MS 5000
#define SW_CLIENT_REPLY_MS   60000
#define SW_CLIENT_DIAL_MS    180000                     /* somebody may be typing a password */
#define SW_CLIENT_MAX_LINE   ((size_t)64 * 1024 * 1024) /* a reply may be longer than a request */

struct sw_client;

/* One message of the daemon. line and tree are owned; result and params point into tree. */
struct sw_reply {
	char *line;
	cJSON *tree;
	const cJSON *result; /* of a response; NULL for a notification or an error */
	int64_t id;          /* of a response; 0 for a notification */
	const char *method;  /* of a notification */
	const cJSON *params;
};

#define SW_REPLY_INIT                                                                              \
	{                                                                                          \
		.line = NULL                                                                       \
	}

SW_NODISCARD sw_status sw_client_open(struct sw_client **out, const char *path, int timeout_ms,
				      struct sw_err *err);
/* To the daemon of another machine (cli/host.h), once that has answered. host is kept. Also SW_IO,
 * SW_NOMEM. */
SW_NODISCARD sw_status sw_client_dial(struct sw_client **out, const char *host, bool quiet,
				      struct sw_err *err);
/* Of a socket that is connected, which is taken. NULL: no memory. */
struct sw_client *sw_client_adopt(int fd);
void sw_client_close(struct sw_client *c); /* NULL is allowed */
int sw_client_fd(const struct sw_client *c);

/* Sends one request; params: JSON text of an object, or NULL. *id (never 0) names its response. */
SW_NODISCARD sw_status sw_client_send(struct sw_client *c, const char *method, const char *params,
				      int timeout_ms, int64_t *id, struct sw_err *err);

/* The next message. timeout_ms 0: only what is there, -1: no limit. An error response is
 * SW_INVALID with r->id set. r must be initialised (and is emptied first). */
SW_NODISCARD sw_status sw_client_read(struct sw_client *c, int timeout_ms, struct sw_reply *r,
				      struct sw_err *err);

/* Send, then read up to the response; notifications that come in between are dropped. */
SW_NODISCARD sw_status sw_client_call(struct sw_client *c, const char *method, const char *params,
				      int timeout_ms, struct sw_reply *r, struct sw_err *err);

void sw_client_reply_fini(struct sw_reply *r); /* may be used again afterwards */

#endif
