/*
 * kernels/cuda/blas.h — the functions of cuBLAS that are called. The library is opened when a queue
 * first needs a product: a module that was linked with it would not load where it is missing, and
 * most nets need none. For C alone: C++ has two functions of some names.
 */
#ifndef SW_KERNELS_CUDA_BLAS_H
#define SW_KERNELS_CUDA_BLAS_H

#include "base/status.h"
#include <cublas_v2.h>

/* X(member, function): all that is called, each by the name that the header gives it. */
#define SW_CUBLAS_CALLS(X)                                                                         \
	X(create, cublasCreate)                                                                    \
	X(destroy, cublasDestroy)                                                                  \
	X(set_stream, cublasSetStream)                                                             \
	X(set_workspace, cublasSetWorkspace)                                                       \
	X(set_math_mode, cublasSetMathMode)                                                        \
	X(set_atomics_mode, cublasSetAtomicsMode)                                                  \
	X(sgemm, cublasSgemm)                                                                      \
	X(gemm_ex, cublasGemmEx)

#define SW_CUBLAS_MEMBER(member, function) __typeof__(&(function)) member;

struct sw_cublas {
	SW_CUBLAS_CALLS(SW_CUBLAS_MEMBER)
};

/* The library stays open until the process ends; where it was not found it is looked for again.
 * SW_UNSUPPORTED, with a line: it is missing, or lacks a function. One thread at a time. */
sw_status sw_cublas_open(const struct sw_cublas **out, struct sw_err *err);

#endif
