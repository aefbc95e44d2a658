/* trainer/model/flops.c — the arithmetic of a step's products, and how much of it TF32 takes. */
#include "trainer/model/model.h"
#include "trainer/model/stages.h"

double sw_model_op_flops(const struct sw_model *m, size_t i)
{
	const struct sw_op *op = &m->op[i];
	bool first = !m->task.received;

	if (op->kind != SW_OP_LINEAR && op->kind != SW_OP_CONV2D)
		return 0;
	/* The first product's input is the batch, whose gradient nobody wants: two products, not
	 * three. */
	while (first && i-- > 0)
		first = m->op[i].kind != SW_OP_LINEAR && m->op[i].kind != SW_OP_CONV2D;
	return (first ? 4 : 6) * (double)op->fan_in * (double)sw_shape_count(&op->to);
}

double sw_stages_flops(const struct sw_model *m, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += sw_model_op_flops(m, i);
	return sum;
}

double sw_model_flops(const struct sw_model *m)
{
	return sw_stages_flops(m, 0, m->ops_n);
}

/* From which sizes on cuBLAS has kernels in TF32, as it counts m, n and k. Second-hand: NVIDIA says
 * nothing of it; PyTorch's found it by shapes that they tried on an H100 with CUDA 12.8
 * (https://github.com/pytorch/pytorch/pull/183355). */
static double taken(size_t m, size_t n, size_t k)
{
	return n >= 16 && m >= 512 && k >= 512 ? 1 : 0;
}

/* Of an operation's products, each as large as the other: forward, dw, and dx if it is wanted. */
static double op_taken(const struct sw_op *op, const struct sw_ops *ops, size_t rows, bool dx)
{
	const size_t in = op->fan_in;
	const struct sw_conv conv = sw_op_conv(op, rows);
	size_t n = sw_op_rows(&op->from, rows), out = sw_op_width(&op->to);

	if (op->kind == SW_OP_LINEAR)
		return ops->linear_products(SW_TF32, n, in, out) == 0
			       ? 0
			       : taken(out, n, in) + taken(in, out, n) + dx * taken(in, n, out);
	n = rows * op->to.h * op->to.w;
	out = op->to.c;
	return ops->conv2d_products(SW_TF32, &conv) == 0
		       ? 0
		       : taken(n, out, in) + taken(in, out, n) + dx * taken(n, in, out);
}

double sw_model_tf32_share(const struct sw_model *m, const struct sw_ops *ops, size_t rows)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const double one = 2.0 * (double)op->fan_in * (double)sw_shape_count(&op->to);
		const double flops = sw_model_op_flops(m, i); /* of two products, or three */

		/* Over 2.5 forward passes there are three products: dx is one of them. */
		if (flops > 0)
			sum += one * op_taken(op, ops, rows, flops > 2.5 * one);
		all += flops;
	}
	return all > 0 ? sum / all : 0;
}
