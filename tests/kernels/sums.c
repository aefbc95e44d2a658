#include "tests/kernels/sums.h"
#include "kernels/philox.h"
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

float *sums_noise(size_t n, unsigned key)
{
	float *x = malloc((n + 1) * sizeof *x);

	ck_assert_ptr_nonnull(x);
	for (size_t i = 0; i < n; i++)
		x[i] = 4 * sw_philox_unit(sw_philox_block(key, SW_PHILOX_SHUFFLE, 0, 0, i).v[0]) -
		       2;
	return x;
}

struct sum *sums_none(size_t n)
{
	struct sum *s = calloc(n + 1, sizeof *s);

	ck_assert_ptr_nonnull(s);
	return s;
}

void *sums_work(size_t bytes)
{
	void *p = aligned_alloc(SW_OPS_ALIGN, (bytes / SW_OPS_ALIGN + 1) * SW_OPS_ALIGN);

	ck_assert_ptr_nonnull(p);
	memset(p, 0xff, bytes);
	return p;
}

double sum_unit(const struct sum *s)
{
	const double end = fmax(s->squares, s->value * s->value);
	const double partial = ((double)s->n + 1) * (s->squares + 2 * end) / 6;

	return (double)FLT_EPSILON * sqrt(partial + 3 * s->squares);
}

size_t sums_wrong(const struct sum *want, const float *got, size_t n)
{
	size_t i = 0;

	while (i < n && fabs((double)got[i] - want[i].value) <= SUM_C * sum_unit(&want[i]))
		i++;
	return i;
}

static void sum_product(struct sum *s, float a, float b)
{
	sum_add(s, (double)a * (double)b);
}

static void sum_end(struct sum *s, enum sw_act act)
{
	if (act == SW_ACT_RELU && s->value < 0)
		s->value = 0;
}

void sums_linear_forward(struct sum *sums, const float *x, const float *w, const float *b, size_t B,
			 size_t I, size_t O, enum sw_act act)
{
	for (size_t r = 0; r < B; r++)
		for (size_t o = 0; o < O; o++) {
			struct sum *s = &sums[r * O + o];

			for (size_t i = 0; i < I; i++)
				sum_product(s, x[r * I + i], w[o * I + i]);
			if (b)
				sum_add(s, (double)b[o]);
			sum_end(s, act);
		}
}

/* dy through relu, whose output y is. */
static float masked(const float *y, const float *dy, size_t i)
{
	return y && !(y[i] > 0.0f) ? 0.0f : dy[i];
}

void sums_linear_backward(struct sum *dx, struct sum *dw, struct sum *db, const float *x,
			  const float *w, const float *y, const float *dy, size_t B, size_t I,
			  size_t O)
{
	for (size_t r = 0; r < B; r++)
		for (size_t o = 0; o < O; o++) {
			const float dz = masked(y, dy, r * O + o);

			if (db)
				sum_add(&db[o], (double)dz);
			for (size_t i = 0; i < I; i++) {
				sum_product(&dw[o * I + i], dz, x[r * I + i]);
				if (dx)
					sum_product(&dx[r * I + i], dz, w[o * I + i]);
			}
		}
}

struct conv_pass {
	const float *x, *w, *y, *dy;
	struct sum *sums, *dx, *dw;
};

/* Calls take with the places in y, x and w of each product that is not with padding. */
static inline void conv_each(const struct sw_conv *c, const struct conv_pass *p,
			     void (*take)(const struct conv_pass *p, size_t y, size_t x, size_t w))
{
	const size_t oh = sw_conv_out_h(c), ow = sw_conv_out_w(c), kernel = c->kh * c->kw;

	for (size_t at = 0; at < c->B * c->O * oh * ow; at++) {
		const size_t n = at / (c->O * oh * ow), o = at / (oh * ow) % c->O;
		const size_t r = at / ow % oh * c->stride, s = at % ow * c->stride;

		for (size_t k = 0; k < c->C * kernel; k++) {
			const size_t i = r + k % kernel / c->kw, j = s + k % c->kw;

			if (i >= c->pad && i - c->pad < c->H && j >= c->pad && j - c->pad < c->W)
				take(p, at,
				     ((n * c->C + k / kernel) * c->H + i - c->pad) * c->W + j -
					     c->pad,
				     o * c->C * kernel + k);
		}
	}
}

static void conv_forward_take(const struct conv_pass *p, size_t y, size_t x, size_t w)
{
	sum_product(&p->sums[y], p->x[x], p->w[w]);
}

void sums_conv2d_forward(struct sum *sums, const float *x, const float *w, const float *b,
			 const struct sw_conv *c, enum sw_act act)
{
	const size_t places = sw_conv_out_h(c) * sw_conv_out_w(c);
	const struct conv_pass p = {.x = x, .w = w, .sums = sums};

	conv_each(c, &p, conv_forward_take);
	for (size_t i = 0; i < c->B * c->O * places; i++) {
		if (b)
			sum_add(&sums[i], (double)b[i / places % c->O]);
		sum_end(&sums[i], act);
	}
}

static void conv_backward_take(const struct conv_pass *p, size_t y, size_t x, size_t w)
{
	const float dz = masked(p->y, p->dy, y);

	sum_product(&p->dw[w], dz, p->x[x]);
	if (p->dx)
		sum_product(&p->dx[x], dz, p->w[w]);
}

void sums_conv2d_backward(struct sum *dx, struct sum *dw, struct sum *db, const float *x,
			  const float *w, const float *y, const float *dy, const struct sw_conv *c)
{
	const size_t places = sw_conv_out_h(c) * sw_conv_out_w(c);
	const struct conv_pass p = {x, w, y, dy, NULL, dx, dw};

	conv_each(c, &p, conv_backward_take);
	for (size_t i = 0; db && i < c->B * c->O * places; i++)
		sum_add(&db[i / places % c->O], (double)masked(y, dy, i));
}

void sums_layernorm_backward(struct sum *dgamma, struct sum *dbeta, const float *x,
			     const float *mean, const float *rstd, const float *dy, size_t R,
			     size_t D)
{
	for (size_t r = 0; r < R; r++)
		for (size_t d = 0; d < D; d++) {
			const double g = (double)dy[r * D + d];

			sum_add(&dgamma[d],
				g * ((double)x[r * D + d] - (double)mean[r]) * (double)rstd[r]);
			sum_add(&dbeta[d], g);
		}
}
