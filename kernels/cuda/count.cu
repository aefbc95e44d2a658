/* kernels/cuda/count.cu — counts beside the losses: labels, classes, the gradients' norm. Integer
 * atomics are used because the order of their additions does not matter. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* label: int32[B]; one block */
static __global__ void labels_count_kernel(const int32_t *label, int32_t *out, size_t B)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];
	double n = 0.0; /* exact below 2^53 */

	for (size_t b = threadIdx.x; b < B; b += blockDim.x)
		n += label[b] >= 0;
	n = sw_block_sum(n, room);
	if (threadIdx.x == 0)
		*out = n > 0.0 ? (int32_t)n : 1;
}

sw_status sw_cuda_labels_count(struct sw_queue *q, const int32_t *label, int32_t *out, size_t B)
{
	if (B > INT32_MAX)
		return SW_INVALID;
	return sw_cuda_run(q, 1, labels_count_kernel, label, out, B);
}

/* z: float[C], one row. The first largest of a row without NaN, the same in all lanes; C with
 * one. */
static __device__ unsigned row_best(const float *z, unsigned C)
{
	unsigned best = C; /* none yet */
	float largest = 0.0f;
	int nan = 0;

	for (unsigned c = threadIdx.x % SW_CUDA_WARP; c < C; c += SW_CUDA_WARP) {
		nan |= isnan(z[c]);
		if (best == C || z[c] > largest) {
			best = c;
			largest = z[c];
		}
	}
	/* The larger, of equals the smaller class: an order without ties, so that all lanes end
	 * with the same one whichever they meet first. */
	for (int step = SW_CUDA_WARP / 2; step > 0; step /= 2) {
		const unsigned at = __shfl_xor_sync(SW_ALL_LANES, best, step);
		const float there = __shfl_xor_sync(SW_ALL_LANES, largest, step);

		nan |= __shfl_xor_sync(SW_ALL_LANES, nan, step);
		if (at < C && (best == C || there > largest || (there == largest && at < best))) {
			best = at;
			largest = there;
		}
	}
	return nan ? C : best;
}

/* 64 bits are added as unsigned ones, which wrap in the same way. */
static __device__ void count_one(int64_t *at)
{
	(void)atomicAdd((unsigned long long *)at, 1ull);
}

/* z: float[B][C]; label: int32[B]; counts: int64[3][C]; a warp a row */
static __global__ void class_counts_kernel(const float *z, const int32_t *label, int64_t *counts,
					   size_t B, size_t C)
{
	sw_wait();
	for (SW_EACH_ROW(b, B)) {
		/* The same in all lanes: the shuffles of row_best need the whole warp. */
		if (label[b] < 0)
			continue;
		const size_t best = row_best(z + b * C, (unsigned)C), at = (size_t)label[b];

		if (threadIdx.x % SW_CUDA_WARP != 0)
			continue;
		if (best == at) {
			count_one(&counts[at]);
			continue;
		}
		if (best < C)
			count_one(&counts[C + best]);
		count_one(&counts[2 * C + at]);
	}
}

sw_status sw_cuda_class_counts(struct sw_queue *q, const float *z, const int32_t *label,
			       int64_t *counts, size_t B, size_t C)
{
	return sw_cuda_run_rows(q, C ? B : 0, class_counts_kernel, z, label, counts, B, C);
}

/* g: float[n]; to: double[gridDim.x], a block's sum each. A block takes a part of g that depends on
 * n alone. */
static __global__ void norm2_kernel(const float *g, double *to, size_t n)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];
	double sum = 0.0;

	for (SW_EACH(i, n))
		sum += (double)g[i] * (double)g[i];
	sum = sw_block_sum(sum, room);
	if (threadIdx.x == 0)
		to[blockIdx.x] = sum;
}

/* partial: double[n]; one block */
static __global__ void norm2_finish_kernel(const double *partial, double *out, unsigned n)
{
	sw_wait();

	__shared__ double room[SW_CUDA_BLOCK / SW_CUDA_WARP];
	double sum = 0.0;

	for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
		sum += partial[i];
	sum = sw_block_sum(sum, room);
	if (threadIdx.x == 0)
		*out = sum;
}

sw_status sw_cuda_norm2(struct sw_queue *q, const float *g, double *out, size_t n)
{
	double *partial = (double *)q->partial; /* 9 doubles for each that is needed */
	sw_status rc;

	if (n == 0)
		return sw_cuda_zero(q, out, sizeof *out);
	/* A thread takes four at least: a second launch costs more than what few blocks take. */
	const unsigned grid = sw_cuda_grid(n, 4 * SW_CUDA_BLOCK, SW_CUDA_PARTIAL_MAX);

	rc = sw_cuda_run(q, grid, norm2_kernel, g, grid == 1 ? out : partial, n);
	if (rc == SW_OK && grid > 1)
		rc = sw_cuda_run(q, 1, norm2_finish_kernel, partial, out, grid);
	return rc;
}
