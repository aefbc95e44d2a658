/*
 * worker/exec/reported.h — a line of a program that reports: a JSON object of metrics, with "step"
 * and "checkpoint" beside them.
 *
 * NaN and Infinity, as Python writes them, are read as the wire's words for them. Values that are
 * neither numbers nor such words are left out.
 *
 * Pure.
 */
#ifndef SW_WORKER_EXEC_REPORTED_H
#define SW_WORKER_EXEC_REPORTED_H

#include "base/buf.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_reported {
	bool has_step;
	uint64_t step;
	bool checkpoint;
	bool has_metric;    /* the one that was asked for; if none was, any */
	char left_out[44];  /* the first name whose value is no number; "" */
	struct sw_buf text; /* JSON text of the metrics */
};

/* metric: the sweep's; NULL: none. SW_INVALID: no JSON object, or a step that is no whole number
 * (has_metric is right then, too).
 * sw_reported_fini() either way. */
SW_NODISCARD sw_status sw_reported_read(struct sw_reported *out, const char *line, size_t len,
					const char *metric, struct sw_err *err);
void sw_reported_fini(struct sw_reported *r);

#endif
