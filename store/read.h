/*
 * store/read.h — the queries. All run inside sw_store_read() or sw_store_read_now().
 *
 * Rows arrive through a callback, in the stated order; strings in them are valid for the call. A
 * callback that returns false ends the query early, which is not an error. A negative limit is
 * none. A callback may ask other questions, not the same again (SW_BUSY).
 * Errors   What the file gives is checked: SW_IO with a line when a row is damaged.
 */
#ifndef SW_STORE_READ_H
#define SW_STORE_READ_H

#include "base/status.h"
#include "store/rows.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_db;

typedef bool sw_row_sweep_cb(const struct sw_row_sweep *row, void *arg);
typedef bool sw_row_trial_cb(const struct sw_row_trial *row, void *arg);
typedef bool sw_row_point_cb(const struct sw_row_point *row, void *arg);
typedef bool sw_row_attempt_cb(const struct sw_row_attempt *row, void *arg);
typedef bool sw_row_report_cb(const struct sw_row_report *row, void *arg);
typedef bool sw_row_decision_cb(const struct sw_row_decision *row, void *arg);
typedef bool sw_row_event_cb(const struct sw_row_event *row, void *arg);
typedef bool sw_row_log_cb(const struct sw_row_log *row, void *arg);
typedef bool sw_row_suggestion_cb(const struct sw_row_suggestion *row, void *arg);
typedef bool sw_row_sampler_cb(const struct sw_row_sampler *row, void *arg);
typedef bool sw_row_prior_cb(const struct sw_row_prior *row, void *arg);
typedef bool sw_row_slot_cb(const struct sw_row_slot *row, void *arg);
typedef bool sw_row_entry_cb(int64_t n, const char *entry, void *arg);
typedef bool sw_row_number_cb(int64_t trial, void *arg);
typedef bool sw_row_count_cb(const char *state, int64_t n, void *arg);

/* True: commits were stuck when this read began, and it may lack writes from before it. */
bool sw_read_behind(const struct sw_db *db);

/* By number. sweep 0: all. */
SW_NODISCARD sw_status sw_read_sweeps(struct sw_db *db, int64_t sweep, sw_row_sweep_cb *cb,
				      void *arg, struct sw_err *err);

/* Reads what is left of one sweep; SW_GONE_NOT if it is not stored. */
SW_NODISCARD sw_status sw_read_gone(struct sw_db *db, int64_t sweep, enum sw_gone *out,
				    struct sw_err *err);

/* Trials of a sweep with number > after, by number, at most limit; state NULL: any. With metrics of
 * each trial's last report. */
SW_NODISCARD sw_status sw_read_trials(struct sw_db *db, int64_t sweep, const char *state,
				      int64_t after, int64_t limit, sw_row_trial_cb *cb, void *arg,
				      struct sw_err *err);
struct sw_filter;
/* The numbers of the trials that a filter takes (store/filter.h), in their order. Each trial of the
 * sweep is looked at. */
SW_NODISCARD sw_status sw_read_matching(struct sw_db *db, int64_t sweep, const struct sw_filter *f,
					sw_row_number_cb *cb, void *arg, struct sw_err *err);
/* As sw_read_trials(), those that a filter takes, in its order, at most limit behind the first
 * `skip`. *total: how many it takes. */
SW_NODISCARD sw_status sw_read_filtered(struct sw_db *db, int64_t sweep, const struct sw_filter *f,
					int64_t skip, int64_t limit, sw_row_trial_cb *cb, void *arg,
					int64_t *total, struct sw_err *err);
/* One trial; SW_NOT_FOUND. */
SW_NODISCARD sw_status sw_read_trial(struct sw_db *db, int64_t sweep, int64_t trial,
				     sw_row_trial_cb *cb, void *arg, struct sw_err *err);
/* Rows for plots: a sweep's trials by number, if asked for with their params, or, of a sweep of
 * several metrics, those of sw_read_standing(); of each suggestion of a model of one metric trial,
 * and the mean and sd that it expected; of each attempt on a slot, by trial, slot, times, state and
 * cause. Nothing else of the rows is filled. */
enum sw_points { SW_POINTS_BARE, SW_POINTS_PARAMS, SW_POINTS_METRICS };
SW_NODISCARD sw_status sw_read_points(struct sw_db *db, int64_t sweep, enum sw_points with,
				      sw_row_point_cb *cb, void *arg, struct sw_err *err);
SW_NODISCARD sw_status sw_read_suggestions(struct sw_db *db, int64_t sweep,
					   sw_row_suggestion_cb *cb, void *arg, struct sw_err *err);
SW_NODISCARD sw_status sw_read_runs(struct sw_db *db, int64_t sweep, sw_row_attempt_cb *cb,
				    void *arg, struct sw_err *err);
/* The curve of a trial by step, as sw_read_best() has it, without metrics: the reports that carried
 * the sweep's metric, at most limit. */
SW_NODISCARD sw_status sw_read_curve(struct sw_db *db, int64_t sweep, int64_t trial, int64_t limit,
				     sw_row_report_cb *cb, void *arg, struct sw_err *err);
/* The number of trials in each state. */
SW_NODISCARD sw_status sw_read_counts(struct sw_db *db, int64_t sweep, sw_row_count_cb *cb,
				      void *arg, struct sw_err *err);

/* The n best trials by the sweep's metric, best first (ties: the earlier trial); trials FAILED or
 * INFEASIBLE and those without a value are left out. row->value is the value under the scope:
 *   "last"        of the last report that carried the metric
 *   "all"         the best over all reports; row->step and row->metrics are of that report
 *   "avg"         the mean over all reports
 *   "last-N-avg"  the mean over the last N reports, N from 1 to 1000
 * Each over the trial's curve: its last attempt, and what that one went on from (of each earlier
 * attempt the reports up to the step from which a later one went on). The means are of no one
 * report: row->metrics is "{}". SW_INVALID, pointer "/scope". Cost: O(n) for "all", which has an
 * index; else each trial is looked at. */
