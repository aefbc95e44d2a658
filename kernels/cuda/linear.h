/* kernels/cuda/linear.h — shared by the files of the linear layer. */
#ifndef SW_KERNELS_CUDA_LINEAR_H
#define SW_KERNELS_CUDA_LINEAR_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Small layers: one launch forward and one backward, whatever B, I and O, 0 included; SW_INVALID
 * where a matrix is too large to be counted in 32 bits, which only a size of 0 lets it be. */
sw_status sw_cuda_linear_small_forward(struct sw_queue *q, const float *x, const float *w,
				       const float *b, float *y, size_t B, size_t I, size_t O,
				       enum sw_act act);
/* dy is not written. */
sw_status sw_cuda_linear_small_backward(struct sw_queue *q, const float *x, const float *w,
					const float *y, const float *dy, float *dx, float *dw,
					float *db, size_t B, size_t I, size_t O, enum sw_act act);

/* 0: the size decides; 1: always the small kernels; 2: always cuBLAS. For tests. */
void sw_cuda_linear_force(int path);

#ifdef __cplusplus
}
#endif

#endif
