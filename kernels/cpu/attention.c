/* kernels/cpu/attention.c — multi-head attention: softmax(q k^T / sqrt d) v and its gradients,
 * one head of one row of the batch at a time, products by OpenBLAS with the heads' strides. */
#include "kernels/cpu/cpu.h"
#include <cblas.h>
#include <math.h>
#include <string.h>

#undef I

size_t sw_cpu_attention_workspace(const struct sw_attention *a)
{
	return (a->T * a->T * sizeof(float) + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
}

/* c: float[M][N] (ldc) = alpha op(a) op(b) + beta c, K products each */
static void product(int ta, int tb, size_t M, size_t N, size_t K, float alpha, const float *a,
		    size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
		    (int)M, (int)N, (int)K, alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

/* Scores of T keys become p; those from n on are 0. */
static void softmax_row(float *s, size_t n, size_t T)
{
	double sum = 0;
	float max = n ? s[0] : 0.0f;

	/* Less the maximum no exponent is above 0, so none overflows. */
	for (size_t k = 1; k < n; k++)
		max = s[k] > max ? s[k] : max;
	for (size_t k = 0; k < n; k++) {
		s[k] = expf(s[k] - max);
		sum += (double)s[k];
	}
	/* Infinite where n is 0, and then multiplied by nothing. */
	const float part = (float)(1 / sum);

	for (size_t k = 0; k < n; k++)
		s[k] *= part;
	memset(s + n, 0, (T - n) * sizeof *s);
}

sw_status sw_cpu_attention_forward(struct sw_queue *q, const float *qkv, const int32_t *length,
				   float *p, float *y, const struct sw_attention *a, void *work)
{
	const size_t T = a->T, D = a->D, ld = 3 * D;

	(void)q;
	(void)work;
	if (!sw_attention_fits(a))
		return SW_INVALID;
	if (sw_attention_empty(a))
		return SW_OK;
	const size_t d = D / a->heads;
	const float scale = 1.0f / sqrtf((float)d);

	for (size_t b = 0; b < a->B; b++)
		for (size_t h = 0; h < a->heads; h++, p += T * T) {
			const float *query = qkv + b * T * ld + h * d;
			const size_t keys = length ? (size_t)length[b] : T;

			product(0, 1, T, T, d, scale, query, ld, query + D, ld, 0.0f, p, T);
			for (size_t t = 0; t < T; t++)
				softmax_row(p + t * T, a->causal && t + 1 < keys ? t + 1 : keys, T);
			/* Values behind `keys` may hold anything, NaN too: 0 * NaN must not be. */
			if (keys)
				product(0, 0, T, d, keys, 1.0f, p, T, query + 2 * D, ld, 0.0f,
					y + b * T * D + h * d, D);
			for (size_t t = 0; !keys && t < T; t++)
				memset(y + (b * T + t) * D + h * d, 0, d * sizeof *y);
		}
	return SW_OK;
}

/* ds = p (dp - sum over the row of dp p) scale, over dp; where p is 0, 0 */
static void softmax_backward(const float *p, float *dp, size_t T, float scale)
{
	for (size_t t = 0; t < T; t++, p += T, dp += T) {
		double dot = 0;

		for (size_t k = 0; k < T; k++)
			dot += (double)p[k] * (double)dp[k];
		for (size_t k = 0; k < T; k++)
			dp[k] = p[k] * (dp[k] - (float)dot) * scale;
	}
}

sw_status sw_cpu_attention_backward(struct sw_queue *q, const float *qkv, const float *p,
				    const float *dy, float *dqkv, const struct sw_attention *a,
				    void *work)
{
	const size_t T = a->T, D = a->D, ld = 3 * D;
	float *ds = work;

	(void)q;
	if (!sw_attention_fits(a))
		return SW_INVALID;
	if (sw_attention_empty(a))
		return SW_OK;
	const size_t d = D / a->heads;
	const float scale = 1.0f / sqrtf((float)d);

	for (size_t b = 0; b < a->B; b++)
		for (size_t h = 0; h < a->heads; h++, p += T * T) {
			const float *query = qkv + b * T * ld + h * d;
			float *dquery = dqkv + b * T * ld + h * d;
			const float *out = dy + b * T * D + h * d;

			/* One head's ds at a time lies in work: its size does not grow with B or
			 * the heads. */
			product(0, 1, T, T, d, 1.0f, out, D, query + 2 * D, ld, 0.0f, ds, T);
			softmax_backward(p, ds, T, scale);
			product(0, 0, T, d, T, 1.0f, ds, T, query + D, ld, 0.0f, dquery, ld);
			product(1, 0, T, d, T, 1.0f, ds, T, query, ld, 0.0f, dquery + D, ld);
			product(1, 0, T, d, T, 1.0f, p, T, out, D, 0.0f, dquery + 2 * D, ld);
		}
	return SW_OK;
}
