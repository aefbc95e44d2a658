/*
 * daemon/api/watch.h — sweep.watch: what has changed since an earlier answer, else a snapshot.
 *
 * An answer reads the trials that were noted as changed (daemon/sweep/marks.h) from the store, so
 * it shows what was committed. Of who watches nothing is kept here but a call that waits, which is
 * looked at SW_WATCH_MS apart: however many reports came in between, there are at most five
 * answers a second.
 */
#ifndef SW_DAEMON_API_WATCH_H
#define SW_DAEMON_API_WATCH_H

struct sw_call;
struct sw_daemon;
struct sw_running;

#define SW_WATCH_MS 200

void sw_watch_answer(struct sw_running *live, struct sw_call *call);
/* Cuts those that wait: they find the next daemon, or say that it is not there. */
void sw_watch_stop(struct sw_daemon *d);

#endif
