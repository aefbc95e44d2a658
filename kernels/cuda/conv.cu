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

/* The output and the padded image are images, too; and kernels count in 32 bits. */
static int fits(const struct sw_conv *c)
{
	return sw_conv_fits(c) && c->stride <= INT32_MAX && c->H + 2 * c->pad <= INT32_MAX &&
	       c->W + 2 * c->pad <= INT32_MAX && sw_conv_out_h(c) * sw_conv_out_w(c) <= INT32_MAX;
}

static int direct(const struct sw_conv *c)
{
	const double most = INT32_MAX, B = (double)c->B, C = (double)c->C, O = (double)c->O;
	const double places = (double)sw_conv_out_h(c) * (double)sw_conv_out_w(c);
	const double weights = O * C * (double)c->kh * (double)c->kw;

	/* cuBLAS takes no product with a side of 0; the direct kernels write what there is. */
	if (B * C * O * places == 0)
		return 1;
	/* In double: sizes that fit 32 bits each may multiply to more than 64. */
	if (B * C * (double)(c->H * c->W) > most || B * O * places > most || weights > most)
		return 0;
	if (forced)
		return forced != 3;
	return weights <= DIRECT_WEIGHTS || weights * B * places <= DIRECT_TERMS;
}

/* Of the direct ones: whether by patches. Their number, too, is counted in 32 bits. */
static int patches(const struct sw_conv *c)
{
	const double most = INT32_MAX, B = (double)c->B;

	return forced < 4 && c->stride == 1 && c->kh == c->kw && (c->kw == 3 || c->kw == 5) && B &&
	       c->C && c->O && B * (double)(c->H + 2) * (double)(c->W + 2) <= most &&
	       B * (double)(sw_conv_out_h(c) + 1) * (double)(sw_conv_out_w(c) + 1) <= most;
}

static struct sw_cuda_conv_way way(void)
{
	static const struct sw_cuda_conv_way ways[] = {{0, 0}, {1, 0}, {4, 1},
						       {0, 0}, {1, 0}, {4, 1}};

	return ways[forced];
}

size_t sw_cuda_conv2d_workspace(const struct sw_conv *c)
{
	const size_t n = !fits(c)     ? 0
			 : !direct(c) ? sw_cuda_conv_columns_workspace(c)
			 : patches(c) ? sw_cuda_conv_patch_workspace(c, way())
				      : sw_cuda_conv_direct_workspace(c, way());

	return (n + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

size_t sw_cuda_conv2d_products(enum sw_precision p, const struct sw_conv *c)
{
	return fits(c) && !direct(c) ? sw_cuda_conv_columns_products(p, c) : 0;
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
		return patches(c) ? sw_cuda_conv_patch_forward(q, x, w, b, y, NULL, NULL, c, act,
							       way())
				  : sw_cuda_conv_direct_forward(q, x, w, b, y, c, act, way());
	return sw_cuda_conv_columns_forward(q, x, w, b, y, c, act, work);
}

sw_status sw_cuda_conv2d_backward(struct sw_queue *q, const float *x, const float *w,
				  const float *y, float *dy, float *dx, float *dw, float *db,
				  const struct sw_conv *c, enum sw_act act, void *work)
{
	const float *mask = act == SW_ACT_RELU ? y : NULL;
	const sw_status rc = sw_cuda_use();

	if (!fits(c))
		return SW_INVALID;
	if (rc != SW_OK)
		return rc;
	if (direct(c))
		return patches(c) ? sw_cuda_conv_patch_backward(q, x, w, mask, dy, NULL, dx, dw, db,
								c, work, way())
				  : sw_cuda_conv_direct_backward(q, x, w, mask, dy, dx, dw, db, c,
								 work, way());
	return sw_cuda_conv_columns_backward(q, x, w, mask, dy, dx, dw, db, c, work);
}

/* Whether patches are the windows: of 2 x 2, beside one another. */
static int pools(const struct sw_conv *c, const struct sw_window *p)
{
	return fits(c) && direct(c) && patches(c) && sw_window_fits(p) && p->kh == 2 &&
	       p->kw == 2 && p->stride == 2 && p->pad == 0;
}

sw_status sw_cuda_conv2d_maxpool_forward(struct sw_queue *q, const float *x, const float *w,
					 const float *b, const struct sw_pooled *m,
					 const struct sw_conv *c, enum sw_act act, void *work)
{
	sw_status rc = sw_cuda_use();

	if (rc == SW_OK && pools(c, &m->p))
		return sw_cuda_conv_patch_forward(q, x, w, b, NULL, m->y, m->argmax, c, act, way());
	rc = sw_cuda_conv2d_forward(q, x, w, b, m->full, c, act, work);
	return rc == SW_OK ? sw_cuda_maxpool2d_forward(q, m->full, m->y, m->argmax, &m->p) : rc;
}

sw_status sw_cuda_conv2d_maxpool_backward(struct sw_queue *q, const float *x, const float *w,
					  const struct sw_pooled *m, const float *dy, float *dfull,
					  float *dx, float *dw, float *db, const struct sw_conv *c,
					  enum sw_act act, void *work)
{
	sw_status rc = sw_cuda_use();

	/* Then forward has not written m->full: y and dy are the pooling's, and argmax says which
	 * place of its window has the gradient. */
	if (rc == SW_OK && pools(c, &m->p))
		return sw_cuda_conv_patch_backward(q, x, w, act == SW_ACT_RELU ? m->y : NULL, dy,
						   m->argmax, dx, dw, db, c, work, way());
	rc = sw_cuda_maxpool2d_backward(q, dy, m->argmax, dfull, &m->p);
	return rc == SW_OK
		       ? sw_cuda_conv2d_backward(q, x, w, m->full, dfull, dx, dw, db, c, act, work)
		       : rc;
}
