/*
 * base/gpu.h — bytes of a GPU that no trial may have: the daemon leaves them out when it looks for
 * room, the worker when it asks how much is free.
 */
#ifndef SW_BASE_GPU_H
#define SW_BASE_GPU_H

#include <stdint.h>

/* A worker's process takes these before its first trial, for its context and its code. They are an
 * estimate: a context has some hundred MiB. */
#define SW_GPU_CONTEXT_BYTES ((int64_t)512 << 20)

/* These stay free on a GPU, or a fiftieth of it if that is more: for graphs, for code that is
 * loaded at its first use, and for the workspace of cuBLAS. */
#define SW_GPU_STAYS_BYTES ((int64_t)256 << 20)

static inline int64_t sw_gpu_stays(int64_t total)
{
	return total / 50 > SW_GPU_STAYS_BYTES ? total / 50 : SW_GPU_STAYS_BYTES;
}

#endif
