/*
 * daemon/sweep/budget_end.h — ends a sweep when a budget of it is spent, and pauses one of
 * whose first trials all fail alike.
 *
 * It looks at all sweeps with each tick, and at the end of a turn of the loop at those that changed in
 * it.
 */
#ifndef SW_DAEMON_SWEEP_BUDGET_END_H
#define SW_DAEMON_SWEEP_BUDGET_END_H

struct sw_daemon;
struct sw_live;

void sw_budget_end_changed(struct sw_live *live); /* a step was taken, or a budget edited */
void sw_budget_end_flush(struct sw_daemon *d);    /* each turn of the loop */
void sw_budget_end_tick(struct sw_daemon *d);

#endif
