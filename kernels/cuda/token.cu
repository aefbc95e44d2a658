/* kernels/cuda/token.cu — rows of tokens: embeddings, places, means. All sums are made in the
 * order of kernels/cpu, so their bits are the same. */
#include "kernels/cuda/launch.cuh"

/* The sort of embedding_backward: its block, and the values of one digit. */
#define SORT_BLOCK 512
#define DIGIT_BITS 4
#define DIGITS     (1 << DIGIT_BITS)

sw_status sw_cuda_embedding_forward(struct sw_queue *q, const float *table, const int32_t *token,
				    float *y, size_t N, size_t V, size_t D)
{
	(void)V;
	return sw_cuda_gather(q, table, token, y, N, D);
}

/* order: int32[2][N] */
size_t sw_cuda_embedding_workspace(size_t N, size_t V, size_t D)
{
	(void)V;
	(void)D;
	return (2 * N * sizeof(int32_t) + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

/* Each of the SORT_BLOCK n-tuples of DIGITS counts becomes the sum of all before it; sums:
 * [SORT_BLOCK]. All threads call it, and see the result after it. */
static __device__ void scan_counts(unsigned *count, unsigned *sums)
{
	const unsigned t = threadIdx.x;
	unsigned sum = 0;

	for (unsigned k = 0; k < DIGITS; k++)
		sum += count[t * DIGITS + k];
	sums[t] = sum;
	__syncthreads();
	for (unsigned step = 1; step < SORT_BLOCK; step *= 2) {
		const unsigned before = t >= step ? sums[t - step] : 0;

		__syncthreads();
		sums[t] += before;
		__syncthreads();
	}
	sum = t ? sums[t - 1] : 0;
	for (unsigned k = 0; k < DIGITS; k++) {
		const unsigned n = count[t * DIGITS + k];

		count[t * DIGITS + k] = sum;
		sum += n;
	}
	__syncthreads();
}

/* token: int32[N]; order: int32[2][N]. Puts 0 .. N - 1 in the order of their tokens, equal ones in
 * their own, into order[passes % 2]: a counting sort by one digit after the other, the lowest
 * first, by one block. Each thread takes N / SORT_BLOCK places that follow each other. */
static __global__ void __launch_bounds__(SORT_BLOCK)
	sort_tokens_kernel(const int32_t *token, int32_t *order, size_t N, unsigned passes)
{
	__shared__ unsigned count[DIGITS * SORT_BLOCK]; /* [digit][thread] */
	__shared__ unsigned sums[SORT_BLOCK];
	const unsigned t = threadIdx.x;
	const size_t each = (N - 1) / SORT_BLOCK + 1;
	const size_t from = t * each, to = from + each < N ? from + each : N;

	for (unsigned pass = 0; pass < passes; pass++) {
		const int32_t *in = order + pass % 2 * N;
		int32_t *out = order + (pass + 1) % 2 * N;

		for (unsigned k = 0; k < DIGITS; k++)
			count[k * SORT_BLOCK + t] = 0;
		for (size_t i = from; i < to; i++) {
			const size_t at = pass ? (size_t)in[i] : i;
			const unsigned digit = (unsigned)token[at] >> pass * DIGIT_BITS;

			count[digit % DIGITS * SORT_BLOCK + t]++;
		}
		__syncthreads();
		scan_counts(count, sums);
		for (size_t i = from; i < to; i++) {
			const size_t at = pass ? (size_t)in[i] : i;
			const unsigned digit = (unsigned)token[at] >> pass * DIGIT_BITS;

			out[count[digit % DIGITS * SORT_BLOCK + t]++] = (int32_t)at;
		}
		__syncthreads(); /* out is the next pass's in, and counts begin anew */
	}
}

/* token: int32[N]; order: int32[N], from sort_tokens_kernel; dy: float[N][D]; dtable: float[V][D].
 * A warp takes 32 columns of one token's rows, from the first to the last. */
static __global__ void add_rows_kernel(const int32_t *token, const int32_t *order, const float *dy,
				       float *dtable, size_t N, size_t D)
{
	const size_t tiles = (D - 1) / SW_CUDA_WARP + 1;

	for (SW_EACH_ROW(item, N * tiles)) {
		const size_t first = item / tiles;
		const size_t d = item % tiles * SW_CUDA_WARP + threadIdx.x % SW_CUDA_WARP;
		const int32_t mine = token[order[first]];

		if (d >= D || (first && token[order[first - 1]] == mine))
			continue;
		float sum = dtable[(size_t)mine * D + d];

		for (size_t i = first; i < N && token[order[i]] == mine; i++)
			sum += dy[(size_t)order[i] * D + d];
		dtable[(size_t)mine * D + d] = sum;
	}
}

sw_status sw_cuda_embedding_backward(struct sw_queue *q, const int32_t *token, const float *dy,
				     float *dtable, size_t N, size_t V, size_t D, int accumulate,
				     void *work)
{
	sw_status rc = sw_cuda_use();
	unsigned passes = 1;

	if (rc == SW_OK && !accumulate)
		rc = sw_cuda_zero(q, dtable, V * D * sizeof *dtable);
	if (rc != SW_OK || N == 0 || V == 0 || D == 0)
		return rc;
	while ((V - 1) >> passes * DIGIT_BITS)
		passes++;
	int32_t *order = (int32_t *)work;

	SW_LAUNCH(sort_tokens_kernel, 1, SORT_BLOCK, q, token, order, N, passes);
	rc = sw_cuda_launched();
	if (rc != SW_OK)
		return rc;
	return sw_cuda_run_rows(q, N * ((D - 1) / SW_CUDA_WARP + 1), add_rows_kernel, token,
				order + passes % 2 * N, dy, dtable, N, D);
}

/* x, y: float[B][T][D], perhaps the same; table: float[T][D] */
static __global__ void position_forward_kernel(const float *x, const float *table, float *y,
					       size_t B, size_t T, size_t D)
{
	for (SW_EACH_ROW(r, B * T)) {
		const float *place = table + r % T * D;

		for (SW_EACH_COLUMN(d, D))
			y[r * D + d] = x[r * D + d] + place[d];
	}
}

sw_status sw_cuda_position_forward(struct sw_queue *q, const float *x, const float *table, float *y,
				   size_t B, size_t T, size_t D)
{
	return sw_cuda_run_rows(q, B * T, position_forward_kernel, x, table, y, B, T, D);
}

/* dy: float[B][n]; dtable: float[n] */
static __global__ void position_backward_kernel(const float *dy, float *dtable, size_t B, size_t n,
						int accumulate)
{
	for (SW_EACH(i, n)) {
		float sum = accumulate ? dtable[i] : 0.0f;

		for (size_t b = 0; b < B; b++)
			sum += dy[b * n + i];
		dtable[i] = sum;
	}
}

sw_status sw_cuda_position_backward(struct sw_queue *q, const float *dy, float *dtable, size_t B,
				    size_t T, size_t D, int accumulate)
{
	return sw_cuda_run_items(q, T * D, position_backward_kernel, dy, dtable, B, T * D,
				 accumulate);
}

/* The tokens of a row that are no padding, and one over their number. */
static __device__ size_t tokens(const int32_t *length, size_t b, size_t T)
{
	return length ? (size_t)length[b] : T;
}

static __device__ float part_of(size_t n)
{
	return n ? 1.0f / (float)n : 0.0f;
}

/* x: float[B][T][D]; length: int32[B] or NULL; y: float[B][D] */
static __global__ void token_mean_forward_kernel(const float *x, const int32_t *length, float *y,
						 size_t B, size_t T, size_t D)
{
	for (SW_EACH(i, B * D)) {
		const size_t b = i / D, n = tokens(length, b, T);
		const float *at = x + b * T * D + i % D;
		float sum = 0.0f;

		for (size_t t = 0; t < n; t++)
			sum += at[t * D];
		y[i] = sum * part_of(n);
	}
}

sw_status sw_cuda_token_mean_forward(struct sw_queue *q, const float *x, const int32_t *length,
				     float *y, size_t B, size_t T, size_t D)
{
	return sw_cuda_run_items(q, B * D, token_mean_forward_kernel, x, length, y, B, T, D);
}

/* dy: float[B][D]; length: int32[B] or NULL; dx: float[B][T][D] */
static __global__ void token_mean_backward_kernel(const float *dy, const int32_t *length, float *dx,
						  size_t B, size_t T, size_t D)
{
	for (SW_EACH_ROW(r, B * T)) {
		const size_t b = r / T, n = tokens(length, b, T);
		const float part = part_of(n);

		for (SW_EACH_COLUMN(d, D))
			dx[r * D + d] = r % T < n ? dy[b * D + d] * part : 0.0f;
	}
}

sw_status sw_cuda_token_mean_backward(struct sw_queue *q, const float *dy, const int32_t *length,
				      float *dx, size_t B, size_t T, size_t D)
{
	return sw_cuda_run_rows(q, B * T, token_mean_backward_kernel, dy, length, dx, B, T, D);
}
