/* daemon/slot/device.h — what --devices means: a list of slots. */
#ifndef SW_DAEMON_SLOT_DEVICE_H
#define SW_DAEMON_SLOT_DEVICE_H

#include "base/status.h"
#include "daemon/slot/nvml.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_config;
struct sw_pilot_options;

#define SW_DEVICE_MAX_SLOTS  1024 /* of this machine */
#define SW_DEVICE_AUTO_LANES 32   /* as many as memory allows trials in, of these */

/* A kind of slot, and all that the daemon asks of one. The rows are in device.c, beside what finds
 * the slots of each. */
struct sw_device_kind {
	const char *word;  /* "cpu", "gpu": its worker's --device */
	const char *units; /* what a trial takes several of there */
	const char *env;   /* an entry of its worker's environment; NULL: none */
	bool gpu;          /* a GPU, or a part of one: it has lanes, and its own memory */
	bool several;      /* a trial may have more than one: CPU slots, or whole GPUs */
	bool watched;      /* NVML of this machine sees it */
	bool away;         /* a pilot's, on a node of a cluster: a job begins its worker */
};

struct sw_device {
	const struct sw_device_kind *kind;
	/* of a GPU or a part its card's place in a view of NVML, for a whole GPU its number; of a
	 * CPU slot its own number */
	unsigned index;
	unsigned cores;       /* processor cores for its worker */
	unsigned lane, lanes; /* of the GPU's lanes this one; a CPU slot is its only one */
	int capability;       /* CUDA's, 80 for 8.0; 0: not known, or a CPU slot */
	char card[16];        /* "gpu:1", of a part "gpu:1m0"; "" of a CPU slot */
	char name[24];        /* "cpu:0", "gpu:1"; of several lanes "gpu:1.0", "gpu:1.1" ... */
	char uuid[96];        /* of the GPU, or the part; "" where NVML does not say */
};

/*
 * "cpu:N" N slots that share the cores; "gpu:LIST" the GPUs of a list of numbers and UUIDs (or the
 * beginning of one), each with ":N" or ":auto" for N or many lanes; "auto" or "auto:N": every
 * healthy GPU that CUDA_VISIBLE_DEVICES, where it is set, does not hide; without a GPU one slot a
 * core; "none". Several may be joined by "+": "gpu:0,1:4+cpu:2". A GPU that is divided into parts
 * (MIG) has no slot; each part is named as a GPU is, "0m1" for number 1 of GPU 0. The lanes of a
 * GPU are slots one after the other. view: what NVML said; NULL: nothing, and then numbers alone
 * name GPUs, whether they are there or not. *out is the caller's (free()); NULL and 0 for "none".
 * SW_INVALID with one line.
 */
SW_NODISCARD sw_status sw_device_parse(const char *spec, const struct sw_nvml_view *view,
				       struct sw_device **out, size_t *n, struct sw_err *err);

/* Adds the slots of pilots behind those of this machine. SW_NOMEM changes nothing. */
SW_NODISCARD sw_status sw_device_add_pilots(const struct sw_pilot_options *o,
					    struct sw_device **devices, size_t *n,
					    struct sw_err *err);

/* Most bytes of its trials by --cpu-memory or --gpu-memory; 0: no limit is given. */
int64_t sw_device_memory(const struct sw_device *device, const struct sw_config *config);

/* Lanes that a trial takes there. gpu is what its spec's resources.gpu asks for: a part of a GPU up
 * to 1; 0: nothing was said, any slot will do; below 0: it said 0, a CPU slot. A part takes that
 * part of the lanes of one GPU, at least one. 0: such a trial does not go there. */
unsigned sw_device_lanes(const struct sw_device *device, double gpu);

/* If "auto" leaves out GPUs that NVML shows: true, and one line that says how many and why. */
bool sw_device_left_out(const char *spec, const struct sw_nvml_view *view, char *out, size_t cap);

/* Has this machine a GPU of NVIDIA's, whatever NVML says? The kernel's module has one and its
 * device file is here (a container may have none), or WSL passes one on. root: "", or where / is
 * for a test. */
bool sw_device_is_there(const char *root);

/* Is it written right? Asks nobody what GPUs there are. */
SW_NODISCARD sw_status sw_device_check(const char *spec, struct sw_err *err);

/* Does it speak of GPUs (auto, gpu:...)? Only then is NVML asked. */
bool sw_device_wants_gpus(const char *spec);

#endif
