/* trainer/runner.h — a device as the trials of a lane have it. */
#ifndef SW_TRAINER_RUNNER_H
#define SW_TRAINER_RUNNER_H

#include "trainer/data/data.h"

/* A lane's own; those of one device share ops and cache. */
struct sw_runner {
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_data_cache *cache;
	const char *device; /* "cpu:0", "gpu:0.3", for logs */
	unsigned cores;     /* that a CPU may use */
	/* Most bytes of all trials that run at once, a data set that they share among them, of
	 * which each has an equal part; 0: no cap. */
	size_t memory;
	unsigned lanes;     /* how many these are; 0 is 1 */
	bool streams;       /* a data set over half of the memory is streamed */
	unsigned lost_rank; /* after SW_DEVICE_LOST, SW_PEER_LOST: which it was */
	bool stuck;         /* the process must end by _exit */
};

/* Opens what r lacks: the device (kernels/backend.h has its name), the cache, and a queue of its
 * own, so that the kernels of two lanes overlap. After an error it may be closed, too. */
SW_NODISCARD sw_status sw_runner_open(struct sw_runner *r, const char *device, struct sw_err *err);

/* Gives back its queue, and its cache unless it is that of `of`, a runner of the same device. */
void sw_runner_close(struct sw_runner *r, const struct sw_runner *of);

/* Shares the CPU's cores among the ranks of the next trial; nothing on a GPU. */
void sw_runner_share(const struct sw_runner *r, unsigned ranks);

#endif
