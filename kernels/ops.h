/*
 * kernels/ops.h — one table of functions per backend: all that training needs from a device.
 *
 * The CPU table (kernels/cpu) is the meaning of each entry; every other table is held to it by
 * tests/kernels. Nothing here knows trials, layers or files.
 *
 * Memory   Every pointer named x, y, w, g, ... is the backend's memory (from alloc), row-major and
 *          dense; only upload and download touch the host's, and structs passed by value or as
 *          `const struct sw_conv *`, `sw_window *`, ... (shapes), which are read before the call
 *          returns. No entry allocates but queue_create, alloc and products_open. Pointers from
 *          alloc are aligned to SW_OPS_ALIGN bytes; others (inside an arena) to their element.
 * Work     Scratch memory is the caller's: `work` has at least the bytes that the entry's
 *          *_workspace says for the same shape or one of more rows, aligned to SW_OPS_ALIGN; NULL
 *          when that is 0.
 *          Nothing is kept in it from one call to the next: all entries of a queue may share one.
 * Queues   Work runs in the order in which it was given to one queue, perhaps after the call has
 *          returned. Two queues know nothing of each other. A queue belongs to one thread at a
 *          time. The host learns a value only by download, which waits.
 * Aliases  Operands must not overlap, unless the entry says that they may be the same pointer.
 * Writing  Gradients, of parameters and of inputs, are overwritten; dx is NULL where the entry says
 *          so.
 * Errors   SW_OK, SW_NOMEM (alloc, queue_create), SW_INVALID (a shape over the limits below, or one
 *          that makes no sense: a window larger than its padded image, stride 0),
 *          SW_UNSUPPORTED (an entry that this backend lacks), SW_DEVICE_LOST. An asynchronous table
 *          may return the failure of an earlier call; a device that is lost stays lost for the
 *          process.
 * Limits   Each dimension fits int32, as does the plane H * W of an image; each product of two
 *          dimensions fits int64. A dimension of 0 is SW_OK: it adds nothing, and writes zeros.
 * Graphs   What a queue is given between graph_begin and graph_end is recorded, not run. No entry
 *          keeps anything of the call but its arguments: sizes and pointers are fixed by the
 *          recording, and what changes from run to run lies in backend memory (struct sw_step).
 * NaN      No fast-math: NaN and infinity go through as IEEE says.
 * Order    The same calls on the same device with the same inputs give the same bits: a table adds
 *          in an order that does not depend on timing (no floating atomics), nor on the number of
 *          threads, but for products so large that a library makes them.
 */
#ifndef SW_KERNELS_OPS_H
#define SW_KERNELS_OPS_H

#include "base/status.h"
#include "kernels/shapes.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_OPS_ALIGN   ((size_t)64)
#define SW_OPS_VERSION 12 /* of this table's layout; a module made for another is refused */
#define SW_OPS_LOOK_US 100

struct sw_queue; /* opaque, one per backend: a stream with its handles and workspace */
struct sw_graph; /* opaque: calls that were recorded */

struct sw_ops {
	int version;      /* SW_OPS_VERSION */
	const char *name; /* "cpu", "cuda" */

	/* --- device and memory --- */

	/* One line about the device for people, NUL-terminated, cut at cap. */
	void (*describe)(char *text, size_t cap);
	/* Bytes that a caller should still take by alloc, and all that there are of these, if it had
	 * the device for itself: not what the backend needs to run and while it works. A moment's
	 * view. */
	sw_status (*memory)(size_t *free_bytes, size_t *total_bytes);
	sw_status (*queue_create)(struct sw_queue **out);
	void (*queue_destroy)(struct sw_queue *q); /* waits for its work; NULL is allowed */
	/* Uninitialised. bytes 0: *out is NULL. Neither waits for any queue's work. */
	sw_status (*alloc)(void **out, size_t bytes);
	void (*free)(void *p); /* NULL is allowed; no queue may still use it */
	/* src is host memory and may be reused when the call returns. */
	sw_status (*upload)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	/* dst is host memory, filled when the call returns: waits for all that q was given. */
	sw_status (*download)(struct sw_queue *q, void *dst, const void *src, size_t bytes);
	sw_status (*zero)(struct sw_queue *q, void *dst, size_t bytes);
	sw_status (*sync)(struct sw_queue *q);
	/* From now on look(ctx) is called while the host waits for q, about each SW_OPS_LOOK_US: an
	 * answer that is not SW_OK ends the wait with it, and what q was given is not done. For
	 * work that waits for another process, which may be gone: queue_destroy waits for it to
	 * the end. look NULL: no more. It must not call q. */
	void (*watch)(struct sw_queue *q, sw_status (*look)(void *ctx), void *ctx);

