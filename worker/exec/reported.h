/*
 * worker/exec/reported.h — a line of a program that reports: a JSON object of metrics, with "step"
 * and "checkpoint" beside them.
 *
 * NaN and Infinity, as Python writes them, are read as the wire's words for them. Values that are
 * neither numbers nor such words are left out. 3.0 is a step.
 *
 * Pure.
 */
#ifndef SW_WORKER_EXEC_REPORTED_H
#define SW_WORKER_EXEC_REPORTED_H

#include "base/buf.h"
#include "base/status.h"
#include "worker/exec/printed.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_reported {
	bool has_step;
	uint64_t step;
	bool checkpoint;
	bool has_metric;    /* the one that was asked for; if none was, any. Of no JSON: its name */
	char left_out[44];  /* the first name whose value is no number; "" */
	char why[120];      /* the metric is in the object, and is no number; "" */
	struct sw_buf text; /* JSON text of the metrics */
};

/* Finds the object of a printed line, and its length: without a byte order mark, colours, a comma
 * at the end, and a bar that tqdm left there without ending its line. NULL: the line begins with
 * something else, which may be a person's. */
const char *sw_reported_object(const char *line, size_t *len);

/* metric: the sweep's; NULL: none. The names of its numbers are added to printed, or NULL.
 * SW_INVALID: no JSON object, or a step that is no whole number.
 * sw_reported_fini() either way. */
SW_NODISCARD sw_status sw_reported_read(struct sw_reported *out, const char *line, size_t len,
					const char *metric, struct sw_printed *printed,
					struct sw_err *err);
/* The same of a line of text: its pairs of name and number (worker/exec/pairs.h) that have a sign
 * between them, each name once; the first epoch, step or iteration is the step. SW_NOMEM. */
SW_NODISCARD sw_status sw_reported_text(struct sw_reported *out, const char *line,
					const char *metric);
void sw_reported_fini(struct sw_reported *r);

#endif
