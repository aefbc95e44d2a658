/*
 * daemon/slot/gpu_usage.h — what each trial used of its GPU.
 *
 * NVML counts by the card. Between two readings its energy is shared among the trials that ran, by
 * their lanes and the time that each ran of it; utilisation is the card's own, whoever made it. Of
 * a trial with several GPUs bytes and energy are summed, and the utilisation is the mean.
 */
#ifndef SW_DAEMON_SLOT_GPU_USAGE_H
#define SW_DAEMON_SLOT_GPU_USAGE_H

#include "daemon/slot/card.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_slot;

struct sw_gpu_usage {
	bool any;
	int64_t peak;                 /* bytes */
	double seconds, util_seconds; /* percent times seconds */
	double millijoules;
};

/* A new reading of the card of these slots: each trial there gets its part of what was used since
 * the last one. slots: [n], the lanes of the GPU. */
void sw_gpu_usage_add(struct sw_slot *slots, size_t n, const struct sw_card *card,
		      const struct sw_nvml_card *last, int64_t last_us);
/* The trial of a slot ends now: what it used on all its GPUs, the time since the last reading by
 * that reading. */
struct sw_gpu_usage sw_gpu_usage_end(const struct sw_slot *s);

#endif
