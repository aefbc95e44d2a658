/* kernels/cpu/token.c — rows of tokens: embeddings, places, means. */
#include "kernels/cpu/cpu.h"
#include <string.h>

/* y += x; the rows are apart */
static void add_row(const float *restrict x, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
}

sw_status sw_cpu_embedding_forward(struct sw_queue *q, const float *table, const int32_t *token,
				   float *y, size_t N, size_t V, size_t D)
{
	(void)V;
	return sw_cpu_gather(q, table, token, y, N, D);
}

size_t sw_cpu_embedding_workspace(size_t N, size_t V, size_t D)
{
	(void)N;
	(void)V;
	(void)D;
	return 0;
}

sw_status sw_cpu_embedding_backward(struct sw_queue *q, const int32_t *token, const float *dy,
				    float *dtable, size_t N, size_t V, size_t D, void *work)
{
	(void)q;
	(void)work;
	if (V && D)
		memset(dtable, 0, V * D * sizeof *dtable);
	/* In the order of places, which every table has to keep: equal tokens meet in one row. */
	for (size_t i = 0; i < N; i++)
		add_row(dy + i * D, dtable + (size_t)token[i] * D, D);
	return SW_OK;
}

sw_status sw_cpu_position_forward(struct sw_queue *q, const float *x, const float *table, float *y,
				  size_t B, size_t T, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B; b++)
		for (size_t i = 0; i < T * D; i++)
			y[b * T * D + i] = x[b * T * D + i] + table[i];
	return SW_OK;
}

sw_status sw_cpu_position_backward(struct sw_queue *q, const float *dy, float *dtable, size_t B,
				   size_t T, size_t D)
{
	(void)q;
	if (T && D)
		memset(dtable, 0, T * D * sizeof *dtable);
	for (size_t b = 0; b < B; b++)
		add_row(dy + b * T * D, dtable, T * D);
	return SW_OK;
}

static size_t tokens(const int32_t *length, size_t b, size_t T)
{
	return length ? (size_t)length[b] : T;
}

sw_status sw_cpu_token_mean_forward(struct sw_queue *q, const float *x, const int32_t *length,
				    float *y, size_t B, size_t T, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B && D; b++, y += D) {
		const size_t n = tokens(length, b, T);
		const float part = n ? 1.0f / (float)n : 0.0f;

		memset(y, 0, D * sizeof *y);
		for (size_t t = 0; t < n; t++)
			add_row(x + (b * T + t) * D, y, D);
		for (size_t d = 0; d < D; d++)
			y[d] *= part;
	}
	return SW_OK;
}

sw_status sw_cpu_token_mean_backward(struct sw_queue *q, const float *dy, const int32_t *length,
				     float *dx, size_t B, size_t T, size_t D)
{
	(void)q;
	for (size_t b = 0; b < B && D; b++, dy += D) {
		const size_t n = tokens(length, b, T);
		const float part = n ? 1.0f / (float)n : 0.0f;

		for (size_t t = 0; t < T; t++, dx += D)
			for (size_t d = 0; d < D; d++)
				dx[d] = t < n ? dy[d] * part : 0.0f;
	}
	return SW_OK;
}
