/* daemon/sweep/names.h — the names that stored events and decisions go by. */
#ifndef SW_DAEMON_SWEEP_NAMES_H
#define SW_DAEMON_SWEEP_NAMES_H

#include "base/status.h"
#include "sched/sweep/sweep.h"

const char *sw_names_event(enum sw_event_kind kind);
/* SW_INVALID: no event is called that. */
SW_NODISCARD sw_status sw_names_event_find(const char *name, enum sw_event_kind *out);
const char *sw_names_decision(enum sw_decision decision); /* "continue", "stop", "pause" */

/* How a report is stored: by its decision; one that came with a tell as "end" if it has a step of
 * its own, else as "result". Both are answered "continue". */
const char *sw_names_verdict(const struct sw_event *report, enum sw_decision decision);
bool sw_names_is_result(const char *verdict);
bool sw_names_is_final(const char *verdict); /* either */

#endif
