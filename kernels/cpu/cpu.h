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
			    int32_t *out, size_t B, size_t D);
sw_status sw_cpu_gather_image(struct sw_queue *q, const void *rows, const int32_t *index,
			      float *out, size_t B, const struct sw_images *im);
sw_status sw_cpu_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, size_t B, size_t I, size_t O, enum sw_act act,
				void *kept);
sw_status sw_cpu_linear_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db, size_t B, size_t I,
				 size_t O, enum sw_act act, const void *kept);
size_t sw_cpu_conv2d_workspace(const struct sw_conv *c);
sw_status sw_cpu_conv2d_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, const struct sw_conv *c, enum sw_act act, void *work);
sw_status sw_cpu_conv2d_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db,
				 const struct sw_conv *c, enum sw_act act, void *work);
sw_status sw_cpu_conv2d_maxpool_forward(struct sw_queue *q, const float *x, const float *w,
					const float *b, const struct sw_pooled *m,
					const struct sw_conv *c, enum sw_act act, void *work);
sw_status sw_cpu_conv2d_maxpool_backward(struct sw_queue *q, const float *x, const float *w,
					 const struct sw_pooled *m, const float *dy, float *dfull,
					 float *dx, float *dw, float *db, const struct sw_conv *c,
					 enum sw_act act, void *work);
sw_status sw_cpu_maxpool2d_forward(struct sw_queue *q, const float *x, float *y, int32_t *argmax,
				   const struct sw_window *p);
sw_status sw_cpu_maxpool2d_backward(struct sw_queue *q, const float *dy, const int32_t *argmax,
				    float *dx, const struct sw_window *p);
sw_status sw_cpu_avgpool2d_forward(struct sw_queue *q, const float *x, float *y,
				   const struct sw_window *p);
sw_status sw_cpu_avgpool2d_backward(struct sw_queue *q, const float *dy, float *dx,
				    const struct sw_window *p);
sw_status sw_cpu_relu_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_relu_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n);
sw_status sw_cpu_tanh_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_tanh_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
			       size_t n);
sw_status sw_cpu_sigmoid_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_sigmoid_backward(struct sw_queue *q, const float *y, const float *dy, float *dx,
				  size_t n);
sw_status sw_cpu_gelu_forward(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_gelu_backward(struct sw_queue *q, const float *x, const float *dy, float *dx,
			       size_t n);
sw_status sw_cpu_add(struct sw_queue *q, const float *a, const float *b, float *y, size_t n);
sw_status sw_cpu_accumulate(struct sw_queue *q, const float *x, float *y, size_t n);
sw_status sw_cpu_dropout(struct sw_queue *q, const float *x, float *y, size_t n,
			 struct sw_dropout d, const struct sw_step *s);
sw_status sw_cpu_batchnorm_train(struct sw_queue *q, const float *x, const float *gamma,
				 const float *beta, float *running_mean, float *running_var,
				 float *y, float *mean, float *rstd, size_t B, size_t C, size_t S,
				 struct sw_norm n);
sw_status sw_cpu_batchnorm_eval(struct sw_queue *q, const float *x, const float *gamma,
				const float *beta, const float *running_mean,
				const float *running_var, float *y, size_t B, size_t C, size_t S,
				struct sw_norm n);
sw_status sw_cpu_batchnorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *mean, const float *rstd, const float *dy,
				    float *dx, float *dgamma, float *dbeta, size_t B, size_t C,
				    size_t S);
sw_status sw_cpu_batchnorm_sums(struct sw_queue *q, const float *x, double *sums, size_t B,
				size_t C, size_t S);
sw_status sw_cpu_batchnorm_train_summed(struct sw_queue *q, const float *x, const double *sums,
					const float *gamma, const float *beta, float *running_mean,
					float *running_var, float *y, float *mean, float *rstd,
					size_t N, size_t B, size_t C, size_t S, struct sw_norm n);
sw_status sw_cpu_batchnorm_backward_sums(struct sw_queue *q, const float *x, const float *mean,
					 const float *rstd, const float *dy, double *sums,
					 float *dgamma, float *dbeta, size_t B, size_t C, size_t S);
