/* daemon/api/trial_filter.h — a filter of trials (store/filter.h) by the names of their sweep. */
#ifndef SW_DAEMON_API_TRIAL_FILTER_H
#define SW_DAEMON_API_TRIAL_FILTER_H

#include "base/status.h"
#include "spec/spec.h"
#include "store/filter.h"
#include <stdint.h>

struct sw_db;

/* f is the caller's (sw_filter_fini), whatever comes of it. SW_INVALID at /filter or /sort, a name
 * that the sweep does not have with the nearest that it has; SW_NOMEM. */
SW_NODISCARD sw_status sw_trial_filter(struct sw_filter *f, const struct sw_spec *spec,
				       const char *text, const char *sort, struct sw_err *err);
/* The same by the sweep's stored spec. SW_NOT_FOUND. */
SW_NODISCARD sw_status sw_trial_filter_stored(struct sw_filter *f, struct sw_db *db, int64_t sweep,
					      const char *text, const char *sort,
					      struct sw_err *err);

#endif
