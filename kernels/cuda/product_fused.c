/* kernels/cuda/product_fused.c — a product with what lies beside it, in one launch of cuBLASLt.
 *
 * Its relu is not used: it makes a NaN 0, and a net that diverged would not be seen to. Its mask of
 * relu for the way back is a bit matrix that only its own relu writes. Nor are its sums of
 * gradients where operands are rounded: they would be sums of rounded terms.
 *
 * The algorithm is the first that the library's heuristic names for the shape, the alignment of
 * the pointers and a workspace of one size: nothing that another lane changes. The library itself
 * keeps what it found for a shape. */
#include "kernels/cuda/blas.h"
#include "kernels/cuda/product.h"
#include <stdbool.h>

struct fused {
	cublasLtMatmulDesc_t what;
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulPreference_t rules;
};

static cublasStatus_t what_make(const struct sw_queue *q, struct fused *f, int32_t ta, int32_t tb,
				const float *bias, float *sums)
{
	const uint32_t epilogue = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_BGRADB;
	const void *vector = bias ? bias : sums;
	const struct {
		cublasLtMatmulDescAttributes_t name;
		const void *value;
		size_t bytes;
	} set[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta},
		   {CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb},
		   {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue},
		   {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector}};
	cublasStatus_t e = q->lib->lt_what_create(
		&f->what,
		q->precision == SW_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
		CUDA_R_32F);

	for (size_t i = 0; e == CUBLAS_STATUS_SUCCESS && i < sizeof set / sizeof *set; i++)
		e = q->lib->lt_what_set(f->what, set[i].name, set[i].value, set[i].bytes);
	return e;
}

/* Bytes that the address is a multiple of, as far as any kernel asks. */
static uint32_t alignment(const void *p)
{
	const uintptr_t lowest = (uintptr_t)p & (0 - (uintptr_t)p);

	return lowest && lowest < 256 ? (uint32_t)lowest : 256;
}

static cublasStatus_t rules_make(const struct sw_queue *q, struct fused *f, const void *a,
				 const void *b, const float *c)
{
	const uint64_t space = SW_CUDA_BLAS_BYTES;
	const uint32_t of_a = alignment(a), of_b = alignment(b), of_c = alignment(c);
	const struct {
		cublasLtMatmulPreferenceAttributes_t name;
		const void *value;
		size_t bytes;
	} set[] = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space, sizeof space},
		   {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &of_a, sizeof of_a},
		   {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &of_b, sizeof of_b},
		   {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &of_c, sizeof of_c},
		   {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &of_c, sizeof of_c}};
	cublasStatus_t e = q->lib->lt_rules_create(&f->rules);

	for (size_t i = 0; e == CUBLAS_STATUS_SUCCESS && i < sizeof set / sizeof *set; i++)
		e = q->lib->lt_rules_set(f->rules, set[i].name, set[i].value, set[i].bytes);
	return e;
}

static cublasStatus_t layouts_make(const struct sw_queue *q, struct fused *f, int at, int bt,
				   size_t m, size_t n, size_t k, size_t lda, size_t ldb)
{
	const cudaDataType type = sw_cuda_halves(q) ? CUDA_R_16BF : CUDA_R_32F;
	cublasStatus_t e =
		q->lib->lt_layout_create(&f->a, type, at ? k : m, at ? m : k, (int64_t)lda);

	if (e == CUBLAS_STATUS_SUCCESS)
		e = q->lib->lt_layout_create(&f->b, type, bt ? n : k, bt ? k : n, (int64_t)ldb);
	if (e == CUBLAS_STATUS_SUCCESS)
		e = q->lib->lt_layout_create(&f->c, CUDA_R_32F, m, n, (int64_t)m);
	return e;
}

static void fused_free(const struct sw_queue *q, const struct fused *f)
{
	if (f->what)
		(void)q->lib->lt_what_destroy(f->what);
	if (f->a)
		(void)q->lib->lt_layout_destroy(f->a);
	if (f->b)
		(void)q->lib->lt_layout_destroy(f->b);
	if (f->c)
		(void)q->lib->lt_layout_destroy(f->c);
	if (f->rules)
		(void)q->lib->lt_rules_destroy(f->rules);
}

/* Whether nothing was launched, for the library has no kernel for this shape or this card. Its
 * heuristic says so, or only the call itself: the heuristic is not sure of what it names. */
static bool is_refused(cublasStatus_t e)
{
	return e == CUBLAS_STATUS_NOT_SUPPORTED || e == CUBLAS_STATUS_INVALID_VALUE ||
	       e == CUBLAS_STATUS_ARCH_MISMATCH;
}

sw_status sw_cuda_product_fused(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb,
				size_t m, size_t n, size_t k, const void *a, size_t lda,
				const void *b, size_t ldb, float *c, const float *bias, float *sums,
				int *done)
{
	const cublasLtHandle_t handle = (cublasLtHandle_t)q->blas; /* which has one in it */
	const float one = 1.0f, zero = 0.0f;
	cublasLtMatmulHeuristicResult_t way;
	struct fused f = {0};
	cublasStatus_t e;
	int found = 0;

	*done = 0;
	if (!q->blas_space)
		return SW_NOMEM;
	e = what_make(q, &f, (int32_t)ta, (int32_t)tb, bias, sums);
	if (e == CUBLAS_STATUS_SUCCESS)
		e = layouts_make(q, &f, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb);
	if (e == CUBLAS_STATUS_SUCCESS)
		e = rules_make(q, &f, a, b, c);
	if (e == CUBLAS_STATUS_SUCCESS)
		/* One answer is asked for, the first: a choice by trial would depend on what else
		 * runs. */
		e = q->lib->lt_heuristic(handle, f.what, f.a, f.b, f.c, f.c, f.rules, 1, &way,
					 &found);
	if (e == CUBLAS_STATUS_SUCCESS && found && way.state == CUBLAS_STATUS_SUCCESS) {
		e = q->lib->lt_matmul(handle, f.what, &one, a, f.a, b, f.b, &zero, c, f.c, c, f.c,
				      &way.algo, q->blas_space, SW_CUDA_BLAS_BYTES, q->stream);
		*done = e == CUBLAS_STATUS_SUCCESS;
	}
	fused_free(q, &f);
	const sw_status rc = sw_cuda_product_status(q, e);

	return is_refused(e) ? SW_OK : rc;
}
