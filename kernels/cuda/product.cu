/* kernels/cuda/product.cu — the one place where cuBLAS makes a product, at the queue's
 * precision. For bf16 both operands, which are dense, are rounded into the queue's scratch memory
 * first; the sum is fp32, as the result. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/product.h"
#include <string.h>

/* Where the second operand may begin: cuBLAS's fastest loads want 16 bytes, memory lines 128. */
#define HALF_ALIGN ((size_t)256)

static size_t half_aligned(size_t n)
{
	return (n * sizeof(uint16_t) + HALF_ALIGN - 1) / HALF_ALIGN * HALF_ALIGN;
}

/* To the nearest, ties to even; a NaN stays one. */
static __device__ uint16_t bf16_of(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* x: float[n]; y: bf16[n], two at a time; of an odd n one more is written, a zero. The byte order
 * is the device's, little endian. */
static __global__ void round_kernel(const float *__restrict__ x, uint32_t *__restrict__ y, size_t n)
{
	for (SW_EACH(i, (n + 1) / 2)) {
		const uint32_t low = bf16_of(x[2 * i]);

		y[i] = low | (2 * i + 1 < n ? (uint32_t)bf16_of(x[2 * i + 1]) << 16 : 0);
	}
}

static sw_status round_operand(struct sw_queue *q, const float *x, unsigned char *out, size_t n)
{
	return sw_cuda_run_items(q, (n + 1) / 2, round_kernel, x, (uint32_t *)(void *)out, n);
}

/* A product that cannot be recorded says nothing of the device: without a graph it may go on, and
 * where it is lost the next call says so. */
static sw_status made(const struct sw_queue *q, cublasStatus_t e)
{
	return e != CUBLAS_STATUS_SUCCESS && q->recording ? SW_UNSUPPORTED : sw_cublas_status(e);
}

static sw_status product_bf16(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb,
			      size_t m, size_t n, size_t k, const float *a, size_t lda,
			      const float *b, size_t ldb, float beta, float *c)
{
	const size_t rows_a = ta == CUBLAS_OP_N ? m : k, rows_b = tb == CUBLAS_OP_N ? k : n;
	const size_t second = half_aligned(m * k);
	const float one = 1.0f;
	sw_status rc;

	if (lda != rows_a || ldb != rows_b)
		return SW_INTERNAL; /* no entry asks for it */
	if (second + half_aligned(k * n) > q->half_bytes)
		return SW_NOMEM;
	rc = round_operand(q, a, q->half, m * k);
	if (rc == SW_OK)
		rc = round_operand(q, b, q->half + second, k * n);
	if (rc != SW_OK)
		return rc;
	return made(q, cublasGemmEx(q->blas, ta, tb, (int)m, (int)n, (int)k, &one, q->half,
				    CUDA_R_16BF, (int)rows_a, q->half + second, CUDA_R_16BF,
				    (int)rows_b, &beta, c, CUDA_R_32F, (int)m, CUBLAS_COMPUTE_32F,
				    CUBLAS_GEMM_DEFAULT));
}

sw_status sw_cuda_product(struct sw_queue *q, cublasOperation_t ta, cublasOperation_t tb, size_t m,
			  size_t n, size_t k, const float *a, size_t lda, const float *b,
			  size_t ldb, float beta, float *c)
{
	const float one = 1.0f;
	const sw_status rc = sw_cuda_blas_space(q);

	if (rc != SW_OK)
		return rc;
	if (q->precision == SW_BF16 && m && n && k)
		return product_bf16(q, ta, tb, m, n, k, a, lda, b, ldb, beta, c);
	return made(q, cublasSgemm(q->blas, ta, tb, (int)m, (int)n, (int)k, &one, a, (int)lda, b,
				   (int)ldb, &beta, c, (int)m));
}

/* Of any two of x: [B][I], w: [O][I] and y: [B][O], the largest pair. */
size_t sw_cuda_product_workspace(enum sw_precision p, size_t B, size_t I, size_t O)
{
	const size_t x = half_aligned(B * I), w = half_aligned(O * I), y = half_aligned(B * O);
	const size_t least = x < w ? (x < y ? x : y) : (w < y ? w : y);

	return p == SW_BF16 ? x + w + y - least : 0;
}

sw_status sw_cuda_precision(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes)
{
	sw_status rc = sw_cuda_use();

	if (rc != SW_OK)
		return rc;
	if (p != SW_FP32 && p != SW_TF32 && p != SW_BF16)
		return SW_UNSUPPORTED;
	if (q->recording || (bytes && !work))
		return SW_INVALID;
	rc = sw_cublas_status(cublasSetMathMode(q->blas, p == SW_TF32 ? CUBLAS_TF32_TENSOR_OP_MATH
								      : CUBLAS_DEFAULT_MATH));
	if (rc != SW_OK)
		return rc;
	q->precision = p;
	q->half = (unsigned char *)work;
	q->half_bytes = bytes;
	return SW_OK;
}
