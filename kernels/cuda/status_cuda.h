/*
 * kernels/cuda/status_cuda.h — CUDA's and cuBLAS's codes become ours, on the line of the call.
 *
 * Errors   Out of memory is SW_NOMEM, a shape or pointer that CUDA refuses SW_INVALID, what cannot
 *          be recorded in a graph, or what this device or driver lacks, SW_UNSUPPORTED; none of
 *          these breaks the context. All else, known or new, is SW_DEVICE_LOST: most of it is
 *          sticky (only a new process gets a clean context), and work of unknown outcome must not
 *          be trusted.
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
	default:
		return SW_DEVICE_LOST;
	}
}

#endif
