/*
 * kernels/cuda/product.h — the one way in which this backend asks cuBLAS for a product.
 *
 * cuBLAS stores by columns: a row-major float[R][C] is to it the transposed, C x R with leading
 * dimension C. So each product is asked for as the transpose of what is wanted, operands swapped:
 * (x w^T)^T = w x^T.
 */
#ifndef SW_KERNELS_CUDA_PRODUCT_H
#define SW_KERNELS_CUDA_PRODUCT_H

#include "kernels/cuda/cuda.h"

/* c: float[n][m] = op(b) op(a) + beta c, over k terms; op, m, n, k, a, lda, b and ldb as cuBLAS
 * sees them, c dense. None of m, n, k is 0. */
sw_status sw_cuda_product(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb, size_t m,
			  size_t n, size_t k, const float *a, size_t lda, const float *b,
			  size_t ldb, float beta, float *c);

#endif
