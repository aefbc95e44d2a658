/*
 * daemon/sweep/work.h — the life of a trial on the wire: hand out, report, tell. Clients that run
 * their own loop (trial.ask, report, tell) and the built-in workers (worker.next, report, tell)
 * share it.
 */
#ifndef SW_DAEMON_SWEEP_WORK_H
#define SW_DAEMON_SWEEP_WORK_H

#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_daemon;
struct sw_host;
struct sw_slot;

/* Gives the slot a trial of the sweep as the answer of its worker.next. False: there was none, and
 * the call is still open. */
bool sw_work_hand_out(struct sw_host *h, struct sw_slot *s, struct sw_call *call);

/* Answers trial.ask: at once, or when there is a suggestion, or a trial, for it. */
void sw_work_ask(struct sw_host *h, struct sw_call *call);
/* The same with the suggestions that there are. */
void sw_work_ask_now(struct sw_host *h, struct sw_call *call);

/* The daemon stops: asks that want many are answered with what they have. */
void sw_work_ask_end_all(struct sw_daemon *d);

/* Answers trial.report and worker.report; the parameters stand in the call. */
void sw_work_report(struct sw_host *h, struct sw_call *call);

/* Answers trial.heartbeat: the client that holds the trial is there. */
void sw_work_heartbeat(struct sw_host *h, struct sw_call *call);

/* Answers trial.tell and worker.tell. */
void sw_work_tell(struct sw_host *h, struct sw_call *call);

#endif
