/*
 * store/filter.h — some trials of a sweep, in words: "lr < 0.01 and state = COMPLETED".
 *
 *   EXPR   CLAUSE, not CLAUSE, ( EXPR ), EXPR and EXPR, EXPR or EXPR; "and" binds closer
 *   CLAUSE NAME = VALUE, with != < <= > >= too; NAME ~ TEXT: it holds TEXT; NAME in (VALUE, ...)
 *   NAME   trial, state, cause, attempt, step, seconds, parent; value, or the metric's name: the
 *          trial's best; a parameter, in quotes where it is no plain word, or one of the above
 *   VALUE  a number, true, false, null (it has none), a word, or a text in single or double quotes
 *
 * Words count in any case. A trial that has no such value is in no clause but "= null".
 *
 * Memory   The struct is the caller's (init by parse, fini also where that failed).
 * Errors   SW_INVALID: one line that says what is wrong and where; SW_NOMEM.
 */
#ifndef SW_STORE_FILTER_H
#define SW_STORE_FILTER_H

#include "base/buf.h"
#include "base/status.h"
#include <stdbool.h>

#define SW_FILTER_MAX    2000 /* bytes of text */
#define SW_FILTER_VALUES 200
#define SW_FILTER_DEPTH  32

struct sw_filter_param {
	const char *name; /* "opt.wd" */
	const char *path; /* of SQLite in the trial's JSON: $."opt"."wd" */
};

/* What a sweep's trials have. */
struct sw_filter_names {
	const char *metric; /* or NULL */
	const struct sw_filter_param *params;
	size_t n_params;
};

struct sw_filter_value {
	enum { SW_FILTER_NUMBER, SW_FILTER_TEXT } kind;
	double number;
	char *text; /* owned */
};

struct sw_filter {
	struct sw_buf where; /* a condition on trial t; its values are ?1, ?2, ... of `values` */
	struct sw_buf order; /* an expression to sort by; "": by number */
	bool descending;
	struct sw_filter_value values[SW_FILTER_VALUES];
	size_t n_values;
};

/* text NULL or "": all trials. sort: a NAME (one with blanks needs no quotes), with "-" before it
 * the greatest first; NULL or "": by number. unknown[128]: a name that the sweep does not have, for
 * a suggestion; else "". */
SW_NODISCARD sw_status sw_filter_parse(struct sw_filter *f, const char *text, const char *sort,
				       const struct sw_filter_names *names, char unknown[128],
				       struct sw_err *err);
void sw_filter_fini(struct sw_filter *f);

/* Names that any sweep has, for a suggestion; NULL behind the last. */
extern const char *const sw_filter_columns[];

#endif
