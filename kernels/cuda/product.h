/*
 * kernels/cuda/product.h — the one way in which this backend asks cuBLAS for a product.
 *
 * cuBLAS stores by columns: a row-major float[R][C] is to it the transposed, C x R with leading
 * dimension C. So each product is asked for as the transpose of what is wanted, operands swapped:
 * (x w^T)^T = w x^T.
 *
 * Products read operands in the queue's form: floats, but at SW_BF16 bf16. An operand is brought
 * to that form once, whatever number of products reads it: by the kernel that makes it, or by
 * sw_cuda_operand.
 */
#ifndef SW_KERNELS_CUDA_PRODUCT_H
#define SW_KERNELS_CUDA_PRODUCT_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Our status for cuBLAS's, of a call that may take memory. If next to nothing is free and the
 * device works, an error that cuBLAS also has for code it could not load is SW_NOMEM. */
sw_status sw_cuda_blas_status(cublasStatus_t e);

/* Whether products read bf16. */
static inline int sw_cuda_halves(const struct sw_queue *q)
{
	return q->precision == SW_BF16;
}

/* The answer of linear_products for a product that reads operands of a and b elements at once. */
size_t sw_cuda_product_bytes(enum sw_precision p, size_t a, size_t b);

/* Takes room for n bf16 in the queue's scratch memory, behind *at bytes that are taken; moves *at
 * on. SW_NOMEM: it is full. */
sw_status sw_cuda_operand_room(const struct sw_queue *q, size_t n, size_t *at, uint16_t **out);

/* x: float[n] in the queue's form: x, its place in the copy of the weights, or what it is rounded
 * to, in room as above. */
sw_status sw_cuda_operand(struct sw_queue *q, const float *x, size_t n, size_t *at,
			  const void **out);

/* A caller with room for x in bf16 (weights_copy) lets it be rounded there. */
sw_status sw_cuda_round(struct sw_queue *q, const float *x, void *bf16, size_t n);

/* c: float[n][m] = op(b) op(a) + beta c, over k terms; op, m, n, k, a, lda, b and ldb as cuBLAS
 * sees them, a and b in the queue's form, c dense. None of m, n, k is 0. SW_NOMEM: the queue has
 * not been lent the memory for products. */
sw_status sw_cuda_product(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb, size_t m,
			  size_t n, size_t k, const void *a, size_t lda, const void *b, size_t ldb,
			  float beta, float *c);

#ifdef __cplusplus
}
#endif

#endif
