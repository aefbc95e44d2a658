/*
 * kernels/ops_list.h — what a device computes: the entries of struct sw_ops that each backend has
 * under its own name, sw_cpu_NAME and sw_cuda_NAME.
 *
 * SW_OP(result, name, parameters) is defined by who includes it, and undefined at the end: ops.h
 * makes fields of them, each backend prototypes and the lines of its table. kernels/ops.h says what
 * holds for all of them.
 */
/* clang-format off */

/* --- batch assembly: out[b][*] = rows[index[b]][*] --- */

/* rows: float[N][D]; index: int32[B], each in [0, N) (the caller's duty); out:
 * float[B][D] */
SW_OP(sw_status, gather, (struct sw_queue *q, const float *rows, const int32_t *index, float *out,
      size_t B, size_t D))
/* values: int32[N][D] (labels: D 1; tokens); index: int32[B]; out: int32[B][D] */
SW_OP(sw_status, gather_i32, (struct sw_queue *q, const int32_t *values, const int32_t *index,
      int32_t *out, size_t B, size_t D))
/* rows: float[N][C][H][W], or uint8 of the same shape with im->u8; index: int32[B];
 * out: float[B][C][H][W] = raw * scale[c] + shift[c], shifted by im->pad at most in each
 * direction (what comes from outside the image is a raw 0) and mirrored: struct sw_images.
 * im's scale and shift are backend memory. */
SW_OP(sw_status, gather_image, (struct sw_queue *q, const void *rows, const int32_t *index,
      float *out, size_t B, const struct sw_images *im))

/* --- linear, in PyTorch's layout: y = act(x w^T + b) --- */

/* x: float[B][I]; w: float[O][I]; b: float[O] or NULL; y: float[B][O]; kept: for the
 * backward of the same B, I, O and precision, what it reads x as, so that it is made once:
 * weights_copy(p, B * I) bytes, or NULL. Not written where linear_products is 0. */
SW_OP(sw_status, linear_forward, (struct sw_queue *q, const float *x, const float *w,
      const float *b, float *y, size_t B, size_t I, size_t O, enum sw_act act, void *kept))
/* dy: float[B][O], x: float[B][I], w: float[O][I], y: float[B][O], what forward wrote (not
 * read, and may be NULL, with SW_ACT_NONE) ->
 * dx: float[B][I] = dz w, or NULL when not wanted;
 * dw: float[O][I] = dz^T x; db: float[O] = column sums of dz, or NULL,
 * where dz = dy act'(y). dy may be written over: it is scratch afterwards, but is left as
 * it is with SW_ACT_NONE (the gradient of a sum has other readers). kept: as forward left
 * it, or NULL. */
SW_OP(sw_status, linear_backward, (struct sw_queue *q, const float *x, const float *w,
      const float *y, float *dy, float *dx, float *dw, float *db, size_t B, size_t I, size_t O,
      enum sw_act act, const void *kept))

/* --- convolution (PyTorch's: no flip of the kernel) --- */

/* Bytes of scratch memory that conv2d_forward and conv2d_backward need (the larger). */
SW_OP(size_t, conv2d_workspace, (const struct sw_conv *c))
/* x: float[B][C][H][W]; w: float[O][C][kh][kw]; b: float[O] or NULL;
 * y: float[B][O][out_h][out_w] = act(b[o] + sum over c, i, j of
 *    x[b][c][r * stride - pad + i][s * stride - pad + j] w[o][c][i][j]), 0 outside x. */
SW_OP(sw_status, conv2d_forward, (struct sw_queue *q, const float *x, const float *w,
      const float *b, float *y, const struct sw_conv *c, enum sw_act act, void *work))
/* dy: as y, scratch afterwards as in linear_backward; dx: as x, or NULL when not wanted;
 * dw: as w; db: float[O], or NULL. A NaN is in each sum that it belongs to, and may be in
 * others of dw, or, one of w, of dx: sums are also over zeros that stand for padding. */
