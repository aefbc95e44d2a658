/*
 * daemon/api/watch.h — sweep.watch: a snapshot, then at most five updates a second of what changed.
 *
 * An update reads the trials that were noted as changed (daemon/sweep/marks.h) from the store, so
 * it shows what was committed and costs the same however many reports came in between. A watcher
 * that does not read is cut by the limits of its connection (daemon/net/conn.h) and disturbs nobody
 * else.
 */
#ifndef SW_DAEMON_API_WATCH_H
#define SW_DAEMON_API_WATCH_H

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_running;

#define SW_WATCH_MS 200

/* Answers the call with a snapshot and adds its connection as a watcher. */
void sw_watch_start(struct sw_running *live, struct sw_call *call);
void sw_watch_drop_conn(struct sw_daemon *d, struct sw_conn *c);

#endif
