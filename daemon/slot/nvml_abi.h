/* daemon/slot/nvml_abi.h — NVML's own functions and layouts, and what is kept between readings. For
 * nvml.c alone. */
#ifndef SW_DAEMON_SLOT_NVML_ABI_H
#define SW_DAEMON_SLOT_NVML_ABI_H

#include "daemon/slot/nvml.h"

/* --- the library's side: layouts and numbers of its ABI --- */

enum {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_UNKNOWN = 999,
};
#define TEMPERATURE_GPU    0U
#define THRESHOLD_SLOWDOWN 1U
#define ECC_UNCORRECTED    1
#define ECC_VOLATILE       0
#define REASON_HW_THERMAL  UINT64_C(0x40)
#define NOT_AVAILABLE      UINT64_MAX
#define MEMORY_V2          ((unsigned)sizeof(struct memory_v2) | 2U << 24)
#define PROCS_ASKED        256U
#define FIELD_RECOVERY     230U
#define EVENT_XID          8ULL
#define EVENTS_AT_ONCE     64
#define ANY_INSTANCE       0xFFFFFFFFU
#define P2P_NVLINK         2
#define P2P_OK             0
#define ANCESTOR_SYSTEM    50 /* the farthest: across processors */

struct device; /* theirs */
struct event_set;

struct memory {
	unsigned long long total, free, used;
};

struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct utilization {
	unsigned gpu, memory;
};

struct pci {
	char bus_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};

struct event {
	struct device *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

struct field {
	unsigned id, scope;
	long long time, latency;
	int type, code; /* code: of this field */
	union {
		unsigned u;
		unsigned long long widest;
	} value;
};

_Static_assert(sizeof(struct memory) == 24 && sizeof(struct memory_v2) == 40 &&
		       sizeof(struct pci) == 68 && sizeof(struct process) == 24 &&
		       sizeof(struct event) == 32 && sizeof(struct field) == 40,
	       "the library's layouts");

/* All that is called of the library, by our name and its own. The first NVML_REQUIRED must be
 * there; a library or a card may lack any other. */
#define NVML_REQUIRED 5
#define NVML_CALLS(X)                                                                              \
	X(init, "nvmlInit_v2", int, (void))                                                        \
	X(count, "nvmlDeviceGetCount_v2", int, (unsigned *))                                       \
	X(handle, "nvmlDeviceGetHandleByIndex_v2", int, (unsigned, struct device **))              \
	X(uuid, "nvmlDeviceGetUUID", int, (struct device *, char *, unsigned))                     \
	X(memory, "nvmlDeviceGetMemoryInfo", int, (struct device *, struct memory *))              \
	X(shutdown, "nvmlShutdown", int, (void))                                                   \
	X(error, "nvmlErrorString", const char *, (int))                                           \
	X(name, "nvmlDeviceGetName", int, (struct device *, char *, unsigned))                     \
	X(pci, "nvmlDeviceGetPciInfo_v3", int, (struct device *, struct pci *))                    \
	X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", int, (struct device *, struct memory_v2 *))     \
	X(utilization, "nvmlDeviceGetUtilizationRates", int,                                       \
	  (struct device *, struct utilization *))                                                 \
	X(temperature, "nvmlDeviceGetTemperature", int, (struct device *, unsigned, unsigned *))   \
	X(threshold, "nvmlDeviceGetTemperatureThreshold", int,                                     \
	  (struct device *, unsigned, unsigned *))                                                 \
	X(power, "nvmlDeviceGetPowerUsage", int, (struct device *, unsigned *))                    \
	X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", int, (struct device *, unsigned *))      \
	X(energy, "nvmlDeviceGetTotalEnergyConsumption", int,                                      \
	  (struct device *, unsigned long long *))                                                 \
	X(ecc, "nvmlDeviceGetTotalEccErrors", int,                                                 \
	  (struct device *, int, int, unsigned long long *))                                       \
	X(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", int,                              \
	  (struct device *, unsigned long long *))                                                 \
	X(fields, "nvmlDeviceGetFieldValues", int, (struct device *, int, struct field *))         \
	X(compute, "nvmlDeviceGetComputeRunningProcesses_v3", int,                                 \
	  (struct device *, unsigned *, struct process *))                                         \
	X(graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3", int,                               \
	  (struct device *, unsigned *, struct process *))                                         \
	X(capability, "nvmlDeviceGetCudaComputeCapability", int, (struct device *, int *, int *))  \
	X(mig_mode, "nvmlDeviceGetMigMode", int, (struct device *, unsigned *, unsigned *))        \
	X(parts_most, "nvmlDeviceGetMaxMigDeviceCount", int, (struct device *, unsigned *))        \
	X(part, "nvmlDeviceGetMigDeviceHandleByIndex", int,                                        \
	  (struct device *, unsigned, struct device **))                                           \
	X(instance, "nvmlDeviceGetGpuInstanceId", int, (struct device *, unsigned *))              \
	X(events, "nvmlEventSetCreate", int, (struct event_set **))                                \
	X(watch, "nvmlDeviceRegisterEvents", int,                                                  \
	  (struct device *, unsigned long long, struct event_set *))                               \
	X(wait, "nvmlEventSetWait_v2", int, (struct event_set *, struct event *, unsigned))        \
	X(unwatch, "nvmlEventSetFree", int, (struct event_set *))                                  \
	X(p2p, "nvmlDeviceGetP2PStatus", int, (struct device *, struct device *, int, int *))      \
	X(ancestor, "nvmlDeviceGetTopologyCommonAncestor", int,                                    \
	  (struct device *, struct device *, int *))

struct calls {
#define NVML_CALL(name, symbol, type, args) type(*name) args;
	NVML_CALLS(NVML_CALL)
#undef NVML_CALL
};

/* A part of a GPU that was seen once. */
struct part {
	char uuid[96];
	struct device *device; /* NULL: gone */
	unsigned gpu, number;
	unsigned instance;
};

struct sw_nvml {
	void *library;
	struct calls call;
	struct process procs[PROCS_ASKED];
	struct device *gpus[SW_NVML_CARDS]; /* as last had; NULL: never */
	struct part parts[SW_NVML_CARDS];
	size_t part_n, parts_at; /* their place in a view, the same for ever */
	bool watched, linked, rests;
	uint8_t link[SW_NVML_CARDS][SW_NVML_CARDS];
	struct event_set *events; /* NULL: it tells of none */
};

#endif
