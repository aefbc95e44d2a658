/* cli/spec_path.h — the data file of a spec, as the daemon can find it. */
#ifndef SW_CLI_SPEC_PATH_H
#define SW_CLI_SPEC_PATH_H

#include "base/buf.h"
#include "base/status.h"

/* Makes a relative trainer.dataset.path absolute where it names a file from the current directory;
 * the daemon would look for it from its own. text: a spec, valid JSON; written anew only then, with
 * 5.0 still 5.0. Else, and where there is no such path, it stays as it is. SW_NOMEM, SW_TOO_BIG. */
SW_NODISCARD sw_status sw_spec_path_absolute(struct sw_buf *text, struct sw_err *err);

#endif
