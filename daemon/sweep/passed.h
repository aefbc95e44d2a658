/*
 * daemon/sweep/passed.h — variables that come with a submission for its program: keys, which belong
 * neither in a spec, that is stored and shown, nor in a log.
 *
 *   <state>/env/<sweep>      a JSON object, mode 0600, until the sweep ends; a worker reads it at
 *                            each start of a program (worker/exec/environment.h)
 */
#ifndef SW_DAEMON_SWEEP_PASSED_H
#define SW_DAEMON_SWEEP_PASSED_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdint.h>

struct sw_daemon;

#define SW_PASSED_PATH_MAX (PATH_MAX + 64)

void sw_passed_path(const struct sw_daemon *d, int64_t sweep, char out[SW_PASSED_PATH_MAX]);
/* env: NULL: none; any that a crash left for this number goes. SW_INVALID at "/env"; SW_FULL. It is
 * not synced: the loop calls this, and a power cut costs keys, not results. */
SW_NODISCARD sw_status sw_passed_write(const struct sw_daemon *d, int64_t sweep, const cJSON *env,
				       struct sw_err *err);
void sw_passed_remove(const struct sw_daemon *d, int64_t sweep);

#endif
