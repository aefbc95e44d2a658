/*
 * daemon/sweep/files/passed.h — the environment that comes with a submission for its program: with
 * keys, which belong neither in a spec, that is stored and shown, nor in a log.
 *
 *   <state>/env/<sweep>      a JSON object, mode 0600, until the sweep is deleted: one that has
 *                            ended may be extended. A worker reads it at each start of a program
 *                            (worker/exec/environment.h)
 */
#ifndef SW_DAEMON_SWEEP_FILES_PASSED_H
#define SW_DAEMON_SWEEP_FILES_PASSED_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdint.h>

struct sw_daemon;

#define SW_PASSED_PATH_MAX (PATH_MAX + 64)

void sw_passed_path(const struct sw_daemon *d, int64_t sweep, char out[SW_PASSED_PATH_MAX]);
/* env, but for names that belong to a login; NULL: none. Any that a crash left for this number
 * goes. SW_INVALID at "/env"; SW_FULL. It is not synced, for the loop calls this: after a power cut
 * the worker may find a part of it, and says so. */
SW_NODISCARD sw_status sw_passed_write(const struct sw_daemon *d, int64_t sweep, const cJSON *env,
				       struct sw_err *err);
void sw_passed_remove(const struct sw_daemon *d, int64_t sweep);

#endif