	/* --- graphs: a sequence of calls that is recorded once and given again as one --- */

	/* From here to graph_end what q is given is recorded. upload, download, sync, transfer and
	 * graph_run of this queue are SW_INVALID meanwhile, and the calling thread must neither
	 * alloc nor free. Each call that is recorded must have been made before, outside of a
	 * recording, with the same sizes (a device loads code at its first use). SW_UNSUPPORTED:
	 * the backend has no graphs, nothing is recorded, and no other entry of this section is
	 * called. */
	sw_status (*graph_begin)(struct sw_queue *q);
	/* Ends it, whatever the calls since have returned; nothing of them has run. SW_UNSUPPORTED:
	 * they cannot be recorded. On an error *out is NULL. */
	sw_status (*graph_end)(struct sw_queue *q, struct sw_graph **out);
	/* As if q, the queue that recorded it, was given the calls again. */
	sw_status (*graph_run)(struct sw_queue *q, struct sw_graph *g);
	void (*graph_free)(struct sw_graph *g); /* NULL is allowed; its last run must be done */

	/* --- products: those of large linear and conv2d entries, which a library may make --- */

	/* Bytes that products of an entry of this shape need at precision p beside its work: the
	 * library's scratch memory, and operands at that precision. Never fewer for a larger B. 0:
	 * no library makes one. */
	size_t (*linear_products)(enum sw_precision p, size_t B, size_t I, size_t O);
	size_t (*conv2d_products)(enum sw_precision p, const struct sw_conv *c);
	/* Takes what the library needs of q beside that, once in q's life (a handle): before the
	 * first precision() with bytes, and best before memory() is asked what is left.
	 * SW_UNSUPPORTED, with a line in err: there is no library. */
	sw_status (*products_open)(struct sw_queue *q, struct sw_err *err);
	size_t products_open_bytes; /* of the device that it takes, about; no alloc is made for them */
	/* How q makes products from here on; SW_FP32, without memory, at first. A small product,
	 * which would gain nothing, may be made in fp32 nevertheless. work: backend memory, q's own
	 * until the next call, of at least the bytes that *_products says of every product to come
	 * (one that needs more is SW_NOMEM); NULL for 0. SW_UNSUPPORTED: the backend lacks it, q
	 * stays as it was. */
	sw_status (*precision)(struct sw_queue *q, enum sw_precision p, void *work, size_t bytes);
	/* Bytes of the copy that weights, or linear_forward, makes of n floats; 0: none. */
	size_t (*weights_copy)(enum sw_precision p, size_t n);
	/* The n floats at w are read by products to come, and stay as they are until the next call,
	 * or that of precision: so they can be brought once to the form that products read. copy:
	 * backend memory of weights_copy's bytes, q's own until then. A product whose w lies
	 * elsewhere does without. */
	sw_status (*weights)(struct sw_queue *q, const float *w, size_t n, void *copy);

	/* --- transfers beside the work: rows that do not fit the device, two buffers by turns
	 * --- */

