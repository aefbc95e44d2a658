#include "web/http.h"
#include "base/memory.h"
#include "proto/json.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TIMEOUT_S 10U
#define MEMORY    ((size_t)32 * 1024)
#define OTHERS    64U /* files of this process that are no connection of a browser */

/* Nothing but what this process serves, no script or style inside the page, no form, no frame: a
 * name or a log line that became markup would do nothing. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* --- answers --- */

enum MHD_Result sw_http_send(struct sw_request *r, unsigned status, struct MHD_Response *response)
{
	static const char *const headers[][2] = {
		{"Content-Security-Policy", POLICY},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};

	if (response == NULL)
		return MHD_NO; /* no memory: the connection ends */
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		(void)MHD_add_response_header(response, headers[i][0], headers[i][1]);
	const enum MHD_Result rc = MHD_queue_response(r->conn, status, response);
	MHD_destroy_response(response);
	return rc;
}

enum MHD_Result sw_http_reply(struct sw_request *r, unsigned status, const char *type,
			      const char *text)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);

	if (response != NULL) {
		(void)MHD_add_response_header(response, "Content-Type", type);
		/* What the daemon says is true now alone. */
		(void)MHD_add_response_header(response, "Cache-Control", "no-store");
	}
	return sw_http_send(r, status, response);
}

enum MHD_Result sw_http_reply_buf(struct sw_request *r, unsigned status, const char *type,
				  struct sw_buf *b)
{
	/* Without memory the connection ends. */
	const enum MHD_Result rc = b->failed == SW_OK ? sw_http_reply(r, status, type, b->data)
						      : MHD_NO;

	sw_buf_fini(b);
	return rc;
}

enum MHD_Result sw_http_refuse(struct sw_request *r, unsigned status, const char *message)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 8192);
	sw_jw_init_obj(&w, &b);
	sw_jw_kobj(&w, "error");
	sw_jw_kstr(&w, "message", message);
	sw_jw_obj_end(&w);
	sw_jw_obj_end(&w);
	return sw_http_reply_buf(r, status, "application/json", &b);
}

/* --- asking the daemon --- */

static void call_done(struct sw_link_call *call)
{
	struct sw_request *r =
		(struct sw_request *)(void *)((char *)call - offsetof(struct sw_request, call));

	MHD_resume_connection(r->conn);
}

enum MHD_Result sw_http_ask(struct sw_request *r, struct sw_link *link, const char *method,
			    char *params, bool changes,
			    enum MHD_Result (*respond)(struct sw_request *r))
{
	r->call = (struct sw_link_call){
		.method = method, .params = params, .changes = changes, .done = call_done};
	r->respond = respond;
	r->asked = true;
	/* Before the call is queued: its answer may come before this function ends. */
	MHD_suspend_connection(r->conn);
	if (sw_link_ask(link, &r->call))
		return MHD_YES;
	(void)sw_err_set(&r->call.err, SW_BUSY, "too many questions wait for the daemon");
	r->call.rc = SW_BUSY;
	MHD_resume_connection(r->conn);
	return MHD_YES;
}

static enum MHD_Result respond(struct sw_request *r)
{
	const sw_status rc = r->call.rc;

	if (rc == SW_OK || (rc == SW_INVALID && r->call.reply.line != NULL))
		return r->respond(r);
	return sw_http_refuse(r, rc == SW_BUSY ? 503 : 502, r->call.err.msg);
}

/* --- requests --- */

static const char *header(const struct sw_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, name);
}

const char *sw_http_query(const struct sw_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->conn, MHD_GET_ARGUMENT_KIND, name);
}

/* The page asks for itself, or for `to`: a browser sends the cookie with no request that came about
 * on a page of somebody else, and so to nothing that a link there leads to, be it redirected. */
static enum MHD_Result ask_again(struct sw_request *r, const char *to, const char *cookie)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

	if (response != NULL) {
		(void)MHD_add_response_header(response, "Refresh", to);
		(void)MHD_add_response_header(response, "Cache-Control", "no-store");
		if (cookie != NULL)
			(void)MHD_add_response_header(response, "Set-Cookie", cookie);
	}
	return sw_http_send(r, 200, response);
}

/* The token becomes a cookie and the key, and leaves the address. */
static enum MHD_Result open_session(struct sw_request *r)
{
	const struct sw_web_session *s = &r->http->session;
	char cookie[160], to[80];

	(void)snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", s->name,
		       s->cookie);
	(void)snprintf(to, sizeof to, "0; url=?#%s", s->key);
	return ask_again(r, to, cookie);
}

