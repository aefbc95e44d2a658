/*
 * daemon/sweep/run/budget_end.h — ends a sweep when a budget of it is spent, and pauses one of
 * whose first trials all fail alike.
 *
 * All sweeps are looked at with each tick, and those that are due at the end of a turn of the loop.
 */
#ifndef SW_DAEMON_SWEEP_RUN_BUDGET_END_H
#define SW_DAEMON_SWEEP_RUN_BUDGET_END_H

struct sw_daemon;
struct sw_running;

void sw_budget_end_check(struct sw_running *live);
void sw_budget_end_tick(struct sw_daemon *d);

#endif
