/*
 * kernels/cpu/cpu.h — the entries of the CPU table; their meaning is written in kernels/ops.h.
 *
 * Everything runs before the call returns, so the queue holds nothing. Internal to kernels/cpu.
 */
#ifndef SW_KERNELS_CPU_CPU_H
#define SW_KERNELS_CPU_CPU_H

#include "kernels/ops.h"

sw_status sw_cpu_gather(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			size_t B, size_t D);
sw_status sw_cpu_gather_i32(struct sw_queue *q, const int32_t *values, const int32_t *index,
			    int32_t *out, size_t B);

sw_status sw_cpu_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, size_t B, size_t I, size_t O);
sw_status sw_cpu_linear_backward(struct sw_queue *q, const float *x, const float *w,
				 const float *dy, float *dx, float *dw, float *db, size_t B,
				 size_t I, size_t O, int accumulate);

sw_status sw_cpu_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n);
sw_status sw_cpu_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_tanh_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n);
sw_status sw_cpu_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			 struct sw_dropout d);

sw_status sw_cpu_cross_entropy_forward(struct sw_queue *q, const float *z, const int32_t *label,
				       float *p, struct sw_metrics *m, size_t B, size_t C);
sw_status sw_cpu_cross_entropy_backward(struct sw_queue *q, const float *p, const int32_t *label,
					float *dz, float scale, size_t B, size_t C);
sw_status sw_cpu_mse_forward(struct sw_queue *q, const float *y, const float *t,
			     struct sw_metrics *m, size_t B, size_t O);
sw_status sw_cpu_mse_backward(struct sw_queue *q, const float *y, const float *t, float *dy,
			      float scale, size_t B, size_t O);

sw_status sw_cpu_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			  struct sw_sgd o);
sw_status sw_cpu_adamw_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			    size_t n, struct sw_adamw o);

/* 0: the measured threshold decides; 1: always the own loops; 2: always BLAS. For tests, which hold
 * both to the reference. */
void sw_cpu_linear_force(int path);

#endif