	/* Host memory that transfer reads, aligned to SW_OPS_ALIGN. Pinned where a device is. */
	sw_status (*pinned_alloc)(void **out, size_t bytes);
	void (*pinned_free)(void *p); /* NULL is allowed; no transfer may still read it */
	/* Copies from pinned memory, while q works: begins when all that q was given before the
	 * last transfer_wait of the *other* buffer is done. buffer: 0 or 1. */
	sw_status (*transfer)(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
			      size_t bytes);
	/* What q is given from here on comes after the buffer's transfers; what it was given before
	 * was the last to use the other buffer. */
	sw_status (*transfer_wait)(struct sw_queue *q, unsigned buffer);
	/* Waits until the buffer's transfers have read their src. */
	sw_status (*transfer_read)(struct sw_queue *q, unsigned buffer);

	/* --- a stream beside the work, for a library of collectives: recorded, too --- */

	/* *stream is q's second stream, the same each time, as such a library takes it (a
	 * cudaStream_t); NULL of a backend that has none, where a library's work is done when its
	 * call returns. What it is given from here on comes after all that q was given. A recording
	 * that holds a fork must hold a join behind all that the stream was given, or is
	 * SW_UNSUPPORTED. */
	sw_status (*fork)(struct sw_queue *q, void **stream);
	/* What q is given from here on comes after all that the stream was given. */
	sw_status (*join)(struct sw_queue *q);

	/* --- batch assembly: out[b][*] = rows[index[b]][*] --- */

	/* rows: float[N][D]; index: int32[B], each in [0, N) (the caller's duty); out:
	 * float[B][D] */
	sw_status (*gather)(struct sw_queue *q, const float *rows, const int32_t *index, float *out,
			    size_t B, size_t D);
	/* values: int32[N][D] (labels: D 1; tokens); index: int32[B]; out: int32[B][D] */
	sw_status (*gather_i32)(struct sw_queue *q, const int32_t *values, const int32_t *index,
				int32_t *out, size_t B, size_t D);
	/* rows: float[N][C][H][W], or uint8 of the same shape with im->u8; index: int32[B];
	 * out: float[B][C][H][W] = raw * scale[c] + shift[c], shifted by im->pad at most in each
	 * direction (what comes from outside the image is a raw 0) and mirrored: struct sw_images.
	 * im's scale and shift are backend memory. */
	sw_status (*gather_image)(struct sw_queue *q, const void *rows, const int32_t *index,
				  float *out, size_t B, const struct sw_images *im);

	/* --- linear, in PyTorch's layout: y = act(x w^T + b) --- */

	/* x: float[B][I]; w: float[O][I]; b: float[O] or NULL; y: float[B][O]; kept: for the
	 * backward of the same B, I, O and precision, what it reads x as, so that it is made once:
	 * weights_copy(p, B * I) bytes, or NULL. Not written where linear_products is 0. */
	sw_status (*linear_forward)(struct sw_queue *q, const float *x, const float *w,
				    const float *b, float *y, size_t B, size_t I, size_t O,
				    enum sw_act act, void *kept);
	/* dy: float[B][O], x: float[B][I], w: float[O][I], y: float[B][O], what forward wrote (not
	 * read, and may be NULL, with SW_ACT_NONE) ->
	 * dx: float[B][I] = dz w, or NULL when not wanted;
	 * dw: float[O][I] = dz^T x; db: float[O] = column sums of dz, or NULL,
	 * where dz = dy act'(y). dy may be written over: it is scratch afterwards, but is left as
	 * it is with SW_ACT_NONE (the gradient of a sum has other readers). kept: as forward left
	 * it, or NULL. */
	sw_status (*linear_backward)(struct sw_queue *q, const float *x, const float *w,
				     const float *y, float *dy, float *dx, float *dw, float *db,
				     size_t B, size_t I, size_t O, enum sw_act act,
				     const void *kept);

	/* --- convolution (PyTorch's: no flip of the kernel) --- */

