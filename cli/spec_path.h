/* cli/spec_path.h — the data files of a spec, as the daemon can find them. */
#ifndef SW_CLI_SPEC_PATH_H
#define SW_CLI_SPEC_PATH_H

#include "base/status.h"
#include <cjson/cJSON.h>

/* Makes the relative paths of trainer.dataset ("path", "label_path", "val_path", "val_label_path")
 * absolute where they name a file or folder from the current directory, or else from `beside`, the
 * folder of the spec's file (NULL: it has none); the daemon would look for them from its own. Fills
 * in where its own program runs (spec_path.c). All else in the spec stays as it is. SW_NOMEM,
 * SW_IO. */
SW_NODISCARD sw_status sw_spec_path_absolute(cJSON *spec, const char *beside, struct sw_err *err);

#endif
