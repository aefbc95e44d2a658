/*
 * daemon/slot/nvml.h — what the driver's own library (NVML) says of the GPUs, opened with dlopen.
 *
 * Threads  Any call may block for as long as the driver likes: none is made on the loop thread.
 *          One thread at a time per sw_nvml. daemon/slot/card_poll.h makes them.
 * Memory   A view is the caller's; nothing in it points elsewhere.
 * Errors   What a GPU does not say is -1, never an error. Names are cut at their room.
 * Source   The ABI of NVML as its API reference states it (docs.nvidia.com/deploy/nvml-api): the
 *          functions by their versioned names, so that a newer library keeps these layouts.
 */
#ifndef SW_DAEMON_SLOT_NVML_H
#define SW_DAEMON_SLOT_NVML_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_NVML_CARDS 128 /* more than any machine has, with the parts of its GPUs */
#define SW_NVML_XIDS  8   /* of one card, between two readings */
#define SW_NVML_PROCS 32  /* of one card; those with the most memory */
#define SW_NVML_ABOVE 4

struct sw_nvml_proc {
	int64_t pid;
	int64_t session; /* of the process (setsid); -1: it cannot be seen from here */
	/* Session ids of its ancestors that differ from its own (a worker's program may begin one);
	 * 0 ends the list. */
	int64_t above[SW_NVML_ABOVE];
	int64_t bytes; /* on the card; -1: not said */
	bool compute;  /* else it draws */
	char name[32]; /* as /proc has it; "" when it cannot be seen; untrusted text */
};

enum sw_nvml_health {
	SW_NVML_OK,
	SW_NVML_LOST,  /* fell off the bus, or needs a reset: nothing can run there */
	SW_NVML_SILENT /* its memory cannot be read */
};

/* One GPU at one moment, or a part of one (MIG): it computes by itself, with memory of its own.
 * A part has a copy of what NVML reports of the whole GPU only, except power and energy. */
struct sw_nvml_card {
	enum sw_nvml_health health;
	char why[96]; /* not SW_NVML_OK: NVML's words */
	char name[96], uuid[96], bus[32];
	bool divided; /* into parts: programs run on these alone */
	struct {
		bool is;
		unsigned gpu, number; /* of that GPU (its index), and which one */
	} part;
	size_t xid_n; /* errors since the last reading, the oldest first (daemon/slot/xid.h) */
	unsigned xid[SW_NVML_XIDS];
	int64_t total, used, free; /* bytes; used is without what the driver keeps to itself */
	int32_t capability;        /* CUDA's: 80 for 8.0; 0: not said */
	int32_t util;              /* percent of the time in which a kernel ran */
	int32_t temp, slowdown;    /* degrees Celsius; slowdown: where the card throttles itself */
	int64_t power_mw, limit_mw;
	int64_t energy_mj; /* since the driver was loaded */
	int64_t ecc;       /* uncorrected errors since then */
	unsigned need;     /* what the driver says has to be done (enum sw_gpu_need); 0: nothing */
	bool throttled;    /* by heat, in hardware */
	bool sleeps;       /* the kernel may power it down while nobody has it open (a laptop's) */
	bool unlisted;     /* a list of processes is not to be had: a virtual GPU, WSL */
	size_t proc_n;
	struct sw_nvml_proc proc[SW_NVML_PROCS];
};

struct sw_nvml_view {
	/* In NVML's order, which is that of the PCI bus; behind them the parts, each in the place
	 * where it was first seen. */
	size_t n;
	struct sw_nvml_card card[SW_NVML_CARDS];
	/* How near two GPUs are to each other, as first read: 100 with NVLink, else less the
	 * farther apart they are on the bus, 0 not known. Of GPUs, not their parts. */
	uint8_t link[SW_NVML_CARDS][SW_NVML_CARDS];
};

struct sw_nvml; /* opaque */

/* Loads libnvidia-ml.so.1 (SWEEPD_NVML in the environment names another file) and starts it.
 * SW_NOT_FOUND with one line: no library, no driver; SW_IO: the driver does not work. */
SW_NODISCARD sw_status sw_nvml_open(struct sw_nvml **out, struct sw_err *err);
/* Another error of the card. Of more than there is room for the oldest are dropped, but for those
 * after which the GPU works only when it was reset: one such may draw many others after it. */
void sw_nvml_keep_xid(struct sw_nvml_card *card, unsigned xid);
/* Every GPU as it is now. */
void sw_nvml_read(struct sw_nvml *nvml, struct sw_nvml_view *out);
/* Lets go of the GPUs until the next reading: while their files are open, here or elsewhere, the
 * driver counts them as used (nv_start_device() of its open modules), and none is powered down. */
void sw_nvml_rest(struct sw_nvml *nvml);
/* Is a GPU's power management left to the kernel? bus: as NVML says it. root: "", or where / is for
 * a test. */
bool sw_nvml_may_sleep(const char *root, const char *bus);
void sw_nvml_close(struct sw_nvml *nvml); /* NULL is allowed */

#endif
