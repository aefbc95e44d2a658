/* kernels/cpu/conv.h — the two ways to a convolution, between the files of kernels/cpu. Shapes have
 * been checked; work: bytes of *_workspace. */
#ifndef SW_KERNELS_CPU_CONV_H
#define SW_KERNELS_CPU_CONV_H

#include "kernels/ops.h"

/* Any shape: as products of matrices, by OpenBLAS. */
size_t sw_cpu_conv_columns_workspace(const struct sw_conv *c);
void sw_cpu_conv_columns_forward(const float *x, const float *w, const float *b, float *y,
				 const struct sw_conv *c, enum sw_act act, void *work);
void sw_cpu_conv_columns_backward(const float *x, const float *w, const float *y, float *dy,
				  float *dx, float *dw, float *db, const struct sw_conv *c,
				  enum sw_act act, void *work);

/* Stride 1, pad below the kernel's sizes, nothing empty: by the loops of loops.h. */
size_t sw_cpu_conv_direct_workspace(const struct sw_conv *c);
void sw_cpu_conv_direct_forward(const float *x, const float *w, const float *b, float *y,
				const struct sw_conv *c, enum sw_act act, void *work);
void sw_cpu_conv_direct_backward(const float *x, const float *w, const float *y, const float *dy,
				 float *dx, float *dw, float *db, const struct sw_conv *c,
				 enum sw_act act, void *work);

#endif
