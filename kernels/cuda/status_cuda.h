/*
 * kernels/cuda/status_cuda.h — CUDA's and cuBLAS's codes become ours, on the line of the call.
 *
 * Errors   Out of memory is SW_NOMEM, a shape or pointer that CUDA refuses SW_INVALID, what cannot
 *          be recorded in a graph, or what this device or driver lacks, SW_UNSUPPORTED; none of
 *          these breaks the context. All else, known or new, is SW_DEVICE_LOST: most of it is
 *          sticky (only a new process gets a clean context), and work of unknown outcome must not
 *          be trusted.
 *
 *          what fails                       says                             becomes
 *          memory, pinned memory, a stream, no memory                        SW_NOMEM
 *            an event, a queue's first call
 *          a handle of cuBLAS               not initialised, no memory       SW_NOMEM
 *          a product                        no memory; any error of cuBLAS   SW_NOMEM
 *                                             beside less than 64 MiB free
 *          a handle, a product              not supported, another card      SW_UNSUPPORTED
 *          the library of cuBLAS            is missing, lacks a function     SW_UNSUPPORTED
 *          a product in a recording         anything                         SW_UNSUPPORTED
 *          a recording                      cannot be, was spoiled           SW_UNSUPPORTED
 *          a graph that is made or started  no memory                        SW_NOMEM
 *          any call                         all else                         SW_DEVICE_LOST
 *
 *          A net makes a step that could not be recorded by calls, goes through its rows in smaller
 *          parts after SW_NOMEM, and ends with the others. Only SW_DEVICE_LOST touches other lanes.
 */
#ifndef SW_KERNELS_CUDA_STATUS_CUDA_H
#define SW_KERNELS_CUDA_STATUS_CUDA_H

#include "base/status.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>

/* Also forgets e as the thread's last error: an allocation that failed would otherwise be seen by
 * the next launch, which asks for the last error, as its own. */
static inline sw_status sw_cuda_status(cudaError_t e)
{
	if (e == cudaSuccess)
		return SW_OK;
	(void)cudaGetLastError();
	switch (e) {
	case cudaErrorMemoryAllocation:
		return SW_NOMEM;
	case cudaErrorInvalidValue:
	case cudaErrorInvalidConfiguration:
		return SW_INVALID;
	case cudaErrorNotSupported:
	case cudaErrorStreamCaptureUnsupported:
	case cudaErrorStreamCaptureInvalidated:
	case cudaErrorStreamCaptureMerge:
	case cudaErrorStreamCaptureUnmatched:
	case cudaErrorStreamCaptureUnjoined:
	case cudaErrorStreamCaptureIsolation:
	case cudaErrorStreamCaptureImplicit:
	case cudaErrorCapturedEvent:
	case cudaErrorStreamCaptureWrongThread:
		return SW_UNSUPPORTED;
	default:
		return SW_DEVICE_LOST;
	}
}

static inline sw_status sw_cublas_status(cublasStatus_t e)
{
	switch (e) {
	case CUBLAS_STATUS_SUCCESS:
		return SW_OK;
	case CUBLAS_STATUS_ALLOC_FAILED:
		return SW_NOMEM;
	case CUBLAS_STATUS_INVALID_VALUE:
		return SW_INVALID;
	case CUBLAS_STATUS_ARCH_MISMATCH:
	case CUBLAS_STATUS_NOT_SUPPORTED:
		return SW_UNSUPPORTED;
	default:
		return SW_DEVICE_LOST;
	}
}

#endif