	/* Bytes of scratch memory that conv2d_forward and conv2d_backward need (the larger). */
	size_t (*conv2d_workspace)(const struct sw_conv *c);
	/* x: float[B][C][H][W]; w: float[O][C][kh][kw]; b: float[O] or NULL;
	 * y: float[B][O][out_h][out_w] = act(b[o] + sum over c, i, j of
	 *    x[b][c][r * stride - pad + i][s * stride - pad + j] w[o][c][i][j]), 0 outside x. */
	sw_status (*conv2d_forward)(struct sw_queue *q, const float *x, const float *w,
				    const float *b, float *y, const struct sw_conv *c,
				    enum sw_act act, void *work);
	/* dy: as y, scratch afterwards as in linear_backward; dx: as x, or NULL when not wanted;
	 * dw: as w; db: float[O], or NULL. A NaN is in each sum that it belongs to, and may be in
	 * others of dw, or, one of w, of dx: sums are also over zeros that stand for padding. */
	sw_status (*conv2d_backward)(struct sw_queue *q, const float *x, const float *w,
				     const float *y, float *dy, float *dx, float *dw, float *db,
				     const struct sw_conv *c, enum sw_act act, void *work);

	/* conv2d_forward to m->full and from there maxpool2d_forward to m->y and m->argmax, in one:
	 * m->full may be left as it is. The same bits as by the two calls. */
	sw_status (*conv2d_maxpool_forward)(struct sw_queue *q, const float *x, const float *w,
					    const float *b, const struct sw_pooled *m,
					    const struct sw_conv *c, enum sw_act act, void *work);
	/* Of it: maxpool2d_backward from dy, as m->y, to dfull, as m->full, and from there
	 * conv2d_backward. dfull is scratch, dy is not written. */
	sw_status (*conv2d_maxpool_backward)(struct sw_queue *q, const float *x, const float *w,
					     const struct sw_pooled *m, const float *dy,
					     float *dfull, float *dx, float *dw, float *db,
					     const struct sw_conv *c, enum sw_act act, void *work);

	/* --- pooling; pad is at most half the window, as in PyTorch --- */

	/* x: float[B][C][H][W]; y: float[B][C][out_h][out_w]; argmax: int32, as y: the place of the
	 * maximum in the plane, r * W + s, the first of equals; NULL in evaluation. What lies
	 * outside x never wins; a NaN always does (the last one). */
	sw_status (*maxpool2d_forward)(struct sw_queue *q, const float *x, float *y,
				       int32_t *argmax, const struct sw_window *p);
	/* dx: as x: each dy is added at its argmax, in the order of y */
	sw_status (*maxpool2d_backward)(struct sw_queue *q, const float *dy, const int32_t *argmax,
					float *dx, const struct sw_window *p);
	/* The mean over kh kw places, padding counted as zeros (PyTorch's count_include_pad). The
	 * mean over all of an image is the window kh = H, kw = W, stride 1, pad 0. */
	sw_status (*avgpool2d_forward)(struct sw_queue *q, const float *x, float *y,
				       const struct sw_window *p);
	sw_status (*avgpool2d_backward)(struct sw_queue *q, const float *dy, float *dx,
					const struct sw_window *p);

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
	/* y = 1 / (1 + exp(-x)) */
	sw_status (*sigmoid_forward)(struct sw_queue *q, const float *x, float *y, size_t n);
	/* y: what sigmoid_forward wrote. dx = dy y (1 - y) */
	sw_status (*sigmoid_backward)(struct sw_queue *q, const float *y, const float *dy,
				      float *dx, size_t n);
	/* y = x (1 + erf(x / sqrt 2)) / 2: the exact form, PyTorch's default */
	sw_status (*gelu_forward)(struct sw_queue *q, const float *x, float *y, size_t n);
	/* x: what gelu_forward read, so it must not have been in place */
	sw_status (*gelu_backward)(struct sw_queue *q, const float *x, const float *dy, float *dx,
				   size_t n);
	/* y = a + b; y may be a or b */
	sw_status (*add)(struct sw_queue *q, const float *a, const float *b, float *y, size_t n);
	/* y += x; apart */
	sw_status (*accumulate)(struct sw_queue *q, const float *x, float *y, size_t n);
	/* y[i] = kept(d.first + i) ? x[i] / (1 - p) : 0, kept(j) = word(j) >=
	 * sw_philox_threshold(p): struct sw_dropout. s: backend memory, for its step. The backward
	 * pass is the same call on the gradient: the mask is made again, never stored. Evaluation
	 * does not call it. */
	sw_status (*dropout)(struct sw_queue *q, const float *x, float *y, size_t n,
			     struct sw_dropout d, const struct sw_step *s);

