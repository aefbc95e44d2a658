/*
 * worker/link/session.h — the worker's link to the daemon: JSON-RPC lines over a unix socket,
 * non-blocking.
 *
 * The daemon may go away and come back: training goes on meanwhile, reports wait in order and are
 * sent again on the next connection until they are answered (the daemon knows them by seq), and
 * sw_session_go_on() and sw_session_report() reconnect (every 200 ms, backing off to 2 s). Only the
 * calls that wait (next, settle, report when the spool is full, finish) give up, after `away_ms`
 * without a daemon.
 *
 *   connect -> hello -> [next -> report ... report -> finish] -> next ...
 *
 * State    `end` and `drop` latch: the session is over, or the trial at hand is. `leaving` comes
 *          before the end where wake_fd is readable in mid-trial and the daemon is there: the trial
 *          has SW_SESSION_LEAVE_US to save what it has, and may report until then. A pilot has
 *          what its `leave` says, and without a daemon, too: one may come back meanwhile.
 * Memory   At most SW_SESSION_SPOOL reports, about 200 bytes each.
 * Errors   Losing the connection is no error. err tells why the session ended.
 * Threads  One. `wake_fd` becomes readable from anywhere (a signal handler's pipe).
 */
#ifndef SW_WORKER_LINK_SESSION_H
#define SW_WORKER_LINK_SESSION_H

#include "base/status.h"
#include "proto/job.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define SW_SESSION_SPOOL       10000 /* reports kept while the daemon is away */
#define SW_SESSION_OUTSTANDING 256   /* reports sent and not answered */
#define SW_SESSION_LEAVE_US    ((int64_t)10 * 1000000)
#define SW_SESSION_FDS         200 /* of a caller, that sw_session_wait() watches too */

enum sw_session_end {
	SW_SESSION_OPEN,
	SW_SESSION_EXIT,    /* told to: worker.exit or wake_fd */
	SW_SESSION_REFUSED, /* the daemon does not accept this worker */
	SW_SESSION_LOST,    /* no daemon for away_ms */
	SW_SESSION_BROKEN   /* no memory, or a peer that does not speak the protocol */
};

struct sw_session_config {
	const char *socket; /* path */
	const char *worker; /* id */
	int slot;
	int wake_fd; /* readable: leave, then end; -1 for none */
	/* A pilot's; NULL: as a local worker. Called once wake_fd is readable: the microseconds
	 * that its trial has, and why it ends (for people, static); *told: somebody ends it, else
	 * its time is up. */
	const char *(*leave)(int64_t *us, bool *told);
	const char *node;  /* a pilot's host, for hello; NULL: no pilot */
	bool files;        /* a pilot: it sees the daemon's files */
	int64_t process;   /* a pilot: which of those that were begun for its job */
	unsigned retry_ms; /* first wait between two attempts to connect; 0: 200 */
	unsigned away_ms;  /* 0: 120,000 */
};

struct sw_session; /* opaque */

SW_NODISCARD sw_status sw_session_create(struct sw_session **out,
					 const struct sw_session_config *config,
					 struct sw_err *err); /* the strings are borrowed */
void sw_session_destroy(struct sw_session *s); /* NULL is allowed; closes the socket */

enum sw_session_end sw_session_ended(const struct sw_session *s);
const char *sw_session_why(const struct sw_session *s); /* one line for SW_SESSION_*; "" before */

/* The worker was told to end, and its trial may still save what it has: microseconds that are left
 * for it, at least 1; 0: it was not told, or the session has ended. */
int64_t sw_session_leaving(const struct sw_session *s);
const char *sw_session_leaving_why(const struct sw_session *s); /* then, for the trial's log */

/* Waits for a trial. false: the session has ended. The job stays the session's until
 * sw_session_release(), sw_session_refuse() or the next call. */
bool sw_session_next(struct sw_session *s, const struct sw_job **job);

/* Reads and writes what can be without waiting. false: drop the trial. Cost: one poll(2). */
bool sw_session_go_on(struct sw_session *s);

/* May something of the trial begin that takes its time? go_on(), and nobody has told the worker to
 * end. */
bool sw_session_may_begin(struct sw_session *s);

/* The same, but waits until something happens on the link or to one of the n <= SW_SESSION_FDS
 * descriptors (as poll(2) has them, revents set to 0 before), at most timeout_ms. since_us: since
 * when (monotonic) the answer to a report is waited for, so that the session gives up after
 * away_ms; 0: nobody waits. Once the session has ended only the descriptors are waited for. */
bool sw_session_wait(struct sw_session *s, struct pollfd *fds, size_t n, int timeout_ms,
		     int64_t since_us);

/* Returns how many reports have no answer yet; they are answered in order. 0 once the trial is
 * dropped. */
size_t sw_session_waiting(const struct sw_session *s);

/* Queues a report. metrics: JSON text of an object; checkpoint: one of this step is on the disk.
 * Waits only when the spool, or with a daemon the window, is full. false: drop the trial. */
bool sw_session_report(struct sw_session *s, uint64_t step, const char *metrics, bool checkpoint);

/* Waits for the answers to all reports. false: drop the trial. */
bool sw_session_settle(struct sw_session *s);

/* Counts a report of the trial that was left out, and why, for people: the daemon hears of them
 * with the next report, or the end. */
void sw_session_left_out(struct sw_session *s, const char *why);

/* A line for the trial's log: cut at 1,000 bytes, lost if too many wait. */
void sw_session_log(struct sw_session *s, const char *fmt, ...) SW_PRINTF(2, 3);

/* Tells the daemon how much of the step that is under way is done, at most once a second; the call
 * itself costs a look at the clock. Lost without a daemon. done <= total <= 2^53. */
void sw_session_progress(struct sw_session *s, uint64_t done, uint64_t total);

/* Tells the daemon the memory of the slot's launcher; 0: it has none now. Lost without a daemon. */
void sw_session_launcher(struct sw_session *s, uint64_t bytes);

/* Waits for the answers to all reports, then tells how the trial ended and waits for that answer,
 * unless it was dropped before. state: "COMPLETED", "FAILED", "INFEASIBLE"; cause may be NULL. */
void sw_session_finish(struct sw_session *s, const char *state, const char *cause);

/* After it: has the daemon taken the end? false: the trial may go on elsewhere. */
bool sw_session_told(const struct sw_session *s);

/* Forgets the trial, and says with the next call that the machine let it not begin, and why. */
void sw_session_refuse(struct sw_session *s, const char *why);

/* Forgets the trial: for one that was dropped. */
void sw_session_release(struct sw_session *s);

/* Says why this worker ends by itself, if a daemon is there; waits for nothing. rank: that of its
 * trial which was lost. */
void sw_session_bye(struct sw_session *s, const char *cause, unsigned rank);

/* Why the trial at hand was dropped ("decision stop", ...), or "". */
const char *sw_session_dropped(const struct sw_session *s);

/* The daemon's words on a report that it refused, or "". */
const char *sw_session_refused(const struct sw_session *s);

#endif
