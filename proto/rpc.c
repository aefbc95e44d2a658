#include "proto/rpc.h"
#include "proto/json.h"
#include <math.h>
#include <string.h>

/* An id must come back as it went: from 2^53 on, an integer may have been rounded already. */
static sw_status read_id(const cJSON *v, struct sw_rpc_request *out, struct sw_err *err)
{
	const cJSON *id = sw_json_get(v, "id");

	/* Without one it is a notification: nothing is answered. */
	if (id == NULL)
		return SW_OK;
	if (!cJSON_IsString(id) && !cJSON_IsNumber(id) && !cJSON_IsNull(id))
		return sw_err_at(err, SW_INVALID, "/id", "id must be a string, a number or null");
	if (cJSON_IsNumber(id) && fabs(id->valuedouble) > SW_JSON_MAX_INT)
		return sw_err_at(
			err, SW_INVALID, "/id",
			"id is a number of 2^53 or more, which may lose digits: use a string");
	/* Set before the rest is checked, so that a request that is refused has its id in the
	 * answer. */
	out->id = id;
	return SW_OK;
}

sw_status sw_rpc_request_read(const cJSON *v, struct sw_rpc_request *out, struct sw_err *err)
{
	*out = (struct sw_rpc_request){0};
	if (!cJSON_IsObject(v))
		return sw_err_set(err, SW_INVALID, "a request must be an object");
	const sw_status rc = read_id(v, out, err);
	if (rc != SW_OK)
		return rc;

	const cJSON *version = sw_json_get(v, "jsonrpc");
	const cJSON *method = sw_json_get(v, "method");
	const cJSON *params = sw_json_get(v, "params");
	if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
		return sw_err_at(err, SW_INVALID, "/jsonrpc", "jsonrpc must be \"2.0\"");
	if (method == NULL)
		return sw_err_at(err, SW_INVALID, "/method", "method is missing");
	if (!cJSON_IsString(method))
		return sw_err_at(err, SW_INVALID, "/method", "method must be a string");
	if (params != NULL && !cJSON_IsObject(params) && !cJSON_IsArray(params))
		return sw_err_at(err, SW_INVALID, "/params",
				 "params must be an object (or left out)");
	out->method = method->valuestring;
	out->params = params;
	return SW_OK;
}

int sw_rpc_code(sw_status status)
{
	switch (status) {
	case SW_OK:
		return 0;
	case SW_PARSE:
		return SW_RPC_PARSE_ERROR;
	case SW_INVALID:
		return SW_RPC_INVALID_PARAMS;
	case SW_NOT_FOUND:
		return SW_RPC_NOT_FOUND;
	case SW_CONFLICT:
	case SW_EXHAUSTED:
		return SW_RPC_CONFLICT;
	case SW_BUSY:
		return SW_RPC_BUSY;
	case SW_TOO_BIG:
		return SW_RPC_LIMIT;
	case SW_DENIED:
		return SW_RPC_DENIED;
	case SW_FULL:
		return SW_RPC_DISK_FULL;
	case SW_NOMEM:
	case SW_IO:
	case SW_DAMAGED:
	case SW_DEVICE_LOST:
	case SW_PEER_LOST:
	case SW_UNSUPPORTED:
	case SW_INTERNAL:
		return SW_RPC_INTERNAL_ERROR;
	}
	return SW_RPC_INTERNAL_ERROR;
}

static void start_message(struct sw_jw *w, struct sw_buf *b)
{
	sw_jw_init_obj(w, b);
	sw_jw_kstr(w, "jsonrpc", "2.0");
}

static void write_id(struct sw_jw *w, const cJSON *id)
{
	sw_jw_key(w, "id");
	sw_jw_cjson(w, id);
}

void sw_rpc_write_result(struct sw_buf *b, const cJSON *id, const char *result)
{
	struct sw_jw w;

	start_message(&w, b);
	sw_jw_kraw(&w, "result", result);
	write_id(&w, id);
	sw_jw_obj_end(&w);
}

static const char *line_of(const struct sw_err *err)
{
	return err->msg[0] != '\0' ? err->msg : sw_status_str(err->code);
}

static void write_faults(struct sw_jw *w, const struct sw_err *list, size_t n, size_t more)
{
	sw_jw_karr(w, "faults");
	for (size_t i = 0; i < n; i++) {
		sw_jw_obj(w);
		sw_jw_kstr(w, "pointer", list[i].ptr);
		sw_jw_kstr(w, "message", line_of(&list[i]));
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
	sw_jw_kint(w, "more", (int64_t)more);
}

void sw_rpc_write_error(struct sw_buf *b, const cJSON *id, int code, const struct sw_err *err)
{
	sw_rpc_write_errors(b, id, code, err, 1, 0);
}

void sw_rpc_write_errors(struct sw_buf *b, const cJSON *id, int code, const struct sw_err *err,
			 size_t n, size_t more)
{
	struct sw_jw w;

	start_message(&w, b);
	sw_jw_kobj(&w, "error");
	sw_jw_kint(&w, "code", code);
	sw_jw_kstr(&w, "message", line_of(err));
	if (err->ptr[0] != '\0' || n > 1) {
		sw_jw_kobj(&w, "data");
		sw_jw_kstr(&w, "pointer", err->ptr);
		if (n > 1)
			write_faults(&w, err, n, more);
		sw_jw_obj_end(&w);
	}
	sw_jw_obj_end(&w);
	write_id(&w, id);
	sw_jw_obj_end(&w);
}

static void write_call(struct sw_jw *w, const char *method, const char *params)
{
	sw_jw_kstr(w, "method", method);
	if (params != NULL)
		sw_jw_kraw(w, "params", params);
	sw_jw_obj_end(w);
}

void sw_rpc_write_request(struct sw_buf *b, int64_t id, const char *method, const char *params)
{
	struct sw_jw w;

	start_message(&w, b);
	sw_jw_kint(&w, "id", id);
	write_call(&w, method, params);
}

void sw_rpc_write_notification(struct sw_buf *b, const char *method, const char *params)
{
	struct sw_jw w;

	start_message(&w, b);
	write_call(&w, method, params);
}