SW_NODISCARD sw_status sw_read_best(struct sw_db *db, int64_t sweep, bool maximize,
				    const char *scope, int64_t n, sw_row_trial_cb *cb, void *arg,
				    struct sw_err *err);

SW_NODISCARD sw_status sw_read_attempts(struct sw_db *db, int64_t sweep, int64_t trial,
					sw_row_attempt_cb *cb, void *arg, struct sw_err *err);
/* O(attempts of the sweep). */
SW_NODISCARD sw_status sw_read_use(struct sw_db *db, int64_t sweep, struct sw_row_use *out,
				   struct sw_err *err);
/* The sweep's events of kind "edit", in their order. */
SW_NODISCARD sw_status sw_read_edits(struct sw_db *db, int64_t sweep, sw_row_event_cb *cb,
				     void *arg, struct sw_err *err);
/* The k-th event of kind "enqueue", from 1: no row when there are fewer. O(k). */
SW_NODISCARD sw_status sw_read_enqueued(struct sw_db *db, int64_t sweep, int64_t k,
					sw_row_event_cb *cb, void *arg, struct sw_err *err);
/* Reports of one trial by (attempt, seq), those after (after_attempt, after_seq), at most limit. */
SW_NODISCARD sw_status sw_read_reports(struct sw_db *db, int64_t sweep, int64_t trial,
				       int64_t after_attempt, int64_t after_seq, int64_t limit,
				       sw_row_report_cb *cb, void *arg, struct sw_err *err);
/* One report by its key, or SW_NOT_FOUND: for repeats of an acknowledged report. */
SW_NODISCARD sw_status sw_read_report(struct sw_db *db, int64_t sweep, int64_t trial,
				      int64_t attempt, int64_t seq, sw_row_report_cb *cb, void *arg,
				      struct sw_err *err);
/* The standing of a trial: the last report of its curve that carried the sweep's metric. No row: it
 * has none, or it is FAILED or INFEASIBLE. */
SW_NODISCARD sw_status sw_read_standing(struct sw_db *db, int64_t sweep, int64_t trial,
					sw_row_report_cb *cb, void *arg, struct sw_err *err);
SW_NODISCARD sw_status sw_read_decisions(struct sw_db *db, int64_t sweep, int64_t trial,
					 sw_row_decision_cb *cb, void *arg, struct sw_err *err);

/* The replay's input: events and reports of a sweep merged by ev. Each call gets exactly one of the
 * two. metrics: with the text of each report's; else NULL, and one pass over an index is enough. */
SW_NODISCARD sw_status sw_read_history(struct sw_db *db, int64_t sweep, bool metrics,
				       bool (*cb)(const struct sw_row_event *event,
						  const struct sw_row_report *report, void *arg),
				       void *arg, struct sw_err *err);

/* One trial's parameters and how they came about; SW_NOT_FOUND: there is no such trial. */
SW_NODISCARD sw_status sw_read_suggestion(struct sw_db *db, int64_t sweep, int64_t trial,
					  sw_row_suggestion_cb *cb, void *arg, struct sw_err *err);
/* At most one row. */
SW_NODISCARD sw_status sw_read_sampler(struct sw_db *db, int64_t sweep, sw_row_sampler_cb *cb,
				       void *arg, struct sw_err *err);
/* By n. */
SW_NODISCARD sw_status sw_read_priors(struct sw_db *db, int64_t sweep, sw_row_prior_cb *cb,
				      void *arg, struct sw_err *err);

/* Log lines of a trial, oldest first, with row id > after; *next is the id to go on from. */
SW_NODISCARD sw_status sw_read_log(struct sw_db *db, int64_t sweep, int64_t trial, int64_t after,
				   int64_t limit, int64_t *next, sw_row_log_cb *cb, void *arg,
				   struct sw_err *err);
SW_NODISCARD sw_status sw_read_slots(struct sw_db *db, sw_row_slot_cb *cb, void *arg,
				     struct sw_err *err);
/* The entries of a journal after the first `after`, by their numbers, which begin at 1. A journal
 * that nobody has appended to has none. */
SW_NODISCARD sw_status sw_read_journal(struct sw_db *db, const char *journal, int64_t after,
				       sw_row_entry_cb *cb, void *arg, struct sw_err *err);

/* --- what only a check of the file asks for --- */

/* One attempt: no call if it is not stored. */
SW_NODISCARD sw_status sw_read_attempt(struct sw_db *db, int64_t sweep, int64_t trial,
				       int64_t attempt, sw_row_attempt_cb *cb, void *arg,
				       struct sw_err *err);
/* The decisions of one report, by rung. */
SW_NODISCARD sw_status sw_read_report_decisions(struct sw_db *db, int64_t sweep, int64_t trial,
						int64_t attempt, int64_t seq,
						sw_row_decision_cb *cb, void *arg,
						struct sw_err *err);
/* The first decision of a report that does not exist, if there is one. */
SW_NODISCARD sw_status sw_read_stray_decision(struct sw_db *db, int64_t sweep,
					      sw_row_decision_cb *cb, void *arg,
					      struct sw_err *err);
/* All attempts of a sweep, by trial and attempt. */
SW_NODISCARD sw_status sw_read_sweep_attempts(struct sw_db *db, int64_t sweep,
					      sw_row_attempt_cb *cb, void *arg, struct sw_err *err);

#endif
