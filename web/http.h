/*
 * web/http.h — requests and their answers, by libmicrohttpd on a thread of its own.
 *
 * A request that is not the session's (web/session.h) gets no further than here. One that must ask
 * the daemon is suspended, and goes on when the link (web/link.h) has the answer.
 *
 * Bounds   SW_HTTP_CONNECTIONS connections, or as many as the process may have files: more than
 *          another user of the machine is likely to hold idle. Each has 32 KiB for its headers and
 *          10 s for what it has to say; SW_HTTP_BODY bytes of a body.
 * Threads  Handlers run on libmicrohttpd's thread; nothing here blocks it.
 */
#ifndef SW_WEB_HTTP_H
#define SW_WEB_HTTP_H

#include "base/buf.h"
#include "web/link.h"
#include "web/session.h"
#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

#define SW_HTTP_CONNECTIONS 2048
#define SW_HTTP_BODY        ((size_t)4 << 20) /* as long as the daemon's longest request */

struct sw_request {
	struct sw_http *http;
	struct MHD_Connection *conn;
	const char *path, *method;
	struct sw_buf body;
	bool asked;
	struct sw_link_call call; /* to the daemon, once it is asked */
	/* Answers with the call's reply; set by sw_http_ask(). */
	enum MHD_Result (*respond)(struct sw_request *r);
};

struct sw_http {
	struct sw_web_session session;
	/* Answers a request of the session, or asks the daemon. */
	enum MHD_Result (*route)(struct sw_request *r, void *arg);
	void *arg;
};

/* Listens on 127.0.0.1:port (0: any that is free). session and route have been set. SW_IO. */
SW_NODISCARD sw_status sw_http_start(struct sw_http *h, unsigned port, struct sw_err *err);

/* Answers with text, which is copied. */
enum MHD_Result sw_http_reply(struct sw_request *r, unsigned status, const char *type,
			      const char *text);
/* The same of what was written to b, which is taken. */
enum MHD_Result sw_http_reply_buf(struct sw_request *r, unsigned status, const char *type,
				  struct sw_buf *b);
/* The same of a response that was made otherwise, which is taken. NULL: no memory. */
enum MHD_Result sw_http_send(struct sw_request *r, unsigned status, struct MHD_Response *response);
/* {"error": {"message": ...}} */
enum MHD_Result sw_http_refuse(struct sw_request *r, unsigned status, const char *message);
/* Asks the daemon, then calls respond(). params are taken: JSON text of an object. */
enum MHD_Result sw_http_ask(struct sw_request *r, struct sw_link *link, const char *method,
			    char *params, bool changes,
			    enum MHD_Result (*respond)(struct sw_request *r));
/* Of the URL's query; NULL: it is not there. */
const char *sw_http_query(const struct sw_request *r, const char *name);

#endif
