/* daemon/api/handlers.h — one function a method, by noun: handlers_<noun>.c. Each answers its
 * call. */
#ifndef SW_DAEMON_API_HANDLERS_H
#define SW_DAEMON_API_HANDLERS_H

#include "daemon/net/call.h"

#define SW_HANDLERS(X)                                                                             \
	X("rpc.discover", rpc_discover)                                                            \
	X("sweep.submit", sweep_submit)                                                            \
	X("sweep.validate", sweep_validate)                                                        \
	X("sweep.list", sweep_list)                                                                \
	X("sweep.find", sweep_find)                                                                \
	X("sweep.get", sweep_get)                                                                  \
	X("sweep.best", sweep_best)                                                                \
	X("sweep.pause", sweep_pause)                                                              \
	X("sweep.resume", sweep_resume)                                                            \
	X("sweep.cancel", sweep_cancel)                                                            \
	X("sweep.extend", sweep_extend)                                                            \
	X("sweep.delete", sweep_delete)                                                            \
	X("sweep.annotate", sweep_annotate)                                                        \
	X("sweep.edit", sweep_edit)                                                                \
	X("sweep.simulate", sweep_simulate)                                                        \
	X("sweep.watch", sweep_watch)                                                              \
	X("sweep.plot", sweep_plot)                                                                \
	X("trial.list", trial_list)                                                                \
	X("trial.get", trial_get)                                                                  \
	X("trial.reports", trial_reports)                                                          \
	X("trial.why", trial_why)                                                                  \
	X("trial.log", trial_log)                                                                  \
	X("trial.output", trial_output)                                                            \
	X("trial.checkpoint", trial_checkpoint)                                                    \
	X("trial.enqueue", trial_enqueue)                                                          \
	X("trial.cancel", trial_cancel)                                                            \
	X("trial.ask", trial_ask)                                                                  \
	X("trial.report", trial_report)                                                            \
	X("trial.heartbeat", trial_heartbeat)                                                      \
	X("trial.tell", trial_tell)                                                                \
	X("journal.append", journal_append)                                                        \
	X("journal.read", journal_read)                                                            \
	X("worker.hello", worker_hello)                                                            \
	X("worker.next", worker_next)                                                              \
	X("worker.report", worker_report)                                                          \
	X("worker.tell", worker_tell)                                                              \
	X("worker.log", worker_log)                                                                \
	X("worker.progress", worker_progress)                                                      \
	X("worker.launcher", worker_launcher)                                                      \
	X("worker.bye", worker_bye)                                                                \
	X("device.list", device_list)                                                              \
	X("pilot.cancel", pilot_cancel)                                                            \
	X("daemon.info", daemon_info)                                                              \
	X("daemon.stats", daemon_stats)                                                            \
	X("daemon.drain", daemon_drain)

#define SW_HANDLER_DECL(name, fn) void sw_handle_##fn(struct sw_call *call);
SW_HANDLERS(SW_HANDLER_DECL)
#undef SW_HANDLER_DECL

#endif
