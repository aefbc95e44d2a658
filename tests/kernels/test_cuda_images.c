/* tests/kernels/test_cuda_images.c — batches of images and windows over them, of kernels/cuda
 * beside those of kernels/cpu: bit for bit. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"

/* --- gather_image --- */

struct images {
	size_t B, N, C, H, W;
	int u8, pad, flip, scaled, numbered;
};

static const struct sw_step step = {.step = 3, .epoch = (uint64_t)1 << 34};

/* p: rows, index, scale and shift, number, out, step */
static sw_status gather_image(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *ctx)
{
	const struct images *s = ctx;
	const float *scale = p[2];
	const sw_status status = o->upload(q, p[5], &step, sizeof step);
	const struct sw_images im = {.C = s->C,
				     .H = s->H,
				     .W = s->W,
				     .u8 = s->u8,
				     .pad = s->pad,
				     .flip = s->flip,
				     .seed = 7,
				     .step = s->B % 2 ? p[5] : NULL,
				     .scale = s->scaled ? scale : NULL,
				     .shift = s->scaled && scale ? scale + s->C : NULL,
				     .number = s->numbered ? p[3] : NULL};

	return status != SW_OK ? status : o->gather_image(q, p[0], p[1], p[4], s->B, &im);
}

/* Sizes about a warp's columns and the rows of the stand-in's 3 blocks. */
static const struct images images[] = {
	{1, 1, 1, 1, 1, 0, 0, 0, 0, 0},
	{3, 5, 1, 4, 3, 0, 0, 0, 0, 0},
	{3, 5, 2, 4, 3, 1, 0, 0, 0, 0},
	{2, 3, 3, 5, 33, 1, 0, 0, 1, 0},
	{5, 4, 3, 7, 32, 1, 4, 1, 1, 0},
	{4, 9, 1, 13, 31, 0, 2, 0, 1, 1},
	{7, 6, 2, 3, 65, 0, 0, 1, 0, 1},
	{1, 2, 1, 2, 2, 1, 5, 1, 1, 1},
	{11, 3, 3, 32, 32, 1, 4, 1, 1, 0},
	{0, 3, 3, 4, 4, 1, 1, 1, 1, 0},
	{3, 2, 0, 4, 4, 1, 1, 1, 1, 0},
	{3, 2, 3, 0, 4, 1, 1, 1, 1, 0},
	{3, 2, 3, 4, 0, 1, 1, 1, 1, 0},
	{2, 2, 1, 3, 3, 1, -1, 0, 0, 0},
	/* one row, one channel, and more planes and rows than there are warps, of odd numbers */
	{6, 3, 5, 1, 37, 1, 1, 1, 1, 0},
	{13, 4, 1, 11, 3, 1, 0, 0, 1, 0},
	{7, 3, 13, 17, 1, 0, 0, 1, 1, 1},
};

TEST_ROWS(gather_image_has_the_bits_of_the_cpu, images)
{
	const struct images *s = &images[_i];
	const size_t D = s->C * s->H * s->W, n = s->N * D;
	const struct twin_buf b[] = {
		s->u8 ? (struct twin_buf){TWIN_I32, n / 4 + 1, twin_labels(n / 4 + 1, INT32_MAX, 1),
					  0}
		      : (struct twin_buf){TWIN_F32, n, twin_noise(n, 1), 0},
		{TWIN_I32, s->B, twin_labels(s->B, s->N, 2), 0},
		{TWIN_F32, 2 * s->C, twin_noise(2 * s->C, 3), 0},
		{TWIN_I32, s->B, twin_labels(s->B, 1000, 4), 0},
		{TWIN_F32, s->B * D, NULL, 0},
		{TWIN_F32, sizeof step / sizeof(float), NULL, 0},
	};

	twin_check("gather_image", gather_image, s, b, ROWS(b));
}

/* --- windows: {B, C, H, W, kh, kw, stride, pad} --- */