	/* --- normalisation --- */

	/* Training. x, y: float[B][C][S], S = H W of an image, 1 of features; y may be x (backward
	 * then has no x: only for frozen uses). gamma, beta: float[C]. Over the B S values of a
	 * channel: mean and rstd = 1 / sqrt(biased variance + eps), both float[C] and kept for
	 * backward; y = (x - mean) rstd gamma + beta. running_mean, running_var: float[C], moved by
	 * n.momentum towards the mean and the unbiased variance (which stays when B S is 1). */
	sw_status (*batchnorm_train)(struct sw_queue *q, const float *x, const float *gamma,
				     const float *beta, float *running_mean, float *running_var,
				     float *y, float *mean, float *rstd, size_t B, size_t C,
				     size_t S, struct sw_norm n);
	/* Evaluation: the running statistics take the place of the batch's. y may be x. */
	sw_status (*batchnorm_eval)(struct sw_queue *q, const float *x, const float *gamma,
				    const float *beta, const float *running_mean,
				    const float *running_var, float *y, size_t B, size_t C,
				    size_t S, struct sw_norm n);
	/* Of batchnorm_train. dx may be dy; dgamma, dbeta: float[C]. */
	sw_status (*batchnorm_backward)(struct sw_queue *q, const float *x, const float *gamma,
					const float *mean, const float *rstd, const float *dy,
					float *dx, float *dgamma, float *dbeta, size_t B, size_t C,
					size_t S);
	/* The two above over rows that lie with several queues, in processes of their own perhaps: each
	 * calls _sums for its B rows, which may be 0; then the sums of all are added up, number by
	 * number; and each calls _summed with those. N: the values of a channel in all of them.
	 * sums: double[C][2], 8-byte aligned: here of x and of x^2. A variance made of these loses
	 * (mean / deviation)^2 2^-53 of itself: more than the rounding of x to float has cost it
	 * only where float no longer tells the values apart. It is never below 0. */
	sw_status (*batchnorm_sums)(struct sw_queue *q, const float *x, double *sums, size_t B,
				    size_t C, size_t S);
	/* All as of batchnorm_train, with the mean and the variance that sums have. */
	sw_status (*batchnorm_train_summed)(struct sw_queue *q, const float *x, const double *sums,
					    const float *gamma, const float *beta,
					    float *running_mean, float *running_var, float *y,
					    float *mean, float *rstd, size_t N, size_t B, size_t C,
					    size_t S, struct sw_norm n);
	/* sums: of dy and of dy (x - mean). dgamma, dbeta: float[C], of these B rows alone. */
	sw_status (*batchnorm_backward_sums)(struct sw_queue *q, const float *x, const float *mean,
					     const float *rstd, const float *dy, double *sums,
					     float *dgamma, float *dbeta, size_t B, size_t C,
					     size_t S);
	/* dx may be dy */
	sw_status (*batchnorm_backward_summed)(struct sw_queue *q, const float *x,
					       const float *gamma, const float *mean,
					       const float *rstd, const float *dy,
					       const double *sums, float *dx, size_t N, size_t B,
					       size_t C, size_t S);
	/* x, y: float[R][D]; gamma, beta: float[D]; over the D values of a row, biased variance;
	 * mean, rstd: float[R], or NULL in evaluation (both). y may be x in evaluation. */
	sw_status (*layernorm_forward)(struct sw_queue *q, const float *x, const float *gamma,
				       const float *beta, float *y, float *mean, float *rstd,
				       size_t R, size_t D, struct sw_norm n);
	/* dx may be dy; dgamma, dbeta: float[D] */
	sw_status (*layernorm_backward)(struct sw_queue *q, const float *x, const float *gamma,
					const float *mean, const float *rstd, const float *dy,
					float *dx, float *dgamma, float *dbeta, size_t R, size_t D);

