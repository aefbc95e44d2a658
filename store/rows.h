/*
 * store/rows.h — the rows of the store, as plain structs. Strings are borrowed for the call. What
 * the columns mean stands in store/tables.h.
 */
#ifndef SW_STORE_ROWS_H
#define SW_STORE_ROWS_H

#include "store/tables.h"
#include <stdbool.h>
#include <stdint.h>

#define SW_LOG_MAX_LINES 1000

/* How much is left of a deleted sweep. */
enum sw_gone {
	SW_GONE_NOT,
	SW_GONE_SOON, /* it is being removed: nobody sees it */
	SW_GONE_ALL,
	SW_GONE_BUT_BEST, /* an archived record: the row, and one trial */
};

/* Nothing of it is to be seen. */
static inline bool sw_row_is_gone(enum sw_gone gone)
{
	return gone == SW_GONE_SOON || gone == SW_GONE_ALL;
}

#define SW_MEMBER(kind, column)   SW_MEMBER_##kind(column)
#define SW_MEMBER_INT(column)     int64_t column;
#define SW_MEMBER_INT_OPT(column) int64_t column;
#define SW_MEMBER_BOOL(column)    bool column;
#define SW_MEMBER_REAL(column)    double column;
#define SW_MEMBER_REAL_OPT(column)                                                                 \
	bool has_##column;                                                                         \
	double column;
#define SW_MEMBER_TEXT(column)     const char *column;
#define SW_MEMBER_TEXT_OPT(column) const char *column;
#define SW_MEMBER_GONE(column)     enum sw_gone column;

struct sw_row_sweep {
	SW_TABLE_SWEEP(SW_MEMBER, SW_MEMBER)
};

struct sw_row_trial {
	SW_TABLE_TRIAL(SW_MEMBER, SW_MEMBER)
	const char *metrics; /* JSON object of the report of `step`; read only */
	int64_t heard_ms;    /* of one that runs: when it last reported, or began; else 0 */
};

/* A trial as a plot shows it. */
struct sw_row_point {
	int64_t trial;
	const char *state;
	int64_t step; /* of the last report */
	bool has_best_value;
	double best_value;
	const char *json; /* what was asked for; NULL: nothing, or it has none */
};

struct sw_row_attempt {
	SW_TABLE_ATTEMPT(SW_MEMBER, SW_MEMBER)
};

/* The sums of a sweep's attempts that ended on slots. */
struct sw_row_use {
	int64_t attempts, ms;
	int64_t gpu_ms; /* of those whose slot has a GPU, by their share of it */
};

struct sw_row_report {
	SW_TABLE_REPORT(SW_MEMBER, SW_MEMBER)
	const char *metrics; /* JSON object */
	bool several; /* written alone: the sweep has several metrics, the trial's row keeps them */
};

struct sw_row_decision {
	SW_TABLE_DECISION(SW_MEMBER, SW_MEMBER)
};

struct sw_row_event {
	SW_TABLE_EVENT(SW_MEMBER, SW_MEMBER)
};

/* Read, known is -1 and why NULL where none was stored. */
struct sw_row_suggestion {
	SW_TABLE_SUGGESTION(SW_MEMBER, SW_MEMBER)
	const char *params; /* read: the trial's */
	double mean, sd;    /* read for a plot: of what was expected */
};

struct sw_row_sampler {
	SW_TABLE_SAMPLER(SW_MEMBER, SW_MEMBER)
};

struct sw_row_prior {
	SW_TABLE_PRIOR(SW_MEMBER, SW_MEMBER)
};

struct sw_row_log {
	SW_TABLE_LOG(SW_MEMBER, SW_MEMBER) /* written, n is the store's */
};

struct sw_row_slot {
	SW_TABLE_SLOT(SW_MEMBER, SW_MEMBER)
};

#endif
