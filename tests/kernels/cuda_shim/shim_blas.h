/* tests/kernels/cuda_shim/shim_blas.h — what the files of the stand-in for cuBLAS share. */
#ifndef SW_TESTS_CUDA_SHIM_SHIM_BLAS_H
#define SW_TESTS_CUDA_SHIM_SHIM_BLAS_H

#include "tests/kernels/cuda_shim/shim.h"
#include <cublas_v2.h>

/* c = alpha op(a) op(b) + beta c */
struct sw_shim_product {
	cublasOperation_t ta, tb;
	int m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const void *a, *b;
	float *c;
	enum { SW_SHIM_WHOLE, SW_SHIM_TF32, SW_SHIM_BF16 } operands;
	const float *bias; /* float[m], added to each column of c; or NULL */
	float *sums;       /* float[n], those of the columns of op(b); or NULL */
};

/* Gives it to the stream. */
cublasStatus_t sw_shim_product_queue(cudaStream_t s, const struct sw_shim_product *product);

#endif
