/*
 * daemon/api/handlers.h — one function a method, by noun: handlers_<noun>.c. Each answers its call.
 *
 * GATED rows are of a sweep: the gate finds it, or answers the call with an error.
 */
#ifndef SW_DAEMON_API_HANDLERS_H
#define SW_DAEMON_API_HANDLERS_H

#include "daemon/net/call.h"
#include "daemon/net/dispatch.h"

/* The sweep is there; its state machine may not be loaded. */
void sw_gate_known(struct sw_call *call, sw_handler_fn *then);
/* Its state machine is loaded. */
void sw_gate_loaded(struct sw_call *call, sw_handler_fn *then);
/* The same, and the store takes changes. */
void sw_gate_change(struct sw_call *call, sw_handler_fn *then);
/* The same, for what only the client may do that drives the sweep. */
void sw_gate_driven(struct sw_call *call, sw_handler_fn *then);
/* The call is a slot's, and the sweep runs trials on slots. */
void sw_gate_worker(struct sw_call *call, sw_handler_fn *then);

#define SW_HANDLERS(X, GATED)                                                                      \
	X("rpc.discover", rpc_discover)                                                            \
	X("sweep.submit", sweep_submit)                                                            \
	X("sweep.validate", sweep_validate)                                                        \
	X("sweep.list", sweep_list)                                                                \
	X("sweep.find", sweep_find)                                                                \
	GATED("sweep.get", sw_gate_loaded, sw_handle_sweep_get)                                    \
	GATED("sweep.best", sw_gate_known, sw_handle_sweep_best)                                   \
	GATED("sweep.pause", sw_gate_loaded, sw_handle_sweep_pause)                                \
	GATED("sweep.resume", sw_gate_loaded, sw_handle_sweep_resume)                              \
	GATED("sweep.cancel", sw_gate_loaded, sw_handle_sweep_cancel)                              \
	GATED("sweep.extend", sw_gate_loaded, sw_handle_sweep_extend)                              \
	GATED("sweep.delete", sw_gate_known, sw_handle_sweep_delete)                               \
	GATED("sweep.annotate", sw_gate_known, sw_handle_sweep_annotate)                           \
	GATED("sweep.edit", sw_gate_change, sw_handle_sweep_edit)                                  \
	GATED("sweep.simulate", sw_gate_known, sw_handle_sweep_simulate)                           \
	GATED("sweep.watch", sw_gate_loaded, sw_watch_answer)                                      \
	X("sweep.plot", sweep_plot)                                                                \
	GATED("trial.list", sw_gate_known, sw_handle_trial_list)                                   \
	GATED("trial.get", sw_gate_known, sw_handle_trial_get)                                     \
	X("trial.reports", trial_reports)                                                          \
	GATED("trial.why", sw_gate_loaded, sw_handle_trial_why)                                    \
	GATED("trial.log", sw_gate_known, sw_handle_trial_log)                                     \
	X("trial.output", trial_output)                                                            \
	GATED("trial.checkpoint", sw_gate_known, sw_handle_trial_checkpoint)                       \
	GATED("trial.enqueue", sw_gate_change, sw_handle_trial_enqueue)                            \
	GATED("trial.retry", sw_gate_change, sw_handle_trial_retry)                                \
	GATED("trial.cancel", sw_gate_change, sw_handle_trial_cancel)                              \
	GATED("trial.ask", sw_gate_driven, sw_handle_trial_ask)                                    \
	GATED("trial.report", sw_gate_driven, sw_report_answer)                                    \
	GATED("trial.heartbeat", sw_gate_driven, sw_report_heartbeat)                              \
	GATED("trial.tell", sw_gate_driven, sw_report_tell)                                        \
	X("journal.append", journal_append)                                                        \
	X("journal.read", journal_read)                                                            \
	X("journal.delete", journal_delete)                                                        \
	X("worker.hello", worker_hello)                                                            \
	X("worker.next", worker_next)                                                              \
	GATED("worker.report", sw_gate_worker, sw_handle_worker_report)                            \
	GATED("worker.tell", sw_gate_worker, sw_report_tell)                                       \
	GATED("worker.log", sw_gate_worker, sw_handle_worker_log)                                  \
	GATED("worker.progress", sw_gate_worker, sw_handle_worker_progress)                        \
	X("worker.launcher", worker_launcher)                                                      \
	X("worker.bye", worker_bye)                                                                \
	X("device.list", device_list)                                                              \
	X("pilot.cancel", pilot_cancel)                                                            \
	X("daemon.info", daemon_info)                                                              \
	X("daemon.stats", daemon_stats)                                                            \
	X("daemon.drain", daemon_drain)

#define SW_HANDLER_DECL(name, fn)       void sw_handle_##fn(struct sw_call *call);
#define SW_HANDLER_THEN(name, gate, fn) sw_handler_fn fn;
SW_HANDLERS(SW_HANDLER_DECL, SW_HANDLER_THEN)
#undef SW_HANDLER_DECL
#undef SW_HANDLER_THEN

#endif
