/*
 * cli/verb_mcp.c — `mcp`: methods of the socket as tools of the Model Context Protocol, revision
 * 2025-06-18 (modelcontextprotocol.io/specification): JSON-RPC 2.0 on stdin and stdout, a message a
 * line. A host (an editor, a chat) starts it, lists the tools, and calls them for its model.
 *
 * What a tool takes is what proto/methods.json says of its method; what it answers is the daemon's
 * result, or its refusal as the tool's error, for the model to read. Without --write the tools that
 * change something are not there. Which of them end something for good is said to the host, which
 * asks its user.
 */
#include "cli/allowed.h"
#include "cli/pass_env.h"
#include "cli/spec_file.h"
#include "cli/spec_path.h"
#include "cli/verb.h"
#include "proto/methods.h"
#include <string.h>
#include <unistd.h>

#define REVISION "2025-06-18"

/* JSON-RPC 2.0, section 5.1 */
#define NO_JSON   (-32700)
#define NO_METHOD (-32601)
#define NO_PARAMS (-32602)

/* --- messages --- */

/* The next line; its end is cut off. False: stdin has ended, or there is no memory. One over the
 * limit is read to its end, and is no JSON. */
static bool read_line(struct sw_buf *b)
{
	int c;

	sw_buf_fini(b);
	sw_buf_init(b, SW_SPEC_FILE_MAX);
	while ((c = getchar()) != EOF && c != '\n') {
		const char byte = (char)c;
		(void)sw_buf_add(b, &byte, 1);
	}
	return c != EOF;
}

static void begin(struct sw_cli *c, struct sw_jw *w, const cJSON *id)
{
	sw_jw_init_obj(w, &c->out);
	sw_jw_kstr(w, "jsonrpc", "2.0");
	sw_jw_key(w, "id");
	sw_jw_cjson(w, id); /* null for a message that could not be read */
}

/* Writes the answer. False: nobody reads it. */
static bool end(struct sw_cli *c, struct sw_jw *w)
{
	sw_jw_obj_end(w);
	(void)sw_buf_adds(&c->out, "\n");
	return sw_cli_flush(c) == SW_EXIT_DONE;
}

static bool refuse(struct sw_cli *c, const cJSON *id, int code, const char *message)
{
	struct sw_jw w;

	begin(c, &w, id);
	sw_jw_kobj(&w, "error");
	sw_jw_kint(&w, "code", code);
	sw_jw_kstr(&w, "message", message);
	sw_jw_obj_end(&w);
	return end(c, &w);
}

/* --- what there is --- */

static void initialize(struct sw_jw *w, const cJSON *params)
{
	static const char *const known[] = {REVISION, "2025-03-26", "2024-11-05"};
	const char *wants = sw_json_text(params, "protocolVersion", ""), *revision = REVISION;

	/* What is used here is the same in all of them. */
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		revision = strcmp(wants, known[i]) == 0 ? known[i] : revision;
	sw_jw_kstr(w, "protocolVersion", revision);
	sw_jw_kraw(w, "capabilities", "{\"tools\":{}}");
	sw_jw_kraw(w, "serverInfo", "{\"name\":\"sweepd\",\"version\":\"" SW_VERSION "\"}");
}

static bool is_tool(const struct sw_allowed *a, bool write)
{
	return (a->is & SW_ALLOWED_TOOL) != 0 && (write || (a->is & SW_ALLOWED_CHANGES) == 0);
}

/* "sweep.best" as the name of a tool, which has no points. */
static void name_of(const struct sw_allowed *tool, char out[32])
{
	(void)snprintf(out, 32, "%s", tool->method);
	*strchr(out, '.') = '_';
}

/* Is that parameter no model's to give: of a terminal, or filled in here? */
static bool is_hidden(const char *name)
{
	return strcmp(name, "env") == 0 || strcmp(name, "columns") == 0 ||
	       strcmp(name, "color") == 0 || strcmp(name, "ascii") == 0;
}

