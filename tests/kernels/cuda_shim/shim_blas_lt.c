/* tests/kernels/cuda_shim/shim_blas_lt.c — cuBLASLt's descriptors, which it checks as the library
 * does: shapes that do not fit together, pointers less aligned than was promised, a workspace
 * smaller than the algorithm asks for, an algorithm that was found for something else. */
#include "base/memory.h"
#include "tests/kernels/cuda_shim/shim_blas.h"
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

struct sw_shim_lt_what {
	cublasComputeType_t compute;
	int32_t ta, tb;
	uint32_t epilogue;
	void *vector;
};

struct sw_shim_lt_layout {
	cudaDataType type;
	uint64_t rows, columns;
	int64_t ld;
};

struct sw_shim_lt_rules {
	uint64_t space;
	uint32_t alignment[4]; /* of a, b, c and d */
};

/* What an algorithm is for, in its opaque words. */
struct way {
	uint64_t m, n, k;
	uint32_t alignment[4];
	uint32_t epilogue, compute;
	uint64_t space;
};

_Static_assert(sizeof(struct way) <= sizeof(cublasLtMatmulAlgo_t), "in one algorithm");

static cublasStatus_t object(void *out, size_t bytes)
{
	void *made = sw_calloc(1, bytes);

	memcpy(out, &made, sizeof made);
	sw_shim.live += made != NULL;
	return made ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static cublasStatus_t object_free(void *object)
{
	free(object);
	sw_shim.live--;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set(void *to, size_t want, const void *value, size_t bytes)
{
	if (bytes != want)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(to, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
					cudaDataType scale)
{
	const cublasStatus_t e = object(out, sizeof **out);

	if (e != CUBLAS_STATUS_SUCCESS)
		return e;
	**out = (struct sw_shim_lt_what){.compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
	return scale == CUDA_R_32F ? e : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t w)
{
	return object_free(w);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t w,
					      cublasLtMatmulDescAttributes_t name,
					      const void *value, size_t bytes)
{
	switch (name) {
	case CUBLASLT_MATMUL_DESC_TRANSA:
		return set(&w->ta, sizeof w->ta, value, bytes);
	case CUBLASLT_MATMUL_DESC_TRANSB:
		return set(&w->tb, sizeof w->tb, value, bytes);
	case CUBLASLT_MATMUL_DESC_EPILOGUE:
		return set(&w->epilogue, sizeof w->epilogue, value, bytes);
	case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
		return set(&w->vector, sizeof w->vector, value, bytes);
	default:
		return CUBLAS_STATUS_INVALID_VALUE;
	}
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type,
					  uint64_t rows, uint64_t columns, int64_t ld)
{
	const cublasStatus_t e = object(out, sizeof **out);

	if (e == CUBLAS_STATUS_SUCCESS)
		**out = (struct sw_shim_lt_layout){type, rows, columns, ld};
	return e;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
	return object_free(l);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
	const cublasStatus_t e = object(out, sizeof **out);

	if (e == CUBLAS_STATUS_SUCCESS) /* the library's defaults */
		**out = (struct sw_shim_lt_rules){0, {256, 256, 256, 256}};
	return e;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
	return object_free(p);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
						    cublasLtMatmulPreferenceAttributes_t name,
						    const void *value, size_t bytes)
{
	if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
		return set(&p->space, sizeof p->space, value, bytes);
	if (name < CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES ||
	    name > CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
		return CUBLAS_STATUS_INVALID_VALUE;
	return set(&p->alignment[name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
		   sizeof *p->alignment, value, bytes);
}

/* The shape, when the layouts fit together: m, n and k. */
static bool shape_of(const struct sw_shim_lt_what *w, const struct sw_shim_lt_layout *a,
		     const struct sw_shim_lt_layout *b, const struct sw_shim_lt_layout *c,
		     const struct sw_shim_lt_layout *d, uint64_t *m, uint64_t *n, uint64_t *k)
{
	const uint64_t inner = w->tb == CUBLAS_OP_N ? b->rows : b->columns;

	*m = w->ta == CUBLAS_OP_N ? a->rows : a->columns;
	*k = w->ta == CUBLAS_OP_N ? a->columns : a->rows;
	*n = w->tb == CUBLAS_OP_N ? b->columns : b->rows;
	return *m && *n && *k && inner == *k && d->rows == *m && d->columns == *n &&
	       c->rows == *m && c->columns == *n && a->ld >= (int64_t)a->rows &&
	       b->ld >= (int64_t)b->rows && c->ld >= (int64_t)*m && d->ld == c->ld;
}

/* Operands of 4 bytes at both precisions of fp32, of 2 in bf16; the result is fp32. */
static bool types_known(const struct sw_shim_lt_what *w, const struct sw_shim_lt_layout *a,
			const struct sw_shim_lt_layout *b, const struct sw_shim_lt_layout *d)
{
	const bool whole = a->type == CUDA_R_32F && (w->compute == CUBLAS_COMPUTE_32F ||
						     w->compute == CUBLAS_COMPUTE_32F_FAST_TF32);

	return a->type == b->type && d->type == CUDA_R_32F &&
	       (whole || (a->type == CUDA_R_16BF && w->compute == CUBLAS_COMPUTE_32F));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t w,
					      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
					      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
					      cublasLtMatmulPreference_t p, int wanted,
					      cublasLtMatmulHeuristicResult_t *found, int *found_n)
{
	struct way way = {.epilogue = w->epilogue, .compute = w->compute};

	*found_n = 0;
	if (!h || wanted < 1 || !shape_of(w, a, b, c, d, &way.m, &way.n, &way.k))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* the vector's alignment is asked for by kernels that read four of it at once */
	if (!types_known(w, a, b, d) || sw_shim.blas.unfused || (uintptr_t)w->vector % 16 != 0 ||
	    (w->epilogue != CUBLASLT_EPILOGUE_BIAS && w->epilogue != CUBLASLT_EPILOGUE_BGRADB))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memcpy(way.alignment, p->alignment, sizeof way.alignment);
	way.space = p->space;
	*found = (cublasLtMatmulHeuristicResult_t){.workspaceSize = p->space};
	memcpy(&found->algo, &way, sizeof way);
	*found_n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t w, const void *alpha,
			      const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
			      cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
			      cublasLtMatrixLayout_t c_layout, void *d,
			      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
			      void *space, size_t space_bytes, cudaStream_t stream)
{
	const void *at[] = {a, b, c, d};
	const bool bias = w->epilogue == CUBLASLT_EPILOGUE_BIAS;
	uint64_t m, n, k;
	struct way way;

	memcpy(&way, algo, sizeof way);
	if (!h || !shape_of(w, a_layout, b_layout, c_layout, d_layout, &m, &n, &k) || way.m != m ||
	    way.n != n || way.k != k || way.epilogue != w->epilogue || way.compute != w->compute ||
	    !w->vector || c != d || *(const float *)beta != 0.0f)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (size_t i = 0; i < 4; i++)
		if ((uintptr_t)at[i] % way.alignment[i] != 0)
			return CUBLAS_STATUS_INVALID_VALUE;
	if (space_bytes < way.space || (way.space && (!space || (uintptr_t)space % 16 != 0)))
		return CUBLAS_STATUS_INVALID_VALUE;
	return sw_shim_product_queue(
		stream, &(struct sw_shim_product){
				.ta = (cublasOperation_t)w->ta,
				.tb = (cublasOperation_t)w->tb,
				.m = (int)m,
				.n = (int)n,
				.k = (int)k,
				.lda = (int)a_layout->ld,
				.ldb = (int)b_layout->ld,
				.ldc = (int)d_layout->ld,
				.alpha = *(const float *)alpha,
				.a = a,
				.b = b,
				.c = d,
				.operands = a_layout->type == CUDA_R_16BF      ? SW_SHIM_BF16
					    : w->compute == CUBLAS_COMPUTE_32F ? SW_SHIM_WHOLE
									       : SW_SHIM_TF32,
				.bias = bias ? w->vector : NULL,
				.sums = bias ? NULL : w->vector});
}
