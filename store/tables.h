/*
 * store/tables.h — every table of the file, its columns once: the structs of store/rows.h, the SQL
 * that makes the tables (schema.c), inserts and reads rows, and what takes a row's values there and
 * back (columns.h) come from these lists. A column is a line here.
 *
 * Kinds    INT, BOOL, REAL and TEXT are there in each row. TEXT_OPT: NULL where it is absent.
 *          INT_OPT: 0 then. REAL_OPT: has_<column> says whether it is there; NaN is never stored.
 * Order    Keys come in the order in which rows are read: a trial's curve is one range of `report`,
 *          a sweep's trials are one range of `trial`. Operations count a table's columns as ?1, ?2
 *          ... in the order of its list. F: the first one, which begins a list; X: each other.
 * Times    Those of sw_clock_wall_ms(), ms since the epoch; 0 means "not yet".
 */
#ifndef SW_STORE_TABLES_H
#define SW_STORE_TABLES_H

#define SW_TABLE_SWEEP(F, X)                                                                       \
	F(INT, sweep) /* from 1 */                                                                 \
	X(TEXT_OPT, name)                                                                          \
	X(TEXT, spec) /* JSON, as given */                                                         \
	X(TEXT, state)                                                                             \
	X(TEXT_OPT, cause)                                                                         \
	X(TEXT_OPT, metric)                                                                        \
	X(TEXT_OPT, method)                                                                        \
	X(INT, seed)                                                                               \
	X(BOOL, maximize)                                                                          \
	X(BOOL, driven) /* by a client's ask, report and tell */                                   \
	X(INT, run_cap) /* 0: none */                                                              \
	X(INT, created_ms)                                                                         \
	X(INT, ended_ms)                                                                           \
	X(INT, uid)        /* the user that submitted it */                                        \
	X(INT, bytes)      /* that a trial takes at most; 0: it runs a program, or at a client */  \
	X(INT, data_bytes) /* of these its data set's, which trials share on a GPU */              \
	X(INT, data_sum)   /* of its data set's files; 0: no files */                              \
	X(GONE, gone)      /* read only, as the next three */                                      \
	X(INT, kept)       /* the trial that stays of a deleted one; 0: none */                    \
	X(TEXT_OPT, tags)  /* a person's own words, with a blank between two */                    \
	X(TEXT_OPT, note)  /* a line of them */

/* A trial whose worker was lost keeps the best that the lost attempt had until the next one
 * reports; of equal ones it is the first. Beside these a trial has `standing`, which only SQL sees
 * (schema.c). */
#define SW_TABLE_TRIAL(F, X)                                                                       \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(TEXT, state)                                                                             \
	X(TEXT_OPT, cause)                                                                         \
	X(TEXT, params)    /* JSON object */                                                       \
	X(INT, attempt)    /* the last one; 0: none yet */                                         \
	X(INT, step)       /* of the last report; 0: none */                                       \
	X(REAL_OPT, value) /* the metric of the last report that carried it */                     \
	X(INT, created_ms)                                                                         \
	X(INT, started_ms) /* the current attempt */                                               \
	X(INT, ended_ms)                                                                           \
	X(REAL, seconds)      /* run time of ended attempts */                                     \
	X(INT, parent)        /* the trial whose checkpoint it began from (pbt); 0: none */        \
	X(INT, resume_step)   /* where its next attempt goes on; 0: from scratch */                \
	X(INT_OPT, best_step) /* of the best report of its curve; read only, as all that follow */ \
	X(REAL_OPT, best_value)                                                                    \
	X(INT, left_out)      /* reports that were not stored: a step that did not rise, say */    \
	X(TEXT_OPT, left_why) /* the first of them */

/* A trial's curve is made of all its attempts: of each the reports up to the step from which a
 * later one went on. */
#define SW_TABLE_ATTEMPT(F, X)                                                                     \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, attempt)                                                                            \
	X(INT, ev)   /* the sweep's event that began it */                                         \
	X(INT, slot) /* -1: a client's */                                                          \
	X(INT, started_ms)                                                                         \
	X(INT, ended_ms)                                                                           \
	X(TEXT, state) /* RUNNING, then the trial state or LOST or RELEASED */                     \
	X(TEXT_OPT, cause)                                                                         \
	X(INT, resume_step)    /* the step it went on from; 0: from scratch */                     \
	X(BOOL, gpu)           /* its slot has one; it may have another device after a restart */  \
	X(REAL, share)         /* the part of the GPU that it has: its lanes of all lanes */       \
	X(REAL_OPT, gpu_bytes) /* most of its worker there; of NVML, as the next two */            \
	X(REAL_OPT, gpu_util)  /* percent of the time in which it worked, whoever made it */       \
	X(REAL_OPT, joules)

