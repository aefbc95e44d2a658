/*
 * daemon/sweep/edit.h — sweep.edit: what is to change, read from the call or from a stored event,
 * and what has changed, as JSON.
 *
 * An edit is one JSON object, as the method takes it and as the event keeps it (as its cause):
 *   {"run_cap": 80, "weight": 2, "ranges": {"lr": {"min": 1e-4, "max": 1e-2}}}
 * the stored one with "from": what the same members were before. 0 stands for "no limit". Weight
 * and budgets are the daemon's, the rest is the state machine's.
 */
#ifndef SW_DAEMON_SWEEP_EDIT_H
#define SW_DAEMON_SWEEP_EDIT_H

#include "base/buf.h"
#include "base/status.h"
#include "proto/json.h"
#include "sched/sweep/sweep.h"
#include "spec/spec.h"
#include <stdbool.h>

struct sw_running;

struct sw_edits {
	struct sw_edit sched; /* its ranges are these */
	struct sw_range ranges[SW_SPACE_MAX_PARAMS];
	bool has_weight, has_time, has_gpu, has_lease;
	double weight, time_s, gpu_hours, lease_s;
};

/* The settings of a sweep as they stand: those of its spec, then changed by its edits. */
struct sw_settings {
	double weight, time_s, gpu_hours; /* budgets: 0: none */
	double lease_s;                   /* 0: none (daemon/sweep/run/hold.h) */
	uint64_t max_concurrent;          /* 0: no limit */
	bool has_target;
	double target;
};
void sw_settings_init(struct sw_settings *s, const struct sw_spec *spec);
void sw_settings_edit(struct sw_settings *s, const struct sw_edits *e);
/* Makes them those of the sweep. */
void sw_settings_use(struct sw_running *live, const struct sw_settings *s);

/* SW_INVALID with a pointer into `object`: an unknown parameter (the nearest is named), one whose
 * range cannot be edited, a range that cannot be read, nothing to change. */
SW_NODISCARD sw_status sw_edits_read(struct sw_edits *out, const struct sw_spec *spec,
				     const cJSON *object, struct sw_err *err);

/* The edit as it is stored. Before it is taken: "from" is read from the sweep. */
void sw_edits_write(const struct sw_edits *e, const struct sw_running *live, struct sw_buf *out);

/* The array of changes of a stored edit: [{"key": "run_cap", "from": 40, "to": 80}]. */
void sw_edits_changes(const cJSON *stored, struct sw_jw *w);

#endif
