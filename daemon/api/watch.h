/*
 * daemon/api/watch.h — sweep.watch: a snapshot, then at most five updates a second of what changed.
 *
 * Changes are only noted (sw_watch_changed); an update reads the noted trials from the store, so it
 * shows what was committed and costs the same however many reports came in between. A watcher that
 * does not read is cut by the limits of its connection (daemon/net/conn.h) and disturbs nobody
 * else.
 */
#ifndef SW_DAEMON_API_WATCH_H
#define SW_DAEMON_API_WATCH_H

#include <stdint.h>
#include <uv.h>

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_host;

#define SW_WATCH_MS 200

/* Answers the call with a snapshot and adds its connection as a watcher. */
void sw_watch_start(struct sw_host *h, struct sw_call *call);
/* trial 0: only the sweep's header. */
void sw_watch_changed(struct sw_host *h, uint64_t trial);
void sw_watch_drop_conn(struct sw_daemon *d, struct sw_conn *c);
void sw_watch_free(struct sw_host *h);
void sw_watch_on_feed(uv_timer_t *t);

#endif
