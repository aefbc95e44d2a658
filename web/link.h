/*
 * web/link.h — what the page asks of the daemon: calls that wait in a queue for a thread with a
 * connection of its own.
 *
 * A connection is made at the first call, and again at the next one after it was lost. A call that
 * was sent when the connection went is asked again where it changes nothing; else its answer is
 * that nobody knows.
 *
 * Threads  sw_link_ask() may be called from any thread; done() runs on the link's.
 * Bounds   SW_LINK_WAITING calls.
 */
#ifndef SW_WEB_LINK_H
#define SW_WEB_LINK_H

#include "cli/client.h"
#include <pthread.h>
#include <stdatomic.h>

#define SW_LINK_WAITING 64

struct sw_link_call {
	struct sw_link_call *next;
	const char *method;
	char *params; /* JSON text of an object, owned by the call; NULL: none */
	bool changes; /* it is not asked twice */
	void (*done)(struct sw_link_call *call);
	/* for done(), which may take what it likes of the reply: */
	struct sw_reply reply; /* also of a refusal */
	sw_status rc;          /* as that of sw_client_call() */
	struct sw_err err;
};

struct sw_link {
	const char *socket, *host; /* one of them; borrowed */
	/* Called every tick_ms between calls, on the link's thread; NULL: never. */
	void (*tick)(struct sw_link *l, void *arg);
	void *arg;
	int tick_ms;
	int reply_ms; /* how long an answer may take; then the daemon is away */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the queue */
	pthread_cond_t wake;
	struct sw_link_call *head, **tail;
	size_t n;
	struct sw_client *client; /* the thread's, as the rest */
	int64_t next_tick, retry_at;
};

/* Starts the thread; all above `thread` has been set, and stays where it is. The first connection
 * is client's, which it takes; NULL: it makes one. SW_NOMEM. */
SW_NODISCARD sw_status sw_link_start(struct sw_link *l, struct sw_client *client,
				     struct sw_err *err);

/* Queues a call, which is done()'s from now on. False: too many wait, and it is still the
 * caller's. */
bool sw_link_ask(struct sw_link *l, struct sw_link_call *call);

/* The same at once, for tick(): the reply is the caller's, who has initialised it. */
SW_NODISCARD sw_status sw_link_call(struct sw_link *l, const char *method, const char *params,
				    bool changes, struct sw_reply *r, struct sw_err *err);

#endif
