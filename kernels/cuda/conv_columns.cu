/* kernels/cuda/conv_columns.cu — convolution of any shape by cuBLAS.
 *
 * Some images at a time, n of them, are laid out as a matrix (im2col): columns: float[K][N], N = n
 * P, row (c, i, j) holding, for each place of each image's output, the value of x under that
 * element of the kernel. Beside it lies flat: float[O][N], what y and dy are to one product over
 * all images: an image's planes are gathered from it and laid to it by the kernel that also adds
 * the bias, or takes relu's mask off. Then flat = w columns; dw += flat columns^T; columns = w^T
 * flat, from which each element of dx gathers its terms in a fixed order. What products read is
 * written in the queue's form at once: bf16 columns take half of their room. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/product.h"

/* Bytes of columns made at a time; one image's at least. Less than half of the L2 cache of an
 * H100-class GPU (50 MB), so that a product finds there what was laid out for it. */
#ifndef SW_CUDA_COLUMNS_BYTES
#define SW_CUDA_COLUMNS_BYTES ((size_t)16 << 20)
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

/* x: float[n][C][H][W]; columns: T[C kh kw][N], N = n P. A thread a place and a channel: it writes
 * kh kw rows, beside its neighbours. */
template <class T>
static __global__ void im2col_kernel(const float *__restrict__ x, T *__restrict__ columns,
				     struct sw_cuda_conv d, struct sw_cuda_divisor by_N,
				     struct sw_cuda_divisor by_P, struct sw_cuda_divisor by_ow)
{
	sw_wait();

	const size_t N = by_N.by;

	for (SW_EACH(item, d.C * N)) {
		/* Neighbouring threads have neighbouring places: each of their kh kw stores is a
		 * run of memory. */
		const struct sw_cuda_place at = sw_cuda_place_of(item, by_N);
		const unsigned b = sw_cuda_divide(at.column, by_P), place = at.column - b * d.P;
		const unsigned down = sw_cuda_divide(place, by_ow);
		const unsigned r = down * d.stride, s = (place - down * d.ow) * d.stride;
		const float *plane = x + ((size_t)b * d.C + at.row) * d.H * d.W;
		T *to = columns + at.row * d.kh * d.kw * N + at.column;

		for (unsigned i = 0; i < d.kh; i++)
			for (unsigned j = 0; j < d.kw; j++, to += N) {
				/* below 0 wraps around, and is over H, too */
				const unsigned row = r + i - d.pad, column = s + j - d.pad;

				sw_cuda_put(to, row < d.H && column < d.W
							? plane[row * d.W + column]
							: 0.0f);
			}
	}
}

/* By what an element of dx is found, and the windows that it lies in. */
struct back {
	struct sw_cuda_divisor by_C, by_image, by_W, by_stride;
};

/* columns: float[C kh kw][n P]; dx: float[n][C][H][W]. A thread an element of dx, which adds its
 * terms from the first element of the kernel to the last. */
static __global__ void col2im_kernel(const float *__restrict__ columns, float *__restrict__ dx,
				     struct sw_cuda_conv d, struct back by, size_t n)
{
	sw_wait();

	const size_t N = n * d.P;

	for (SW_EACH(item, n * d.C * by.by_image.by)) {
		const struct sw_cuda_place at = sw_cuda_place_of(item, by.by_image);
		const struct sw_cuda_place plane = sw_cuda_place_of(at.row, by.by_C);
		const unsigned down = sw_cuda_divide(at.column, by.by_W);
		const unsigned h = down + d.pad, w = at.column - down * d.W + d.pad;
		const float *from =
			columns + (size_t)plane.column * d.kh * d.kw * N + plane.row * d.P;
		float sum = 0.0f;

		for (unsigned i = 0; i < d.kh && i <= h; i++, from += d.kw * N) {
			const unsigned r = sw_cuda_divide(h - i, by.by_stride);

			/* With a stride over 1 only each stride-th row is the begin of a window. */
			if (r * d.stride != h - i || r >= d.oh)
				continue;
			const float *line = from + r * d.ow;

			for (unsigned j = 0; j < d.kw && j <= w; j++, line += N) {
				const unsigned s = sw_cuda_divide(w - j, by.by_stride);

				if (s * d.stride == w - j && s < d.ow)
					sum += line[s];
			}
		}
		dx[item] = sum;
	}
}

/* flat: float[O][n P]; b: float[O] or NULL; y: float[n][O][P] = act(flat + b); a warp a plane, of
 * `quads` quads */
