/* tests/kernels/cuda_shim/shim_blas.c — cuBLAS's products by their definition, summed in float.
 * Columns-first, as cuBLAS: element (i, j) of a matrix with leading dimension ld is at i + j ld.
 * And the library that holds them, for dlopen. */
#include "base/memory.h"
#include "kernels/cuda/blas.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <cublas_v2.h>
#include <dlfcn.h>
#include <math.h>
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

/* c = alpha op(a) op(b) + beta c */
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
	sw_shim_disturb();
	const int fault = sw_shim_fault(SW_SHIM_HANDLE);

	if (fault)
		return (cublasStatus_t)fault;
	if (sw_shim.blas.starved) /* as cuBLAS says it */
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return CUBLAS_STATUS_ALLOC_FAILED;
	(*out)->atomics = CUBLAS_ATOMICS_ALLOWED;
	sw_shim.live++;
	sw_shim.blas.handles++;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t h)
{
	sw_shim_disturb();
	free(h);
	sw_shim.live--;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t s)
{
	h->stream = s;
	h->space = NULL; /* as cuBLAS does */
	return (cublasStatus_t)sw_shim_fault(SW_SHIM_BLAS_SET);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *space, size_t bytes)
{
	if ((uintptr_t)space % 256 != 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	h->space = bytes ? space : NULL;
	sw_shim.blas.workspace_bytes = bytes;
	return (cublasStatus_t)sw_shim_fault(SW_SHIM_BLAS_SET);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
	h->math = mode;
	h->math_chosen = true;
	return (cublasStatus_t)sw_shim_fault(SW_SHIM_BLAS_SET);
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
	h->atomics = mode;
	return (cublasStatus_t)sw_shim_fault(SW_SHIM_BLAS_SET);
}

static float from_bits(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

static float element(const struct product *p, const void *x, int ld, cublasOperation_t t, int i,
		     int j)
{
	const size_t row = (size_t)(t == CUBLAS_OP_N ? i : j);
	const size_t column = (size_t)(t == CUBLAS_OP_N ? j : i);
	const size_t at = row + column * (size_t)ld;
	uint32_t bits;

	if (p->operands == BF16)
		return from_bits((uint32_t)((const uint16_t *)x)[at] << 16);
	memcpy(&bits, (const float *)x + at, sizeof bits);
	return from_bits(p->operands == TF32 ? bits & ~UINT32_C(0x1fff) : bits);
}

/* x: [rows][columns] when t does not turn it */
static void operand_look(const struct product *p, const void *x, int ld, cublasOperation_t t,
			 int rows, int columns)
{
	const int high = t == CUBLAS_OP_N ? rows : columns,
		  wide = t == CUBLAS_OP_N ? columns : rows;

	if (high && wide)
		sw_shim_look_at(x,
				((size_t)(wide - 1) * (size_t)ld + (size_t)high) *
					(p->operands == BF16 ? 2 : 4),
				false);
}

static void product_look(const struct product *p)
{
	sw_shim_launch_begin();
	operand_look(p, p->a, p->lda, p->ta, p->m, p->k);
	operand_look(p, p->b, p->ldb, p->tb, p->k, p->n);
	for (int j = 0; j < p->n; j++)
		sw_shim_look_at(p->c + (size_t)j * (size_t)p->ldc, (size_t)p->m * sizeof(float),
				true);
}

/* A sum in float of fused multiply-adds, in the order of l, as a thread of a GPU makes it: the
 * order with the largest errors that cuBLAS may have. */
static bool product_run(void *arg)
{
	const struct product *p = arg;

	product_look(p);
	for (int j = 0; j < p->n; j++)
		for (int i = 0; i < p->m; i++) {
			float *c = p->c + (size_t)i + (size_t)j * (size_t)p->ldc;
			float sum = 0;

			for (int l = 0; l < p->k; l++)
				sum = fmaf(element(p, p->a, p->lda, p->ta, i, l),
					   element(p, p->b, p->ldb, p->tb, l, j), sum);
			/* with beta 0, c is not read: it may hold NaN */
			*c = p->beta != 0.0f ? fmaf(p->beta, *c, p->alpha * sum) : p->alpha * sum;
		}
	return true;
}

static int at_least_1(int n)
{
	return n > 1 ? n : 1;
}

/* Gives it to the stream. */
static cublasStatus_t stream_take(cudaStream_t s, const struct product *product)
{
	struct product *p;
	const int fault = sw_shim_fault(SW_SHIM_PRODUCT);

	if (fault) {
		(void)sw_shim_fail(cudaErrorInvalidValue); /* of a call within the library */
		return (cublasStatus_t)fault;
	}
	if (sw_shim.blas.unrecorded && s->graph)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	p = malloc(sizeof *p);
	if (!p)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*p = *product;
	sw_shim.given.products++;
	return sw_shim_queue(s, product_run, p) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
							       : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t product_queue(cublasHandle_t h, struct product product)
{
	if (product.m < 0 || product.n < 0 || product.k < 0 ||
	    product.lda < at_least_1(product.ta == CUBLAS_OP_N ? product.m : product.k) ||
	    product.ldb < at_least_1(product.tb == CUBLAS_OP_N ? product.k : product.n) ||
	    product.ldc < at_least_1(product.m))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* What kernels/cuda promises of every product: a chosen precision, the same bits each
	 * time. */
	if (!h->space || !h->math_chosen || h->atomics == CUBLAS_ATOMICS_ALLOWED)
		return CUBLAS_STATUS_INTERNAL_ERROR;
	return stream_take(h->stream, &product);
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

/* --- the library --- */

static const struct {
	const char *name;
	void (*function)(void);
} exports[] = {
#define EXPORT(member, function) {#function, (void (*)(void))function},
	SW_CUBLAS_CALLS(EXPORT)};

void *sw_shim_dlopen(const char *name, int flags)
{
	(void)flags;
	return strcmp(name, "libcublas.so.13") == 0 && !sw_shim.blas.missing ? &sw_shim : NULL;
}

void *sw_shim_dlsym(void *library, const char *name)
{
	void *found = NULL;

	(void)library;
	if (sw_shim.blas.lacks && strcmp(name, sw_shim.blas.lacks) == 0)
		return NULL;
	for (size_t i = 0; i < sizeof exports / sizeof *exports; i++)
		if (strcmp(name, exports[i].name) == 0)
			memcpy(&found, &exports[i].function, sizeof found);
	return found;
}

const char *sw_shim_dlerror(void)
{
	return "libcublas.so.13: cannot open shared object file";
}

int sw_shim_dlclose(void *library)
{
	(void)library;
	return 0;
}
