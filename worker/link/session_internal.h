/* worker/link/session_internal.h — a session from its roof to its ground: session.c (the trial's
 * side), session_link.c (the socket), session_reply.c (what the daemon says), session_state.c. */
#ifndef SW_WORKER_LINK_SESSION_INTERNAL_H
#define SW_WORKER_LINK_SESSION_INTERNAL_H

#include "base/buf.h"
#include "proto/frame.h"
#include "worker/link/session.h"

struct report {
	uint64_t seq;
	int64_t id;   /* of the request that carries it; 0: not sent on this connection */
	char *params; /* of worker.report */
};

struct sw_session {
	struct sw_session_config config;
	enum sw_session_end end;
	char why[400];
	int64_t leave_us;      /* when it was told to end; 0: it was not */
	int64_t leave_for_us;  /* how long its trial has then */
	const char *leave_why; /* a pilot's; NULL: not said */
	bool leave_told;       /* a pilot's, with it: somebody ends it, else its time is up */

	/* the connection */
	int fd;            /* -1: none */
	bool greeted;      /* hello was accepted on it */
	int64_t hello_id;  /* 0: none sent */
	int64_t next_id;   /* of worker.next on its way; 0: none */
	int64_t tell_id;   /* of worker.tell on its way; 0: none */
	int64_t last_id;   /* ids rise over all connections */
	unsigned retry_ms; /* the wait before the next attempt to connect */
	int64_t retry_at;  /* µs, monotonic */
	int64_t lost_at;   /* µs: since when there is no accepted connection */
	bool met_stranger; /* another user listened at the path, and the log says so */
	int64_t sent_at;   /* µs: the last byte that went out */
	int64_t beat_us;   /* longest silence */
	struct sw_frame in;
	struct sw_buf out;

	/* the trial */
	bool has_job;
	struct sw_job job;
	cJSON *job_tree;      /* the reply that the job points into; owned */
	char drop[200];       /* why it is dropped; "": it is not */
	char failed[180];     /* a report was refused: what to tell */
	uint64_t seq;         /* of the last report */
	struct report *spool; /* ring of SW_SESSION_SPOOL */
	size_t head, n, sent; /* oldest; not answered; of those, sent on this connection */
	int64_t resend_at;    /* µs: the daemon was busy, not before */
	char *tell;           /* params of worker.tell, or NULL */
	bool told;            /* the daemon has taken it */
	char refused[201];    /* why the machine let the last trial not begin; "": it did */
	int64_t progress_us;  /* when progress was told last */
	uint64_t left_out;    /* reports that were, since that was told */
	char left_why[201];   /* the first of them */
	struct sw_buf logs;   /* whole notification lines that wait for a connection */
};

/* session_state.c: notes that it was told to end. */
void sw_session_leave(struct sw_session *s);
/* Ends the session, or drops its trial (the first reason stays). */
void sw_session_quit(struct sw_session *s, enum sw_session_end end, const char *fmt, ...)
	SW_PRINTF(3, 4);
void sw_session_drop(struct sw_session *s, const char *fmt, ...) SW_PRINTF(2, 3);
struct report *sw_session_report_at(struct sw_session *s, size_t i);
void sw_session_report_pop(struct sw_session *s);

/* session_link.c: one round of connect, write, read; waits at most timeout_ms for something to
 * happen, also to the n <= SW_SESSION_FDS descriptors. */
void sw_session_pump(struct sw_session *s, struct pollfd *more, size_t n, int timeout_ms);
void sw_session_write(struct sw_session *s); /* as much of `out` as the socket takes now */
/* Queues one request and returns its id; 0 when there is no memory (the session has ended). */
int64_t sw_session_request(struct sw_session *s, const char *method, const char *params);
/* Sends what waits and may go: logs, reports in the window, the tell. */
void sw_session_flush(struct sw_session *s);

/* session_reply.c: one line from the daemon. */
void sw_session_line(struct sw_session *s, const char *line, size_t len);

#endif
