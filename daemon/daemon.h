/*
 * daemon/daemon.h — the daemon's one object, and which of its parts owns what.
 *
 * Threads  Everything here belongs to the loop thread. The store has its own threads and calls back
 *          here through sw_store_poll(); nothing else runs beside the loop.
 *
 *   server      the listening socket                daemon/net/server.h
 *   sweeps      the sweeps                          daemon/sweep/live.h, driver.h
 *   slots       the worker processes                daemon/slot/slot.h, supervisor.h
 *   suggesters  suggestions made ahead of time      daemon/sweep/suggest.h
 *   watchers    who wants sweep.update              daemon/api/watch.h
 */
#ifndef SW_DAEMON_DAEMON_H
#define SW_DAEMON_DAEMON_H

#include "base/clock.h"
#include "base/status.h"
#include "base/turns.h"
#include "daemon/config.h"
#include "proto/methods.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_conn;
struct sw_conn_events;
struct sw_driver_events;
struct sw_executor;
struct sw_handler;
struct sw_live;
struct sw_slot;
struct sw_slot_events;
struct sw_suggest_events;
struct sw_worker;

struct sw_daemon {
	uv_loop_t *loop;
	const struct sw_clock *clock; /* all time of the daemon is asked of it; any thread */
	struct sw_config config;
	struct sw_methods *methods;
	struct sw_store *store;
	int lock_fd;

	uv_pipe_t listener;
	uv_async_t store_wake, gpu_wake;
	uv_prepare_t flush; /* sends what the last turn of the loop made ready */
	uv_timer_t tick;    /* every SW_TICK_MS: all time limits */
	uv_timer_t suggest; /* suggest_wait_ms of asks; runs only while one waits */
	uv_timer_t feed;    /* watchers' updates; runs only while there are watchers */
	uv_signal_t sigterm, sigint, sighup;

	const struct sw_conn_events *conn_events;
	const struct sw_handler *handlers; /* [handler_n] */
	size_t handler_n;
	struct sw_conn *conns; /* list */
	size_t conn_n, conn_max;
	bool accept_owed;                    /* one waits that there was no memory or no time for */
	unsigned accepted_n;                 /* in this turn of the loop */
	struct sw_conn *dirty;               /* conns with answers ready to be sent */
	struct sw_conn *later, **later_tail; /* conns whose requests go on in the next turn */
	int64_t turn_us;                     /* that this turn of the loop spent on requests */
	size_t conn_bytes;                   /* that all conns hold in memory */
	size_t shed_n;                       /* cut for want of memory since the last tick */
	uint32_t conn_serial;                /* of the newest */

	struct sw_live **sweeps; /* sweeps[i] is sweep i + 1 */
	size_t sweep_n, sweep_cap;

	const struct sw_driver_events *driver_events;
	const struct sw_suggest_events *suggest_events;
	struct sw_suggester *suggest_dirty; /* list; daemon/sweep/suggest.c */
	struct sw_live *asks_dirty;         /* list; daemon/sweep/ask_wait.c */
	struct sw_long_ask *long_asks;      /* list; daemon/sweep/ask.c */
	bool ask_slice;                     /* a slice of those is to begin */
	struct sw_live *budget_dirty;       /* list; daemon/sweep/budget_end.c */
	struct sw_live *settling;           /* list; daemon/sweep/settle.c */
	bool slice_busy;                    /* a slice of the first is being stored */
	struct sw_janitor *janitor;         /* daemon/sweep/janitor.c; NULL: nothing to do so far */

	struct sw_slot *slots;
	size_t slot_n;
	struct sw_worker *workers; /* one for each slot, or for all lanes of a GPU */
	size_t worker_n;
	bool slots_due; /* there may be work for slots that are free: at the end of this turn */
	const struct sw_slot_events *slot_events; /* what they tell, and whom */
	const struct sw_executor *executor;       /* starts their workers */
	struct sw_gpus *gpus; /* daemon/slot/gpus.h; NULL: no slot may have one */
	int64_t silent_us;    /* a worker that is silent for longer is ended */
	int64_t keep_us;      /* slots are kept for a trial that lacks some for longer */

	struct sw_check *checks, *checks_waiting; /* lists; daemon/slot/speccheck.c */
	size_t check_n, check_waiting_n;
	struct sw_pool {
		struct sw_turns turns;
		unsigned running;
	} pools[2]; /* computing for requests; daemon/net/pool.h: of each kind */

	int64_t started_us;
	int64_t tick_us;      /* of the last tick */
	int64_t awake_us;     /* since when it does not stand still any more; 0: it never did */
	int64_t hold_tick_us; /* the same; daemon/sweep/hold.c */
	int64_t clock_set_ms; /* clock->set_ms() as the log has it */
	uint64_t n_requests, n_errors, n_reports;
	bool draining; /* hands out no more trials */
	enum { SW_UP, SW_STOPPING, SW_CLOSING } phase;
	int64_t stop_deadline_us;
};

#define SW_TICK_MS 250

/* Opens everything and starts serving; on failure what was opened is left to sw_daemon_fini(). */
SW_NODISCARD sw_status sw_daemon_start(struct sw_daemon *d, uv_loop_t *loop,
				       const struct sw_clock *clock,
				       const struct sw_executor *executor,
				       const struct sw_config *config, struct sw_err *err);

/* Begins an orderly end: stop listening, release running trials, end the workers, commit, close. */
void sw_daemon_stop(struct sw_daemon *d);

/* After the loop has ended: closes the store and frees everything. */
void sw_daemon_fini(struct sw_daemon *d);

#endif
