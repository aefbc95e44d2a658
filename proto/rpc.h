/*
 * proto/rpc.h — the JSON-RPC 2.0 envelope (jsonrpc.org/specification), both directions.
 *
 * A message is one JSON text: a request, a notification (no id), a response, or a batch (array).
 * Nothing here knows methods or sockets.
 */
#ifndef SW_PROTO_RPC_H
#define SW_PROTO_RPC_H

#include "base/buf.h"
#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdint.h>

#define SW_RPC_PARSE_ERROR      (-32700)
#define SW_RPC_INVALID_REQUEST  (-32600)
#define SW_RPC_METHOD_NOT_FOUND (-32601)
#define SW_RPC_INVALID_PARAMS   (-32602)
#define SW_RPC_INTERNAL_ERROR   (-32603)
#define SW_RPC_NOT_FOUND        (-32001)
#define SW_RPC_CONFLICT         (-32002)
#define SW_RPC_BUSY             (-32003)
#define SW_RPC_DISK_FULL        (-32004)
#define SW_RPC_LIMIT            (-32005)
#define SW_RPC_DENIED           (-32006)

struct sw_rpc_request {
	const char *method;  /* borrowed from the tree */
	const cJSON *params; /* object, array or NULL; borrowed */
	const cJSON *id; /* string, number or null value; NULL pointer: a notification; borrowed */
};

/* Checks one element of a message as a request. On SW_INVALID out->id holds the id where one could
 * be read (else NULL: answer with id null), and err says what is wrong. Positional params (an
 * array) pass here; sw_methods_check() refuses them. */
SW_NODISCARD sw_status sw_rpc_request_read(const cJSON *v, struct sw_rpc_request *out,
					   struct sw_err *err);

/* The JSON-RPC code that a status travels as. */
int sw_rpc_code(sw_status status);

/* Each appends one message without a newline. id NULL writes null. result: JSON text. */
void sw_rpc_write_result(struct sw_buf *b, const cJSON *id, const char *result);
/* error {code, message, data: {pointer}}; data only when err->ptr is not empty. */
void sw_rpc_write_error(struct sw_buf *b, const cJSON *id, int code, const struct sw_err *err);
/* The same of the first of n errors; if there are several, data.faults has them all, and data.more
 * how many more there are. */
void sw_rpc_write_errors(struct sw_buf *b, const cJSON *id, int code, const struct sw_err *list,
			 size_t n, size_t more);
/* params: JSON text of an object, or NULL. */
void sw_rpc_write_request(struct sw_buf *b, int64_t id, const char *method, const char *params);
void sw_rpc_write_notification(struct sw_buf *b, const char *method, const char *params);

#endif
