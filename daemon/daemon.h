/*
 * daemon/daemon.h — the daemon's one object: what all rooms stand on, and a part for each room.
 *
 *   net     connections, and the listening socket        daemon/net/state.h
 *   pool    long computing for requests                  daemon/net/pool.h
 *   slot    slots, workers and GPUs                      daemon/slot/state.h
 *   pilot  jobs of a cluster that are workers             daemon/pilot/state.h
 *   sweep   the sweeps                                   daemon/sweep/state.h
 *
 * A part is its room's; which others may touch it, tests/layering says.
 *
 * Threads  All of it belongs to the loop thread. The store, the pool of libuv (suggestions, long
 *          requests, files) and the reading of GPUs have threads of their own, which touch nothing
 *          here but the clock, and wake the loop to hand over what they have.
 */
#ifndef SW_DAEMON_DAEMON_H
#define SW_DAEMON_DAEMON_H

#include "base/clock.h"
#include "base/status.h"
#include "daemon/config.h"
#include "daemon/net/pool.h"
#include "daemon/net/state.h"
#include "daemon/pilot/state.h"
#include "daemon/slot/state.h"
#include "daemon/sweep/state.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_executor;

struct sw_daemon {
	uv_loop_t *loop;
	const struct sw_clock *clock; /* all time of the daemon is asked of it; any thread */
	struct sw_config config;
	struct sw_store *store;
	int lock_fd;     /* the state directory's */
	int database_fd; /* the database's folder's, if that is another; -1 */

	uv_async_t store_wake;
	uv_prepare_t flush; /* sends what the last turn of the loop made ready */
	uv_timer_t tick;    /* every SW_TICK_MS: all time limits */
	uv_timer_t watch;   /* answers of sweep.watch; runs only while one waits */
	uv_signal_t sigterm, sigint, sighup;

	int64_t started_us;
	int64_t tick_us;      /* of the last tick */
	int64_t awake_us;     /* since when it runs again after it stood still; 0: it never did */
	int64_t clock_set_ms; /* clock->set_ms() as the log has it */
	bool draining;        /* hands out no trial, and: */
	bool drain_stop;      /* ends once no slot has one */
	enum { SW_UP, SW_STOPPING, SW_CLOSING } phase;
	int64_t stop_deadline_us;

	struct sw_daemon_net net;
	struct sw_pool pool[SW_POOL_N];
	struct sw_daemon_slot slot;
	struct sw_daemon_pilot pilot;
	struct sw_daemon_sweep sweep;
};

#define SW_TICK_MS 250

/* Opens everything and starts serving; on failure what was opened is left to sw_daemon_fini(). */
SW_NODISCARD sw_status sw_daemon_start(struct sw_daemon *d, uv_loop_t *loop,
				       const struct sw_clock *clock,
				       const struct sw_executor *executor,
				       const struct sw_config *config, struct sw_err *err);

/* Begins an orderly end: stop listening, let trials save what they have, end the workers, commit,
 * close. */
void sw_daemon_stop(struct sw_daemon *d);

/* After the loop has ended: closes the store and frees everything. */
void sw_daemon_fini(struct sw_daemon *d);

#endif
