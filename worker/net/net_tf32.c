/* worker/net/net_tf32.c — how much of a net's products TF32 takes. */
#include "worker/net/net_internal.h"

/* From which sizes on cuBLAS has kernels in TF32, as it counts m, n and k. Second-hand: NVIDIA says
 * nothing of it; PyTorch's found it by shapes that they tried on an H100 with CUDA 12.8
 * (https://github.com/pytorch/pytorch/pull/183355). */
static double taken(size_t m, size_t n, size_t k)
{
	return n >= 16 && m >= 512 && k >= 512 ? 1 : 0;
}

/* Of an operation's products, each as large as the other: forward, dw, and dx unless it is none. */
static double op_taken(const struct sw_net *net, size_t i, bool dx)
{
	const struct sw_op *op = &net->own->op[i];
	const size_t rows = net->at.micro, in = op->fan_in;
	const struct sw_conv conv = sw_layout_conv(op, rows);
	size_t n = sw_net_row_n(&op->from, rows), out = sw_net_width(&op->to);

	if (op->kind == SW_OP_LINEAR)
		return net->ops->linear_products(SW_TF32, n, in, out) == 0
			       ? 0
			       : taken(out, n, in) + taken(in, out, n) + dx * taken(in, n, out);
	n = rows * op->to.h * op->to.w;
	out = op->to.c;
	return net->ops->conv2d_products(SW_TF32, &conv) == 0
		       ? 0
		       : taken(n, out, in) + taken(in, out, n) + dx * taken(n, in, out);
}

double sw_net_tf32_share(const struct sw_net *net)
{
	double all = 0, sum = 0;

	for (size_t i = 0; i < net->own->ops_n; i++) {
		const struct sw_op *op = &net->own->op[i];
		const double one = 2.0 * (double)op->fan_in * (double)sw_shape_count(&op->to);
		const double flops = sw_model_op_flops(net->own, i); /* of two products, or three */

		if (flops > 0)
			sum += one * op_taken(net, i, flops > 2.5 * one);
		all += flops;
	}
	return all > 0 ? sum / all : 0;
}
