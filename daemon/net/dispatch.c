#include "daemon/net/dispatch.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "proto/json.h"
#include "proto/methods.h"
#include "proto/nearest.h"
#include "proto/rpc.h"
#include <string.h>

#define ENTRY(name, fn) {name, sw_handle_##fn},
static const struct {
	const char *name;
	sw_handler *fn;
} handlers[] = {SW_HANDLERS(ENTRY)};
#undef ENTRY

#define HANDLER_N (sizeof handlers / sizeof handlers[0])
#define BATCH_MAX 1000

static sw_handler *find_handler(const char *name)
{
	for (size_t i = 0; i < HANDLER_N; i++)
		if (strcmp(handlers[i].name, name) == 0)
			return handlers[i].fn;
	return NULL;
}

sw_status sw_dispatch_verify(const struct sw_daemon *d, struct sw_err *err)
{
	for (size_t i = 0; i < sw_methods_size(d->methods); i++)
		if (find_handler(sw_methods_name(d->methods, i)) == NULL)
			return sw_err_set(err, SW_INTERNAL, "methods.json: %s has no handler",
					  sw_methods_name(d->methods, i));
	for (size_t i = 0; i < HANDLER_N; i++)
		if (sw_methods_find(d->methods, handlers[i].name) < 0)
			return sw_err_set(err, SW_INTERNAL, "%s is not in methods.json",
					  handlers[i].name);
	return SW_OK;
}

static void unknown_method(struct sw_call *call, const char *method)
{
	const char *names[HANDLER_N];
	struct sw_err err = SW_ERR_INIT;

	for (size_t i = 0; i < HANDLER_N; i++)
		names[i] = handlers[i].name;
	const char *near = sw_nearest(method, names, HANDLER_N);
	if (near != NULL)
		(void)sw_err_set(&err, SW_NOT_FOUND,
				 "unknown method \"%.64s\"; did you mean \"%s\"?", method, near);
	else
		(void)sw_err_set(&err, SW_NOT_FOUND,
				 "unknown method \"%.64s\"; rpc.discover lists them", method);
	sw_call_error_code(call, SW_RPC_METHOD_NOT_FOUND, &err);
}

/* Errors of the envelope are answered even without an id: the standard wants "id": null there. */
static void envelope_error(struct sw_conn *c, struct sw_message *m, const cJSON *id, int code,
			   const struct sw_err *err)
{
	c->d->n_errors++;
	if (m->batch)
		(void)sw_buf_adds(&m->out, m->out.len == 0 ? "[" : ",");
	sw_rpc_write_error(&m->out, id, code, err);
}

static void start_request(struct sw_conn *c, struct sw_message *m, const cJSON *v)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_rpc_request req;
	struct sw_call *call;

	c->d->n_requests++;
	if (sw_rpc_request_read(v, &req, &err) != SW_OK) {
		envelope_error(c, m, req.id, SW_RPC_INVALID_REQUEST, &err);
		return;
	}
	call = sw_call_create(c, m, req.id, req.params);
	if (call == NULL) {
		sw_conn_close(c);
		return;
	}
	const int method = sw_methods_find(c->d->methods, req.method);
	if (method < 0)
		unknown_method(call, req.method);
	else if (sw_methods_check(c->d->methods, (size_t)method, req.params, &err) != SW_OK)
		sw_call_error(call, &err);
	else
		find_handler(req.method)(call);
}

void sw_dispatch_line(struct sw_conn *c, struct sw_message *m, const char *line, size_t len)
{
	struct sw_err err = SW_ERR_INIT;

	if (sw_json_parse(&m->tree, line, len, &err) != SW_OK) {
		envelope_error(c, m, NULL, sw_rpc_code(err.code), &err);
		return;
	}
	if (!cJSON_IsArray(m->tree)) {
		start_request(c, m, m->tree);
		return;
	}
	const int n = cJSON_GetArraySize(m->tree);
	if (n == 0)
		(void)sw_err_set(&err, SW_INVALID, "an empty batch");
	else if (n > BATCH_MAX)
		(void)sw_err_set(&err, SW_TOO_BIG, "a batch of %d requests; at most %d are allowed",
				 n, BATCH_MAX);
	if (err.code != SW_OK) {
		envelope_error(c, m, NULL, n == 0 ? SW_RPC_INVALID_REQUEST : SW_RPC_LIMIT, &err);
		return;
	}
	m->batch = true;
	m->rest = m->tree->child;
	sw_dispatch_rest(c, m);
}

void sw_dispatch_rest(struct sw_conn *c, struct sw_message *m)
{
	do {
		const cJSON *v = m->rest;

		m->rest = v->next;
		start_request(c, m, v);
	} while (m->rest != NULL && !c->closing && !sw_conn_turn_over(c));
}
