/*
 * daemon/pilot/orders.h — what the executor is asked: to submit, to list and to cancel jobs.
 *
 * Each runs off the loop, one of a kind at a time, and none is waited for. An answer that does not
 * come says nothing: it ends no job.
 */
#ifndef SW_DAEMON_PILOT_ORDERS_H
#define SW_DAEMON_PILOT_ORDERS_H

#include "daemon/pilot/state.h"
#include "daemon/pilot/verbs.h"

#define SW_PILOT_BATCH 50 /* most jobs of one submission, and of one cancel */

/* Whatever is due: the submission of jobs that are told, a list, a cancel. */
void sw_pilot_orders(struct sw_daemon *d, int64_t now_us);
/* Runs the executor's `check` verb once and logs the answer. */
void sw_pilot_check(struct sw_daemon *d);
/* A job that no slot wants: it is cancelled through that executor. */
void sw_pilot_stray(struct sw_daemon *d, const char *executor, const char *name, const char *id);
void sw_pilot_orders_free(struct sw_daemon *d);

#endif
