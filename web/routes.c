#include "web/routes.h"
#include "base/memory.h"
#include "cli/allowed.h"
#include "cli/pass_env.h"
#include "cli/spec_file.h"
#include "plot/write.h"
#include "proto/json.h"
#include "web/files.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE      "/index.html"
#define READ_ONLY "this page is read-only (sweep web --read-only)"

/* --- calls --- */

/* A refusal of the daemon is an answer, as on the socket: its error stands in it. */
static enum MHD_Result pass_on(struct sw_request *r)
{
	return sw_http_reply(r, 200, "application/json", r->call.reply.line);
}

/* JSON of the page's as an object, the caller's. NULL: it is none, and err says why. */
static cJSON *read_object(const char *text, struct sw_err *err)
{
	cJSON *tree = NULL;

	if (sw_json_parse(&tree, text, strlen(text), err) == SW_OK && cJSON_IsObject(tree))
		return tree;
	cJSON_Delete(tree);
	if (err->code == SW_OK)
		(void)sw_err_set(err, SW_INVALID, "no JSON object");
	return NULL;
}

/* Asks with an object, which is taken: written anew, for a line break would end the message. */
static enum MHD_Result ask(struct sw_request *r, struct sw_link *link, const char *method,
			   cJSON *params, bool changes,
			   enum MHD_Result (*respond)(struct sw_request *r))
{
	char *text = cJSON_PrintUnformatted(params);

	cJSON_Delete(params);
	return text != NULL ? sw_http_ask(r, link, method, text, changes, respond) : MHD_NO;
}

static enum MHD_Result call_method(struct sw_request *r, struct sw_web *web, const char *name)
{
	const struct sw_allowed *allowed = sw_allowed_find(name, SW_ALLOWED_PAGE);
	const bool changes = allowed != NULL && (allowed->is & SW_ALLOWED_CHANGES) != 0;
	struct sw_err err = SW_ERR_INIT;

	if (allowed == NULL)
		return sw_http_refuse(r, 404, "the page does not call that method");
	if (changes && web->read_only)
		return sw_http_refuse(r, 403, READ_ONLY);
	if (sw_buf_adds(&r->body, r->body.len == 0 ? "{}" : "") != SW_OK)
		return MHD_NO;
	cJSON *params = read_object(r->body.data, &err);
	if (params == NULL)
		return sw_http_refuse(r, 400, err.msg);
	return ask(r, (allowed->is & SW_ALLOWED_SLOW) != 0 ? web->plots : &web->quick,
		   allowed->method, params, changes, pass_on);
}

/* --- plots --- */

static enum MHD_Result draw(struct sw_request *r)
{
	const char *text = sw_json_text(r->call.reply.result, "text", "");

	if (r->call.rc != SW_OK) /* what is saved as a file is no refusal */
		return sw_http_query(r, "whole") != NULL ? sw_http_refuse(r, 404, r->call.err.msg)
							 : pass_on(r);
	return sw_http_reply(r, 200,
			     strstr(r->path, ".csv") != NULL ? "text/csv; charset=utf-8"
							     : "image/svg+xml",
			     text);
}

/* The style sheet of all drawings. */
static enum MHD_Result plot_style(struct sw_request *r)
{
	struct sw_buf b;

	sw_buf_init(&b, 65536);
	sw_plot_svg_style(&b);
	return sw_http_reply_buf(r, 200, "text/css; charset=utf-8", &b);
}

static enum MHD_Result plot(struct sw_request *r, struct sw_web *web, uint64_t sweep,
			    const char *kind, const char *format)
{
	const char *text = sw_http_query(r, "ask");
	struct sw_err err = SW_ERR_INIT;
	cJSON *params = read_object(text != NULL ? text : "{}", &err);

	if (params == NULL)
		return sw_http_refuse(r, 400, err.msg);
	(void)cJSON_AddNumberToObject(params, "sweep", (double)sweep);
	(void)cJSON_AddStringToObject(params, "plot", kind);
	(void)cJSON_AddStringToObject(params, "format", format);
	/* The page has a title and a style sheet: its policy takes none inside a document. */
	(void)cJSON_AddBoolToObject(params, "bare", sw_http_query(r, "whole") == NULL);
	return ask(r, web->plots, "sweep.plot", params, false, draw);
}

