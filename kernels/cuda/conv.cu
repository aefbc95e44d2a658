/* kernels/cuda/conv.cu — the entries of convolution: checks, and the choice of the way. */
#include "kernels/cuda/conv.h"

/* Up to so many weights the direct kernels are taken whatever the batch, for a product with so few
 * rows leaves most of a matrix unit idle and its columns are many times x; and up to so many
 * multiply-adds whatever the weights, for then launches are what costs. Made of limits, not
 * measured. */
#define DIRECT_WEIGHTS 4608.0
#define DIRECT_TERMS   0x1p24

static int forced;

void sw_cuda_conv_force(int path)
{
	forced = path;
}

/* ops.h's limits; the output and the padded image are images, too. */
static int fits(const struct sw_conv *c)
{
	return c->B <= INT32_MAX && c->C <= INT32_MAX && c->H <= INT32_MAX && c->W <= INT32_MAX &&
	       c->O <= INT32_MAX && c->kh <= INT32_MAX && c->kw <= INT32_MAX &&
	       c->pad <= INT32_MAX && c->stride <= INT32_MAX && c->H * c->W <= INT32_MAX &&
	       c->kh * c->kw <= INT32_MAX && c->C * c->kh * c->kw <= INT32_MAX &&
	       c->H + 2 * c->pad <= INT32_MAX && c->W + 2 * c->pad <= INT32_MAX &&
	       sw_conv_out_h(c) * sw_conv_out_w(c) <= INT32_MAX && c->stride && c->kh && c->kw &&
	       (!c->B || !c->C || (sw_conv_out_h(c) && sw_conv_out_w(c)));
}

static int direct(const struct sw_conv *c)
{
	const double most = INT32_MAX, B = (double)c->B, C = (double)c->C, O = (double)c->O;
	const double places = (double)sw_conv_out_h(c) * (double)sw_conv_out_w(c);
	const double weights = O * C * (double)c->kh * (double)c->kw;

	if (B * C * O * places == 0)
		return 1;
	if (B * C * (double)(c->H * c->W) > most || B * O * places > most || weights > most)
		return 0;
	if (forced)
		return forced < 3;
	return weights <= DIRECT_WEIGHTS || weights * B * places <= DIRECT_TERMS;
}

static struct sw_cuda_conv_way way(void)
{
	static const struct sw_cuda_conv_way ways[] = {{0, 0}, {1, 0}, {4, 1}};

	return ways[forced < 3 ? forced : 0];
}

size_t sw_cuda_conv2d_workspace(const struct sw_conv *c)
{
	const size_t n = !fits(c)    ? 0
			 : direct(c) ? sw_cuda_conv_direct_workspace(c, way())
				     : sw_cuda_conv_columns_workspace(c);

	return (n + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

sw_status sw_cuda_conv2d_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				 float *y, const struct sw_conv *c, enum sw_act act, void *work)
{
	const sw_status rc = sw_cuda_use();

	if (!fits(c))
		return SW_INVALID;
	if (rc != SW_OK)
		return rc;
	if (direct(c))
		return sw_cuda_conv_direct_forward(q, x, w, b, y, c, act, way());
	return sw_cuda_conv_columns_forward(q, x, w, b, y, c, act, work);
}

sw_status sw_cuda_conv2d_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  const struct sw_conv *c, enum sw_act act, int accumulate,
				  void *work)
{
	const float *mask = act == SW_ACT_RELU ? y : NULL;
	const sw_status rc = sw_cuda_use();

	if (!fits(c))
		return SW_INVALID;
	if (rc != SW_OK)
		return rc;
	if (direct(c))
		return sw_cuda_conv_direct_backward(q, x, w, mask, dy, dx, dw, db, c, accumulate,
						    work, way());
	return sw_cuda_conv_columns_backward(q, x, w, mask, dy, dx, dw, db, c, accumulate, work);
}
