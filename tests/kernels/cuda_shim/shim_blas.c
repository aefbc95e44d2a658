/* tests/kernels/cuda_shim/shim_blas.c — cuBLAS's sgemm by its definition. Columns-first, as cuBLAS:
 * element (i, j) of a matrix with leading dimension ld is at i + j ld. */
#include "base/fault.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <cublas_v2.h>
#include <stdlib.h>

struct sw_shim_blas {
	cudaStream_t stream;
	const void *space;
	cublasMath_t math;
	cublasAtomicsMode_t atomics;
};

struct product {
	cublasOperation_t ta, tb;
	int m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
};

cublasStatus_t cublasCreate(cublasHandle_t *out)
{
	if (sw_shim_enter(NULL) != cudaSuccess)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return CUBLAS_STATUS_ALLOC_FAILED;
	(*out)->math = CUBLAS_TF32_TENSOR_OP_MATH; /* so that a test sees who does not choose */
	(*out)->atomics = CUBLAS_ATOMICS_ALLOWED;
	sw_shim.live++;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t h)
{
	free(h);
	sw_shim.live--;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s)
{
	h->stream = s;
	h->space = NULL; /* as cuBLAS does */
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *space, size_t bytes)
{
	h->space = bytes ? space : NULL;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	h->math = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
	h->atomics = mode;
	return CUBLAS_STATUS_SUCCESS;
}

static double element(const float *x, int ld, cublasOperation_t t, int i, int j)
{
	const size_t row = (size_t)(t == CUBLAS_OP_N ? i : j);
	const size_t column = (size_t)(t == CUBLAS_OP_N ? j : i);

	return (double)x[row + column * (size_t)ld];
}

static void product_run(void *arg)
{
	const struct product *p = arg;

	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			float *c = p->c + (size_t)i + (size_t)j * (size_t)p->ldc;
			double sum = 0;

			for (int l = 0; l < p->k; l++)
				sum += element(p->a, p->lda, p->ta, i, l) *
				       element(p->b, p->ldb, p->tb, l, j);
			sum *= (double)p->alpha;
			if (p->beta != 0.0f) /* with 0, c is not read: it may hold NaN */
				sum += (double)p->beta * (double)*c;
			*c = (float)sum;
		}
}

static int at_least_1(int n)
{
	return n > 1 ? n : 1;
}

cublasStatus_t cublasSgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
			   int n, int k, const float *alpha, const float *a, int lda,
			   const float *b, int ldb, const float *beta, float *c, int ldc)
{
	struct product *p;

	if (m < 0 || n < 0 || k < 0 || lda < at_least_1(ta == CUBLAS_OP_N ? m : k) ||
	    ldb < at_least_1(tb == CUBLAS_OP_N ? k : n) || ldc < at_least_1(m))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* What kernels/cuda promises of every product: whole fp32, and the same bits each time. */
	if (!h->space || h->math != CUBLAS_DEFAULT_MATH || h->atomics == CUBLAS_ATOMICS_ALLOWED)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	p = malloc(sizeof *p);
	if (!p)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*p = (struct product){ta, tb, m, n, k, lda, ldb, ldc, *alpha, *beta, a, b, c};
	return sw_shim_queue(h->stream, product_run, p) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
