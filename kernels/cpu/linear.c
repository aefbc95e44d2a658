/* kernels/cpu/linear.c — y = x w^T + b and its gradients: BLAS when large, loops when small. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/threads.h"
#include <cblas.h>
#include <string.h>

#undef I /* cblas.h brings complex.h, whose I would be our number of inputs */

/* From here on OpenBLAS makes the product: it blocks for the caches, and may use several cores.
 * Below, the own loops are as fast or faster (OpenBLAS 0.3.21, AVX-512, one thread; GFLOP/s forward
 * and backward, own | OpenBLAS: 4x1024x1024 95 65 | 8 19, 8x784x256 106 105 | 46 61, 16x400x120
 * 96 111 | 63 108, 128x784x256 96 108 | 99 102; behind with short rows, 16x64x64 58 107 | 69
 * 102). */
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

/* Each thread makes some rows of the result: a row's bits are its own. */
#define PART_FROM ((size_t)1 << 20) /* multiply-adds, below which one thread is faster */

struct pass {
	const float *x, *w, *b, *dy;
	float *y, *dx, *dw, *db;
	size_t B, I, O, parts;
	enum sw_act act;
};

static size_t parts_of(size_t B, size_t I, size_t O, size_t rows)
{
	const size_t n = sw_cpu_threads();

	/* In limits so small that the product cannot wrap: larger ones went to OpenBLAS. */
	if (B * I * O < PART_FROM)
		return 1;
	return rows < n ? rows : n;
}

static void forward_part(void *ctx, size_t part, size_t slot)
{
	const struct pass *p = ctx;
	const size_t from = p->B * part / p->parts, to = p->B * (part + 1) / p->parts;

	(void)slot;
	sw_cpu_loops()->linear_forward(p->x + from * p->I, p->w, p->b, p->y + from * p->O,
				       to - from, p->I, p->O, p->act);
}

static void forward_own(const float *x, const float *w, const float *b, float *y, size_t B,
			size_t I, size_t O, enum sw_act act)
{
	struct pass p = {.x = x, .w = w, .b = b, .y = y, .B = B, .I = I, .O = O, .act = act};

	p.parts = parts_of(B, I, O, B);
	sw_cpu_parallel(p.parts, forward_part, &p);
}

/* dw by its rows, which are outputs; dx by its own. */
static void backward_part(void *ctx, size_t part, size_t slot)
{
	const struct pass *p = ctx;
	const size_t o0 = p->O * part / p->parts, o1 = p->O * (part + 1) / p->parts;
	const size_t r0 = p->B * part / p->parts, r1 = p->B * (part + 1) / p->parts;

	(void)slot;
	sw_cpu_loops()->linear_dw(p->dy + o0, p->x, p->dw + o0 * p->I, p->db ? p->db + o0 : NULL,
				  p->B, p->I, p->O, o1 - o0);
	if (p->dx)
		sw_cpu_loops()->linear_dx(p->dy + r0 * p->O, p->w, p->dx + r0 * p->I, r1 - r0, p->I,
					  p->O);
}

static void backward_own(const float *x, const float *w, const float *dy, float *dx, float *dw,
			 float *db, size_t B, size_t I, size_t O)
{
	struct pass p = {
		.x = x, .w = w, .dy = dy, .dx = dx, .dw = dw, .db = db, .B = B, .I = I, .O = O};

	p.parts = parts_of(B, I, O, O);
	sw_cpu_parallel(p.parts, backward_part, &p);
}

sw_status sw_cpu_linear_forward(struct sw_queue *q, const float *x, const float *w, const float *b,
				float *y, size_t B, size_t I, size_t O, enum sw_act act, void *kept)
{
	(void)kept;
	if (!sw_linear_fits(B, I, O))
		return SW_INVALID;
	if (blas_pays(B, I, O) && B && I && O) {
		/* The bias first, and the product added to it: one pass less over y. */
		for (size_t r = 0; b && r < B; r++)
			memcpy(y + r * O, b, O * sizeof *y);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)B, (int)O, (int)I, 1.0f,
			    x, (int)I, w, (int)I, b ? 1.0f : 0.0f, y, (int)O);
	} else {
		forward_own(x, w, b, y, B, I, O, act);
		return SW_OK;
	}
	return act == SW_ACT_RELU ? sw_cpu_relu_forward(q, y, y, B * O) : SW_OK;
}

sw_status sw_cpu_linear_backward(struct sw_queue *q, const float *x, const float *w, const float *y,
				 float *dy, float *dx, float *dw, float *db, size_t B, size_t I,
				 size_t O, enum sw_act act, const void *kept)
{
	(void)kept;
	if (!sw_linear_fits(B, I, O))
		return SW_INVALID;
	/* In place: dy is scratch from here on. */
	if (act == SW_ACT_RELU)
		(void)sw_cpu_relu_backward(q, y, dy, dy, B * O);
	if (blas_pays(B, I, O) && B && I && O) {
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)O, (int)I, (int)B, 1.0f,
			    dy, (int)O, x, (int)I, 0.0f, dw, (int)I);
		if (dx)
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)B, (int)I,
				    (int)O, 1.0f, dy, (int)O, w, (int)I, 0.0f, dx, (int)I);
	} else {
		backward_own(x, w, dy, dx, dw, db, B, I, O);
		return SW_OK;
	}
	if (db)
		memset(db, 0, O * sizeof *db);
	for (size_t r = 0; db && r < B; r++)
		for (size_t o = 0; o < O; o++)
			db[o] += dy[r * O + o];
	return SW_OK;
}
