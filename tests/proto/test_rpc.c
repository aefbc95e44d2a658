/* tests/proto/test_rpc.c — the envelope, by the examples of the JSON-RPC 2.0 specification. */
#include "proto/json.h"
#include "proto/rpc.h"
#include "tests/run.h"

/* id: what an answer to it would carry; "-": a notification. */
static const struct {
	const char *text;
	const char *method, *params, *id;
} good[] = {
	{"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": [42, 23], \"id\": 1}",
	 "subtract", "[42,23]", "1"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": {\"subtrahend\": 23, "
	 "\"minuend\": 42}, \"id\": 3}",
	 "subtract", "{\"subtrahend\":23,\"minuend\":42}", "3"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"update\", \"params\": [1,2,3,4,5]}", "update",
	 "[1,2,3,4,5]", "-"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"foobar\"}", "foobar", "null", "-"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"foobar\", \"id\": \"1\"}", "foobar", "null",
	 "\"1\""},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": null}", "m", "null", "null"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": -1.5}", "m", "null", "-1.5"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": 9007199254740991}", "m", "null",
	 "9007199254740991"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": \"\", \"more\": 1}", "m", "null",
	 "\"\""},
};

static void written(const cJSON *v, struct sw_buf *b)
{
	struct sw_jw w;

	sw_jw_init(&w, b);
	sw_jw_cjson(&w, v);
}

TEST_ROWS(rpc_request_is_read, good)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_rpc_request r;
	struct sw_buf params, id;
	cJSON *v = NULL;

	sw_buf_init(&params, 1000);
	sw_buf_init(&id, 1000);
	ck_assert_int_eq(sw_json_parse(&v, good[_i].text, strlen(good[_i].text), &err), SW_OK);
	ck_assert_int_eq(sw_rpc_request_read(v, &r, &err), SW_OK);
	written(r.params, &params);
	written(r.id, &id);
	ck_assert_str_eq(r.method, good[_i].method);
	ck_assert_str_eq(params.data, good[_i].params);
	ck_assert_str_eq(r.id == NULL ? "-" : id.data, good[_i].id);
	sw_buf_fini(&params);
	sw_buf_fini(&id);
	cJSON_Delete(v);
}

static const struct {
	const char *text, *ptr, *msg, *id;
} bad[] = {
	{"1", "", "a request must be an object", "null"},
	{"[]", "", "a request must be an object", "null"},
	{"{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}", "/method",
	 "method must be a string", "null"},
	{"{\"foo\": \"boo\"}", "/jsonrpc", "jsonrpc must be \"2.0\"", "null"},
	{"{\"jsonrpc\": \"1.0\", \"method\": \"m\", \"id\": 4}", "/jsonrpc",
	 "jsonrpc must be \"2.0\"", "4"},
	{"{\"jsonrpc\": 2.0, \"method\": \"m\", \"id\": 4}", "/jsonrpc", "jsonrpc must be \"2.0\"",
	 "4"},
	{"{\"jsonrpc\": \"2.0\", \"id\": \"x\"}", "/method", "method is missing", "\"x\""},
	{"{\"jsonrpc\": \"2.0\", \"Method\": \"m\", \"id\": 1}", "/method", "method is missing",
	 "1"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"params\": 3, \"id\": 1}", "/params",
	 "params must be an object (or left out)", "1"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"params\": null, \"id\": 1}", "/params",
	 "params must be an object (or left out)", "1"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": {}}", "/id",
	 "id must be a string, a number or null", "null"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": true}", "/id",
	 "id must be a string, a number or null", "null"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": 9007199254740992}", "/id",
	 "id is a number of 2^53 or more, which may lose digits: use a string", "null"},
	{"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"id\": -9007199254740993}", "/id",
	 "id is a number of 2^53 or more, which may lose digits: use a string", "null"},
};

TEST_ROWS(rpc_bad_request_is_refused_with_its_id, bad)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_rpc_request r;
	struct sw_buf id;
	cJSON *v = NULL;

	sw_buf_init(&id, 100);
	ck_assert_int_eq(sw_json_parse(&v, bad[_i].text, strlen(bad[_i].text), &err), SW_OK);
	ck_assert_int_eq(sw_rpc_request_read(v, &r, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, bad[_i].msg);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	written(r.id, &id);
	ck_assert_str_eq(id.data, bad[_i].id);
	sw_buf_fini(&id);
	cJSON_Delete(v);
}

TEST(rpc_messages_are_written_as_the_standard_says)
{
	struct sw_err err = SW_ERR_INIT, bare = {.code = SW_NOT_FOUND};
	struct sw_buf b;
	cJSON *id = cJSON_CreateString("a\"b");

	sw_buf_init(&b, 4096);
	(void)!sw_err_at(&err, SW_INVALID, "/run_cap", "run_cap is \"0\"");
	sw_rpc_write_result(&b, id, "{\"ok\":true}");
	(void)sw_buf_adds(&b, "\n");
	sw_rpc_write_error(&b, NULL, SW_RPC_INVALID_PARAMS, &err);
	(void)sw_buf_adds(&b, "\n");
	sw_rpc_write_error(&b, id, sw_rpc_code(SW_NOT_FOUND), &bare);
	(void)sw_buf_adds(&b, "\n");
	sw_rpc_write_request(&b, 7, "sweep.get", "{\"sweep\":1}");
	(void)sw_buf_adds(&b, "\n");
	sw_rpc_write_request(&b, 8, "daemon.info", NULL);
	(void)sw_buf_adds(&b, "\n");
	sw_rpc_write_notification(&b, "sweep.update", "{}");
	ck_assert_str_eq(
		b.data,
		"{\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true},\"id\":\"a\\\"b\"}\n"
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32602,\"message\":\"run_cap is "
		"\\\"0\\\"\",\"data\":{\"pointer\":\"/run_cap\"}},\"id\":null}\n"
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no such "
		"thing\"},\"id\":\"a\\\"b\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sweep.get\",\"params\":{\"sweep\":1}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"daemon.info\"}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"sweep.update\",\"params\":{}}");
	cJSON_Delete(id);
	sw_buf_fini(&b);
}

static const struct {
	sw_status status;
	int code;
} codes[] = {
	{SW_PARSE, -32700},       {SW_INVALID, -32602},     {SW_NOT_FOUND, -32001},
	{SW_CONFLICT, -32002},    {SW_BUSY, -32003},        {SW_FULL, -32004},
	{SW_TOO_BIG, -32005},     {SW_DENIED, -32006},      {SW_NOMEM, -32603},
	{SW_IO, -32603},          {SW_DEVICE_LOST, -32603}, {SW_INTERNAL, -32603},
	{SW_UNSUPPORTED, -32603}, {SW_EXHAUSTED, -32002},
};

TEST_ROWS(rpc_status_travels_as_its_code, codes)
{
	ck_assert_int_eq(sw_rpc_code(codes[_i].status), codes[_i].code);
}

RUN_TESTS(NULL, NULL)
