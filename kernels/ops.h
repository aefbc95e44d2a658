/*
 * kernels/ops.h — one table of functions per backend: all that training needs from a device.
 *
 * The CPU table (kernels/cpu) is the meaning of each entry; every other table is held to it by
 * tests/kernels. Nothing here knows trials, layers or files.
 *
 * Memory   Every pointer named x, y, w, g, ... is the backend's memory (from alloc), row-major and
 *          dense; only upload and download touch the host's. No entry allocates but queue_create
 *          and alloc. Pointers from alloc are aligned to SW_OPS_ALIGN bytes; others (inside an
 *          arena) to their element.
 * Queues   Work runs in the order in which it was given to one queue, perhaps after the call has
 *          returned. Two queues know nothing of each other. A queue belongs to one thread at a
 *          time. The host learns a value only by download, which waits.
 * Aliases  Operands must not overlap, unless the entry says that they may be the same pointer.
 * Errors   SW_OK, SW_NOMEM (alloc, queue_create), SW_INVALID (a shape over the limits below),
 *          SW_DEVICE_LOST. An asynchronous table may return the failure of an earlier call; a
 *          device that is lost stays lost for the process.
 * Limits   Each dimension fits int32; each product of two dimensions fits int64. A dimension of 0
 *          is SW_OK and does nothing (to an accumulating output) or writes zeros (to another).
 * NaN      No fast-math: NaN and infinity go through as IEEE says.
 * Order    The same calls on the same device with the same inputs give the same bits: a table adds
 *          in an order that does not depend on timing (no floating atomics).
 */
#ifndef SW_KERNELS_OPS_H
#define SW_KERNELS_OPS_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_OPS_ALIGN   ((size_t)64)
#define SW_OPS_VERSION 1 /* of this table's layout; a module made for another is refused */

struct sw_queue; /* opaque, one per backend: a stream with its handles and workspace */

/* Sums over the rows seen since they were zeroed; lives in backend memory, 8-byte aligned. Doubles,
 * so that 2^53 rows are counted exactly. Read with download. */
struct sw_metrics {
	double loss_sum; /* sum over rows of the row's loss */
	double correct;  /* rows whose largest logit (the first of equals) is the label's */
	double rows;
};

/* Which mask dropout uses: element i of the tensor draws word i % 4 of the Philox block
 * sw_philox_block(seed, SW_PHILOX_DROPOUT, layer, step, i / 4) (kernels/philox.h). */
struct sw_dropout {
	uint64_t seed;
	uint32_t layer;
	uint64_t step; /* of the optimizer, so that every batch has its own mask */
	float p;       /* in [0, 1): the part that is set to 0 */
};

struct sw_sgd {
	float lr;
	float momentum;     /* 0: velocity is neither read nor written */
	float weight_decay; /* L2: added to the gradient */
	int nesterov;       /* 0 or 1; only with momentum */
};

struct sw_adamw {
	float lr;
	float beta1, beta2;
	float eps;
	float weight_decay; /* decoupled: w *= 1 - lr * weight_decay */
	uint64_t step;      /* t, from 1 */
};

struct sw_ops {
	int version;      /* SW_OPS_VERSION */
	const char *name; /* "cpu", "cuda" */

	/* --- device and memory --- */

	/* One line about the device for people, NUL-terminated, cut at cap. */
	void (*describe)(char *text, size_t cap);
	/* Bytes that alloc could still give, and all there are; a moment's view. */
	sw_status (*memory)(size_t *free_bytes, size_t *total_bytes);
	sw_status (*queue_create)(struct sw_queue **out);
	void (*queue_destroy)(struct sw_queue *q); /* waits for its work; NULL is allowed */
	/* Uninitialised. bytes 0: *out is NULL. */
	sw_status (*alloc)(void **out, size_t bytes);
	void (*free)(void *p); /* NULL is allowed; no queue may still use it */
	/* src is host memory and may be reused when the call returns. */
	sw_status (*upload)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	/* dst is host memory, filled when the call returns: waits for all that q was given. */
	sw_status (*download)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	sw_status (*zero)(struct sw_queue *q, void *dst, size_t bytes);
	sw_status (*sync)(struct sw_queue *q);

	/* --- batch assembly: out[b][*] = rows[index[b]][*] --- */

	/* rows: float[N][D]; index: int32[B], each in [0, N) (the caller's duty); out: float[B][D]
	 */
	sw_status (*gather)(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			    size_t B, size_t D);
	/* values: int32[N]; index: int32[B]; out: int32[B] */
	sw_status (*gather_i32)(struct sw_queue *q, const int32_t *values, const int32_t *index,
				int32_t *out, size_t B);

	/* --- linear, in PyTorch's layout: y = x w^T + b --- */

