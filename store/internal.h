/*
 * store/internal.h — what the files of store/ share. Nobody else includes it, their tests apart.
 *
 * Threads  `lock` guards the queues and the counters; a thread holds it for a few instructions,
 *          never while SQLite works. A reader's own lock guards its connection, held for a read.
 * Order    a reader's lock before `lock`; the writing connection needs neither (one thread).
 */
#ifndef SW_STORE_INTERNAL_H
#define SW_STORE_INTERNAL_H

#include "base/buf.h"
#include "base/status.h"
#include "base/turns.h"
#include "store/read.h"
#include "store/store.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SW_STORE_FILE     "sweepd.db"
#define SW_STORE_APP_ID   0x53774470 /* "SwDp": the file's own mark, in SQLite's header */
#define SW_TX_MAX_BYTES   ((size_t)4 * 1024 * 1024 * 1024)
#define SW_GROUP_MAX_OPS  ((size_t)5000) /* about 50 ms of work: what a commit waits at most */
#define SW_FULL_RETRY_MS  500
#define SW_CLOSE_LIMIT_MS 1000
#define SW_BUSY_MS        1000

/* Integers as two arguments: where they lie, and how many there are. */
#define SW_INTS(...)                                                                               \
	(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* --- errors and small SQL (sql.c) --- */

/* Records SQLite's last error on conn as "doing: text"; SW_FULL, SW_BUSY, SW_NOMEM, SW_INTERNAL (a
 * constraint: our defect) or SW_IO. */
SW_NODISCARD sw_status sw_sql_err(struct sw_err *err, sqlite3 *conn, const char *doing);
SW_NODISCARD sw_status sw_sql_exec(sqlite3 *conn, const char *sql, const char *doing,
				   struct sw_err *err);
/* The first column of the first row, an integer; SW_IO: no such row. */
SW_NODISCARD sw_status sw_sql_int(sqlite3 *conn, const char *sql, int64_t *out, struct sw_err *err);

/* --- the file (file.c, schema.c) --- */

/* Opens path, made first when it is not there, and checked. */
SW_NODISCARD sw_status sw_file_open(sqlite3 **out, const char *path, struct sw_err *err);
/* A hardened connection; flags are SQLITE_OPEN_*, name is the file's in error lines. */
SW_NODISCARD sw_status sw_file_connect(sqlite3 **out, const char *path, const char *name, int flags,
				       struct sw_err *err);
/* SW_IO with what SQLite found damaged. Reads the whole file. */
SW_NODISCARD sw_status sw_file_quick_check(sqlite3 *conn, const char *path, struct sw_err *err);
struct sw_inode {
	dev_t dev;
	ino_t ino;
};
/* The database's and its log's. False: one is not there. */
bool sw_file_inodes(const char *path, struct sw_inode at[2]);
/* Are they still those? */
bool sw_file_in_place(const char *path, const struct sw_inode at[2]);

extern const char sw_schema_sql[]; /* version 1 */
/* steps[k] is the SQL from version k to k + 1; each runs in one transaction with its version. */
SW_NODISCARD sw_status sw_schema_migrate(sqlite3 *conn, const char *path, const char *const *steps,
					 int64_t n_steps, struct sw_err *err);
/* With this program's own steps. */
SW_NODISCARD sw_status sw_schema_update(sqlite3 *conn, const char *path, struct sw_err *err);
/* A sweepd file of exactly this program's schema? Changes nothing. SW_IO, SW_CONFLICT. */
SW_NODISCARD sw_status sw_schema_check(sqlite3 *conn, const char *path, struct sw_err *err);

/* --- row operations (tx.c) --- */

/* All row operations. Each is defined in a tx_*.c, beside the function that puts its values. */
#define SW_OPS(X)                                                                                  \
	X(SWEEP_INSERT, sweep_insert)                                                              \
	X(SWEEP_STATE, sweep_state)                                                                \
	X(SWEEP_GONE, sweep_gone)                                                                  \
	X(SWEEP_ANNOTATE, sweep_annotate)                                                          \
	X(TRIAL_INSERT, trial_insert)                                                              \
	X(TRIAL_STATE, trial_state)                                                                \
	X(ATTEMPT_START, attempt_start)                                                            \
	X(ATTEMPT_END, attempt_end)                                                                \
	X(REPORT, report)                                                                          \
	X(DECISION, decision)                                                                      \
	X(LEFT_OUT, left_out)                                                                      \
	X(EVENT, event)                                                                            \
	X(LOG, log)                                                                                \
	X(SUGGESTION, suggestion)                                                                  \
	X(SAMPLER, sampler)                                                                        \
	X(PRIOR, prior)                                                                            \
	X(SLOT_PUT, slot_put)                                                                      \
	X(SLOT_DELETE, slot_delete)                                                                \
	X(JOURNAL, journal)                                                                        \
	X(JOURNAL_DELETE, journal_delete)

enum sw_store_op {
#define SW_OP_ENUM(op, name) SW_OP_##op,
	SW_OPS(SW_OP_ENUM)
#undef SW_OP_ENUM
		SW_OP_N
};

#define SW_OP_SQL_MAX 3

/* The statements of an operation. Its values, in the order they were put, are ?1, ?2 ... of
 * each. */
struct sw_op_def {
	const char *name; /* for error lines: "insert a sweep" */
	const char *sql[SW_OP_SQL_MAX];
	bool any_rows[SW_OP_SQL_MAX]; /* else the statement must change exactly one row */
};

#define SW_OP_EXTERN(op, name) extern const struct sw_op_def sw_op_##name;
SW_OPS(SW_OP_EXTERN)
#undef SW_OP_EXTERN
extern const struct sw_op_def *const sw_op_defs[SW_OP_N];

/* One item of a queue: a write (tx set, and the job is part of it) or a read (work set). */
struct sw_store_job {
	struct sw_turn turn; /* a read's, while it waits; first: a turn is its job */
	struct sw_store_job *next;
	struct sw_tx *tx;
	void (*work)(struct sw_db *db, void *arg);
	sw_store_done_cb *done;
	void *arg;
	uint64_t after; /* a read: writes that must be committed before it */
	size_t weight;  /* row operations, at least 1 */
};

/* A deleted sweep whose rows are to go; its job's done tells erased. */
struct sw_erasure {
	struct sw_store_job job; /* first: what is freed is the erasure */
	int64_t sweep, spared;
	sw_store_erased_cb *erased;
	void *arg;
	size_t at; /* the table that is emptied */
	bool done;
	int64_t freed;
};

struct sw_store_jobs {
	struct sw_store_job *head, **tail;
};

struct sw_tx {
	struct sw_store_job job;
	struct sw_buf ops;
	size_t n_ops;
	size_t op_at;     /* offset of the operation being put */
	sw_status failed; /* SW_INVALID: a value that must never be stored */
};

void sw_tx_op(struct sw_tx *tx, enum sw_store_op op); /* begins an operation; its values follow */
void sw_tx_int(struct sw_tx *tx, int64_t v);
void sw_tx_int_opt(struct sw_tx *tx, int64_t v); /* 0 is NULL */
void sw_tx_ints(struct sw_tx *tx, const int64_t *v, size_t n);
#define SW_TX_INTS(tx, ...) sw_tx_ints(tx, SW_INTS(__VA_ARGS__))
void sw_tx_real(struct sw_tx *tx, double v); /* not finite: latches SW_INVALID */
void sw_tx_real_opt(struct sw_tx *tx, bool has, double v);
void sw_tx_text(struct sw_tx *tx, const char *s);     /* NULL: latches SW_INVALID */
void sw_tx_text_opt(struct sw_tx *tx, const char *s); /* NULL is NULL */

struct sw_op_value {
	enum { SW_VALUE_NULL, SW_VALUE_INT, SW_VALUE_REAL, SW_VALUE_TEXT } type;
	int64_t i;
	double d;
	const char *s; /* inside the transaction */
	int len;
};

#define SW_OP_VALUES_MAX 24

/* Reads the operation at *at and moves on; false at the end. */
bool sw_tx_next(const struct sw_tx *tx, size_t *at, enum sw_store_op *op,
		struct sw_op_value *values, unsigned *n);

/* --- the writing connection (writer.c) --- */

struct sw_writer {
	sqlite3 *conn;
	sqlite3_stmt *begin, *commit, *rollback;
	sqlite3_stmt *ops[SW_OP_N][SW_OP_SQL_MAX];
	int wal_pages;     /* in the log after the last commit */
	int checkpoint_at; /* pages at which the next checkpoint is due */
};

SW_NODISCARD sw_status sw_writer_open(struct sw_writer *w, const char *path, struct sw_err *err);
void sw_writer_close(struct sw_writer *w);
/* Applies all jobs in one transaction. SW_FULL and SW_BUSY: nothing was written; it may be tried
 * again. */
SW_NODISCARD sw_status sw_writer_apply(struct sw_writer *w, const struct sw_store_job *jobs,
				       struct sw_err *err);
/* After a statement of a transaction failed with rc: takes it back. SW_IO when that fails too, and
 * nothing may follow. */
SW_NODISCARD sw_status sw_writer_undo(struct sw_writer *w, sw_status rc, struct sw_err *err);
/* One transaction of an erasure; SW_FULL and SW_BUSY as above. */
SW_NODISCARD sw_status sw_erase_slice(struct sw_writer *w, struct sw_erasure *e,
				      struct sw_err *err);
/* Moves the log into the file when it is long. A failure is final: a sync may be behind it. */
SW_NODISCARD sw_status sw_writer_checkpoint(struct sw_writer *w, struct sw_err *err);
/* Gives some free pages back; more: others are left. A failure is final, too. */
SW_NODISCARD sw_status sw_writer_shrink(struct sw_writer *w, bool *more, struct sw_err *err);
/* Moves the whole log into the file and cuts it to nothing, unless somebody reads it. The same. */
SW_NODISCARD sw_status sw_writer_cut(struct sw_writer *w, struct sw_err *err);
void sw_writer_log_cut(struct sw_writer *w); /* the log begins anew, with nothing in it */

/* --- the reading connection (db.c, col.c) --- */

#define SW_DB_QUERIES 64 /* more than there are */

struct sw_db {
	sqlite3 *conn;
	struct sw_err broken; /* why no query can run: the store failed, or BEGIN did */
	bool behind;          /* see sw_read_behind() */
	struct {
		const char *sql; /* a query is known by where its text lies */
		sqlite3_stmt *stmt;
	} queries[SW_DB_QUERIES]; /* each prepared at its first use */
	size_t n_queries;
};

/* A row being read. A column of the wrong type, or NULL where none may be, sets `bad` (from 1) and
 * gives 0 or "": the file is not trusted, so nothing here is asserted. */
struct sw_cols {
	sqlite3_stmt *q;
	int bad;
};

int64_t sw_col_int(struct sw_cols *c, int i);
int64_t sw_col_int_opt(struct sw_cols *c, int i); /* 0 when it is NULL */
double sw_col_real(struct sw_cols *c, int i);
double sw_col_real_opt(struct sw_cols *c, int i, bool *has);
const char *sw_col_text(struct sw_cols *c, int i);
const char *sw_col_text_opt(struct sw_cols *c, int i); /* NULL when it is NULL */

void sw_db_reset(struct sw_db *db); /* ends all that run */
/* The statement of a constant text, ready to run with ints bound to ?1 ... ; SW_BUSY when it runs
 * already (a callback that asks the same question again). */
SW_NODISCARD sw_status sw_db_query(struct sw_db *db, const char *sql, const int64_t *ints,
				   size_t n_ints, sqlite3_stmt **q, struct sw_err *err);
/* Takes a row; false: it is the last one wanted. */
typedef bool sw_db_give_fn(struct sw_cols *c, void *arg);

/* The arg of most of them: the caller's function for the rows, and how many have come. */
struct sw_give {
	union {
		sw_row_sweep_cb *sweep;
		sw_row_count_cb *count;
		sw_row_slot_cb *slot;
		sw_row_trial_cb *trial;
		sw_row_point_cb *point;
		sw_row_attempt_cb *attempt;
		sw_row_report_cb *report;
		sw_row_decision_cb *decision;
		sw_row_event_cb *event;
		sw_row_suggestion_cb *suggestion;
		sw_row_sampler_cb *sampler;
		sw_row_prior_cb *prior;
		sw_row_entry_cb *entry;
		sw_row_number_cb *number;
	};
	void *arg;
	size_t n;
};

/* Gives each row to give(), which returns false to end early, and resets. what: for error lines. */
SW_NODISCARD sw_status sw_db_run(struct sw_db *db, sqlite3_stmt *q, const char *what,
				 sw_db_give_fn *give, void *arg, struct sw_err *err);
/* Prepares a question that has no parameters but ints, and runs it. */
SW_NODISCARD sw_status sw_db_rows(struct sw_db *db, const char *sql, const int64_t *ints,
				  size_t n_ints, const char *what, sw_db_give_fn *give, void *arg,
				  struct sw_err *err);
SW_NODISCARD sw_status sw_db_bad_row(struct sw_err *err, const char *what, int column);

/* The reports r of trial t that are its curve, in order of (attempt, seq): those of its last
 * attempt (the short way), and of each earlier one those up to the step from which a later one went
 * on, UNCUT. */
#define SW_CURVE " FROM report r WHERE " SW_CURVE_OF
#define SW_CURVE_OF                                                                                \
	"r.sweep = t.sweep AND r.trial = t.trial AND (r.attempt = t.attempt OR " SW_UNCUT ")"
#define SW_UNCUT                                                                                   \
	"NOT EXISTS (SELECT 1 FROM attempt a WHERE a.sweep = t.sweep AND a.trial = t.trial"        \
	" AND a.attempt > r.attempt AND (a.resume_step = 0 OR a.resume_step < r.step))"
/* The report whose metrics a trial stands for, and whether it stands for any: one without a value
 * needs no search. */
#define SW_STANDING SW_CURVE SW_STANDING_LAST
#define SW_STANDING_LAST                                                                           \
	" AND r.value IS NOT NULL AND r.diverged = 0 ORDER BY r.attempt DESC, r.seq DESC LIMIT 1"
#define SW_STANDS "t.value IS NOT NULL AND t.state NOT IN ('FAILED', 'INFEASIBLE')"
/* A column of the report that t.value comes from: the last that carried the metric, or else (also
 * if it was not finite then) the last. A row's step, value and metrics are of this one report. It
 * is a lost attempt's until the next one reports. */
#define SW_TRIAL_OF(column)                                                                        \
	"(SELECT " column " FROM report r WHERE r.sweep = t.sweep AND r.trial = t.trial"           \
	" AND (r.value IS NOT NULL OR t.value IS NULL) ORDER BY r.attempt DESC, r.seq DESC"        \
	" LIMIT 1)"
/* The metrics of the report that t.best_step is of. */
#define SW_TRIAL_BEST_METRICS                                                                      \
	"(SELECT r.metrics FROM report r WHERE r.sweep = t.sweep AND r.trial = t.trial"            \
	" AND r.step = t.best_step ORDER BY r.attempt DESC LIMIT 1)"
/* The columns that sw_give_trial() reads; the arguments are expressions over t. */
#define SW_TRIAL_COLS(step, value, metrics)                                                        \
	SW_NAMES_T(SW_TABLE_TRIAL)                                                                 \
	", " step ", " value ", " metrics                                                          \
	", CASE t.state WHEN 'RUNNING' THEN coalesce((SELECT r.time_ms FROM report r"              \
	" WHERE r.sweep = t.sweep AND r.trial = t.trial AND r.attempt = t.attempt"                 \
	" ORDER BY r.seq DESC LIMIT 1), t.started_ms) ELSE 0 END"
/* The columns that sw_col_report() reads of report r; after them r.metrics, or NULL. */
#define SW_REPORT_COLS SW_NAMES_R(SW_TABLE_REPORT)
void sw_col_report(struct sw_cols *c, struct sw_row_report *row);
bool sw_give_trial(struct sw_cols *c, void *arg); /* a sw_db_give_fn */

SW_NODISCARD sw_status sw_db_open(struct sw_db *db, const char *path, struct sw_err *err);
void sw_db_close(struct sw_db *db);

/* --- the store --- */

/* One kind of reads: its thread and its connection. */
struct sw_reader {
	struct sw_store *store;
	struct sw_turns turns; /* under the store's lock */
	pthread_cond_t wake;   /* of the store's lock: a turn may have come, or closing */
	pthread_mutex_t lock;
	struct sw_db db; /* under it */
	pthread_t thread;
};

struct sw_store {
	char *path;
	struct sw_store_hooks hooks;
	struct sw_writer writer; /* the writer's thread */
	struct sw_inode at[2];   /* the files that were opened: the database, its log */
	pthread_t writer_thread;
	struct sw_reader readers[SW_READ_KINDS];
	bool polling;         /* owner's */
	char stuck_seen[320]; /* owner's copy */
	atomic_size_t queued; /* weights of writes and reads not yet committed or run */

	pthread_mutex_t lock;     /* guards all below */
	pthread_cond_t to_writer; /* writes or closing */
	struct sw_store_jobs writes, done;
	struct sw_store_jobs erasures;
	int64_t wrote_us, erased_us; /* monotonic: the last change, the last slice of an erasure */
	struct sw_store_client own;  /* for reads without a name */
	uint64_t n_enqueued, n_committed; /* writes, since the start */
	unsigned waiting;                 /* threads that wait in sw_store_read_now() */
	size_t queued_bytes;
	bool closing, dead;
	int64_t close_by_us; /* monotonic: when a close gives up on a full disk */
	struct sw_err died;  /* why, when dead */
	char stuck[320];     /* "" when commits go through */
};

void *sw_writer_main(void *store);        /* writer_thread.c */
void *sw_reader_main(void *reader);       /* reader.c */
void sw_readers_wake(struct sw_store *s); /* under the lock: committed, stuck, dead or closing */

void sw_jobs_init(struct sw_store_jobs *list);
void sw_jobs_add(struct sw_store_jobs *list, struct sw_store_job *job);
struct sw_store_job *sw_jobs_take(struct sw_store_jobs *list); /* the first; NULL when empty */
void sw_jobs_move(struct sw_store_jobs *to, struct sw_store_jobs *from);
void sw_jobs_free(struct sw_store_job *job);      /* with its transaction; NULL is allowed */
size_t sw_jobs_clear(struct sw_store_jobs *list); /* frees all; how many there were */

#endif
