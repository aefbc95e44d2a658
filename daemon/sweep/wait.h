/*
 * daemon/sweep/wait.h — calls that wait for something of a sweep, in the order in which they came.
 *
 * live->waits has a list for each reason. The file that keeps a call there answers it: when there
 * is what it waits for, or when its time is over.
 *
 * Memory   A list owns its waits. Zeroed is empty.
 */
#ifndef SW_DAEMON_SWEEP_WAIT_H
#define SW_DAEMON_SWEEP_WAIT_H

#include <stddef.h>
#include <stdint.h>

struct sw_call;
struct sw_daemon;
struct sw_running;

enum sw_wait_reason {
	SW_WAIT_TRIAL,      /* a trial.ask with wait_s that found nothing; sweep/give/ask.h */
	SW_WAIT_SUGGESTION, /* a trial.ask; sweep/search/suggest.h */
	SW_WAIT_CHANGE,     /* a sweep.watch with wait_s; api/watch.h */
	SW_WAIT_END,        /* a sweep.cancel; sweep/run/settle.h */
	SW_WAIT_LOAD,       /* any call that needs the state machine; sweep/load/recover.h */
	SW_WAIT_REASONS
};

struct sw_wait {
	struct sw_wait *next;
	struct sw_call *call;
	int64_t since_us; /* when it was added */
	int64_t until_us; /* of SW_WAIT_TRIAL, SW_WAIT_CHANGE */
	void (*then)(struct sw_running *live, struct sw_call *call); /* of SW_WAIT_LOAD */
};

struct sw_waits {
	struct sw_wait *head, **tail; /* tail is meaningless while there is no head */
	size_t n;
};

/* At the end of the list. NULL: no memory. */
struct sw_wait *sw_wait_add(struct sw_waits *waits, struct sw_call *call);
/* Takes out the wait at *at, which is the head or some wait's next. NULL: nothing waits there. */
struct sw_call *sw_wait_take(struct sw_waits *waits, struct sw_wait **at);
/* Refuses all that wait for this, of all sweeps, as SW_BUSY. */
void sw_wait_refuse_all(struct sw_daemon *d, enum sw_wait_reason why, const char *line);
size_t sw_wait_n(const struct sw_daemon *d, enum sw_wait_reason why);

#endif
