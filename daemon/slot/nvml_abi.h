/* daemon/slot/nvml_abi.h — NVML's own functions and layouts, and what is kept between readings. For
 * nvml.c and nvml_read.c alone. */
#ifndef SW_DAEMON_SLOT_NVML_ABI_H
#define SW_DAEMON_SLOT_NVML_ABI_H

#include "daemon/slot/nvml.h"

/* --- the library's side: layouts and numbers of its ABI --- */

enum {
	NVML_SUCCESS = 0,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
};
#define TEMPERATURE_GPU    0U
#define THRESHOLD_SLOWDOWN 1U
#define ECC_UNCORRECTED    1
#define ECC_VOLATILE       0
#define REASON_HW_THERMAL  UINT64_C(0x40)
#define NOT_AVAILABLE      UINT64_MAX
#define MEMORY_V2          ((unsigned)sizeof(struct memory_v2) | 2U << 24)
#define PROCS_ASKED        256U
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

_Static_assert(sizeof(struct memory) == 24 && sizeof(struct memory_v2) == 40 &&
		       sizeof(struct pci) == 68 && sizeof(struct process) == 24 &&
		       sizeof(struct event) == 32,
	       "the library's layouts");

/* Those above the line must be there; a library or a card may lack any other. */
struct calls {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, struct device **);
	int (*uuid)(struct device *, char *, unsigned);
	int (*memory)(struct device *, struct memory *);
	/* --- */
	int (*shutdown)(void);
	const char *(*error)(int);
	int (*name)(struct device *, char *, unsigned);
	int (*pci)(struct device *, struct pci *);
	int (*memory_v2)(struct device *, struct memory_v2 *);
	int (*utilization)(struct device *, struct utilization *);
	int (*temperature)(struct device *, unsigned, unsigned *);
	int (*threshold)(struct device *, unsigned, unsigned *);
	int (*power)(struct device *, unsigned *);
	int (*power_limit)(struct device *, unsigned *);
	int (*energy)(struct device *, unsigned long long *);
	int (*ecc)(struct device *, int, int, unsigned long long *);
	int (*throttle)(struct device *, unsigned long long *);
	int (*compute)(struct device *, unsigned *, struct process *);
	int (*graphics)(struct device *, unsigned *, struct process *);
	int (*capability)(struct device *, int *, int *);
	int (*mig_mode)(struct device *, unsigned *, unsigned *);
	int (*parts_most)(struct device *, unsigned *);
	int (*part)(struct device *, unsigned, struct device **);
	int (*instance)(struct device *, unsigned *);
	int (*events)(struct event_set **);
	int (*watch)(struct device *, unsigned long long, struct event_set *);
	int (*wait)(struct event_set *, struct event *, unsigned);
	int (*unwatch)(struct event_set *);
	int (*p2p)(struct device *, struct device *, int, int *);
	int (*ancestor)(struct device *, struct device *, int *);
};

/* A part of a GPU that was seen once. */
struct part {
	char uuid[96];
	struct device *device; /* NULL: not there any more */
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
	bool watched, linked;
	uint8_t link[SW_NVML_CARDS][SW_NVML_CARDS];
	struct event_set *events; /* NULL: it tells of none */
};

/* NVML's words for a code. */
const char *sw_nvml_words(const struct sw_nvml *m, int code);

#endif
