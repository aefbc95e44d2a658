/* worker/exec/pump.h — reads a running program and reports it, until nothing of the program is
 * left. */
#ifndef SW_WORKER_EXEC_PUMP_H
#define SW_WORKER_EXEC_PUMP_H

#include "worker/exec/reports.h"

/* Waits for the daemon or the program, at most so long, and takes what came. */
void sw_pump_once(struct sw_reports *r, int timeout_ms);

/* Takes what is left in the pipes of a program that has ended, without waiting. */
void sw_pump_drain(struct sw_reports *r);

/* Ends the program and all that it left, and takes its last lines. First it may end by itself for
 * patience_us; then SIGTERM, and after its grace, if it has one, SIGKILL. */
void sw_pump_end(struct sw_reports *r, int64_t patience_us, bool has_grace);

#endif
