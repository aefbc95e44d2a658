/* cli/devices_text.h — device.list as people read it: GPUs as nvidia-smi's users expect them, who
 * is on them, then the slots. */
#ifndef SW_CLI_DEVICES_TEXT_H
#define SW_CLI_DEVICES_TEXT_H

#include "base/buf.h"
#include "cli/fmt.h"
#include <cjson/cJSON.h>

/* Appends marked lines (cli/header.h): the tables, a blank line between two. Without slots one line
 * says so. Tables have room in look->width. */
void sw_devices_text(struct sw_buf *out, const cJSON *list, const struct sw_look *look);

#endif
