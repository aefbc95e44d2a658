/*
 * daemon/sweep/run/hold.h — which trials a client's connection holds, and when they are given back.
 *
 * A trial of a sweep that clients drive is held by the connection that asked for it, or that spoke
 * of it last (report, heartbeat). While that is open the trial stays, however long a step takes.
 * Once it has closed, the client has SW_HOLD_GRACE_S to come back on another connection and speak
 * of the trial; then it is RELEASED and handed out again. With `lease_s` in the spec, or set by
 * sweep.edit, there is one rule instead, for open connections too: a trial that nobody has spoken
 * of for so long is given back.
 *
 * The one truth is sw_run.conn, the number of the connection that holds the trial, 0 for none; the
 * list of a connection may name trials that it has lost since.
 */
#ifndef SW_DAEMON_SWEEP_RUN_HOLD_H
#define SW_DAEMON_SWEEP_RUN_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct sw_conn;
struct sw_daemon;
struct sw_running;

#define SW_HOLD_GRACE_S 60

/* The trial was handed to the connection, or it spoke of it: if it runs, and clients drive the
 * sweep, the connection holds it from now on, and the lease begins anew. Amortised O(1). Dies
 * without memory: see sw_daemon_die(). */
void sw_hold_take(struct sw_conn *c, struct sw_running *live, uint64_t trial);
/* The connection closes: the grace of what it holds begins. O(trials it holds). */
void sw_hold_drop_conn(struct sw_conn *c);
/* Does it hold a trial? O(trials it has held lately). */
bool sw_hold_any(struct sw_conn *c);

/* Whole minutes since a client last spoke of a RUNNING sweep that clients drive, and of which no
 * trial runs; 0: less than one. */
int64_t sw_hold_idle_min(const struct sw_running *live);

/* Gives back the trials that nobody holds or speaks of. While nothing could be heard (the process
 * was stopped, the disk is full) no grace and no lease runs. */
void sw_hold_tick(struct sw_daemon *d, int64_t now_us);

#endif