	/* --- tokens: x: float[B][T][D]; length: int32[B], in [0, T], the tokens of a row that are
	 * no padding (they come first), or NULL: all T --- */

	/* table: float[V][D]; token: int32[N], each in [0, V) (the caller's duty); y:
	 * float[N][D] */
	sw_status (*embedding_forward)(struct sw_queue *q, const float *table, const int32_t *token,
				       float *y, size_t N, size_t V, size_t D);
	size_t (*embedding_workspace)(size_t N, size_t V, size_t D);
	/* dtable: float[V][D] = 0, then dtable[token[i]] += dy[i], i from 0 to N - 1 in this order */
	sw_status (*embedding_backward)(struct sw_queue *q, const int32_t *token, const float *dy,
					float *dtable, size_t N, size_t V, size_t D, void *work);
	/* table: float[at least T][D]; y[b][t] = x[b][t] + table[t]; y may be x */
	sw_status (*position_forward)(struct sw_queue *q, const float *x, const float *table,
				      float *y, size_t B, size_t T, size_t D);
	/* dtable: float[T][D] = sum over b of dy[b]. The gradient of x is dy itself. */
	sw_status (*position_backward)(struct sw_queue *q, const float *dy, float *dtable, size_t B,
				       size_t T, size_t D);
	/* y: float[B][D] = the mean over the row's tokens; zeros for a length of 0 */
	sw_status (*token_mean_forward)(struct sw_queue *q, const float *x, const int32_t *length,
					float *y, size_t B, size_t T, size_t D);
	/* dy: float[B][D]; dx: float[B][T][D], 0 at padding */
	sw_status (*token_mean_backward)(struct sw_queue *q, const float *dy, const int32_t *length,
					 float *dx, size_t B, size_t T, size_t D);
	size_t (*attention_workspace)(const struct sw_attention *a);
	/* qkv: float[B][T][3 D], a token's query, key and value, each in heads of D / heads;
	 * p: float[B][heads][T][T] = softmax over the keys of q k^T / sqrt(D / heads), kept for
	 * backward; y: float[B][T][D] = p v, heads side by side. Keys at or behind the row's length
	 * (and, causal, behind the query) have p 0; with no key left p and y are 0. Queries at
	 * padding are computed as any other. SW_INVALID when heads does not divide D. */
	sw_status (*attention_forward)(struct sw_queue *q, const float *qkv, const int32_t *length,
				       float *p, float *y, const struct sw_attention *a,
				       void *work);
	/* dy: float[B][T][D]; dqkv: float[B][T][3 D] */
	sw_status (*attention_backward)(struct sw_queue *q, const float *qkv, const float *p,
					const float *dy, float *dqkv, const struct sw_attention *a,
					void *work);

	/* --- losses; m is added to. index: int32[B], the row of label or t that row b has, or NULL:
	 * b --- */

