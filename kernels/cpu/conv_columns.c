/* kernels/cpu/conv_columns.c — convolution of any shape: one image at a time laid out as a matrix
 * (im2col), products by OpenBLAS.
 *
 * columns: float[C kh kw][P], P = out_h out_w: row (c, i, j) holds, for each place of the output,
 * the value of x under element (i, j) of the kernel. Then y = w columns, dw += dy columns^T, and
 * dx gathers w^T dy back (col2im). */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/cpu.h"
#include <cblas.h>
#include <string.h>

#undef I

size_t sw_cpu_conv_columns_workspace(const struct sw_conv *c)
{
	return c->C * c->kh * c->kw * sw_conv_out_h(c) * sw_conv_out_w(c) * sizeof(float);
}

/* The places s in [from, to) of an output row of `out` for which s * stride - pad + j is in
 * [0, n). */
static void valid(const struct sw_conv *c, size_t j, size_t n, size_t out, size_t *from, size_t *to)
{
	*from = j < c->pad ? (c->pad - j + c->stride - 1) / c->stride : 0;
	*to = n + c->pad > j ? (n + c->pad - j + c->stride - 1) / c->stride : 0;
	if (*to > out)
		*to = out;
	if (*from > *to)
		*from = *to;
}

/* x: float[C][H][W], one image */
static void im2col(const struct sw_conv *c, const float *x, float *columns)
{
	const size_t oh = sw_conv_out_h(c), ow = sw_conv_out_w(c);

	for (size_t k = 0; k < c->C * c->kh * c->kw; k++) {
		const float *plane = x + k / (c->kh * c->kw) * c->H * c->W;
		const size_t i = k / c->kw % c->kh, j = k % c->kw;
		size_t r0, r1, s0, s1;

		valid(c, i, c->H, oh, &r0, &r1);
		valid(c, j, c->W, ow, &s0, &s1);
		for (size_t r = 0; r < oh; r++, columns += ow) {
			if (r < r0 || r >= r1) {
				memset(columns, 0, ow * sizeof *columns);
				continue;
			}
			const float *row = plane + (r * c->stride + i - c->pad) * c->W;

			for (size_t s = 0; s < s0; s++)
				columns[s] = 0.0f;
			for (size_t s = s0; s < s1; s++)
				columns[s] = row[s * c->stride + j - c->pad];
			for (size_t s = s1; s < ow; s++)
				columns[s] = 0.0f;
		}
	}
}

/* dx: float[C][H][W], one image, added to */
static void col2im(const struct sw_conv *c, const float *columns, float *dx)
{
	const size_t oh = sw_conv_out_h(c), ow = sw_conv_out_w(c);

	for (size_t k = 0; k < c->C * c->kh * c->kw; k++, columns += oh * ow) {
		float *plane = dx + k / (c->kh * c->kw) * c->H * c->W;
		const size_t i = k / c->kw % c->kh, j = k % c->kw;
		size_t r0, r1, s0, s1;

		valid(c, i, c->H, oh, &r0, &r1);
		valid(c, j, c->W, ow, &s0, &s1);
		for (size_t r = r0; r < r1; r++) {
			float *row = plane + (r * c->stride + i - c->pad) * c->W;

			for (size_t s = s0; s < s1; s++)
				row[s * c->stride + j - c->pad] += columns[r * ow + s];
		}
	}
}

/* y: float[O][P] = act(y + b) */
static void epilogue(float *y, const float *b, size_t O, size_t P, enum sw_act act)
{
	for (size_t o = 0; o < O; o++, y += P) {
		const float add = b ? b[o] : 0.0f;

		for (size_t i = 0; i < P; i++) {
			const float v = y[i] + add;

			y[i] = act == SW_ACT_RELU && v <= 0.0f ? 0.0f : v;
		}
	}
}

void sw_cpu_conv_columns_forward(const float *x, const float *w, const float *b, float *y,
				 const struct sw_conv *c, enum sw_act act, void *work)
{
	const size_t P = sw_conv_out_h(c) * sw_conv_out_w(c), K = c->C * c->kh * c->kw;

	for (size_t n = 0; n < c->B && c->O && P; n++, y += c->O * P) {
		if (K) {
			im2col(c, x + n * c->C * c->H * c->W, work);
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)c->O, (int)P,
				    (int)K, 1.0f, w, (int)K, work, (int)P, 0.0f, y, (int)P);
		} else {
			memset(y, 0, c->O * P * sizeof *y);
		}
		epilogue(y, b, c->O, P, act);
	}
}

static void bias_backward(const float *dy, float *db, size_t B, size_t O, size_t P)
{
	for (size_t n = 0; n < B; n++)
		for (size_t o = 0; o < O; o++, dy += P) {
			double sum = 0;

			for (size_t i = 0; i < P; i++)
				sum += (double)dy[i];
			db[o] += (float)sum;
		}
}

void sw_cpu_conv_columns_backward(const float *x, const float *w, const float *y, float *dy,
				  float *dx, float *dw, float *db, const struct sw_conv *c,
				  enum sw_act act, void *work)
{
	const size_t P = sw_conv_out_h(c) * sw_conv_out_w(c), K = c->C * c->kh * c->kw;
	const size_t image = c->C * c->H * c->W;

	/* In place: dy is scratch from here on, and the three gradients all read the masked one. */
	if (act == SW_ACT_RELU)
		(void)sw_cpu_relu_backward(NULL, y, dy, dy, c->B * c->O * P);
	if (c->O && K)
		memset(dw, 0, c->O * K * sizeof *dw);
	if (c->O && db)
		memset(db, 0, c->O * sizeof *db);
	if (db)
		bias_backward(dy, db, c->B, c->O, P);
	if (dx && c->B && image)
		memset(dx, 0, c->B * image * sizeof *dx);
	for (size_t n = 0; n < c->B && c->O && K; n++, dy += c->O * P) {
		im2col(c, x + n * image, work);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->O, (int)K, (int)P,
			    1.0f, dy, (int)P, work, (int)P, 1.0f, dw, (int)K);
		if (!dx)
			continue;
		/* The columns have served dw: what they scatter back to dx takes their place. */
		cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)K, (int)P, (int)c->O,
			    1.0f, w, (int)K, dy, (int)P, 0.0f, work, (int)P);
		col2im(c, work, dx + n * image);
	}
}
