/*
 * daemon/sweep/ask_wait.h — a trial.ask with wait_s that found nothing to hand out: it waits until
 * the sweep has a trial for it, has ended, or its time is over.
 *
 * They are served in the order in which they came, at the end of a turn of the loop in which their
 * sweep has changed. Asks that wait for a suggestion are daemon/sweep/suggest.h's meanwhile.
 * Limit    SW_ASKS_MAX a sweep; more are answered at once, as if they had not wished to wait.
 */
#ifndef SW_DAEMON_SWEEP_ASK_WAIT_H
#define SW_DAEMON_SWEEP_ASK_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_call;
struct sw_daemon;
struct sw_live;

#define SW_ASKS_MAX 8192

struct sw_asks {
	struct sw_asking *head, **tail; /* tail NULL: none ever waited */
	size_t n;
	bool dirty; /* the sweep has changed */
	struct sw_live *next_dirty;
};

/* Keeps a call for which there is nothing now. False: it does not wish to wait (any longer), or
 * the sweep has ended: it is to be answered. */
bool sw_asks_keep(struct sw_live *live, struct sw_call *call);
void sw_asks_changed(struct sw_live *live);             /* a step was taken */
void sw_asks_flush(struct sw_daemon *d);                /* each turn of the loop */
void sw_asks_tick(struct sw_daemon *d, int64_t now_us); /* those whose time is over */
size_t sw_asks_waiting(const struct sw_daemon *d);      /* of all sweeps */
/* Answers all that wait: the daemon drains or stops. */
void sw_asks_refuse_all(struct sw_daemon *d, const char *why);

#endif
