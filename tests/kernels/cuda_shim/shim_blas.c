/* tests/kernels/cuda_shim/shim_blas.c — cuBLAS's products by their definition. Columns-first, as
 * cuBLAS: element (i, j) of a matrix with leading dimension ld is at i + j ld. */
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <cublas_v2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sw_shim_blas {
	cudaStream_t stream;
	const void *space;
	cublasMath_t math;
	bool math_chosen; /* so that a test sees who does not choose */
	cublasAtomicsMode_t atomics;
};

struct product {
	cublasOperation_t ta, tb;
	int m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const void *a, *b;
	float *c;
	enum { WHOLE, TF32, BF16 } operands;
};

cublasStatus_t cublasCreate(cublasHandle_t *out)
{
	if (sw_shim_enter(NULL) != cudaSuccess)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	*out = NULL;
	if (sw_shim.blas_starved) /* as cuBLAS says it */
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return CUBLAS_STATUS_ALLOC_FAILED;
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
	h->math_chosen = true;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
	h->atomics = mode;
	return CUBLAS_STATUS_SUCCESS;
}

static float from_bits(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static double element(const struct product *p, const void *x, int ld, cublasOperation_t t, int i,
		      int j)
{
	const size_t row = (size_t)(t == CUBLAS_OP_N ? i : j);
	const size_t column = (size_t)(t == CUBLAS_OP_N ? j : i);
	const size_t at = row + column * (size_t)ld;
	uint32_t bits;

	if (p->operands == BF16)
		return (double)from_bits((uint32_t)((const uint16_t *)x)[at] << 16);
	memcpy(&bits, (const float *)x + at, sizeof bits);
	return (double)from_bits(p->operands == TF32 ? bits & ~UINT32_C(0x1fff) : bits);
}

static void product_run(void *arg)
{
	const struct product *p = arg;

	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			float *c = p->c + (size_t)i + (size_t)j * (size_t)p->ldc;
			double sum = 0;

			for (int l = 0; l < p->k; l++)
				sum += element(p, p->a, p->lda, p->ta, i, l) *
				       element(p, p->b, p->ldb, p->tb, l, j);
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

static cublasStatus_t product_queue(cublasHandle_t h, struct product product)
{
	struct product *p;

	if (product.m < 0 || product.n < 0 || product.k < 0 ||
	    product.lda < at_least_1(product.ta == CUBLAS_OP_N ? product.m : product.k) ||
	    product.ldb < at_least_1(product.tb == CUBLAS_OP_N ? product.k : product.n) ||
	    product.ldc < at_least_1(product.m))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* What kernels/cuda promises of every product: a chosen precision, the same bits each
	 * time. */
	if (!h->space || !h->math_chosen || h->atomics == CUBLAS_ATOMICS_ALLOWED)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	if (sw_shim.blas_unrecorded && h->stream->graph)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	p = malloc(sizeof *p);
	if (!p)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*p = product;
	sw_shim.given.products++;
	return sw_shim_queue(h->stream, product_run, p) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasSgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
			   int n, int k, const float *alpha, const float *a, int lda,
			   const float *b, int ldb, const float *beta, float *c, int ldc)
{
	return product_queue(h,
			     (struct product){ta, tb, m, n, k, lda, ldb, ldc, *alpha, *beta, a, b,
					      c, h->math == CUBLAS_DEFAULT_MATH ? WHOLE : TF32});
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
			    int n, int k, const void *alpha, const void *a, cudaDataType a_type,
			    int lda, const void *b, cudaDataType b_type, int ldb, const void *beta,
			    void *c, cudaDataType c_type, int ldc, cublasComputeType_t compute,
			    cublasGemmAlgo_t algo)
{
	if (a_type != CUDA_R_16BF || b_type != CUDA_R_16BF || c_type != CUDA_R_32F ||
	    compute != CUBLAS_COMPUTE_32F || algo != CUBLAS_GEMM_DEFAULT)
		return CUBLAS_STATUS_INVALID_VALUE;
	return product_queue(h,
			     (struct product){ta, tb, m, n, k, lda, ldb, ldc, *(const float *)alpha,
					      *(const float *)beta, a, b, c, BF16});
}
