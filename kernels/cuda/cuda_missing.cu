/* kernels/cuda/cuda_missing.cu — the entries that this backend does not have yet. */
#include "kernels/cuda/cuda.h"

sw_status sw_cuda_gather_image(struct sw_queue *, const void *, const int32_t *, float *, size_t,
			       const struct sw_images *)
{
	return SW_UNSUPPORTED;
}

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

sw_status sw_cuda_maxpool2d_forward(struct sw_queue *, const float *, float *, int32_t *,
				    const struct sw_window *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_maxpool2d_backward(struct sw_queue *, const float *, const int32_t *, float *,
				     const struct sw_window *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_avgpool2d_forward(struct sw_queue *, const float *, float *,
				    const struct sw_window *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_avgpool2d_backward(struct sw_queue *, const float *, float *,
				     const struct sw_window *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_sigmoid_forward(struct sw_queue *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_sigmoid_backward(struct sw_queue *, const float *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_gelu_forward(struct sw_queue *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_gelu_backward(struct sw_queue *, const float *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_add(struct sw_queue *, const float *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_accumulate(struct sw_queue *, const float *, float *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_batchnorm_train(struct sw_queue *, const float *, const float *, const float *,
				  float *, float *, float *, float *, float *, size_t, size_t,
				  size_t, struct sw_norm)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_batchnorm_eval(struct sw_queue *, const float *, const float *, const float *,
				 const float *, const float *, float *, size_t, size_t, size_t,
				 struct sw_norm)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_batchnorm_backward(struct sw_queue *, const float *, const float *, const float *,
				     const float *, const float *, float *, float *, float *,
				     size_t, size_t, size_t, int)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_layernorm_forward(struct sw_queue *, const float *, const float *, const float *,
				    float *, float *, float *, size_t, size_t, struct sw_norm)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_layernorm_backward(struct sw_queue *, const float *, const float *, const float *,
				     const float *, const float *, float *, float *, float *,
				     size_t, size_t, int)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_embedding_forward(struct sw_queue *, const float *, const int32_t *, float *,
				    size_t, size_t, size_t)
{
	return SW_UNSUPPORTED;
}

size_t sw_cuda_embedding_workspace(size_t, size_t, size_t)
{
	return 0;
}

sw_status sw_cuda_embedding_backward(struct sw_queue *, const int32_t *, const float *, float *,
				     size_t, size_t, size_t, int, void *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_position_forward(struct sw_queue *, const float *, const float *, float *, size_t,
				   size_t, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_position_backward(struct sw_queue *, const float *, float *, size_t, size_t,
				    size_t, int)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_token_mean_forward(struct sw_queue *, const float *, const int32_t *, float *,
				     size_t, size_t, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_token_mean_backward(struct sw_queue *, const float *, const int32_t *, float *,
				      size_t, size_t, size_t)
{
	return SW_UNSUPPORTED;
}

size_t sw_cuda_attention_workspace(const struct sw_attention *)
{
	return 0;
}

sw_status sw_cuda_attention_forward(struct sw_queue *, const float *, const int32_t *, float *,
				    float *, const struct sw_attention *, void *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_attention_backward(struct sw_queue *, const float *, const float *, const float *,
				     float *, const struct sw_attention *, void *)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_labels_count(struct sw_queue *, const int32_t *, int32_t *, size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_class_counts(struct sw_queue *, const float *, const int32_t *, int64_t *, size_t,
			       size_t)
{
	return SW_UNSUPPORTED;
}

sw_status sw_cuda_norm2(struct sw_queue *, const float *, double *, size_t)
{
	return SW_UNSUPPORTED;
}
