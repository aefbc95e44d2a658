/* kernels/cuda/cuda_missing.cu — the entries that this backend does not have yet. */
#include "kernels/cuda/cuda.h"

size_t sw_cuda_conv2d_workspace(const struct sw_conv *)
{
	return 0;
}

sw_status sw_cuda_conv2d_forward(struct sw_queue *, const float *, const float *, const float *,
				 float *, const struct sw_conv *, enum sw_act, void *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_conv2d_backward(struct sw_queue *, const float *, const float *, const float *,
				  float *, float *, float *, float *, const struct sw_conv *,
				  enum sw_act, int, void *)
{
	return SW_UNSUPPORTED;
}
