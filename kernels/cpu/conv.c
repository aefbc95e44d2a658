/* kernels/cpu/conv.c — the entries of convolution: checks, and the choice of the way. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/cpu.h"

static int forced;

void sw_cpu_conv_force(int path)
{
	forced = path;
}

static int direct(const struct sw_conv *c)
{
	/* Backward pads dy by kh - 1 - pad, which must not be below 0. */
	if (c->stride != 1 || c->pad >= c->kh || c->pad >= c->kw || !c->B || !c->C || !c->O ||
	    !sw_conv_out_h(c) || !sw_conv_out_w(c))
		return 0;
	/* a kernel of 1 x 1 needs no columns: its products are the whole work */
	return forced ? forced == 1 : c->kh * c->kw > 1;
}

size_t sw_cpu_conv2d_workspace(const struct sw_conv *c)
{
	const size_t n = direct(c) ? sw_cpu_conv_direct_workspace(c)
				   : sw_cpu_conv_columns_workspace(c);

	return (n + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

sw_status sw_cpu_conv2d_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, const struct sw_conv *c, enum sw_act act, void *work)
{
	(void)q;
	if (!sw_conv_fits(c))
		return SW_INVALID;
	if (direct(c))
		sw_cpu_conv_direct_forward(x, w, b, y, c, act, work);
	else
		sw_cpu_conv_columns_forward(x, w, b, y, c, act, work);
	return SW_OK;
}

sw_status sw_cpu_conv2d_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db,
				 const struct sw_conv *c, enum sw_act act, void *work)
{
	(void)q;
	if (!sw_conv_fits(c))
		return SW_INVALID;
	if (direct(c))
		sw_cpu_conv_direct_backward(x, w, y, dy, dx, dw, db, c, act, work);
	else
		sw_cpu_conv_columns_backward(x, w, y, dy, dx, dw, db, c, act, work);
	return SW_OK;
}

/* Here the output and its pooling stay two calls: it lies in the cache between them. */
sw_status sw_cpu_conv2d_maxpool_forward(struct sw_queue *q, const float *x, const float *w,
					const float *b, const struct sw_pooled *m,
					const struct sw_conv *c, enum sw_act act, void *work)
{
	const sw_status rc = sw_cpu_conv2d_forward(q, x, w, b, m->full, c, act, work);

	return rc == SW_OK ? sw_cpu_maxpool2d_forward(q, m->full, m->y, m->argmax, &m->p) : rc;
}

sw_status sw_cpu_conv2d_maxpool_backward(struct sw_queue *q, const float *x, const float *w,
					 const struct sw_pooled *m, const float *dy, float *dfull,
					 float *dx, float *dw, float *db, const struct sw_conv *c,
					 enum sw_act act, void *work)
{
	const sw_status rc = sw_cpu_maxpool2d_backward(q, dy, m->argmax, dfull, &m->p);

	return rc == SW_OK
		       ? sw_cpu_conv2d_backward(q, x, w, m->full, dfull, dx, dw, db, c, act, work)
		       : rc;
}
