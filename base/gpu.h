/*
 * base/gpu.h — bytes of a GPU that no trial may have: the daemon leaves them out where it looks for
 * room, the worker where it asks what there is.
 */
#ifndef SW_BASE_GPU_H
#define SW_BASE_GPU_H

#include <stdint.h>

/* Of a worker's process before its first trial: its context and its code. Estimated: a context has
 * some hundred MiB. */
#define SW_GPU_CONTEXT_BYTES ((int64_t)512 << 20)

/* What stays free of a GPU, or a fiftieth of it where that is more: for graphs, for code that is
 * loaded at its first use, for what cuBLAS takes in a product. */
#define SW_GPU_STAYS_BYTES ((int64_t)256 << 20)

static inline int64_t sw_gpu_stays(int64_t total)
{
	return total / 50 > SW_GPU_STAYS_BYTES ? total / 50 : SW_GPU_STAYS_BYTES;
}

#endif