SW_OP(sw_status, conv2d_backward, (struct sw_queue *q, const float *x, const float *w,
      const float *y, float *dy, float *dx, float *dw, float *db, const struct sw_conv *c,
      enum sw_act act, void *work))

/* conv2d_forward to m->full and from there maxpool2d_forward to m->y and m->argmax, in one:
 * m->full may be left as it is. The same bits as by the two calls. */
SW_OP(sw_status, conv2d_maxpool_forward, (struct sw_queue *q, const float *x, const float *w,
      const float *b, const struct sw_pooled *m, const struct sw_conv *c, enum sw_act act,
      void *work))
/* Of it: maxpool2d_backward from dy, as m->y, to dfull, as m->full, and from there
 * conv2d_backward. dfull is scratch, dy is not written. */
SW_OP(sw_status, conv2d_maxpool_backward, (struct sw_queue *q, const float *x, const float *w,
      const struct sw_pooled *m, const float *dy, float *dfull, float *dx, float *dw, float *db,
      const struct sw_conv *c, enum sw_act act, void *work))

/* --- pooling; pad is at most half the window, as in PyTorch --- */

/* x: float[B][C][H][W]; y: float[B][C][out_h][out_w]; argmax: int32, as y: the place of the
 * maximum in the plane, r * W + s, the first of equals; NULL in evaluation. What lies
 * outside x never wins; a NaN always does (the last one). */
SW_OP(sw_status, maxpool2d_forward, (struct sw_queue *q, const float *x, float *y, int32_t *argmax,
      const struct sw_window *p))
/* dx: as x: each dy is added at its argmax, in the order of y */
SW_OP(sw_status, maxpool2d_backward, (struct sw_queue *q, const float *dy, const int32_t *argmax,
      float *dx, const struct sw_window *p))
/* The mean over kh kw places, padding counted as zeros (PyTorch's count_include_pad). The
 * mean over all of an image is the window kh = H, kw = W, stride 1, pad 0. */
SW_OP(sw_status, avgpool2d_forward, (struct sw_queue *q, const float *x, float *y,
      const struct sw_window *p))
SW_OP(sw_status, avgpool2d_backward, (struct sw_queue *q, const float *dy, float *dx,
      const struct sw_window *p))

/* --- elementwise; n elements; x and y (dy and dx) may be the same pointer --- */

/* y = max(x, 0), NaN stays NaN */
SW_OP(sw_status, relu_forward, (struct sw_queue *q, const float *x, float *y, size_t n))
/* y: what relu_forward wrote. dx = y > 0 ? dy : 0 */
SW_OP(sw_status, relu_backward, (struct sw_queue *q, const float *y, const float *dy, float *dx,
      size_t n))
SW_OP(sw_status, tanh_forward, (struct sw_queue *q, const float *x, float *y, size_t n))
/* y: what tanh_forward wrote. dx = dy (1 - y^2) */
SW_OP(sw_status, tanh_backward, (struct sw_queue *q, const float *y, const float *dy, float *dx,
      size_t n))
/* y = 1 / (1 + exp(-x)) */
SW_OP(sw_status, sigmoid_forward, (struct sw_queue *q, const float *x, float *y, size_t n))
/* y: what sigmoid_forward wrote. dx = dy y (1 - y) */
SW_OP(sw_status, sigmoid_backward, (struct sw_queue *q, const float *y, const float *dy, float *dx,
      size_t n))
/* y = x (1 + erf(x / sqrt 2)) / 2: the exact form, PyTorch's default */
SW_OP(sw_status, gelu_forward, (struct sw_queue *q, const float *x, float *y, size_t n))
/* x: what gelu_forward read, so it must not have been in place */
SW_OP(sw_status, gelu_backward, (struct sw_queue *q, const float *x, const float *dy, float *dx,
      size_t n))
