/* kernels/cuda/linear.cu — y = act(x w^T + b) and its gradients: the entries, and the way of
 * large layers: cuBLAS, one launch forward for what is not the product, and one or two backward. */
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/product.h"

/* Columns of a tile of column_sums_kernel: one a lane. */
#define TILE SW_CUDA_WARP

/* Rows that one block of column_sums_kernel adds up, so that tall matrices have more than one;
 * 1/SEGMENT of the rows at least, so that the partial sums stay few. */
#define SEGMENT_ROWS 256
#define SEGMENT_MAX  64

/* Multiply-adds, and rows, up to which the small kernels are taken. Made of limits, not measured:
 * 2^22 take a tenth of a microsecond at the FP32 peak of an H100-class GPU, and some 10 at what
 * the small kernels reach when nothing is in cache, about what the three launches cost that cuBLAS
 * needs for a backward pass; a thread that adds up dw walks the rows one by one. */
#define SMALL_TERMS ((size_t)1 << 22)
#define SMALL_ROWS  256

static int forced;

void sw_cuda_linear_force(int path)
{
	forced = path;
}

static int small(size_t B, size_t I, size_t O)
{
	if (B == 0 || I == 0 || O == 0 || forced == 1)
		return 1;
	return forced != 2 && B <= SMALL_ROWS && B * I <= SMALL_TERMS / O;
}

/* The largest pair of x, w and y: each of the three products reads another one. */
size_t sw_cuda_linear_products(enum sw_precision p, size_t B, size_t I, size_t O)
{
	const size_t x = B * I, w = O * I, y = B * O, low = x < w ? x : w, high = x < w ? w : x;

	if (!sw_linear_fits(B, I, O) || small(B, I, O))
		return 0;
	return sw_cuda_product_bytes(p, high, low > y ? low : y);
}

/* y: float[B][O] = act(y + b in each row); b: float[O] or NULL; a warp a row */
static __global__ void epilogue_kernel(const float *__restrict__ b, float *__restrict__ y, size_t B,
				       size_t O, int relu)
{
	sw_wait();
	for (SW_EACH_ROW(r, B))
		for (SW_EACH_COLUMN(o, O)) {
			const float v = y[r * O + o] + (b ? b[o] : 0.0f);

			y[r * O + o] = relu && v <= 0.0f ? 0.0f : v;
		}
}

sw_status sw_cuda_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				 float *y, size_t B, size_t I, size_t O, enum sw_act act,
				 void *kept)
{
	const int keeps = kept && sw_cuda_halves(q);
	const void *terms = kept, *weights;
	size_t room = 0;
	sw_status rc = sw_cuda_use();

	if (!sw_linear_fits(B, I, O))
		return SW_INVALID;
	if (rc == SW_OK && small(B, I, O))
		return sw_cuda_linear_small_forward(q, x, w, b, y, B, I, O, act);
	if (rc == SW_OK)
		rc = keeps ? sw_cuda_round(q, x, kept, B * I)
			   : sw_cuda_operand(q, x, B * I, &room, &terms);
	if (rc == SW_OK)
		rc = sw_cuda_operand(q, w, O * I, &room, &weights);
	if (rc == SW_OK)
		rc = sw_cuda_product(q, CUBLAS_OP_T, CUBLAS_OP_N, O, B, I, weights, I, terms, I,
				     0.0f, y);
	if (rc != SW_OK || (!b && act == SW_ACT_NONE))
		return rc;
	return sw_cuda_run_rows(q, B, epilogue_kernel, b, y, B, O, act == SW_ACT_RELU);
}

/* dy: float[B][O], where y: float[B][O] is not NULL masked in place: dz; bf16: the same in bf16, or
 * NULL; sums: float[segments][O], those of the columns over each segment's rows of dz.
 * A block takes a tile of 32 columns of one segment: lane c of warp k adds rows k, k + 8, ... of
 * column c, then warp 0 adds the eight sums from the first to the last. */
