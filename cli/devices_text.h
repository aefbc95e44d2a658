/* cli/devices_text.h — device.list as people read it: GPUs as nvidia-smi's users expect them, who
 * is on them, then the slots. */
#ifndef SW_CLI_DEVICES_TEXT_H
#define SW_CLI_DEVICES_TEXT_H

#include "base/buf.h"
#include "cli/fmt.h"
#include <cjson/cJSON.h>

/* Appends the tables, each followed by a line break. Without slots one line says so. */
void sw_devices_text(struct sw_buf *out, const cJSON *list, const struct sw_look *look);

#endif