static void describe(struct sw_jw *w, const struct sw_allowed *tool, const cJSON *method)
{
	const cJSON *p, *params = sw_json_get(method, "params");
	char name[32];

	name_of(tool, name);
	sw_jw_obj(w);
	sw_jw_kstr(w, "name", name);
	sw_jw_kstr(w, "description", sw_json_text(method, "summary", ""));
	sw_jw_kobj(w, "inputSchema");
	sw_jw_kstr(w, "type", "object");
	sw_jw_kobj(w, "properties");
	cJSON_ArrayForEach (p, params) {
		cJSON *schema = cJSON_GetObjectItemCaseSensitive(p, "schema");
		if (is_hidden(sw_json_text(p, "name", "")))
			continue;
		(void)cJSON_AddStringToObject(schema, "description",
					      sw_json_text(p, "description", ""));
		sw_jw_key(w, sw_json_text(p, "name", ""));
		sw_jw_cjson(w, schema);
	}
	sw_jw_obj_end(w);
	sw_jw_karr(w, "required");
	cJSON_ArrayForEach (p, params)
		if (cJSON_IsTrue(sw_json_get(p, "required")))
			sw_jw_str(w, sw_json_text(p, "name", ""));
	sw_jw_arr_end(w);
	sw_jw_kbool(w, "additionalProperties", false);
	sw_jw_obj_end(w);
	sw_jw_kobj(w, "annotations");
	sw_jw_kbool(w, "readOnlyHint", (tool->is & SW_ALLOWED_CHANGES) == 0);
	sw_jw_kbool(w, "destructiveHint", (tool->is & SW_ALLOWED_ENDS) != 0);
	sw_jw_obj_end(w);
	sw_jw_obj_end(w);
}

static void list(struct sw_jw *w, bool write)
{
	cJSON *document = NULL;
	const cJSON *method;
	size_t n;
	const char *text = sw_methods_openrpc(&n);

	sw_jw_karr(w, "tools");
	if (sw_json_parse(&document, text, n, NULL) == SW_OK) /* else there is no memory */
		for (const struct sw_allowed *tool = sw_allowed; tool->method != NULL; tool++)
			cJSON_ArrayForEach (method, sw_json_get(document, "methods"))
				if (strcmp(sw_json_text(method, "name", ""), tool->method) == 0 &&
				    is_tool(tool, write))
					describe(w, tool, method);
	cJSON_Delete(document);
	sw_jw_arr_end(w);
}

/* --- calls --- */

/* The method's params: the arguments, and what `sweep` itself would add. SW_NOMEM, SW_IO. */
static sw_status write_params(struct sw_cli *c, const struct sw_allowed *tool,
			      const cJSON *arguments, struct sw_buf *out, struct sw_err *err)
{
	cJSON *spec = cJSON_GetObjectItemCaseSensitive(arguments, "spec");
	sw_status rc = SW_OK;
	const cJSON *v;
	struct sw_jw w;

	if (cJSON_IsObject(spec) && c->args.host == NULL)
		rc = sw_spec_path_absolute(spec, NULL, err);
	sw_jw_init_obj(&w, out);
	cJSON_ArrayForEach (v, arguments)
		if (!is_hidden(v->string)) {
			sw_jw_key(&w, v->string);
			sw_jw_cjson(&w, v);
		}
	if (spec != NULL)
		sw_pass_env_write(c, &w, spec);
	if (strcmp(tool->method, "sweep.plot") == 0 && sw_json_get(arguments, "format") == NULL)
		sw_jw_kstr(&w, "format", "svg");
	sw_jw_obj_end(&w);
	return rc != SW_OK ? rc : out->failed;
}

/* A drawing is a resource of its own kind; all else is JSON as text, a refusal too. */
static void write_content(struct sw_jw *w, const struct sw_allowed *tool, const cJSON *arguments,
			  const cJSON *told)
{
	const char *svg = sw_json_text(told, "text", "");
	struct sw_buf text;
	struct sw_jw inner;
	char uri[200];

	if (strcmp(tool->method, "sweep.plot") == 0 && strncmp(svg, "<svg", 4) == 0) {
		(void)snprintf(uri, sizeof uri, "sweepd:/sweep/%.0f/plot/%.64s.svg",
			       cJSON_GetNumberValue(sw_json_get(arguments, "sweep")),
			       sw_json_text(arguments, "plot", "history"));
		sw_jw_kstr(w, "type", "resource");
		sw_jw_kobj(w, "resource");
		sw_jw_kstr(w, "uri", uri);
		sw_jw_kstr(w, "mimeType", "image/svg+xml");
		sw_jw_kstr(w, "text", svg);
		sw_jw_obj_end(w);
		return;
	}
	sw_buf_init(&text, 2 * SW_CLIENT_MAX_LINE);
	sw_jw_init(&inner, &text);
	sw_jw_cjson(&inner, told);
	sw_jw_kstr(w, "type", "text");
	sw_jw_kstr(w, "text", text.failed == SW_OK ? text.data : "out of memory");
	sw_buf_fini(&text);
}