sw_status sw_cpu_batchnorm_backward_summed(struct sw_queue *q, const float *x, const float *gamma,
					   const float *mean, const float *rstd, const float *dy,
					   const double *sums, float *dx, size_t N, size_t B,
					   size_t C, size_t S);
sw_status sw_cpu_layernorm_forward(struct sw_queue *q, const float *x, const float *gamma,
				   const float *beta, float *y, float *mean, float *rstd, size_t R,
				   size_t D, struct sw_norm n);
sw_status sw_cpu_layernorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *mean, const float *rstd, const float *dy,
				    float *dx, float *dgamma, float *dbeta, size_t R, size_t D);
sw_status sw_cpu_embedding_forward(struct sw_queue *q, const float *table, const int32_t *token,
				   float *y, size_t N, size_t V, size_t D);
size_t sw_cpu_embedding_workspace(size_t N, size_t V, size_t D);
sw_status sw_cpu_embedding_backward(struct sw_queue *q, const int32_t *token, const float *dy,
				    float *dtable, size_t N, size_t V, size_t D, void *work);
sw_status sw_cpu_position_forward(struct sw_queue *q, const float *x, const float *table, float *y,
				  size_t B, size_t T, size_t D);
sw_status sw_cpu_position_backward(struct sw_queue *q, const float *dy, float *dtable, size_t B,
				   size_t T, size_t D);
sw_status sw_cpu_token_mean_forward(struct sw_queue *q, const float *x, const int32_t *length,
				    float *y, size_t B, size_t T, size_t D);
sw_status sw_cpu_token_mean_backward(struct sw_queue *q, const float *dy, const int32_t *length,
				     float *dx, size_t B, size_t T, size_t D);
size_t sw_cpu_attention_workspace(const struct sw_attention *a);
sw_status sw_cpu_attention_forward(struct sw_queue *q, const float *qkv, const int32_t *length,
				   float *p, float *y, const struct sw_attention *a, void *work);
sw_status sw_cpu_attention_backward(struct sw_queue *q, const float *qkv, const float *p,
				    const float *dy, float *dqkv, const struct sw_attention *a,
				    void *work);
sw_status sw_cpu_cross_entropy(struct sw_queue *q, const float *z, const int32_t *label,
			       const int32_t *index, float *dz, struct sw_metrics *m, float scale,
			       const int32_t *count, size_t B, size_t C, float smooth);
sw_status sw_cpu_labels_count(struct sw_queue *q, const int32_t *label, int32_t *out, size_t B);
sw_status sw_cpu_class_counts(struct sw_queue *q, const float *z, const int32_t *label,
			      int64_t *counts, size_t B, size_t C);
sw_status sw_cpu_mse(struct sw_queue *q, const float *y, const float *t, const int32_t *index,
		     float *dy, struct sw_metrics *m, float scale, size_t B, size_t O);
sw_status sw_cpu_norm2(struct sw_queue *q, const float *g, double *out, size_t n);
sw_status sw_cpu_sgd_step(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			  struct sw_sgd o, const struct sw_step *s, const double *norm2);
sw_status sw_cpu_adam_step(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			   size_t n, struct sw_adam o, const struct sw_step *s,
			   const double *norm2);

/* Sets of instructions, each with its own build of the loops in loops.h. */
enum { SW_CPU_PLAIN, SW_CPU_AVX2, SW_CPU_AVX512, SW_CPU_ISA_N };

int sw_cpu_isa(void);
/* For tests: 0 when the machine lacks it, and nothing changes; -1 goes back to the widest. */
int sw_cpu_isa_force(int isa);

/* 0: the measured threshold decides; 1: always the own loops; 2: always BLAS. For tests, which hold
 * both to the reference. */
void sw_cpu_linear_force(int path);

/* 0: the shape decides; 1: the direct loops where they can; 2: always columns. For tests. */
void sw_cpu_conv_force(int path);

#endif