/* The first look at a request: answers one that is not the session's. */
static enum MHD_Result check(struct sw_request *r)
{
	const struct sw_web_session *s = &r->http->session;
	const char *origin = header(r, "Origin"), *length = header(r, "Content-Length");
	const char *by = header(r, "Sec-Fetch-Site"), *mode = header(r, "Sec-Fetch-Mode");
	const bool get = strcmp(r->method, "GET") == 0;

	if (!sw_web_session_is_host(s, header(r, "Host")))
		return sw_http_refuse(r, 403, "this is no address of the page");
	if (!get && strcmp(r->method, "POST") != 0)
		return sw_http_refuse(r, 405, "the page knows GET and POST");
	if (origin != NULL ? !sw_web_session_is_origin(s, origin) : !get)
		return sw_http_refuse(r, 403, "another page asks");
	if (get && sw_web_session_is_secret(s->token, sw_http_query(r, "token")))
		return open_session(r);
	if (by != NULL && strcmp(by, "same-origin") != 0 && strcmp(by, "none") != 0)
		return get && mode != NULL && strcmp(mode, "navigate") == 0
			       ? ask_again(r, "0", NULL)
			       : sw_http_refuse(r, 403, "another page asks");
	if (!sw_web_session_is_secret(
		    s->cookie, MHD_lookup_connection_value(r->conn, MHD_COOKIE_KIND, s->name)) ||
	    (!get && !sw_web_session_is_secret(s->key, header(r, "X-Sweepd-Key"))))
		return sw_http_refuse(r, 403,
				      "open the address that `sweep web` printed: it ends in "
				      "?token=... and is good until that program ends");
	if (length != NULL && strtoull(length, NULL, 10) > SW_HTTP_BODY)
		return sw_http_refuse(r, 413, "that is longer than any request of the page");
	return MHD_YES; /* it goes on */
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *conn, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_n, void **state)
{
	struct sw_request *r = *state;

	(void)version;
	if (r == NULL) { /* its headers have come: what it may not is said before its body comes */
		r = sw_calloc(1, sizeof *r);
		if (r == NULL)
			return MHD_NO;
		r->http = arg;
		r->conn = conn;
		r->path = url;
		r->method = method;
		sw_buf_init(&r->body, SW_HTTP_BODY);
		*state = r;
		return check(r);
	}
	if (*upload_n > 0) {
		(void)sw_buf_add(&r->body, upload, *upload_n);
		*upload_n = 0;
		/* One that said no length: nothing can be answered while it comes. */
		return r->body.failed == SW_OK ? MHD_YES : MHD_NO;
	}
	return r->asked ? respond(r) : r->http->route(r, r->http->arg);
}

static void completed(void *arg, struct MHD_Connection *conn, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct sw_request *r = *state;

	(void)arg;
	(void)conn;
	(void)why;
	if (r == NULL)
		return;
	sw_client_reply_fini(&r->call.reply);
	free(r->call.params);
	sw_buf_fini(&r->body);
	free(r);
	*state = NULL;
}

static enum MHD_Result accepted(void *arg, const struct sockaddr *from, socklen_t len)
{
	const struct sw_http *h = arg;

	(void)len;
	return sw_web_session_is_other(&h->session, (const struct sockaddr_in *)(const void *)from)
		       ? MHD_NO
		       : MHD_YES;
}

/* How many connections there may be; the process's own limit is raised as far as it goes. */
static unsigned connections(void)
{
	const rlim_t most = SW_HTTP_CONNECTIONS + OTHERS;
	struct rlimit files = {0};

	(void)getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < most) {
		files.rlim_cur = files.rlim_max < most ? files.rlim_max : most;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return files.rlim_cur < most ? (unsigned)files.rlim_cur / 2 : SW_HTTP_CONNECTIONS;
}

sw_status sw_http_start(struct sw_http *h, unsigned port, struct sw_err *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof at;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(fd, (const struct sockaddr *)&at, len) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) != 0 || listen(fd, SOMAXCONN) != 0)
		return sw_err_set(err, SW_IO, "cannot listen on 127.0.0.1:%u: %s", port,
				  strerror(errno)); /* which ends the program */
	/* Before a thread looks at who connects. */
	sw_web_session_listen(&h->session, ntohs(at.sin_port));
	if (MHD_start_daemon(
		    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, accepted, h,
		    handle, h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		    connections(), MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		    MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		    MHD_OPTION_NOTIFY_COMPLETED, completed, h, MHD_OPTION_END) == NULL)
		return sw_err_set(err, SW_NOMEM, "libmicrohttpd does not start");
	return SW_OK;
}