static __global__ void column_sums_kernel(const float *y, float *dy, uint16_t *bf16, float *sums,
					  size_t B, size_t O, size_t segments)
{
	sw_wait();

	__shared__ float found[SW_CUDA_WARPS][TILE];
	const unsigned lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
	const size_t across = (O + TILE - 1) / TILE, rows = (B + segments - 1) / segments;

	for (size_t tile = blockIdx.x; tile < across * segments; tile += gridDim.x) {
		const size_t o = tile % across * TILE + lane, segment = tile / across;
		const size_t to = (segment + 1) * rows < B ? (segment + 1) * rows : B;
		float sum = 0.0f;

		/* An element is one thread's, and no other reads it: dy may be masked where it
		 * lies. */
		for (size_t r = segment * rows + warp; o < O && r < to; r += SW_CUDA_WARPS) {
			const size_t at = r * O + o;

			const float there = dy[at], dz = y && !(y[at] > 0.0f) ? 0.0f : there;

			if (y)
				dy[at] = dz;
			if (bf16)
				bf16[at] = sw_cuda_bf16(dz);
			sum += dz;
		}
		found[warp][lane] = sum;
		__syncthreads();
		if (warp == 0 && o < O) {
			sum = 0.0f;
			for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
				sum += found[k][lane];
			sums[segment * O + o] = sum;
		}
		__syncthreads(); /* the next tile writes found again */
	}
}

/* sums: float[segments][O]; db: float[O] = its columns' sums */
static __global__ void add_segments_kernel(const float *__restrict__ sums, float *__restrict__ db,
					   size_t segments, size_t O)
{
	sw_wait();
	for (SW_EACH(o, O)) {
		float sum = 0.0f;

		for (size_t k = 0; k < segments; k++)
			sum += sums[k * O + o];
		db[o] = sum;
	}
}

/* dz in the place of dy, its bf16, and db. One launch; two for matrices of many rows. */
static sw_status column_sums(struct sw_queue *q, const float *y, float *dy, uint16_t *bf16,
			     float *db, size_t B, size_t O)
{
	size_t segments = B / SEGMENT_ROWS < SEGMENT_MAX ? B / SEGMENT_ROWS : SEGMENT_MAX;
	/* cuBLAS's workspace: between two products of the stream nothing lies in it. */
	float *partial = (float *)q->blas_space;
	sw_status rc;

	if (segments * O * sizeof *partial > SW_CUDA_BLAS_BYTES)
		segments = SW_CUDA_BLAS_BYTES / (O * sizeof *partial);
	if (segments <= 1)
		segments = 1;
	rc = sw_cuda_run(q, sw_cuda_grid_blocks((O + TILE - 1) / TILE * segments),
			 column_sums_kernel, y, dy, bf16, segments > 1 ? partial : db, B, O,
			 segments);
	if (rc == SW_OK && segments > 1)
		rc = sw_cuda_run_items(q, O, add_segments_kernel, partial, db, segments, O);
	return rc;
}

/* dz in the place of dy, and in *out in the queue's form; and db, where that is not NULL. */
static sw_status dz_of(struct sw_queue *q, const float *y, float *dy, float *db, size_t B, size_t O,
		       size_t *room, const void **out)
{
	uint16_t *bf16 = NULL;
	sw_status rc = q->blas_space ? SW_OK : SW_NOMEM;

	if (rc == SW_OK && db && sw_cuda_halves(q))
		rc = sw_cuda_operand_room(q, B * O, room, &bf16);
	if (rc != SW_OK)
		return rc;
	*out = bf16 ? (const void *)bf16 : dy;
	/* One reading of dy masks it, rounds it and adds it up. */
	if (db)
		return column_sums(q, y, dy, bf16, db, B, O);
	if (y)
		rc = sw_cuda_relu_backward(q, y, dy, dy, B * O);
	return rc == SW_OK ? sw_cuda_operand(q, dy, B * O, room, out) : rc;
}

sw_status sw_cuda_linear_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  size_t B, size_t I, size_t O, enum sw_act act, const void *kept)
{
	const int keeps = kept && sw_cuda_halves(q);
	const void *dz = dy, *other = kept;
	size_t room = 0, more;
	sw_status rc = sw_cuda_use();

	if (!sw_linear_fits(B, I, O))
		return SW_INVALID;
	if (rc == SW_OK && small(B, I, O))
		return sw_cuda_linear_small_backward(q, x, w, y, dy, dx, dw, db, B, I, O, act);
	if (rc == SW_OK)
		rc = dz_of(q, act == SW_ACT_RELU ? y : NULL, dy, db, B, O, &room, &dz);
	more = room;
	if (rc == SW_OK && !keeps)
		rc = sw_cuda_operand(q, x, B * I, &more, &other);
	if (rc == SW_OK)
		rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_T, I, O, B, other, I, dz, O, 0.0f,
				     dw);
	more = room; /* w takes the place of x */
	if (rc == SW_OK && dx)
		rc = sw_cuda_operand(q, w, O * I, &more, &other);
	if (rc == SW_OK && dx)
		rc = sw_cuda_product(q, CUBLAS_OP_N, CUBLAS_OP_N, I, B, O, other, I, dz, O, 0.0f,
				     dx);
	return rc;
}
