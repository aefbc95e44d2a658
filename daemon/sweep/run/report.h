/*
 * daemon/sweep/run/report.h — a trial on the wire: report, heartbeat, tell; of clients that run
 * their own loop and of the own workers alike.
 */
#ifndef SW_DAEMON_SWEEP_RUN_REPORT_H
#define SW_DAEMON_SWEEP_RUN_REPORT_H

#include <stdint.h>

struct sw_buf;
struct sw_call;
struct sw_running;

/* Answers trial.report and worker.report; the parameters stand in the call. */
void sw_report_answer(struct sw_running *live, struct sw_call *call);

/* Answers trial.heartbeat: the client that holds the trial is there. */
void sw_report_heartbeat(struct sw_running *live, struct sw_call *call);

/* Answers trial.tell and worker.tell. */
void sw_report_tell(struct sw_running *live, struct sw_call *call);

/* {"trial", "state"}: what a tell is answered with, and a cancel. */
void sw_report_state(struct sw_buf *out, const struct sw_running *live, uint64_t trial);

#endif