/* y = x / (1 + exp(-x)) */
SW_OP(sw_status, silu_forward, (struct sw_queue *q, const float *x, float *y, size_t n))
/* x: what silu_forward read, so it must not have been in place. With s = 1 / (1 + exp(-x)):
 * dx = dy s (1 + x (1 - s)) */
SW_OP(sw_status, silu_backward, (struct sw_queue *q, const float *x, const float *dy, float *dx,
      size_t n))
/* y = a + b; y may be a or b */
SW_OP(sw_status, add, (struct sw_queue *q, const float *a, const float *b, float *y, size_t n))
/* y += x; apart */
SW_OP(sw_status, accumulate, (struct sw_queue *q, const float *x, float *y, size_t n))
/* y[i] = kept(d.first + i) ? x[i] / (1 - p) : 0, kept(j) = word(j) >=
 * sw_philox_threshold(p): struct sw_dropout. s: backend memory, for its step. The backward
 * pass is the same call on the gradient: the mask is made again, never stored. Evaluation
 * does not call it. */
SW_OP(sw_status, dropout, (struct sw_queue *q, const float *x, float *y, size_t n,
      struct sw_dropout d, const struct sw_step *s))

/* --- normalisation --- */

/* Training. x, y: float[B][C][S], S = H W of an image, 1 of features; y may be x (backward
 * then has no x: only for frozen uses). gamma, beta: float[C]. Over the B S values of a
 * channel: mean and rstd = 1 / sqrt(biased variance + eps), both float[C] and kept for
 * backward; y = (x - mean) rstd gamma + beta. running_mean, running_var: float[C], moved by
 * n.momentum towards the mean and the unbiased variance (which stays when B S is 1). */
SW_OP(sw_status, batchnorm_train, (struct sw_queue *q, const float *x, const float *gamma,
      const float *beta, float *running_mean, float *running_var, float *y, float *mean,
      float *rstd, size_t B, size_t C, size_t S, struct sw_norm n))
/* Evaluation: the running statistics take the place of the batch's. y may be x. */
SW_OP(sw_status, batchnorm_eval, (struct sw_queue *q, const float *x, const float *gamma,
      const float *beta, const float *running_mean, const float *running_var, float *y, size_t B,
      size_t C, size_t S, struct sw_norm n))
/* Of batchnorm_train. dx may be dy; dgamma, dbeta: float[C]. */
SW_OP(sw_status, batchnorm_backward, (struct sw_queue *q, const float *x, const float *gamma,
      const float *mean, const float *rstd, const float *dy, float *dx, float *dgamma, float *dbeta,
      size_t B, size_t C, size_t S))
/* The two above over rows that lie with several queues, in processes of their own perhaps: each
 * calls _sums for its B rows, which may be 0; then the sums of all are added up, number by
 * number; and each calls _summed with those. N: the values of a channel in all of them.
 * sums: double[C][2], 8-byte aligned: here of x and of x^2. A variance made of these loses
 * (mean / deviation)^2 2^-53 of itself: more than the rounding of x to float has cost it
 * only where float no longer tells the values apart. It is never below 0. */
SW_OP(sw_status, batchnorm_sums, (struct sw_queue *q, const float *x, double *sums, size_t B,
      size_t C, size_t S))
/* All as of batchnorm_train, with the mean and the variance that sums have. */
SW_OP(sw_status, batchnorm_train_summed, (struct sw_queue *q, const float *x, const double *sums,
      const float *gamma, const float *beta, float *running_mean, float *running_var, float *y,
      float *mean, float *rstd, size_t N, size_t B, size_t C, size_t S, struct sw_norm n))
/* sums: of dy and of dy (x - mean). dgamma, dbeta: float[C], of these B rows alone. */
SW_OP(sw_status, batchnorm_backward_sums, (struct sw_queue *q, const float *x, const float *mean,
      const float *rstd, const float *dy, double *sums, float *dgamma, float *dbeta, size_t B,
      size_t C, size_t S))