/* Beside these a report has `metrics`, a JSON object: schema.c says why it is one text. */
#define SW_TABLE_REPORT(F, X)                                                                      \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, attempt)                                                                            \
	X(INT, seq)                                                                                \
	X(INT, ev) /* the sweep's event number: reports and events merge by it */                  \
	X(INT, step)                                                                               \
	X(INT, time_ms)                                                                            \
	X(REAL_OPT, value)                                                                         \
	X(BOOL, diverged)  /* the metric was not finite, or (with a value) is not believed */      \
	X(TEXT, verdict)   /* "continue", "stop", "pause" */                                       \
	X(INT, checkpoint) /* 1: of this step; 0: if it paused with it; -1: not even then */

/* One judgement at a rung. */
#define SW_TABLE_DECISION(F, X)                                                                    \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, attempt)                                                                            \
	X(INT, seq)                                                                                \
	X(INT, rung)                                                                               \
	X(TEXT, verdict)                                                                           \
	X(INT, bracket)                                                                            \
	X(INT, n)                                                                                  \
	X(INT, better)                                                                             \
	X(INT, keep)                                                                               \
	X(REAL_OPT, cutoff) /* as reported, not oriented; so is value */                           \
	X(REAL, value)

/* Every event that the sweep's state machine took, reports apart: the replay's input. kind: "ask",
 * "tell", "lost", "release", "cancel_trial", "pause", "resume", "cancel", "fail", "extend", "stop",
 * "edit", "settle", "enqueue". */
#define SW_TABLE_EVENT(F, X)                                                                       \
	F(INT, sweep)                                                                              \
	X(INT, ev)                                                                                 \
	X(TEXT, kind)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, attempt)                                                                            \
	X(TEXT_OPT, state) /* tell */                                                              \
	X(TEXT_OPT, cause) /* edit: what was edited, a JSON object */                              \
	X(INT, run_cap)    /* extend */                                                            \
	X(INT, time_ms)                                                                            \
	X(INT, uid) /* the user that asked for it; -1: the daemon itself */

/* n counts a trial's lines from 1, so that the oldest to keep is n - 1000: no counting. */
#define SW_TABLE_LOG(F, X)                                                                         \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, n)                                                                                  \
	X(INT, attempt)                                                                            \
	X(INT, time_ms)                                                                            \
	X(TEXT, line)

/* The worker process that holds a slot, so that a restarted daemon can find it again. */
#define SW_TABLE_SLOT(F, X)                                                                        \
	F(INT, slot)                                                                               \
	X(TEXT_OPT, device)                                                                        \
	X(TEXT_OPT, worker) /* the id the daemon gave it */                                        \
	X(TEXT_OPT, handle) /* the executor's, opaque here */

/* How a trial's configuration came about. Trials that the user enqueued, and those of samplers that
 * do not learn, have no row. */
#define SW_TABLE_SUGGESTION(F, X)                                                                  \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(INT, known) /* observations that it knew */                                              \
	X(TEXT, why)  /* JSON object, for people */

/* A sampler's state after the suggestion of `trial`. */
#define SW_TABLE_SAMPLER(F, X)                                                                     \
	F(INT, sweep)                                                                              \
	X(INT, trial)                                                                              \
	X(TEXT, state) /* opaque, in hexadecimal */

/* A trial of an earlier sweep (warm_start) as it stood when the sweep was submitted. */
#define SW_TABLE_PRIOR(F, X)                                                                       \
	F(INT, sweep)                                                                              \
	X(INT, n)                                                                                  \
	X(TEXT, params)    /* JSON object */                                                       \
	X(TEXT, y)         /* JSON array: each metric's value as it was reported */                \
	X(INT, from_sweep) /* what it is a copy of */                                              \
	X(INT, from_trial)

/* Journals: the logs that programs keep here (Optuna's studies). */
#define SW_TABLE_JOURNAL(F, X)                                                                     \
	F(TEXT, journal)                                                                           \
	X(INT, n)                                                                                  \
	X(TEXT, entry)

#endif
