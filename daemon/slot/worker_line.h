/* daemon/slot/worker_line.h — the command line and the environment of a slot's worker process. */
#ifndef SW_DAEMON_SLOT_WORKER_LINE_H
#define SW_DAEMON_SLOT_WORKER_LINE_H

#include "spec/spec.h"

struct sw_slot;

/* Memory   argv and env point into the struct, the slot and the daemon's configuration. */
struct sw_worker_line {
	char slot[16], cores[16], memory[24], lanes[16], device[24];
	char *argv[24];
	char visible[SW_SPEC_MAX_RANKS * 96];
	char *env[3]; /* for sw_executor.start */
};

/*
 * Of several GPUs a worker sees its own first, by its UUID: as gpu:0, whatever the order in which
 * CUDA numbers them. Behind it come the others that take trials now, for trials on several of them;
 * a part of a GPU (MIG) is all that its worker sees. Without NVML the number is CUDA's in the order
 * of the PCI bus. A GPU of several lanes: slot is the first of as many, one after the other.
 */
void sw_worker_line_write(const struct sw_slot *s, struct sw_worker_line *l);

#endif