	/* z: float[B][C] logits; label: int32, each that is read in [0, C), or -1: the row is left out of all
	 * sums (the caller's duty). With lp[c] = z[c] - max - log(sum(exp(z - max))), a row's loss
	 * is -(1 - smooth) lp[label] - smooth / C sum over c of lp[c], smooth in [0, 1]; a row with
	 * a NaN logit has loss NaN and is not correct.
	 * dz: float[B][C] = scale * (exp(lp[c]) - (1 - smooth) (c == its label) - smooth / C), 0 in a
	 * row of label -1; it may be z, and is NULL when not wanted (evaluation), where scale and
	 * count are not read. count: NULL, and scale is 1/B for a mean; or backend memory that
	 * labels_count wrote, by which scale is divided. */
	sw_status (*cross_entropy)(struct sw_queue *q, const float *z, const int32_t *label,
				   const int32_t *index, float *dz, struct sw_metrics *m,
				   float scale, const int32_t *count, size_t B, size_t C,
				   float smooth);
	/* *out = the labels that are not -1, at least 1 (so that a batch without any has gradient
	 * 0): the number of rows of PyTorch's mean with ignore_index. Over a whole batch, before
	 * its micro-batches. */
	sw_status (*labels_count)(struct sw_queue *q, const int32_t *label, int32_t *out, size_t B);
	/* counts: int64[3][C], true positives, false positives and false negatives of each class,
	 * added to; the prediction is the first largest logit, a row with a NaN has none. For the
	 * macro F1 of an evaluation. */
	sw_status (*class_counts)(struct sw_queue *q, const float *z, const int32_t *label,
				  int64_t *counts, size_t B, size_t C);
	/* y: float[B][O]; t: float of rows of O. A row's loss is the mean over its O of (y - t)^2; the sums for mae and
	 * r2 are added too. dy = scale * 2 / O * (y - t); it may be y, and is NULL when not wanted. */
	sw_status (*mse)(struct sw_queue *q, const float *y, const float *t, const int32_t *index,
			 float *dy, struct sw_metrics *m, float scale, size_t B, size_t O);

	/* --- optimizers, over a whole arena of n parameters --- */

	/* *out = the sum of g[i]^2 in double, in a fixed order; out: backend memory, 8-byte
	 * aligned */
	sw_status (*norm2)(struct sw_queue *q, const float *g, double *out, size_t n);
	/* Both: s is backend memory that the host fills once a step (upload of sw_step_make()). g
	 * is not changed, and stands for c g, where c clips the norm as PyTorch's clip_grad_norm_:
	 * with o.max_norm > 0, c = min(1, max_norm / (sqrt(*norm2) + 1e-6)), NaN when the norm is;
	 * with max_norm 0, c = 1 and norm2 is not read (may be NULL). */
	/* PyTorch's torch.optim.SGD, dampening 0. w, g, v: float[n]; v is zero before the first
	 * step, NULL without momentum.
	 *   d = g + weight_decay w;  v = momentum v + d;  d = nesterov ? d + momentum v : v;
	 *   w -= lr d */
	sw_status (*sgd_step)(struct sw_queue *q, float *w, const float *g, float *v, size_t n,
			      struct sw_sgd o, const struct sw_step *s, const double *norm2);
	/* PyTorch's torch.optim.AdamW (decoupled) or Adam, amsgrad off. w, g, m, v: float[n]; m, v
	 * zero before step 1.
	 *   decoupled: w *= 1 - lr weight_decay; else: g += weight_decay w;
	 *   m += (1 - beta1)(g - m);  v = beta2 v + (1 - beta2) g^2;
	 *   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
	 * The factors that do not depend on the element are made in double. */
	sw_status (*adam_step)(struct sw_queue *q, float *w, const float *g, float *m, float *v,
			       size_t n, struct sw_adam o, const struct sw_step *s,
			       const double *norm2);
};

/* The CPU table. Threads: its own and OpenBLAS's, see sw_ops_cpu_threads(). */
extern const struct sw_ops sw_ops_cpu;

/* Cores that an entry may use, at least 1; call before work is queued. */
void sw_ops_cpu_threads(unsigned cores);

/* What the module libsweepd-cuda.so exports under the name SW_OPS_CUDA_OPEN: makes `device` (its
 * CUDA ordinal) the one that the process uses, and gives the table. Once per process.
 * SW_OPS_NO_DEVICE: none is looked for, and of the table only what counts bytes may be called
 * (*_workspace, *_products, weights_copy). */
typedef sw_status sw_ops_open_fn(int device, const struct sw_ops **out, struct sw_err *err);
#define SW_OPS_NO_DEVICE   (-1)
#define SW_OPS_CUDA_OPEN   "sw_ops_cuda_open"
#define SW_OPS_CUDA_MODULE "libsweepd-cuda.so"

#ifdef __cplusplus
}
#endif
#endif
