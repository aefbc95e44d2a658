/* cli/spec_run.h — where a spec's own program runs: what only the place of submission knows. */
#ifndef SW_CLI_SPEC_RUN_H
#define SW_CLI_SPEC_RUN_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>

/* Into a spec with "command" or "program": run.cwd, the current folder, where there is none; a
 * relative one is taken from there. run.env gets the variables that the command names by
 * ${envvar:NAME}, where it has not them and the environment has; and of an active virtual
 * environment PATH and VIRTUAL_ENV or CONDA_PREFIX. *changed is set if anything was.
 * SW_NOMEM; SW_IO: there is no current folder. */
SW_NODISCARD sw_status sw_spec_run_fill(cJSON *spec, bool *changed, struct sw_err *err);

#endif