static void call(struct sw_cli *c, struct sw_jw *w, const struct sw_allowed *tool,
		 const cJSON *arguments)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf params;

	sw_buf_init(&params, SW_SPEC_FILE_MAX);
	sw_status rc = write_params(c, tool, arguments, &params, &err);
	if (rc == SW_OK)
		rc = sw_cli_ask(c, tool->method, params.data, &r, &err);
	sw_buf_fini(&params);
	const cJSON *told = rc == SW_OK ? r.result : sw_json_get(r.tree, "error");
	sw_jw_karr(w, "content");
	sw_jw_obj(w);
	if (told != NULL) {
		write_content(w, tool, arguments, told);
	} else {
		sw_jw_kstr(w, "type", "text");
		sw_jw_kstr(w, "text",
			   rc == SW_NOT_FOUND ? "no daemon is there: start one with `sweepd`"
					      : err.msg);
	}
	sw_jw_obj_end(w);
	sw_jw_arr_end(w);
	sw_jw_kbool(w, "isError", rc != SW_OK);
	if (rc != SW_OK && rc != SW_INVALID) { /* the next call connects anew */
		sw_client_close(c->client);
		c->client = NULL;
	}
	sw_client_reply_fini(&r);
}

/* Answers a request. False: nobody reads it. */
static bool take_request(struct sw_cli *c, const cJSON *id, const char *method, const cJSON *params)
{
	const bool write = (c->args.given & SW_OPT_WRITE) != 0;
	const char *wants = sw_json_text(params, "name", "");
	const cJSON *arguments = sw_json_get(params, "arguments");
	const struct sw_allowed *tool = sw_allowed;
	char name[32] = "";
	struct sw_jw w;

	if (strcmp(method, "tools/call") == 0) {
		for (; tool->method != NULL; tool++) {
			name_of(tool, name);
			if (is_tool(tool, true) && strcmp(name, wants) == 0)
				break;
		}
		if (tool->method == NULL)
			return refuse(c, id, NO_PARAMS, "there is no such tool");
		if (!is_tool(tool, write))
			return refuse(c, id, NO_PARAMS,
				      "it changes something, and this is read-only: `sweep mcp "
				      "--write`");
		if (arguments != NULL && !cJSON_IsNull(arguments) && !cJSON_IsObject(arguments))
			return refuse(c, id, NO_PARAMS, "\"arguments\" is no object");
	} else if (strcmp(method, "initialize") != 0 && strcmp(method, "ping") != 0 &&
		   strcmp(method, "tools/list") != 0) {
		return refuse(c, id, NO_METHOD, "this server has tools alone");
	}
	begin(c, &w, id);
	sw_jw_kobj(&w, "result");
	if (strcmp(method, "initialize") == 0)
		initialize(&w, params);
	else if (strcmp(method, "tools/list") == 0)
		list(&w, write);
	else if (strcmp(method, "tools/call") == 0)
		call(c, &w, tool, arguments);
	sw_jw_obj_end(&w);
	return end(c, &w);
}

int sw_verb_mcp(struct sw_cli *c)
{
	bool goes_on = true;
	struct sw_buf line;
	cJSON *message;

	if (isatty(STDIN_FILENO))
		sw_cli_say(c, "mcp: a host starts this; it reads messages from stdin");
	sw_buf_init(&line, 0);
	while (goes_on && read_line(&line)) {
		message = NULL;
		if (line.failed != SW_OK ||
		    sw_json_parse(&message, line.data, line.len, NULL) != SW_OK ||
		    !cJSON_IsObject(message))
			goes_on = refuse(c, NULL, NO_JSON, "a message is a JSON object on a line");
		else if (sw_json_get(message, "id") != NULL) /* a notification has no answer */
			goes_on = take_request(c, sw_json_get(message, "id"),
					       sw_json_text(message, "method", ""),
					       sw_json_get(message, "params"));
		cJSON_Delete(message);
	}
	sw_buf_fini(&line);
	return SW_EXIT_DONE;
}
