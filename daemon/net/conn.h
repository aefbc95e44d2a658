/*
 * daemon/net/conn.h — one peer of the socket: lines in, answers out in the order of their requests.
 *
 * Lifetime: sw_conn_accept() allocates. sw_conn_close() may be called from any callback, any number
 * of times; on_closed() frees once the handle is down and every call of the connection was
 * answered.
 *
 *   bytes -> frame -> one sw_message a line -> its calls -> answers
 *
 * The meaning of a line is for those above: they are told by struct sw_conn_events.
 *
 * The messages of a connection stand in a queue. A message is ready when all its calls are
 * answered; ready messages leave from the head only, so that a client that pipelines gets its
 * answers in order.
 *
 * Limits   Of one connection: SW_CONN_MAX_INFLIGHT messages, or SW_CONN_MAX_ASKED bytes of them,
 *          unanswered, then reading stops until half are; a line of 1 MiB (proto/frame.h). While
 *          SW_CONN_MAX_BACKLOG bytes wait to be read by the peer, nothing is sent and nothing
 *          read; a peer that then takes nothing for 10 s is cut, and so is one that leaves a line
 *          unfinished for 60 s. A connection that waits for no answer and is not `busy` is closed
 *          after 10 minutes without a byte.
 *          Of one turn of the loop: about SW_CONN_TURN_US for the requests of a connection, be they
 *          in one batch or in many lines, and SW_CONN_TURN_ALL_US for those of all; the rest waits
 *          in a queue for the next turn. What stands behind a long line waits until the pool has
 *          read that (daemon/net/dispatch.c).
 *          Of all connections: SW_CONN_MAX_HELD bytes in memory; beyond it the connection that
 *          takes most is cut.
 *
 * conn.c is a connection's life and what comes in, conn_out.c what goes out, conn_limit.c the
 * limits of time and memory.
 */
#ifndef SW_DAEMON_NET_CONN_H
#define SW_DAEMON_NET_CONN_H

#include "base/buf.h"
#include "daemon/net/pool.h"
#include "proto/frame.h"
#include "store/store.h"
#include <cjson/cJSON.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#define SW_CONN_PEER         64 /* bytes of a peer's name */
#define SW_CONN_MAX_INFLIGHT 256
#define SW_CONN_MAX_BACKLOG  ((size_t)1024 * 1024)
#define SW_CONN_MAX_ASKED    ((size_t)1024 * 1024)
#define SW_CONN_MAX_HELD     ((size_t)128 * 1024 * 1024)
#define SW_CONN_TURN_US      ((int64_t)2000)
#define SW_CONN_TURN_ALL_US  ((int64_t)4000)

struct sw_conn;
struct sw_daemon;
struct sw_holds;
struct sw_message;
struct sw_slot;

/* How the rooms above are told; d->net.events, none of them NULL. */
struct sw_conn_events {
	/* A line: reads it into m->tree and sets m->rest to its first request, or writes the error
	 * into m->out. Or sets m->unread, does that later, and calls sw_conn_go_on_later(). */
	void (*line)(struct sw_conn *c, struct sw_message *m, const char *line, size_t len);
	/* Starts the request at m->rest and moves that to the next one. */
	void (*request)(struct sw_conn *c, struct sw_message *m);
	/* Is the connection in use, though it may be silent for long? */
	bool (*busy)(struct sw_conn *c);
	/* It closes, once: what is kept on it goes. */
	void (*gone)(struct sw_conn *c);
};

struct sw_message {
	STAILQ_ENTRY(sw_message) next;
	cJSON *tree;       /* what the calls' parameters point into; NULL for a notification */
	struct sw_buf out; /* the answers */
	size_t n_open;     /* calls not answered yet */
	size_t asked;      /* bytes of the line */
	size_t counted;    /* bytes of `out` that are in ready_bytes */
	const cJSON *rest; /* the first request that is not started yet; NULL: none */
	bool batch;
	bool unread; /* its line is still to be read, on the pool */
};

struct sw_conn {
	uv_pipe_t pipe;
	struct sw_daemon *d;
	LIST_ENTRY(sw_conn) link; /* d->net.conns */
	struct sw_conn *next_dirty;
	TAILQ_ENTRY(sw_conn) later; /* d->net.later */
	struct sw_frame frame;
	STAILQ_HEAD(, sw_message) messages;
	struct sw_message *batch; /* not all of its requests are started; NULL: none */
	size_t n_messages;
	size_t n_open;                          /* calls not answered yet, over all messages */
	size_t asked;                           /* bytes of the lines that those messages came in */
	uint32_t serial;                        /* counts the daemon's connections from 1 */
	struct sw_store_client reads;           /* the store's account of it */
	struct sw_turns_client jobs[SW_POOL_N]; /* and those of daemon/net/pool.h */
	/* Kept here for rooms above, and nothing to this one. */
	struct sw_slot *slot;   /* a worker's, once it said hello (daemon/slot/supervisor.c) */
	struct sw_holds *holds; /* trials that it holds (daemon/sweep/run/hold.c) */
	uid_t uid;
	pid_t pid;
	char peer[SW_CONN_PEER]; /* the pilot that it is of (daemon/net/port.h); "": the socket's */
	int64_t turn_us;         /* when its present turn began */
	int64_t active_us;       /* the last byte in or out */
	int64_t partial_us;      /* since when an unfinished line waits; 0: none */
	int64_t slow_us;     /* since when the peer takes nothing of much that waits; 0: it does */
	uint64_t sent;       /* bytes ever given to the socket */
	size_t ready_bytes;  /* of answers that wait to be sent */
	size_t bytes;        /* its part of d->net.bytes */
	uint64_t slow_taken; /* bytes that the peer had taken then */
	atomic_bool closing; /* the reader's thread may look, to spare work for one that has gone */
	bool closed, dirty, stopped;
	bool is_later; /* it stands in d->net.later */
};

/* Accepts one pending connection. Refuses strangers (SO_PEERCRED) and anyone over the limit. */
void sw_conn_accept(struct sw_daemon *d, uv_stream_t *listener);
/* The same of a socket that is connected, which is taken. peer: of which pilot; "": of none. */
void sw_conn_adopt(struct sw_daemon *d, uv_os_sock_t fd, const char *peer);
void sw_conn_close(struct sw_conn *c);

/* Sends a notification ahead of every answer: for a worker, whose worker.next may be held. params:
 * JSON text, borrowed. */
void sw_conn_push(struct sw_conn *c, const char *method, const char *params);

/* For call.c: a call of message m was answered (its text is in m->out). */
void sw_conn_answered(struct sw_conn *c, struct sw_message *m);
/* For dispatch.c: its line is read, and it goes on in the next turn of the loop. */
void sw_conn_go_on_later(struct sw_conn *c);

bool sw_conn_is_slow(const struct sw_conn *c);          /* much waits to be read: nothing is sent */
bool sw_conn_is_full(const struct sw_conn *c);          /* nothing further should be made for it */
void sw_conn_flush_all(struct sw_daemon *d);            /* each turn of the loop */
void sw_conn_go_on(struct sw_daemon *d);                /* the same: requests that wait for it */
void sw_conn_tick(struct sw_daemon *d, int64_t now_us); /* time limits */
size_t sw_conn_backlog(const struct sw_conn *c);        /* bytes the peer has yet to read */

#endif