/* dx may be dy */
SW_OP(sw_status, batchnorm_backward_summed, (struct sw_queue *q, const float *x, const float *gamma,
      const float *mean, const float *rstd, const float *dy, const double *sums, float *dx,
      size_t N, size_t B, size_t C, size_t S))
/* x, y: float[R][D]; gamma, beta: float[D]; over the D values of a row, biased variance;
 * mean, rstd: float[R], or NULL in evaluation (both). y may be x in evaluation. */
SW_OP(sw_status, layernorm_forward, (struct sw_queue *q, const float *x, const float *gamma,
      const float *beta, float *y, float *mean, float *rstd, size_t R, size_t D, struct sw_norm n))
/* dx may be dy; dgamma, dbeta: float[D] */
SW_OP(sw_status, layernorm_backward, (struct sw_queue *q, const float *x, const float *gamma,
      const float *mean, const float *rstd, const float *dy, float *dx, float *dgamma, float *dbeta,
      size_t R, size_t D))

/* --- tokens: x: float[B][T][D]; length: int32[B], in [0, T], the tokens of a row that are
 * no padding (they come first), or NULL: all T --- */

/* table: float[V][D]; token: int32[N], each in [0, V) (the caller's duty); y:
 * float[N][D] */
SW_OP(sw_status, embedding_forward, (struct sw_queue *q, const float *table, const int32_t *token,
      float *y, size_t N, size_t V, size_t D))
SW_OP(size_t, embedding_workspace, (size_t N, size_t V, size_t D))
/* dtable: float[V][D] = 0, then dtable[token[i]] += dy[i], i from 0 to N - 1 in this order */
SW_OP(sw_status, embedding_backward, (struct sw_queue *q, const int32_t *token, const float *dy,
      float *dtable, size_t N, size_t V, size_t D, void *work))
/* table: float[at least T][D]; y[b][t] = x[b][t] + table[t]; y may be x */
SW_OP(sw_status, position_forward, (struct sw_queue *q, const float *x, const float *table,
      float *y, size_t B, size_t T, size_t D))
/* dtable: float[T][D] = sum over b of dy[b]. The gradient of x is dy itself. */
SW_OP(sw_status, position_backward, (struct sw_queue *q, const float *dy, float *dtable, size_t B,
      size_t T, size_t D))
/* y: float[B][D] = the mean over the row's tokens; zeros for a length of 0 */
SW_OP(sw_status, token_mean_forward, (struct sw_queue *q, const float *x, const int32_t *length,
      float *y, size_t B, size_t T, size_t D))
/* dy: float[B][D]; dx: float[B][T][D], 0 at padding */
SW_OP(sw_status, token_mean_backward, (struct sw_queue *q, const float *dy, const int32_t *length,
      float *dx, size_t B, size_t T, size_t D))
SW_OP(size_t, attention_workspace, (const struct sw_attention *a))
/* qkv: float[B][T][3 D], a token's query, key and value, each in heads of D / heads;
 * p: float[B][heads][T][T] = softmax over the keys of q k^T / sqrt(D / heads), kept for
 * backward; y: float[B][T][D] = p v, heads side by side. Keys at or behind the row's length
 * (and, causal, behind the query) have p 0; with no key left p and y are 0. Queries at
 * padding are computed as any other. SW_INVALID when heads does not divide D. */
SW_OP(sw_status, attention_forward, (struct sw_queue *q, const float *qkv, const int32_t *length,
      float *p, float *y, const struct sw_attention *a, void *work))
/* dy: float[B][T][D]; dqkv: float[B][T][3 D] */
SW_OP(sw_status, attention_backward, (struct sw_queue *q, const float *qkv, const float *p,
      const float *dy, float *dqkv, const struct sw_attention *a, void *work))

/* --- losses; m is added to. index: int32[B], the row of label or t that row b has, or NULL:
 * b --- */

