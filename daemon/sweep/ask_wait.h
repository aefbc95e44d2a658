/*
 * daemon/sweep/ask_wait.h — a trial.ask with wait_s that found nothing to hand out: it waits until
 * the sweep has a trial for it, has ended, or its time is over.
 *
 * They are served in the order in which they came, at the end of a turn of the loop in which their
 * sweep is due. Asks that wait for a suggestion are daemon/sweep/suggest.h's meanwhile.
 */
#ifndef SW_DAEMON_SWEEP_ASK_WAIT_H
#define SW_DAEMON_SWEEP_ASK_WAIT_H

#include <stdint.h>

struct sw_daemon;
struct sw_running;

void sw_asks_serve(struct sw_running *live);
void sw_asks_tick(struct sw_daemon *d, int64_t now_us); /* those whose time is over */

#endif
