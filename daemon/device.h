/* daemon/device.h — what --devices means: a list of slots. */
#ifndef SW_DAEMON_DEVICE_H
#define SW_DAEMON_DEVICE_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_DEVICE_MAX_SLOTS 1024

struct sw_device {
	bool gpu;
	unsigned index; /* of the GPU; of the CPU slot */
	unsigned cores; /* processor cores for its worker */
	char name[24];  /* "cpu:0", "gpu:1" */
};

/*
 * "cpu:N" N slots that share the cores; "gpu:0,1" one slot for each; "none"; "auto": every GPU that
 * the driver shows, else one slot a core. Parts may be joined by "+": "gpu:0+cpu:2".
 * *out is the caller's (free()); NULL and 0 for "none". SW_INVALID with one line.
 */
SW_NODISCARD sw_status sw_device_parse(const char *spec, struct sw_device **out, size_t *n,
				       struct sw_err *err);

#endif