/* z: float[B][C] logits; label: int32, each that is read in [0, C), or -1: the row is left out of
 * all sums (the caller's duty). With lp[c] = z[c] - max - log(sum(exp(z - max))), a row's loss
 * is -(1 - smooth) lp[label] - smooth / C sum over c of lp[c], smooth in [0, 1]; a row with
 * a NaN logit has loss NaN and is not correct.
 * dz: float[B][C] = scale * (exp(lp[c]) - (1 - smooth) (c == its label) - smooth / C), 0 in a
 * row of label -1; it may be z, and is NULL when not wanted (evaluation), where scale and
 * count are not read. count: NULL, and scale is 1/B for a mean; or backend memory that
 * labels_count wrote, by which scale is divided. */
SW_OP(sw_status, cross_entropy, (struct sw_queue *q, const float *z, const int32_t *label,
      const int32_t *index, float *dz, struct sw_metrics *m, float scale, const int32_t *count,
      size_t B, size_t C, float smooth))
/* *out = the labels that are not -1, at least 1 (so that a batch without any has gradient
 * 0): the number of rows of PyTorch's mean with ignore_index. Over a whole batch, before
 * its micro-batches. */
SW_OP(sw_status, labels_count, (struct sw_queue *q, const int32_t *label, int32_t *out, size_t B))
/* counts: int64[3][C], true positives, false positives and false negatives of each class,
 * added to; the prediction is the first largest logit, a row with a NaN has none. For the
 * macro F1 of an evaluation. */
SW_OP(sw_status, class_counts, (struct sw_queue *q, const float *z, const int32_t *label,
      int64_t *counts, size_t B, size_t C))
/* y: float[B][O]; t: float of rows of O. A row's loss is the mean over its O of (y - t)^2; the sums
 * for mae and r2 are added too. dy = scale * 2 / O * (y - t); it may be y, and is NULL when not
 * wanted. */
SW_OP(sw_status, mse, (struct sw_queue *q, const float *y, const float *t, const int32_t *index,
      float *dy, struct sw_metrics *m, float scale, size_t B, size_t O))

/* --- optimizers, over a whole arena of n parameters --- */

/* *out = the sum of g[i]^2 in double, in a fixed order; out: backend memory, 8-byte
 * aligned */
SW_OP(sw_status, norm2, (struct sw_queue *q, const float *g, double *out, size_t n))
/* Both: s is backend memory that the host fills once a step (upload of sw_step_make()). g
 * is not changed, and stands for c g, where c clips the norm as PyTorch's clip_grad_norm_:
 * with o.max_norm > 0, c = min(1, max_norm / (sqrt(*norm2) + 1e-6)), NaN when the norm is;
 * with max_norm 0, c = 1 and norm2 is not read (may be NULL). */
/* PyTorch's torch.optim.SGD, dampening 0. w, g, v: float[n]; v is zero before the first
 * step, NULL without momentum.
 *   d = g + weight_decay w;  v = momentum v + d;  d = nesterov ? d + momentum v : v;
 *   w -= lr d */
SW_OP(sw_status, sgd_step, (struct sw_queue *q, float *w, const float *g, float *v, size_t n,
      struct sw_sgd o, const struct sw_step *s, const double *norm2))
/* PyTorch's torch.optim.AdamW (decoupled) or Adam, amsgrad off. w, g, m, v: float[n]; m, v
 * zero before step 1.
 *   decoupled: w *= 1 - lr weight_decay; else: g += weight_decay w;
 *   m += (1 - beta1)(g - m);  v = beta2 v + (1 - beta2) g^2;
 *   w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
 * The factors that do not depend on the element are made in double. */
SW_OP(sw_status, adam_step, (struct sw_queue *q, float *w, const float *g, float *m, float *v,
      size_t n, struct sw_adam o, const struct sw_step *s, const double *norm2))

#undef SW_OP
