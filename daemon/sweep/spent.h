/*
 * daemon/sweep/spent.h — ends a sweep when a budget of it is spent.
 *
 * It looks at all sweeps with each tick, and at the end of a turn of the loop at those that changed in
 * it.
 */
#ifndef SW_DAEMON_SWEEP_SPENT_H
#define SW_DAEMON_SWEEP_SPENT_H

struct sw_daemon;
struct sw_live;

void sw_spent_changed(struct sw_live *live); /* a step was taken, or a budget edited */
void sw_spent_flush(struct sw_daemon *d);    /* each turn of the loop */
void sw_spent_tick(struct sw_daemon *d);

#endif
