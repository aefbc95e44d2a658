#include "kernels/cuda/cuda_product.h"

sw_status sw_cuda_product(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb, size_t m,
			  size_t n, size_t k, const float *a, size_t lda, const float *b,
			  size_t ldb, float beta, float *c)
{
	const float one = 1.0f;

	return sw_cublas_status(cublasSgemm(q->blas, ta, tb, (int)m, (int)n, (int)k, &one, a,
					    (int)lda, b, (int)ldb, &beta, c, (int)m));
}
