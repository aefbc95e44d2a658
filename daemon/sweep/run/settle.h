/*
 * daemon/sweep/run/settle.h — a sweep's end in slices (sched/sweep/sweep.h): one slice, its commit,
 * the next.
 *
 * At most one slice is under way in the whole daemon, and the next begins in the callback of its
 * commit, so that the loop is held for a slice at a time and the writer's queue for one change.
 * An end that a stop or a crash interrupts goes on at the next start.
 */
#ifndef SW_DAEMON_SWEEP_RUN_SETTLE_H
#define SW_DAEMON_SWEEP_RUN_SETTLE_H

struct sw_call;
struct sw_change;
struct sw_daemon;
struct sw_running;

/* A step was taken: if the sweep wants slices, the first follows the step's commit. */
void sw_settle_stepped(struct sw_change *c, struct sw_running *live);
/* The sweep was rebuilt: it may want its next slice. */
void sw_settle_recovered(struct sw_running *live);
/* Begins the next slice, if one is due and none is under way. */
void sw_settle_go(struct sw_daemon *d);

/* The call is answered with that once the sweep has ended. One a sweep: a second word is
 * refused. */
void sw_settle_wait(struct sw_running *live, struct sw_call *call);

#endif
