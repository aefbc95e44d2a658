/* kernels/cuda/gather.cu — batches from the data set, images cropped and mirrored on the way. */
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/philox.h"

/* rows: T[N][D]; index: int32[B]; out: T[B][D]; a warp a row, so that reads coalesce and
 * no thread divides by D */
template <class T>
static __global__ void gather_kernel(const T *rows, const int32_t *index, T *out, size_t B,
				     size_t D)
{
	sw_wait();
	for (SW_EACH_ROW(b, B)) {
		const T *from = rows + (size_t)index[b] * D;

		for (SW_EACH_COLUMN(d, D))
			out[b * D + d] = from[d];
	}
}

sw_status sw_cuda_gather(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			 size_t B, size_t D)
{
	return sw_cuda_run_rows(q, D ? B : 0, gather_kernel<float>, rows, index, out, B, D);
}

sw_status sw_cuda_gather_i32(struct sw_queue *q, const int32_t *values, const int32_t *index,
			     int32_t *out, size_t B, size_t D)
{
	return sw_cuda_run_rows(q, D ? B : 0, gather_kernel<int32_t>, values, index, out, B, D);
}

/* The cut of an image: row r and column s of the output come from r + dr and, before the
 * mirror, s + ds; what is below 0 wraps around, and is over H or W, too. */
struct crop {
	unsigned dr, ds;
	int mirror;
};

static __device__ struct crop crop_of(const struct sw_images &im, int32_t row)
{
	const uint32_t pad = (uint32_t)im.pad, places = 2 * pad + 1;

	if (im.pad == 0 && !im.flip)
		return {0, 0, 0};
	/* By the epoch and the row's number in the data set: neither the batch nor the place in it
	 * changes how an image is cut. */
	const struct sw_philox_words r = sw_philox_block(
		im.seed, SW_PHILOX_AUGMENT, 0, im.step ? im.step->epoch : 0, (uint64_t)row);

	return {r.v[0] % places - pad, r.v[1] % places - pad, im.flip && r.v[2] % 2};
}

/* images: T[N][C][H][W]; index: int32[B]; out: float[B][C][H][W]; a warp a row of a plane, each
 * lane of which makes the image's Philox block for itself */
template <class T>
static __global__ void gather_image_kernel(const T *images, const int32_t *index, float *out,
					   size_t lines, struct sw_images im,
					   struct sw_cuda_divisor by_C, struct sw_cuda_divisor by_H)
{
	const unsigned H = by_H.by, W = (unsigned)im.W;

	sw_wait();
	for (SW_EACH_ROW(line, lines)) {
		const struct sw_cuda_place plane = sw_cuda_place_of(line, by_H);
		const struct sw_cuda_place image = sw_cuda_place_of(plane.row, by_C);
		const size_t b = image.row, c = image.column;
		const struct crop crop = crop_of(im, im.number ? im.number[b] : index[b]);
		const unsigned r = plane.column + crop.dr;
		const float scale = im.scale ? im.scale[c] : 1.0f;
		const float shift = im.shift ? im.shift[c] : 0.0f;
		const T *from = images + ((size_t)index[b] * im.C + c) * H * W;

		for (unsigned column = threadIdx.x % SW_CUDA_WARP; column < W;
		     column += SW_CUDA_WARP) {
			/* Mirrored, a warp reads the same run of memory from its other end. */
			const unsigned s = (crop.mirror ? W - 1 - column : column) + crop.ds;
			const float raw = r < H && s < W ? (float)from[r * W + s] : 0.0f;

			out[line * W + column] = raw * scale + shift;
		}
	}
}

/* ops.h's limits; a crop's places are counted in 32 bits. */
static int in_limits(const struct sw_images *im)
{
	return im->C <= INT32_MAX && im->H <= INT32_MAX && im->W <= INT32_MAX &&
	       im->H * im->W <= INT32_MAX && im->pad >= 0 && im->pad <= INT32_MAX / 4;
}

sw_status sw_cuda_gather_image(struct sw_queue *q, const void *rows, const int32_t *index,
			       float *out, size_t B, const struct sw_images *im)
{
	const size_t lines = im->W ? B * im->C * im->H : 0;
	const struct sw_cuda_divisor by_C = sw_cuda_divisor_of(im->C);
	const struct sw_cuda_divisor by_H = sw_cuda_divisor_of(im->H);

	if (!in_limits(im))
		return SW_INVALID;
	if (!im->u8 && !im->pad && !im->flip && !im->scale && !im->shift)
		return sw_cuda_gather(q, (const float *)rows, index, out, B, im->C * im->H * im->W);
	if (im->u8)
		return sw_cuda_run_rows(q, lines, gather_image_kernel<uint8_t>,
					(const uint8_t *)rows, index, out, lines, *im, by_C, by_H);
	return sw_cuda_run_rows(q, lines, gather_image_kernel<float>, (const float *)rows, index,
				out, lines, *im, by_C, by_H);
}