static __global__ void planes_kernel(const float *flat, const float *b, float *y, size_t n,
				     struct sw_cuda_divisor by_O, size_t P, size_t quads, int relu)
{
	sw_wait();
	for (SW_EACH_ROW(plane, n * by_O.by)) {
		const struct sw_cuda_place at = sw_cuda_place_of(plane, by_O);
		const float bias = b ? b[at.column] : 0.0f;

		sw_map(
			[=](float from) {
				const float v = from + bias;

				return relu && v <= 0.0f ? 0.0f : v;
			},
			threadIdx.x % SW_CUDA_WARP, SW_CUDA_WARP, P, quads, y + plane * P,
			flat + (at.column * n + at.row) * P);
	}
}

/* y, dy: float[n][O][P], y NULL where nothing masks dy; flat: float[O][n P]; a warp a plane, of
 * `quads` quads */
static __global__ void flat_kernel(const float *y, const float *dy, float *flat, size_t n,
				   struct sw_cuda_divisor by_O, size_t P, size_t quads)
{
	sw_wait();
	for (SW_EACH_ROW(plane, n * by_O.by)) {
		const struct sw_cuda_place at = sw_cuda_place_of(plane, by_O);
		const size_t lane = threadIdx.x % SW_CUDA_WARP;
		const float *from = dy + plane * P;
		float *to = flat + (at.column * n + at.row) * P;

		if (y)
			sw_map([](float yi, float dyi) { return yi > 0.0f ? dyi : 0.0f; }, lane,
			       SW_CUDA_WARP, P, quads, to, y + plane * P, from);
		else
			sw_map([](float dyi) { return dyi; }, lane, SW_CUDA_WARP, P, quads, to,
			       from);
	}
}

/* The same to bf16, and to flat where that is not NULL. */
static __global__ void flat_bf16_kernel(const float *__restrict__ y, const float *__restrict__ dy,
					float *__restrict__ flat, uint16_t *__restrict__ bf16,
					size_t n, struct sw_cuda_divisor by_O, size_t P)
{
	sw_wait();
	for (SW_EACH_ROW(plane, n * by_O.by)) {
		const struct sw_cuda_place place = sw_cuda_place_of(plane, by_O);
		const size_t to = (place.column * n + place.row) * P;

		for (SW_EACH_COLUMN(p, P)) {
			const size_t at = plane * P + p;
			const float there = dy[at], v = y && !(y[at] > 0.0f) ? 0.0f : there;

			if (flat)
				flat[to + p] = v;
			bf16[to + p] = sw_cuda_bf16(v);
		}
	}
}

/* flat: float[O][N]; db: float[O] = (add ? db : 0) + sums of its rows; a block a row */
static __global__ void row_sums_kernel(const float *__restrict__ flat, float *__restrict__ db,
				       size_t N, size_t O, int add)
{
	sw_wait();

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
			sum = add ? db[o] : 0.0f;
			for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
				sum += sums[k];
			db[o] = sum;
		}
		__syncthreads(); /* the next row writes sums again */
	}
}

/* Beside columns, which lie in work: w and flat. */
size_t sw_cuda_conv_columns_products(enum sw_precision p, const struct sw_conv *c)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);

	return sw_cuda_product_bytes(p, (size_t)d.O * d.K, d.O * images_of(d) * d.P);
}

/* columns: in the queue's form */
static sw_status im2col(struct sw_queue *q, const float *x, void *columns, struct sw_cuda_conv d,
			size_t n)
{
	const struct sw_cuda_divisor by_N = sw_cuda_divisor_of(n * d.P);
	const struct sw_cuda_divisor by_P = sw_cuda_divisor_of(d.P);
	const struct sw_cuda_divisor by_ow = sw_cuda_divisor_of(d.ow);
	const size_t items = d.C * n * d.P;

	if (sw_cuda_halves(q))
		return sw_cuda_run_items(q, items, im2col_kernel<uint16_t>, x, (uint16_t *)columns,
					 d, by_N, by_P, by_ow);
	return sw_cuda_run_items(q, items, im2col_kernel<float>, x, (float *)columns, d, by_N, by_P,
				 by_ow);
}

/* columns: floats */
static sw_status col2im(struct sw_queue *q, const float *columns, float *dx, struct sw_cuda_conv d,
			size_t n)
{
	const size_t image = (size_t)d.H * d.W;

	return sw_cuda_run_items(q, n * d.C * image, col2im_kernel, columns, dx, d,
				 back{sw_cuda_divisor_of(d.C), sw_cuda_divisor_of(image),
				      sw_cuda_divisor_of(d.W), sw_cuda_divisor_of(d.stride)},
				 n);
}

