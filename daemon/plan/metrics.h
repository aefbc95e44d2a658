/* daemon/plan/metrics.h — the metrics of one report: names to numbers. */
#ifndef SW_DAEMON_PLAN_METRICS_H
#define SW_DAEMON_PLAN_METRICS_H

#include "base/buf.h"
#include "base/status.h"
#include "spec/spec.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

#define SW_REPORT_METRICS_MAX 256 /* in one report */
#define SW_METRIC_NAME_MAX    64  /* bytes */

/*
 * Checks metrics (an object: numbers, or the strings "nan", "inf", "-inf" in any case), appends
 * them to text as JSON, and finds the value of `metric` (NULL: of none). *value may be NaN or
 * infinite. SW_INVALID with a pointer ("/metrics/loss").
 */
SW_NODISCARD sw_status sw_metrics_read(const cJSON *metrics, const char *metric, bool *has_value,
				       double *value, struct sw_buf *text, struct sw_err *err);

/*
 * A sweep with several metrics: *all, with their values in y[spec->n_metrics], when the report has
 * every one of them; false when it has none. SW_INVALID at "/metrics" when it has some and not all.
 * metrics passed sw_metrics_read().
 */
SW_NODISCARD sw_status sw_metrics_all(const cJSON *metrics, const struct sw_spec *spec, bool *all,
				      double *y, struct sw_err *err);

/* The same of a report as the store has it, as JSON; it was taken with all of them: SW_IO if it
 * lacks one. */
SW_NODISCARD sw_status sw_metrics_stored(const char *text, const struct sw_spec *spec, double *y,
					 struct sw_err *err);

/* Sets err to SW_INVALID at "/metrics": which metric is missing and what was reported instead. */
void sw_metrics_explain(const char *metric, const cJSON *metrics, struct sw_err *err);

#endif
