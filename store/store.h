/*
 * store/store.h — everything sweepd knows, in one SQLite file: plain rows in, plain rows out.
 *
 * Threads  One writer thread owns the writing connection, and each kind of reads has a thread and a
 *          read-only connection, so that long ones hold up no short one. The owner (the daemon's
 *          loop thread) enqueues work and collects finished work with sw_store_poll(); callbacks
 *          run there, never on the store's threads.
 * Commits  WAL, synchronous=FULL, grouped without a timer: the writer takes all that waits, commits
 *          it as one transaction, and by then more waits. A write's callback runs after its commit.
 * Reads    A read is run only after every write enqueued before it has been committed; while
 *          commits are stuck (below) it shows what is committed. Of those of a kind the next one is
 *          that of the client that has had least (base/turns.h); those of one client keep their
 *          order within a kind.
 * Faults   No space (or the file locked by another process): the group stays, is tried again every
 *          500 ms, and sw_store_stuck() says so (wake is called when that begins); nothing is lost,
 *          nothing is acknowledged. Any other failure to commit (a failed fsync above all) is
 *          final: the fatal callback runs, on the writer's thread, and must not return to normal
 *          service: a failed fsync is never tried again. After it no commit is taken (SW_IO) and
 *          every query gives the error that ended it. An operation that breaks a constraint, or
 *          updates a row that is not there, is such a failure: a defect of the caller, and the line
 *          names the operation and its key.
 * Bounds   The owner asks sw_store_has_room() before it lets a change happen: there is room while
 *          fewer than SW_STORE_MAX_QUEUED row operations and reads wait, with fewer than
 *          SW_STORE_MAX_QUEUED_BYTES of rows. A change that has happened is always taken, or memory
 *          and disk would part; a read beyond the bound is SW_BUSY.
 */
#ifndef SW_STORE_STORE_H
#define SW_STORE_STORE_H

#include "base/status.h"
#include "base/turns.h"
#include "store/rows.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_STORE_MAX_QUEUED       ((size_t)200000)
#define SW_STORE_MAX_QUEUED_BYTES ((size_t)512 * 1024 * 1024)

struct sw_store; /* opaque */
struct sw_tx;    /* opaque: a list of row operations that commit together */

struct sw_store_hooks {
	void (*wake)(void *user); /* any thread: call sw_store_poll() soon */
	void (*fatal)(void *user,
		      const struct sw_err *e); /* writer's thread: log, then end the process */
	void *user;
};

/*
 * Opens or creates dir/sweepd.db, checks it (quick_check), and starts the threads.
 * SW_CONFLICT: the file was written by another version. SW_IO: not a database, damaged, no
 * permission. SW_FULL. hooks is copied; wake may run until sw_store_close() returns.
 * Cost: reads the whole file (quick_check), about 0.3 s per 100 MB.
 */
SW_NODISCARD sw_status sw_store_open(struct sw_store **out, const char *dir,
				     const struct sw_store_hooks *hooks, struct sw_err *err);

/* Commits all that waits (gives up after 1 s when there is no space), joins the threads, runs no
 * further callback, closes. Reads that have not run are dropped. Not from a callback of the store.
 * NULL is allowed. */
void sw_store_close(struct sw_store *s);

/* Runs the callbacks of finished work. The owner's thread. */
void sw_store_poll(struct sw_store *s);

/* NULL, or a line that says why commits wait ("no space left for ..."). The owner's thread. */
const char *sw_store_stuck(struct sw_store *s);

/* False: the next transaction should wait, or be refused. The owner's thread. */
bool sw_store_has_room(struct sw_store *s);

/* Are the files that were opened still those with their names? Where one was removed or replaced,
 * what is written reaches nobody who opens the store later; the writer then acknowledges nothing
 * more and is fatal. Any thread. Cost: two stat(2). */
bool sw_store_in_place(const struct sw_store *s);

/* Work enqueued and not yet committed or run. */
size_t sw_store_queued(const struct sw_store *s);

const char *sw_store_engine(void); /* SQLite's version, for daemon.info */

/* --- writes --- */

SW_NODISCARD sw_status sw_tx_create(struct sw_tx **out);
void sw_tx_destroy(struct sw_tx *tx); /* NULL is allowed; only for one that was never committed */

typedef void sw_store_done_cb(void *arg);

/* Each copies its row, text included, into the transaction. Failures latch, and sw_store_commit()
 * then refuses the whole: SW_NOMEM, SW_TOO_BIG, SW_INVALID (a number that is not finite, or NULL
 * for spec, state, params, kind, verdict or line). */