	/* x: float[B][I]; w: float[O][I]; b: float[O] or NULL; y: float[B][O] */
	sw_status (*linear_forward)(struct sw_queue *q, const float *x, const float *w,
				    const float *b, float *y, size_t B, size_t I, size_t O);
	/* dy: float[B][O], x: float[B][I], w: float[O][I] ->
	 * dx: float[B][I] = dy w, or NULL when not wanted;
	 * dw: float[O][I] = dy^T x; db: float[O] = column sums of dy, or NULL.
	 * accumulate 1 adds to dw and db (micro-batches), 0 overwrites them. dx is overwritten. */
	sw_status (*linear_backward)(struct sw_queue *q, const float *x, const float *w,
				     const float *dy, float *dx, float *dw, float *db, size_t B,
				     size_t I, size_t O, int accumulate);

	/* --- elementwise; n elements; x and y (dy and dx) may be the same pointer --- */

	/* y = max(x, 0), NaN stays NaN */
	sw_status (*relu_forward)(struct sw_queue *q, const float *x, float *y, size_t n);
	/* y: what relu_forward wrote. dx = y > 0 ? dy : 0 */
	sw_status (*relu_backward)(struct sw_queue *q, const float *y, const float *dy, float *dx,
				   size_t n);
	sw_status (*tanh_forward)(struct sw_queue *q, const float *x, float *y, size_t n);
	/* y: what tanh_forward wrote. dx = dy (1 - y^2) */
	sw_status (*tanh_backward)(struct sw_queue *q, const float *y, const float *dy, float *dx,
				   size_t n);
	/* y[i] = kept(i) ? x[i] / (1 - p) : 0, kept(i) = word(i) >= sw_dropout_threshold(p). The
	 * backward pass is the same call on the gradient: the mask is made again, never stored.
	 * Evaluation does not call it. */
	sw_status (*dropout)(struct sw_queue *q, const float *x, float *y, size_t n,
			     struct sw_dropout d);

	/* --- losses; m is added to --- */

	/* z: float[B][C] logits; label: int32[B], each in [0, C) (the caller's duty).
	 * A row's loss is log(sum(exp(z - max))) + max - z[label]; a row with a NaN logit has loss
	 * NaN and is not correct. p: float[B][C] softmax of each row, or NULL when not wanted
	 * (evaluation); p may be z. */
	sw_status (*cross_entropy_forward)(struct sw_queue *q, const float *z, const int32_t *label,
					   float *p, struct sw_metrics *m, size_t B, size_t C);
	/* dz[b][c] = scale * (p[b][c] - (c == label[b])); dz may be p. scale is 1/B for a mean. */
	sw_status (*cross_entropy_backward)(struct sw_queue *q, const float *p,
					    const int32_t *label, float *dz, float scale, size_t B,
					    size_t C);
	/* y, t: float[B][O]. A row's loss is the mean over its O of (y - t)^2; correct stays. */
	sw_status (*mse_forward)(struct sw_queue *q, const float *y, const float *t,
				 struct sw_metrics *m, size_t B, size_t O);
	/* dy = scale * 2 / O * (y - t); dy may be y. */
	sw_status (*mse_backward)(struct sw_queue *q, const float *y, const float *t, float *dy,
				  float scale, size_t B, size_t O);

	/* --- optimizers, over a whole arena of n parameters --- */

	/* PyTorch's torch.optim.SGD, dampening 0. w, g, v: float[n]; v is zero before the first
	 * step, NULL without momentum. g is not changed.
	 *   d = g + weight_decay w;  v = momentum v + d;  d = nesterov ? d + momentum v : v;
	 *   w -= lr d */
	sw_status (*sgd_step)(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			      struct sw_sgd o);
	/* PyTorch's torch.optim.AdamW, amsgrad off. w, g, m, v: float[n]; m, v zero before step 1.
	 *   w *= 1 - lr weight_decay;  m += (1 - beta1)(g - m);  v = beta2 v + (1 - beta2) g^2;
	 *   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
	 * The factors that do not depend on the element are made by the host in double. */
	sw_status (*adamw_step)(struct sw_queue *q, float *w, const float *g, float *m, float *v,
				size_t n, struct sw_adamw o);
};

/* The CPU table. Threads: OpenBLAS's, see sw_ops_cpu_threads(). */
extern const struct sw_ops sw_ops_cpu;

/* Cores that large products may use, at least 1; call before work is queued. */
void sw_ops_cpu_threads(unsigned cores);

/* What the module libsweepd-cuda.so exports under the name SW_OPS_CUDA_OPEN: makes `device` (its
 * CUDA ordinal) the one that the process uses, and gives the table. Once per process. */
typedef sw_status sw_ops_open_fn(int device, const struct sw_ops **out, struct sw_err *err);
#define SW_OPS_CUDA_OPEN   "sw_ops_cuda_open"
#define SW_OPS_CUDA_MODULE "libsweepd-cuda.so"

#ifdef __cplusplus
}
#endif
#endif