/* --- a checkpoint --- */

static enum MHD_Result send_file(struct sw_request *r)
{
	const struct sw_web *web = r->http->arg;
	const char *path = sw_json_text(r->call.reply.result, "path", "");
	const char *name = strrchr(path, '/');
	char disposition[300];
	struct stat st;

	if (r->call.rc != SW_OK)
		return sw_http_refuse(r, 404, r->call.err.msg);
	const int fd =
		web->host != NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			(void)close(fd);
		return sw_http_refuse(r, 404, "it is no file of this machine");
	}
	struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
	(void)snprintf(disposition, sizeof disposition, "attachment; filename=\"%.200s\"",
		       name != NULL ? name + 1 : "checkpoint");
	if (response == NULL) {
		(void)close(fd);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, "Content-Type", "application/octet-stream");
	(void)MHD_add_response_header(response, "Content-Disposition", disposition);
	return sw_http_send(r, 200, response);
}

static enum MHD_Result checkpoint(struct sw_request *r, struct sw_web *web, uint64_t sweep,
				  uint64_t trial)
{
	char params[96];

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"trial\":%" PRIu64 "}",
		       sweep, trial);
	return sw_http_ask(r, &web->quick, "trial.checkpoint", sw_strdup(params), false, send_file);
}

/* --- a spec --- */

/* The daemon's answer with the faults' places as they were written: [{place, message}]. */
static enum MHD_Result judge_spec(struct sw_request *r)
{
	const cJSON *error = sw_json_get(r->call.reply.tree, "error");
	const cJSON *data = sw_json_get(error, "data"), *fault = NULL;
	struct sw_place_source source = {.text = r->body, .form = SW_PLACE_YAML};
	char place[256];
	struct sw_buf b;
	struct sw_jw w;

	if (r->call.rc == SW_OK)
		return pass_on(r);
	sw_buf_init(&b, (size_t)1 << 20);
	sw_jw_init_obj(&w, &b);
	sw_jw_kobj(&w, "error");
	sw_jw_kstr(&w, "message", sw_json_text(error, "message", "refused"));
	sw_jw_karr(&w, "faults");
	const cJSON *faults = sw_json_get(data, "faults");
	for (fault = faults != NULL ? faults->child : data; fault != NULL;
	     fault = faults != NULL ? fault->next : NULL) {
		const char *ptr = sw_json_text(fault, "pointer", "");
		if (strncmp(ptr, "/spec", 5) == 0)
			ptr += 5;
		sw_place_write(&source, ptr, place, sizeof place);
		sw_jw_obj(&w);
		sw_jw_kstr(&w, "place", place);
		sw_jw_kstr(&w, "message",
			   sw_json_text(faults != NULL ? fault : error, "message", ""));
		sw_jw_obj_end(&w);
	}
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
	sw_jw_obj_end(&w);
	return sw_http_reply_buf(r, 200, "application/json", &b);
}

static enum MHD_Result spec(struct sw_request *r, struct sw_web *web, bool submit)
{
	struct sw_cli cli = {.args = {.host = web->host}};
	struct sw_err err = SW_ERR_INIT;
	cJSON *tree = NULL;
	struct sw_buf b;
	struct sw_jw w;

