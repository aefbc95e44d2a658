/* kernels/cuda/product.c — the one place where cuBLAS makes a product, at the queue's precision,
 * and the memory that it is lent. For bf16 both operands were rounded before; the sum is fp32, as
 * the result. */
#include "kernels/cuda/product.h"
#include "kernels/cuda/blas.h"

/* Operands begin at multiples of this: cuBLAS's fastest loads want 16 bytes, memory lines 128. */
#define HALF_ALIGN ((size_t)256)

/* And so does the workspace, as cuBLAS asks. */
#define SPACE_ALIGN ((size_t)256)

static size_t half_aligned(size_t n)
{
	return (n * sizeof(uint16_t) + HALF_ALIGN - 1) / HALF_ALIGN * HALF_ALIGN;
}

/* SPACE_ALIGN more than the workspace, for memory is aligned to less. */
size_t sw_cuda_product_bytes(enum sw_precision p, size_t a, size_t b)
{
	const size_t halves = p == SW_BF16 ? half_aligned(a) + half_aligned(b) : 0;

	return SPACE_ALIGN + SW_CUDA_BLAS_BYTES + halves;
}

sw_status sw_cuda_operand_room(const struct sw_queue *q, size_t n, size_t *at, uint16_t **out)
{
	if (half_aligned(n) > q->half_bytes || *at > q->half_bytes - half_aligned(n))
		return SW_NOMEM;
	*out = (uint16_t *)(void *)(q->half + *at);
	*at += half_aligned(n);
	return SW_OK;
}

/* Free bytes of a device below which cuBLAS's errors are taken for want of memory. Of those that it
 * could not load code for, it says that they failed inside. */
#define STARVED_BYTES ((size_t)64 << 20)

sw_status sw_cuda_blas_status(cublasStatus_t e)
{
	const sw_status rc = sw_cublas_status(e);
	size_t free_bytes, total;

	if (rc != SW_DEVICE_LOST)
		return rc;
	(void)cudaGetLastError(); /* one that is not sticky */
	return cudaMemGetInfo(&free_bytes, &total) == cudaSuccess &&
			       cudaGetLastError() == cudaSuccess && free_bytes < STARVED_BYTES
		       ? SW_NOMEM
		       : rc;
}

/* Our status for cuBLAS's, of a product of the queue. One that cannot be recorded says nothing of
 * the device: without a graph it may go on, and where it is lost the next call says so. */
static sw_status product_status(const struct sw_queue *q, cublasStatus_t e)
{
	if (e == CUBLAS_STATUS_SUCCESS)
		return SW_OK;
	/* it may have left one, which the next launch takes for its own */
	(void)cudaGetLastError();
	return q->recording ? SW_UNSUPPORTED : sw_cuda_blas_status(e);
}

sw_status sw_cuda_product(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb, size_t m,
			  size_t n, size_t k, const void *a, size_t lda, const void *b, size_t ldb,
			  float beta, float *c)
{
	const float one = 1.0f;

	if (!q->blas_space)
		return SW_NOMEM;
	if (sw_cuda_halves(q))
		return product_status(q,
				      q->lib->gemm_ex(q->blas, ta, tb, (int)m, (int)n, (int)k, &one,
						      a, CUDA_R_16BF, (int)lda, b, CUDA_R_16BF,
						      (int)ldb, &beta, c, CUDA_R_32F, (int)m,
						      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	return product_status(q, q->lib->sgemm(q->blas, ta, tb, (int)m, (int)n, (int)k, &one, a,
					       (int)lda, b, (int)ldb, &beta, c, (int)m));
}

size_t sw_cuda_weights_copy(enum sw_precision p, size_t n)
{
	return p == SW_BF16 ? half_aligned(n) : 0;
}

/* Tells cuBLAS of memory for its products, and keeps what is left for operands. */
static sw_status lend(struct sw_queue *q, unsigned char *work, size_t bytes)
{
	unsigned char *space = work + (0 - (uintptr_t)work) % SPACE_ALIGN;
	const size_t used = (size_t)(space - work) + SW_CUDA_BLAS_BYTES;
	sw_status rc;

	if (bytes < used)
		return SW_NOMEM;
	rc = sw_cublas_status(q->lib->set_workspace(q->blas, space, SW_CUDA_BLAS_BYTES));
	if (rc != SW_OK)
		return rc;
	q->blas_space = space;
	q->half = space + SW_CUDA_BLAS_BYTES;
	q->half_bytes = bytes - used;
	return SW_OK;
}

sw_status sw_cuda_precision(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK)
		return rc;
	if (p != SW_FP32 && p != SW_TF32 && p != SW_BF16)
		return SW_UNSUPPORTED;
	if (p != SW_FP32 && sw_cuda_major() < 8) /* Ampere is the first to have either */
		return SW_UNSUPPORTED;
	if (q->recording || (bytes && (!work || !q->blas)))
		return SW_INVALID;
	if (q->blas)
		/* TF32 is a mode of the handle, and bf16 a type of its operands: of that the mode
		 * says nothing. */
		rc = sw_cublas_status(q->lib->set_math_mode(
			q->blas, p == SW_TF32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
	if (rc == SW_OK && bytes)
		rc = lend(q, work, bytes);
	if (rc != SW_OK)
		return rc;
	if (!bytes) {
		q->blas_space = NULL;
		q->half_bytes = 0;
	}
	q->precision = p;
	/* The copy was made for the old precision, and its memory is the caller's again. */
	q->weights = NULL;
	q->weights_n = 0;
	return SW_OK;
}