static const struct sw_window windows[] = {
	{1, 1, 1, 1, 1, 1, 1, 0},
	{2, 3, 28, 28, 2, 2, 2, 0},
	{1, 2, 7, 5, 2, 2, 2, 0},
	{3, 1, 7, 9, 3, 3, 2, 1},
	{2, 2, 8, 5, 3, 3, 1, 1},
	{1, 3, 11, 13, 2, 3, 3, 1},
	{2, 17, 6, 6, 6, 6, 1, 0},
	{1, 1, 5, 4, 2, 2, 3, 0},
	{2, 1, 9, 9, 4, 5, 2, 2},
	{5, 3, 33, 17, 3, 2, 2, 0},
	{1, 1, 7, 7, 7, 7, 1, 3},
	/* one row, one column, and a height that is no width */
	{3, 5, 1, 19, 1, 2, 3, 0},
	{3, 5, 19, 1, 4, 1, 3, 0},
	{1, 29, 6, 7, 2, 2, 5, 1},
	{2, 3, 1, 1, 3, 3, 7, 1},
	{0, 3, 4, 4, 2, 2, 2, 0},
	{3, 0, 4, 4, 2, 2, 2, 0},
	{3, 2, 0, 4, 2, 2, 2, 0},
	{3, 2, 4, 0, 2, 2, 2, 0},
	/* that make no sense */
	{1, 1, 2, 2, 3, 3, 1, 0},
	{1, 1, 4, 4, 2, 2, 0, 0},
	{1, 1, 4, 4, 2, 2, 1, 2},
	{1, 1, 4, 4, 0, 2, 1, 0},
	{1, 1, 4, 4, 2, 2, (size_t)1 << 32, 0},
	{1, 1, 1, 1, (size_t)1 << 31, (size_t)1 << 31, 1, (size_t)1 << 30},
};

static size_t in_n(const struct sw_window *w)
{
	return w->B * w->C * w->H * w->W;
}

static size_t out_n(const struct sw_window *w)
{
	return w->H && w->W ? w->B * w->C * sw_pool_out_h(w) * sw_pool_out_w(w) : 0;
}

/* p: x, y, argmax, y, dx */
static sw_status maxpool(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	sw_status status = o->maxpool2d_forward(q, p[0], p[1], p[2], ctx);

	if (status == SW_OK)
		status = o->maxpool2d_forward(q, p[0], p[3], NULL, ctx);
	return status != SW_OK ? status : o->maxpool2d_backward(q, p[1], p[2], p[4], ctx);
}

static void maxpool_of(const struct sw_window *w, const float *x)
{
	const struct twin_buf b[] = {
		{TWIN_F32, in_n(w), x, 0},     {TWIN_F32, out_n(w), NULL, 0},
		{TWIN_I32, out_n(w), NULL, 0}, {TWIN_F32, out_n(w), NULL, 0},
		{TWIN_F32, in_n(w), NULL, 0},
	};

	twin_check("maxpool2d", maxpool, w, b, ROWS(b));
}

TEST_ROWS(maxpool2d_has_the_bits_of_the_cpu, windows)
{
	const struct sw_window *w = &windows[_i];
	float *x = twin_noise(in_n(w), 1);

	maxpool_of(w, x);
	for (size_t i = 0; i < in_n(w); i++) /* equals: the first counts */
		x[i] = (float)(int)x[i];
	maxpool_of(w, x);
	for (size_t i = 0; i < in_n(w); i += 7) /* a NaN wins, the last of them */
		x[i] = (float)strtod(i % 2 ? "nan" : "-inf", NULL);
	maxpool_of(w, x);
}

/* p: x, y, dx */
static sw_status avgpool(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const sw_status status = o->avgpool2d_forward(q, p[0], p[1], ctx);

	return status != SW_OK ? status : o->avgpool2d_backward(q, p[1], p[2], ctx);
}

TEST_ROWS(avgpool2d_has_the_bits_of_the_cpu, windows)
{
	const struct sw_window *w = &windows[_i];
	const struct twin_buf b[] = {
		{TWIN_F32, in_n(w), twin_noise(in_n(w), 1), 0},
		{TWIN_F32, out_n(w), NULL, 0},
		{TWIN_F32, in_n(w), NULL, 0},
	};

	twin_check("avgpool2d", avgpool, w, b, ROWS(b));
}

RUN_TWINS()