	if (submit && web->read_only)
		return sw_http_refuse(r, 403, READ_ONLY);
	if (sw_buf_adds(&r->body, "") != SW_OK) /* text for what follows, though it be empty */
		return MHD_NO;
	if (sw_spec_file_parse(&tree, &r->body, "-", "spec", web->host != NULL, &err) != SW_OK) {
		cJSON_Delete(tree);
		return sw_http_refuse(r, 200, err.msg);
	}
	sw_buf_init(&b, 2 * SW_HTTP_BODY);
	sw_jw_init_obj(&w, &b);
	sw_jw_key(&w, "spec");
	sw_jw_cjson(&w, tree);
	sw_pass_env_write(&cli, &w, tree);
	sw_jw_obj_end(&w);
	cJSON_Delete(tree);
	char *params = b.failed == SW_OK ? sw_buf_take(&b, NULL) : NULL;
	sw_buf_fini(&b);
	if (params == NULL)
		return MHD_NO;
	return sw_http_ask(r, web->plots, submit ? "sweep.submit" : "sweep.validate", params,
			   submit, judge_spec);
}

/* --- the page itself --- */

static enum MHD_Result about(struct sw_request *r, const struct sw_web *web)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 4096);
	sw_jw_init_obj(&w, &b);
	sw_jw_kbool(&w, "read_only", web->read_only);
	sw_jw_kstr(&w, "host", web->host);
	sw_jw_kstr(&w, "socket", web->socket);
	sw_jw_obj_end(&w);
	return sw_http_reply_buf(r, 200, "application/json", &b);
}

/* Moves over `before` and a number behind it. */
static bool take_number(const char **path, const char *before, uint64_t *out)
{
	char *end;

	if (strncmp(*path, before, strlen(before)) != 0)
		return false;
	*path += strlen(before);
	if (**path < '1' || **path > '9')
		return false;
	*out = strtoull(*path, &end, 10);
	*path = end;
	return *out <= (uint64_t)SW_JSON_MAX_INT;
}

/* What lies below a sweep: the page's views of it, its plots, its trials. */
static enum MHD_Result get_sweep(struct sw_request *r, struct sw_web *web)
{
	const char *path = r->path;
	uint64_t sweep, trial;
	char kind[24], format[4];
	int end = 0;

	if (!take_number(&path, "/sweep/", &sweep))
		return sw_web_files_send(r, r->path); /* there is none */
	if (*path == '\0')
		return sw_web_files_send(r, PAGE);
	if (sscanf(path, "/plot/%23[a-z].%3[a-z]%n", kind, format, &end) == 2 &&
	    path[end] == '\0' && (strcmp(format, "svg") == 0 || strcmp(format, "csv") == 0))
		return plot(r, web, sweep, kind, format);
	if (!take_number(&path, "/trial/", &trial))
		return sw_web_files_send(r, r->path);
	if (*path == '\0')
		return sw_web_files_send(r, PAGE);
	return strcmp(path, "/checkpoint") == 0 ? checkpoint(r, web, sweep, trial)
						: sw_web_files_send(r, r->path);
}

static enum MHD_Result get(struct sw_request *r, struct sw_web *web)
{
	const char *path = r->path;

	if (strncmp(path, "/sweep/", 7) == 0)
		return get_sweep(r, web);
	if (strcmp(path, "/") == 0 || strcmp(path, "/compare") == 0 || strcmp(path, "/new") == 0)
		return sw_web_files_send(r, PAGE);
	if (strcmp(path, "/favicon.ico") == 0) /* of a page that names none */
		return sw_web_files_send(r, "/icon.svg");
	if (strcmp(path, "/about") == 0)
		return about(r, web);
	if (strcmp(path, "/events") == 0)
		return sw_events_open(&web->events, r);
	return strcmp(path, "/plot.css") == 0 ? plot_style(r) : sw_web_files_send(r, path);
}

enum MHD_Result sw_web_route(struct sw_request *r, void *arg)
{
	struct sw_web *web = arg;

	if (strcmp(r->method, "GET") == 0)
		return get(r, web);
	if (strncmp(r->path, "/call/", 6) == 0)
		return call_method(r, web, r->path + 6);
	if (strcmp(r->path, "/spec/validate") == 0)
		return spec(r, web, false);
	if (strcmp(r->path, "/spec/submit") == 0)
		return spec(r, web, true);
	return sw_http_refuse(r, 404, "the page has nothing there");
}
