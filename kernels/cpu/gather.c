/* kernels/cpu/gather.c — batches from the data set, images cropped and mirrored on the way. */
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include <string.h>

sw_status sw_cpu_gather(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			size_t B, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B && D; b++)
		memcpy(out + b * D, rows + (size_t)index[b] * D, D * sizeof *out);
	return SW_OK;
}

sw_status sw_cpu_gather_i32(struct sw_queue *q, const int32_t *values, const int32_t *index,
			    int32_t *out, size_t B, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B && D; b++)
		memcpy(out + b * D, values + (size_t)index[b] * D, D * sizeof *out);
	return SW_OK;
}

/* The cut of an image: row r and column s of the output come from r + dr and, before the
 * mirror, s + ds. */
struct crop {
	ptrdiff_t dr, ds;
	int mirror;
};

static struct crop crop_of(const struct sw_images *im, int32_t row)
{
	const uint32_t places = 2 * (uint32_t)im->pad + 1;

	if (im->pad == 0 && !im->flip)
		return (struct crop){0, 0, 0};
	/* By the epoch and the row's number in the data set: neither the batch nor the place in it
	 * changes how an image is cut. */
	const struct sw_philox_words r = sw_philox_block(
		im->seed, SW_PHILOX_AUGMENT, 0, im->step ? im->step->epoch : 0, (uint64_t)row);

	return (struct crop){.dr = (ptrdiff_t)(r.v[0] % places) - im->pad,
			     .ds = (ptrdiff_t)(r.v[1] % places) - im->pad,
			     .mirror = im->flip && r.v[2] % 2};
}

/* out[s] = raw[s] * scale + shift: what is neither shifted nor mirrored. */
static void row_u8(const uint8_t *restrict raw, float *restrict out, size_t n, float scale,
		   float shift)
{
	for (size_t s = 0; s < n; s++)
		out[s] = (float)raw[s] * scale + shift;
}

static void row_float(const float *restrict raw, float *restrict out, size_t n, float scale,
		      float shift)
{
	for (size_t s = 0; s < n; s++)
		out[s] = raw[s] * scale + shift;
}

/* One row of W values, from (NULL: outside) at column ds; scale and shift are the channel's. */
static void row_take(const struct sw_images *im, const void *from, struct crop c, float scale,
		     float shift, float *out)
{
	const ptrdiff_t W = (ptrdiff_t)im->W;

	for (ptrdiff_t s = 0; s < W; s++) {
		const ptrdiff_t at = (c.mirror ? W - 1 - s : s) + c.ds;
		float raw = 0.0f;

		if (from && at >= 0 && at < W)
			raw = im->u8 ? (float)((const uint8_t *)from)[at]
				     : ((const float *)from)[at];
		out[s] = raw * scale + shift;
	}
}

static void image_take(const struct sw_images *im, const unsigned char *image, struct crop c,
		       float *out)
{
	const size_t each = im->u8 ? 1 : sizeof(float), H = im->H, W = im->W;

	for (size_t ch = 0; ch < im->C; ch++) {
		const float scale = im->scale ? im->scale[ch] : 1.0f;
		const float shift = im->shift ? im->shift[ch] : 0.0f;

		if (!c.dr && !c.ds && !c.mirror) {
			const unsigned char *plane = image + ch * H * W * each;

			if (im->u8)
				row_u8(plane, out + ch * H * W, H * W, scale, shift);
			else
				row_float((const float *)(const void *)plane, out + ch * H * W,
					  H * W, scale, shift);
			continue;
		}
		for (size_t r = 0; r < H; r++) {
			const ptrdiff_t at = (ptrdiff_t)r + c.dr;
			const unsigned char *from =
				at < 0 || at >= (ptrdiff_t)H
					? NULL
					: image + (ch * H + (size_t)at) * W * each;

			row_take(im, from, c, scale, shift, out + (ch * H + r) * W);
		}
	}
}

sw_status sw_cpu_gather_image(struct sw_queue *q, const void *rows, const int32_t *index,
			      float *out, size_t B, const struct sw_images *im)
{
	const size_t D = im->C * im->H * im->W;

	(void)q;
	if (im->pad < 0 || im->pad > INT32_MAX / 4)
		return SW_INVALID;
	if (!im->u8 && !im->pad && !im->flip && !im->scale && !im->shift)
		return sw_cpu_gather(q, rows, index, out, B, D);
	for (size_t b = 0; b < B && D; b++) {
		const unsigned char *image = (const unsigned char *)rows +
					     (size_t)index[b] * D * (im->u8 ? 1 : sizeof *out);

		image_take(im, image, crop_of(im, im->number ? im->number[b] : index[b]),
			   out + b * D);
	}
	return SW_OK;
}