void sw_tx_sweep_insert(struct sw_tx *tx, const struct sw_row_sweep *row);
void sw_tx_sweep_state(struct sw_tx *tx, int64_t sweep, const char *state, const char *cause,
		       int64_t ended_ms, int64_t run_cap); /* ended_ms 0: not ended */
/* Marks what is left of it (enum sw_gone, not SW_GONE_NOT); cause NULL: as it was. Of one that is
 * SW_GONE_ALL the row keeps its numbers alone. */
void sw_tx_sweep_gone(struct sw_tx *tx, int64_t sweep, enum sw_gone gone, int64_t spared,
		      const char *cause);
void sw_tx_sweep_annotate(struct sw_tx *tx, int64_t sweep, const char *tags,
			  const char *note); /* NULL: as it was; "": none */
void sw_tx_trial_insert(struct sw_tx *tx, const struct sw_row_trial *row);
/* state, cause, attempt, started (when set), seconds and ended_ms of the trial's row. */
void sw_tx_trial_state(struct sw_tx *tx, const struct sw_row_trial *row);
void sw_tx_attempt_start(struct sw_tx *tx, const struct sw_row_attempt *row);
void sw_tx_attempt_end(struct sw_tx *tx, const struct sw_row_attempt *row);
/* Also sets the trial's step, its value where the row has one, and its resume_step where the row
 * has a checkpoint, or may have one and its verdict is "pause". */
void sw_tx_report(struct sw_tx *tx, const struct sw_row_report *row);
void sw_tx_decision(struct sw_tx *tx, const struct sw_row_decision *row);
/* Adds n reports that were left out to the trial's; why: the first of them. */
void sw_tx_left_out(struct sw_tx *tx, int64_t sweep, int64_t trial, int64_t n, const char *why);
void sw_tx_event(struct sw_tx *tx, const struct sw_row_event *row);
/* Keeps the last SW_LOG_MAX_LINES lines of a trial. */
void sw_tx_log(struct sw_tx *tx, const struct sw_row_log *row);
void sw_tx_suggestion(struct sw_tx *tx, const struct sw_row_suggestion *row);
void sw_tx_sampler(struct sw_tx *tx, const struct sw_row_sampler *row); /* by sweep */
void sw_tx_prior(struct sw_tx *tx, const struct sw_row_prior *row);
void sw_tx_slot_put(struct sw_tx *tx, const struct sw_row_slot *row); /* by slot number */
void sw_tx_slot_delete(struct sw_tx *tx, int64_t slot);
void sw_tx_journal(struct sw_tx *tx, const char *journal, const char *entry); /* at its end */
void sw_tx_journal_delete(struct sw_tx *tx, const char *journal);

/* Takes tx, whatever the result. done (may be NULL) runs on the owner's thread after the commit; on
 * any status but SW_OK it never runs. Callbacks run in the order of their commits' calls. */
SW_NODISCARD sw_status sw_store_commit(struct sw_store *s, struct sw_tx *tx, sw_store_done_cb *done,
				       void *arg);

/*
 * Removes the rows of a sweep, all but its own and those of the trial `spared` (0: none), in short
 * transactions: when no change came for 10 ms, or 20 a second where they never stop. done runs on
 * the owner's thread when nothing is left; bytes: of the file, that are free for it. What a close
 * or a crash cuts short is begun again by another call; done then never runs. SW_NOMEM, SW_IO.
 */
typedef void sw_store_erased_cb(void *arg, int64_t bytes);
SW_NODISCARD sw_status sw_store_erase(struct sw_store *s, int64_t sweep, int64_t spared,
				      sw_store_erased_cb *done, void *arg);

/* --- reads --- */

struct sw_db; /* a connection, inside a read; store/read.h has the queries */

enum sw_read_kind {
	SW_READ_SHORT, /* a few rows by their keys: well below a millisecond */
	SW_READ_LONG,  /* pages of rows, whole sweeps, and whatever computes besides */
	SW_READ_KINDS
};

/* A reader. Zeroed at first, it must stay until the last of its reads is done. */
struct sw_store_client {
	struct sw_turns_client kinds[SW_READ_KINDS]; /* the store's */
};

/* work runs on a reader's thread inside one read transaction (a snapshot), then done on the owner's
 * thread. arg is passed to both and stays the caller's. who NULL: the owner itself. */
SW_NODISCARD sw_status sw_store_read(struct sw_store *s, enum sw_read_kind kind,
				     struct sw_store_client *who,
				     void (*work)(struct sw_db *db, void *arg),
				     sw_store_done_cb *done, void *arg);

/* The same at once on the caller's thread, for start-up before the loop runs: waits for the
 * writer. */
void sw_store_read_now(struct sw_store *s, void (*work)(struct sw_db *db, void *arg), void *arg);

#endif
