/* kernels/cuda/ops.c — the CUDA table, and the module's one exported name, which gives it. */
#include "kernels/cuda/cuda.h"

static const struct sw_ops ops_cuda = {
	.version = SW_OPS_VERSION,
	.name = "cuda",
	.describe = sw_cuda_describe,
	.memory = sw_cuda_memory,
	.queue_create = sw_cuda_queue_create,
	.queue_destroy = sw_cuda_queue_destroy,
	.alloc = sw_cuda_alloc,
	.free = sw_cuda_free,
	.upload = sw_cuda_upload,
	.download = sw_cuda_download,
	.zero = sw_cuda_zero,
	.sync = sw_cuda_sync,
	.watch = sw_cuda_watch,
	.graph_begin = sw_cuda_graph_begin,
	.graph_end = sw_cuda_graph_end,
	.graph_run = sw_cuda_graph_run,
	.graph_free = sw_cuda_graph_free,
	.linear_products = sw_cuda_linear_products,
	.conv2d_products = sw_cuda_conv2d_products,
	.products_open = sw_cuda_products_open,
	.products_open_bytes = SW_CUDA_HANDLE_BYTES,
	.precision = sw_cuda_precision,
	.weights_copy = sw_cuda_weights_copy,
	.weights = sw_cuda_weights,
	.pinned_alloc = sw_cuda_pinned_alloc,
	.pinned_free = sw_cuda_pinned_free,
	.transfer = sw_cuda_transfer,
	.transfer_wait = sw_cuda_transfer_wait,
	.transfer_read = sw_cuda_transfer_read,
	.fork = sw_cuda_fork,
	.join = sw_cuda_join,
#define SW_OP(result, name, parameters) .name = sw_cuda_##name,
#include "kernels/ops_list.h"
};

__attribute__((visibility("default"))) sw_ops_open_fn sw_ops_cuda_open;

sw_status sw_ops_cuda_open(int device, const struct sw_ops **out, struct sw_err *err)
{
	const sw_status rc = device == SW_OPS_NO_DEVICE ? SW_OK : sw_cuda_device_take(device, err);

	*out = rc == SW_OK ? &ops_cuda : NULL;
	return rc;
}