sw_status sw_cuda_conv_columns_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, const struct sw_conv *c,
				       enum sw_act act, void *work)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const size_t some = images_of(d), image = (size_t)d.C * d.H * d.W;
	const size_t P = d.P, K = d.K, O = d.O;
	float *columns = (float *)work, *flat = columns + aligned(K * some * P);
	const void *weights;
	size_t room = 0;
	sw_status rc = sw_cuda_operand(q, w, O * K, &room, &weights);

	/* All parts use the same columns and flat: the stream ends one before it begins the
	 * next. */
	for (size_t at = 0; at < d.B && rc == SW_OK; at += some) {
		const size_t n = d.B - at < some ? d.B - at : some, N = n * P;

		rc = im2col(q, x + at * image, columns, d, n);
		if (rc == SW_OK)
			rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_N, N, O, K, columns, N,
					     weights, K, 0.0f, flat);
		if (rc == SW_OK)
			rc = sw_cuda_run_rows(q, n * O, planes_kernel, flat, b, y + at * O * P, n,
					      sw_cuda_divisor_of(O), P, sw_row_quads(P, flat, y),
					      act == SW_ACT_RELU);
	}
	return rc;
}

/* One part of the batch: n images. w: in the queue's form; room: what is taken of its scratch
 * memory; add: dw and db are added to. */
static sw_status part_backward(struct sw_queue *q, const float *x, const void *w, size_t room,
			       const float *y, const float *dy, float *dx, float *dw, float *db,
			       struct sw_cuda_conv d, size_t n, int add, float *columns,
			       float *flat)
{
	const size_t N = n * d.P, K = d.K, O = d.O;
	const struct sw_cuda_divisor by_O = sw_cuda_divisor_of(O);
	uint16_t *bf16 = NULL;
	sw_status rc = SW_OK;

	if (sw_cuda_halves(q))
		rc = sw_cuda_operand_room(q, O * N, &room, &bf16);
	const void *dz = bf16 ? (const void *)bf16 : flat;

	/* flat in floats is for db alone: a sum of rounded terms would not be that of the CPU
	 * table. */
	if (rc == SW_OK && bf16)
		rc = sw_cuda_run_rows(q, n * O, flat_bf16_kernel, y, dy, db ? flat : NULL, bf16, n,
				      by_O, d.P);
	else if (rc == SW_OK)
		rc = sw_cuda_run_rows(q, n * O, flat_kernel, y, dy, flat, n, by_O, d.P,
				      sw_row_quads(d.P, y, dy, flat));
	if (rc == SW_OK && db)
		rc = sw_cuda_run(q, sw_cuda_grid_blocks(O), row_sums_kernel, flat, db, N, O, add);
	if (rc == SW_OK)
		rc = im2col(q, x, columns, d, n);
	if (rc == SW_OK)
		rc = sw_cuda_product(q, CUBLAS_OP_T, CUBLAS_OP_N, K, O, N, columns, N, dz, N,
				     add ? 1.0f : 0.0f, dw);
	/* Over the columns, which the product for dw was the last to read. */
	if (rc == SW_OK && dx)
		rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_T, N, K, O, dz, N, w, K, 0.0f,
				     columns);
	if (rc == SW_OK && dx)
		rc = col2im(q, columns, dx, d, n);
	return rc;
}

sw_status sw_cuda_conv_columns_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, const struct sw_conv *c, void *work)
{
	const struct sw_cuda_conv d = sw_cuda_conv_of(c);
	const size_t some = images_of(d), image = (size_t)d.C * d.H * d.W, out = (size_t)d.O * d.P;
	float *columns = (float *)work, *flat = columns + aligned(d.K * some * d.P);
	const void *weights = w;
	size_t room = 0;
	/* Only dx reads the weights. */
	sw_status rc = dx ? sw_cuda_operand(q, w, d.O * d.K, &room, &weights) : SW_OK;

	for (size_t at = 0; at < d.B && rc == SW_OK; at += some)
		rc = part_backward(q, x + at * image, weights, room, y ? y + at * out : NULL,
				   dy + at * out, dx ? dx + at * image : NULL, dw, db, d,
				   d.B - at < some ? d.B - at : some, at > 0, columns, flat);
	return rc;
}
