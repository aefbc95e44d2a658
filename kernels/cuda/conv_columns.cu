/* kernels/cuda/conv_columns.cu — convolution of any shape by cuBLAS.
 *
 * Some images at a time, n of them, are laid out as a matrix (im2col): columns: float[K][N], N = n
 * P, row (c, i, j) holding, for each place of each image's output, the value of x under that
 * element of the kernel. Beside it lies flat: float[O][N], what y and dy are to one product over
 * all images: an image's planes are gathered from it and laid to it by the kernel that also adds
 * the bias, or takes relu's mask off. Then flat = w columns; dw += flat columns^T; columns = w^T
 * flat, from which each element of dx gathers its terms in a fixed order. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/product.h"

/* Bytes of columns made at a time; one image's at least. */
#ifndef SW_CUDA_COLUMNS_BYTES
#define SW_CUDA_COLUMNS_BYTES ((size_t)64 << 20)
#endif

static size_t images_of(const struct sw_cuda_conv &d)
{
	const size_t each = (size_t)d.K * d.P * sizeof(float);
	const size_t n = SW_CUDA_COLUMNS_BYTES / each, most = INT32_MAX / d.P;
	const size_t some = n < most ? n : most;

	return some == 0 ? 1 : some < d.B ? some : d.B;
}

/* Floats, rounded up so that what lies behind is aligned. */
static size_t aligned(size_t n)
{
	return (n + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

size_t sw_cuda_conv_columns_workspace(const struct sw_conv *c)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const size_t N = images_of(d) * d.P;

	return (aligned(d.K * N) + aligned(d.O * N)) * sizeof(float);
}

/* x: float[n][C][H][W]; columns: float[C kh kw][n P]. A thread a place and a channel: it writes
 * kh kw rows, beside its neighbours. */
static __global__ void im2col_kernel(const float *__restrict__ x, float *__restrict__ columns,
				     struct sw_cuda_conv d, size_t n)
{
	const size_t N = n * d.P;

	for (SW_EACH(item, d.C * N)) {
		const size_t c = item / N, at = item % N;
		const unsigned place = (unsigned)(at % d.P);
		const unsigned r = place / d.ow * d.stride, s = place % d.ow * d.stride;
		const float *plane = x + (at / d.P * d.C + c) * d.H * d.W;
		float *to = columns + c * d.kh * d.kw * N + at;

		for (unsigned i = 0; i < d.kh; i++)
			for (unsigned j = 0; j < d.kw; j++, to += N) {
				/* below 0 wraps around, and is over H, too */
				const unsigned row = r + i - d.pad, column = s + j - d.pad;

				*to = row < d.H && column < d.W ? plane[row * d.W + column] : 0.0f;
			}
	}
}

/* columns: float[C kh kw][n P]; dx: float[n][C][H][W]. A thread an element of dx, which adds its
 * terms from the first element of the kernel to the last. */
static __global__ void col2im_kernel(const float *__restrict__ columns, float *__restrict__ dx,
				     struct sw_cuda_conv d, size_t n)
{
	const size_t N = n * d.P, image = (size_t)d.H * d.W;

	for (SW_EACH(item, n * d.C * image)) {
		const size_t b = item / image / d.C, c = item / image % d.C;
		const unsigned h = (unsigned)(item % image) / d.W + d.pad;
		const unsigned w = (unsigned)(item % image) % d.W + d.pad;
		const float *from = columns + c * d.kh * d.kw * N + b * d.P;
		float sum = 0.0f;

		for (unsigned i = 0; i < d.kh && i <= h; i++) {
			const unsigned r = (h - i) / d.stride;

			if ((h - i) % d.stride || r >= d.oh)
				continue;
			for (unsigned j = 0; j < d.kw && j <= w; j++) {
				const unsigned s = (w - j) / d.stride;

				if ((w - j) % d.stride == 0 && s < d.ow)
					sum += from[(i * d.kw + j) * N + r * d.ow + s];
			}
		}
		dx[item] = sum;
	}
}

/* flat: float[O][n P]; b: float[O] or NULL; y: float[n][O][P] = act(flat + b); a warp a plane */
static __global__ void planes_kernel(const float *__restrict__ flat, const float *__restrict__ b,
				     float *__restrict__ y, size_t n, size_t O, size_t P, int relu)
{
	for (SW_EACH_ROW(plane, n * O)) {
		const size_t o = plane % O;
		const float *from = flat + (o * n + plane / O) * P;

		for (SW_EACH_COLUMN(p, P)) {
			const float v = from[p] + (b ? b[o] : 0.0f);

			y[plane * P + p] = relu && v <= 0.0f ? 0.0f : v;
		}
	}
}

/* y, dy: float[n][O][P], y NULL where nothing masks dy; flat: float[O][n P]; a warp a plane */
static __global__ void flat_kernel(const float *__restrict__ y, const float *__restrict__ dy,
				   float *__restrict__ flat, size_t n, size_t O, size_t P)
{
	for (SW_EACH_ROW(plane, n * O)) {
		float *to = flat + (plane % O * n + plane / O) * P;

		for (SW_EACH_COLUMN(p, P)) {
			const size_t at = plane * P + p;

			to[p] = y && !(y[at] > 0.0f) ? 0.0f : dy[at];
		}
	}
}

/* flat: float[O][N]; db: float[O] = (accumulate ? db : 0) + sums of its rows; a block a row */
static __global__ void row_sums_kernel(const float *__restrict__ flat, float *__restrict__ db,
				       size_t N, size_t O, int accumulate)
{
	__shared__ float sums[SW_CUDA_WARPS];

	for (size_t o = blockIdx.x; o < O; o += gridDim.x) {
		float sum = 0.0f;

		for (size_t at = threadIdx.x; at < N; at += SW_CUDA_BLOCK)
			sum += flat[o * N + at];
		sum = sw_warp_sumf(sum);
		if (threadIdx.x % SW_CUDA_WARP == 0)
			sums[threadIdx.x / SW_CUDA_WARP] = sum;
		__syncthreads();
		if (threadIdx.x == 0) {
			sum = accumulate ? db[o] : 0.0f;
			for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
				sum += sums[k];
			db[o] = sum;
		}
		__syncthreads(); /* the next row writes sums again */
	}
}

static sw_status im2col(struct sw_queue *q, const float *x, float *columns, struct sw_cuda_conv d,
			size_t n)
{
	return sw_cuda_run_items(q, d.C * n * d.P, im2col_kernel, x, columns, d, n);
}

sw_status sw_cuda_conv_columns_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, const struct sw_conv *c,
				       enum sw_act act, void *work)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const size_t some = images_of(d), image = (size_t)d.C * d.H * d.W;
	const size_t P = d.P, K = d.K, O = d.O;
	float *columns = (float *)work, *flat = columns + aligned(K * some * P);
	sw_status rc = SW_OK;

	for (size_t at = 0; at < d.B && rc == SW_OK; at += some) {
		const size_t n = d.B - at < some ? d.B - at : some, N = n * P;

		rc = im2col(q, x + at * image, columns, d, n);
		if (rc == SW_OK)
			rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_N, N, O, K, columns, N, w, K,
					     0.0f, flat);
		if (rc == SW_OK)
			rc = sw_cuda_run_rows(q, n * O, planes_kernel, flat, b, y + at * O * P, n,
					      O, P, act == SW_ACT_RELU);
	}
	return rc;
}

