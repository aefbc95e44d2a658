/*
 * daemon/net/pool.h — long computing for requests, on libuv's pool: long lines that are read, specs
 * that are read and built, sweeps that are re-run.
 *
 * Few run at once, because suggestions are made on the same threads; the next is of the connection
 * that has had least (base/turns.h). Lines have a queue of their own: a re-run may take seconds.
 *
 * Memory   A job is part of what it belongs to, and stays until `done`.
 */
#ifndef SW_DAEMON_NET_POOL_H
#define SW_DAEMON_NET_POOL_H

#include "base/turns.h"
#include <stdbool.h>
#include <uv.h>

struct sw_conn;

#define SW_POOL_AT_ONCE 2 /* of a kind; fewer where the loop would be left without a core */

enum sw_pool_kind { SW_POOL_LINE, SW_POOL_LONG, SW_POOL_N };

struct sw_pool {
	struct sw_turns turns;
	unsigned running;
};

struct sw_pool_job {
	struct sw_turn turn; /* first: a turn is its job */
	uv_work_t work;
	struct sw_conn *c; /* a call of it is open until `done` answers it */
	struct sw_pool *pool;
	void (*run)(void *arg);
	void (*done)(void *arg, bool stopping);
	void *arg;
	int64_t from_us;
};

/* run on a thread of the pool, then done on the loop; stopping: the daemon is, and run may not have
 * run: the call is to be answered with that. done may be called at once. */
void sw_pool_start(struct sw_pool_job *job, enum sw_pool_kind kind, struct sw_conn *c,
		   void (*run)(void *arg), void (*done)(void *arg, bool stopping), void *arg);

#endif
