/* kernels/cpu/linear_cpu.c — y = x w^T + b and its gradients: BLAS when large, loops when small. */
#include "kernels/cpu/cpu.h"
#include <cblas.h>
#include <string.h>

#undef I /* cblas.h brings complex.h, whose I would be our number of inputs */

/* Where OpenBLAS is the faster, measured with 0.3.21 and one thread on a Zen core (us, loops |
 * BLAS, forward): 4x4x4 0.05|0.09, 8x8x4 0.11|0.14, 8x8x8 0.22|0.16, 16x16x10 0.63|0.31, 16x64x64
 * 9.3|2.5, 128x64x64 74|14; but 1x64x64 0.6|1.3, 1x1000x1000 257|837, 3x64x64 2.7|2.8: below four
 * rows its blocks stay empty. */
#define BLAS_FROM ((size_t)512) /* multiply-adds */
#define BLAS_ROWS ((size_t)4)

static int forced;

void sw_cpu_linear_force(int path)
{
	forced = path;
}

static int blas_pays(size_t B, size_t I, size_t O)
{
	if (forced)
		return forced == 2;
	return B >= BLAS_ROWS && B * I * O >= BLAS_FROM;
}

static int in_limits(size_t B, size_t I, size_t O)
{
	return B <= INT32_MAX && I <= INT32_MAX && O <= INT32_MAX;
}

/* sum of a[i] b[i], i < n, in eight running sums: a fixed order that vectorises without fast-math.
 */
static float dot(const float *a, const float *b, size_t n)
{
	float s[8] = {0};
	size_t i = 0;
	float rest = 0;

	for (; i + 8 <= n; i += 8)
		for (size_t k = 0; k < 8; k++)
			s[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		rest += a[i] * b[i];
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + rest;
}

/* y[i] += a x[i], i < n */
static void axpy(float a, const float *restrict x, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

sw_status sw_cpu_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, size_t B, size_t I, size_t O, enum sw_act act)
{
	if (!in_limits(B, I, O))
		return SW_INVALID;
	if (blas_pays(B, I, O) && B && I && O) {
		for (size_t r = 0; b && r < B; r++)
			memcpy(y + r * O, b, O * sizeof *y);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)B, (int)O, (int)I, 1.0f,
			    x, (int)I, w, (int)I, b ? 1.0f : 0.0f, y, (int)O);
	} else {
		for (size_t r = 0; r < B; r++)
			for (size_t o = 0; o < O; o++)
				y[r * O + o] = dot(x + r * I, w + o * I, I) + (b ? b[o] : 0.0f);
	}
	return act == SW_ACT_RELU ? sw_cpu_relu_forward(q, y, y, B * O) : SW_OK;
}

static void backward_loops(const float *x, const float *w, const float *dy, float *dx, float *dw,
			   size_t B, size_t I, size_t O, int accumulate)
{
	if (!accumulate)
		memset(dw, 0, O * I * sizeof *dw);
	for (size_t r = 0; r < B; r++)
		for (size_t o = 0; o < O; o++)
			axpy(dy[r * O + o], x + r * I, dw + o * I, I);
	if (!dx)
		return;
	memset(dx, 0, B * I * sizeof *dx);
	for (size_t r = 0; r < B; r++)
		for (size_t o = 0; o < O; o++)
			axpy(dy[r * O + o], w + o * I, dx + r * I, I);
}

sw_status sw_cpu_linear_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db, size_t B, size_t I,
				 size_t O, enum sw_act act, int accumulate)
{
	if (!in_limits(B, I, O))
		return SW_INVALID;
	if (act == SW_ACT_RELU)
		(void)sw_cpu_relu_backward(q, y, dy, dy, B * O);
	if (blas_pays(B, I, O) && B && I && O) {
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)O, (int)I, (int)B, 1.0f,
			    dy, (int)O, x, (int)I, accumulate ? 1.0f : 0.0f, dw, (int)I);
		if (dx)
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)B, (int)I,
				    (int)O, 1.0f, dy, (int)O, w, (int)I, 0.0f, dx, (int)I);
	} else {
		backward_loops(x, w, dy, dx, dw, B, I, O, accumulate);
	}
	if (db && !accumulate)
		memset(db, 0, O * sizeof *db);
	for (size_t r = 0; db && r < B; r++)
		for (size_t o = 0; o < O; o++)
			db[o] += dy[r * O + o];
	return SW_OK;
}