/* One part of the batch: n images. add: dw and db are added to. */
static sw_status part_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
			       const float *dy, float *dx, float *dw, float *db,
			       struct sw_cuda_conv d, size_t n, int add, float *columns,
			       float *flat)
{
	const size_t N = n * d.P, K = d.K, O = d.O;
	sw_status rc = sw_cuda_run_rows(q, n * O, flat_kernel, y, dy, flat, n, O, d.P);

	if (rc == SW_OK && db)
		rc = sw_cuda_run(q, sw_cuda_grid_blocks(O), row_sums_kernel, flat, db, N, O, add);
	if (rc == SW_OK)
		rc = im2col(q, x, columns, d, n);
	if (rc == SW_OK)
		rc = sw_cuda_product(q, CUBLAS_OP_T, CUBLAS_OP_N, K, O, N, columns, N, flat, N,
				     add ? 1.0f : 0.0f, dw);
	if (rc == SW_OK && dx)
		rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_T, N, K, O, flat, N, w, K, 0.0f,
				     columns);
	if (rc == SW_OK && dx)
		rc = sw_cuda_run_items(q, n * d.C * d.H * d.W, col2im_kernel, columns, dx, d, n);
	return rc;
}

sw_status sw_cuda_conv_columns_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, const struct sw_conv *c, int accumulate,
					void *work)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const size_t some = images_of(d), image = (size_t)d.C * d.H * d.W, out = (size_t)d.O * d.P;
	float *columns = (float *)work, *flat = columns + aligned(d.K * some * d.P);
	sw_status rc = SW_OK;

	for (size_t at = 0; at < d.B && rc == SW_OK; at += some)
		rc = part_backward(q, x + at * image, w, y ? y + at * out : NULL, dy + at * out,
				   dx ? dx + at * image : NULL, dw, db, d,
				   d.B - at < some ? d.B - at : some, accumulate || at > 0, columns,
				   flat);
	return rc;
}
