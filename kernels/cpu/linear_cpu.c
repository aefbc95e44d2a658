/* kernels/cpu/linear_cpu.c — y = x w^T + b and its gradients: BLAS when large, loops when small. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"
#include <cblas.h>
#include <string.h>

#undef I /* cblas.h brings complex.h, whose I would be our number of inputs */

/* From here on OpenBLAS makes the product: it blocks for the caches, and may use several cores.
 * Below, the own loops are as fast or faster (OpenBLAS 0.3.21, AVX-512, one thread; GFLOP/s forward
 * and backward, own | OpenBLAS: 4x1024x1024 95 65 | 8 19, 8x784x256 106 105 | 46 61, 16x400x120
 * 96 111 | 63 108, 128x784x256 96 108 | 99 102; behind with short rows, 16x64x64 58 107 | 69 102).
 */
#define BLAS_FROM ((size_t)1 << 25) /* multiply-adds */

static int forced;

void sw_cpu_linear_force(int path)
{
	forced = path;
}

static int blas_pays(size_t B, size_t I, size_t O)
{
	if (forced)
		return forced == 2;
	return B * I >= BLAS_FROM / (O ? O : 1);
}

static int in_limits(size_t B, size_t I, size_t O)
{
	return B <= INT32_MAX && I <= INT32_MAX && O <= INT32_MAX;
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
		sw_cpu_loops()->linear_forward(x, w, b, y, B, I, O, act);
		return SW_OK;
	}
	return act == SW_ACT_RELU ? sw_cpu_relu_forward(q, y, y, B * O) : SW_OK;
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
		sw_cpu_loops()->linear_dw(dy, x, dw, db, B, I, O, accumulate);
		if (dx)
			sw_cpu_loops()->linear_dx(dy, w, dx, B, I, O);
		return SW_OK;
	}
	if (db && !accumulate)
		memset(db, 0, O * sizeof *db);
	for (size_t r = 0; db && r < B; r++)
		for (size_t o = 0; o < O; o++)
			db[o] += dy[r * O + o];
	return SW_OK;
}
