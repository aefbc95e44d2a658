/* tests/kernels/test_tokens.c — tokens, attention and images of the CPU table against references in
 * double and by the definition. */
#include "kernels/philox.h"
#include "tests/kernels/gradient.h"
#include "tests/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tokens --- */

struct tokens {
	size_t B, T, D, V;
	const int32_t *token, *length;
};

static const int32_t token_ids[] = {0, 3, 3, 1, 4, 0, 3, 2, 2, 2, 4, 1};
static const int32_t lengths[] = {3, 0, 2, 1};

static const struct tokens token_shapes[] = {
	{1, 1, 1, 5, token_ids, NULL},
	{4, 3, 7, 5, token_ids, lengths},
	{2, 6, 16, 5, token_ids, NULL},
};

static void embedding_reference(const void *shape, double *const *in, double *out)
{
	const struct tokens *t = shape;

	for (size_t i = 0; i < t->B * t->T * t->D; i++)
		out[i] = in[0][(size_t)t->token[i / t->D] * t->D + i % t->D];
}

static sw_status embedding_forward(const void *shape, float *const *in, float *out)
{
	const struct tokens *t = shape;

	return sw_ops_cpu.embedding_forward(NULL, in[0], t->token, out, t->B * t->T, t->V, t->D);
}

static sw_status embedding_backward(const void *shape, float *const *in, const float *out,
				    float *dy, float *const *din)
{
	const struct tokens *t = shape;
	const size_t N = t->B * t->T;

	(void)in;
	(void)out;
	return sw_ops_cpu.embedding_backward(
		NULL, t->token, dy, din[0], N, t->V, t->D,
		gradient_work(sw_ops_cpu.embedding_workspace(N, t->V, t->D)));
}

/* x, table */
static void position_reference(const void *shape, double *const *in, double *out)
{
	const struct tokens *t = shape;

	for (size_t i = 0; i < t->B * t->T * t->D; i++)
		out[i] = in[0][i] + in[1][i % (t->T * t->D)];
}

static sw_status position_forward(const void *shape, float *const *in, float *out)
{
	const struct tokens *t = shape;

	return sw_ops_cpu.position_forward(NULL, in[0], in[1], out, t->B, t->T, t->D);
}

static sw_status position_backward(const void *shape, float *const *in, const float *out, float *dy,
				   float *const *din)
{
	const struct tokens *t = shape;

	(void)in;
	(void)out;
	memcpy(din[0], dy, t->B * t->T * t->D * sizeof *dy);
	return sw_ops_cpu.position_backward(NULL, dy, din[1], t->B, t->T, t->D);
}

static void mean_reference(const void *shape, double *const *in, double *out)
{
	const struct tokens *t = shape;

	for (size_t i = 0; i < t->B * t->D; i++) {
		const size_t b = i / t->D, n = t->length ? (size_t)t->length[b] : t->T;

		out[i] = 0;
		for (size_t k = 0; k < n; k++)
			out[i] += in[0][(b * t->T + k) * t->D + i % t->D] / (double)n;
	}
}

static sw_status mean_forward(const void *shape, float *const *in, float *out)
{
	const struct tokens *t = shape;

	return sw_ops_cpu.token_mean_forward(NULL, in[0], t->length, out, t->B, t->T, t->D);
}

static sw_status mean_backward(const void *shape, float *const *in, const float *out, float *dy,
			       float *const *din)
{
	const struct tokens *t = shape;

	(void)in;
	(void)out;
	return sw_ops_cpu.token_mean_backward(NULL, dy, t->length, din[0], t->B, t->T, t->D);
}

TEST_ROWS(tokens_and_their_gradients_match_the_reference, token_shapes)
{
	const struct tokens *t = &token_shapes[_i];
	const size_t n = t->B * t->T * t->D;
	const struct gradient_case cases[] = {
		{.name = "embedding",
		 .ins = 1,
		 .n = {t->V * t->D},
		 .out_n = n,
		 .tol = 1e-6,
		 .shape = t,
		 .reference = embedding_reference,
		 .forward = embedding_forward,
		 .backward = embedding_backward},
		{.name = "position",
		 .ins = 2,
		 .n = {n, t->T * t->D},
		 .out_n = n,
		 .tol = 1e-6,
		 .shape = t,
		 .reference = position_reference,
		 .forward = position_forward,
		 .backward = position_backward},
		{.name = "token mean",
		 .ins = 1,
		 .n = {n},
		 .out_n = t->B * t->D,
		 .tol = 1e-6,
		 .shape = t,
		 .reference = mean_reference,
		 .forward = mean_forward,
		 .backward = mean_backward},
	};

	for (size_t i = 0; i < ROWS(cases); i++)
		gradient_check(&cases[i]);
}

/* --- attention --- */

struct attention {
	struct sw_attention a;
	const int32_t *length;
	float *p;
};

static const struct attention attentions[] = {
	{{1, 1, 1, 1, 0}, NULL, NULL},    {{2, 5, 6, 2, 0}, NULL, NULL},
	{{2, 5, 6, 3, 1}, NULL, NULL},    {{4, 3, 8, 2, 0}, lengths, NULL},
	{{4, 3, 8, 1, 1}, lengths, NULL}, {{1, 17, 4, 4, 1}, NULL, NULL},
};

static void attend(const struct attention *v, const double *qkv, double *out, size_t b, size_t h,
		   size_t t)
{
	const size_t T = v->a.T, D = v->a.D, d = D / v->a.heads;
	const double *query = qkv + (b * T + t) * 3 * D + h * d;
	size_t keys = v->length ? (size_t)v->length[b] : T;
	double e[32], sum = 0;

	if (v->a.causal && t + 1 < keys)
		keys = t + 1;
	for (size_t k = 0; k < keys; k++) {
		const double *key = qkv + (b * T + k) * 3 * D + D + h * d;
		double s = 0;

		for (size_t i = 0; i < d; i++)
			s += query[i] * key[i];
		e[k] = exp(s / sqrt((double)d));
		sum += e[k];
	}
	for (size_t i = 0; i < d; i++) {
		double *y = &out[(b * T + t) * D + h * d + i];

		*y = 0;
		for (size_t k = 0; k < keys; k++)
			*y += e[k] / sum * qkv[(b * T + k) * 3 * D + 2 * D + h * d + i];
	}
}

static void attention_reference(const void *shape, double *const *in, double *out)
{
	const struct attention *v = shape;

	for (size_t b = 0; b < v->a.B; b++)
		for (size_t h = 0; h < v->a.heads; h++)
			for (size_t t = 0; t < v->a.T; t++)
				attend(v, in[0], out, b, h, t);
}

static sw_status attention_forward(const void *shape, float *const *in, float *out)
{
	const struct attention *v = shape;

	return sw_ops_cpu.attention_forward(NULL, in[0], v->length, v->p, out, &v->a,
					    gradient_work(sw_ops_cpu.attention_workspace(&v->a)));
}

static sw_status attention_backward(const void *shape, float *const *in, const float *out,
				    float *dy, float *const *din)
{
	const struct attention *v = shape;

	(void)out;
	return sw_ops_cpu.attention_backward(NULL, in[0], v->p, dy, din[0], &v->a,
					     gradient_work(sw_ops_cpu.attention_workspace(&v->a)));
}

TEST_ROWS(attention_and_its_gradient_match_the_reference, attentions)
{
	struct attention v = attentions[_i];
	const size_t n = v.a.B * v.a.T * v.a.D;
	const struct gradient_case g = {
		.name = "attention",
		.ins = 1,
		.n = {3 * n},
		.out_n = n,
		.tol = 2e-5,
		.shape = &v,
		.reference = attention_reference,
		.forward = attention_forward,
		.backward = attention_backward,
	};

	v.p = gradient_noise(v.a.B * v.a.heads * v.a.T * v.a.T, 1);
	gradient_check(&g);
	free(v.p);
}

TEST(attention_with_heads_that_do_not_divide_is_refused)
{
	const struct sw_attention a = {1, 2, 3, 2, 0}, none = {1, 2, 3, 0, 0};
	float x[64] = {0};

	ck_assert_int_eq(sw_ops_cpu.attention_forward(NULL, x, NULL, x, x, &a, x), SW_INVALID);
	ck_assert_int_eq(sw_ops_cpu.attention_backward(NULL, x, x, x, x, &none, x), SW_INVALID);
}

/* Padding may hold anything: nothing of it reaches a mean or another token's output. */
TEST(padding_is_never_looked_at)
{
	const struct sw_attention a = {1, 3, 2, 1, 0};
	const int32_t two = 2;
	float qkv[18], clean[18], y[6], z[6], p[9], x[6] = {1, 2, 3, 4, NAN, NAN}, mean[2];

	for (size_t i = 0; i < 18; i++)
		qkv[i] = clean[i] = (float)i / 8;
	qkv[14] = qkv[15] = qkv[16] = qkv[17] = NAN; /* the third token's key and value */
	ck_assert_int_eq(sw_ops_cpu.attention_forward(NULL, clean, &two, p, y, &a, z), SW_OK);
	ck_assert_int_eq(sw_ops_cpu.attention_forward(NULL, qkv, &two, p, z, &a, NULL), SW_OK);
	ck_assert_mem_eq(y, z, 4 * sizeof *y);
	ck_assert_int_eq(sw_ops_cpu.token_mean_forward(NULL, x, &two, mean, 1, 3, 2), SW_OK);
	ck_assert(mean[0] == 2 && mean[1] == 3);
}

/* --- images of the data set --- */

TEST(gather_image_crops_and_mirrors_each_row_by_its_number)
{
	enum { N = 40, C = 2, H = 5, W = 6, EACH = C * H * W };
	static uint8_t rows[N * EACH];
	static float out[N * EACH], again[EACH];
	const float scale[C] = {0.5f, 2}, shift[C] = {-1, 3};
	const struct sw_step step = {.epoch = 3};
	struct sw_images im = {C, H, W, 1, 2, 1, 77, &step, scale, shift, NULL};
	int32_t order[N], first = 0;
	int mirrored = 0, moved = 0;

	for (size_t i = 0; i < N * EACH; i++)
		rows[i] = (uint8_t)(i * 31 % 251);
	for (int i = 0; i < N; i++)
		order[i] = N - 1 - i;
	ck_assert_int_eq(sw_ops_cpu.gather_image(NULL, rows, order, out, N, &im), SW_OK);
	for (int b = 0; b < N; b++) {
		const struct sw_philox_words w = sw_philox_block(im.seed, SW_PHILOX_AUGMENT, 0,
								 step.epoch, (uint64_t)order[b]);
		const int dr = (int)(w.v[0] % 5) - 2, ds = (int)(w.v[1] % 5) - 2;

		mirrored += w.v[2] % 2 != 0;
		moved += dr != 0 || ds != 0;
		for (int i = 0; i < EACH; i++) {
			const int c = i / (H * W), r = i / W % H + dr;
			const int s = (w.v[2] % 2 ? W - 1 - i % W : i % W) + ds;
			const int in = r >= 0 && r < H && s >= 0 && s < W;
			const int raw = in ? rows[order[b] * EACH + (c * H + r) * W + s] : 0;

			ck_assert_float_eq_tol(out[b * EACH + i], (float)raw * scale[c] + shift[c],
					       1e-5f);
		}
	}
	ck_assert_int_gt(mirrored, N / 4);
	ck_assert_int_lt(mirrored, 3 * N / 4);
	ck_assert_int_gt(moved, N / 2);
	/* alone or in a batch: the same crop */
	ck_assert_int_eq(sw_ops_cpu.gather_image(NULL, rows, order + 7, again, 1, &im), SW_OK);
	ck_assert_mem_eq(again, out + 7 * EACH, sizeof again);
	/* and from wherever the row lies, by its number */
	im.number = order + 7;
	ck_assert_int_eq(
		sw_ops_cpu.gather_image(NULL, rows + order[7] * EACH, &first, again, 1, &im),
		SW_OK);
	ck_assert_mem_eq(again, out + 7 * EACH, sizeof again);
}

TEST(gather_image_without_options_is_gather)
{
	const float rows[8] = {1, 2, 3, 4, 5, NAN, 7, 8};
	const int32_t order[2] = {1, 0};
	struct sw_images im = {.C = 1, .H = 2, .W = 2};
	float out[8];

	ck_assert_int_eq(sw_ops_cpu.gather_image(NULL, rows, order, out, 2, &im), SW_OK);
	ck_assert_mem_eq(out, rows + 4, 4 * sizeof *out);
	ck_assert_mem_eq(out + 4, rows, 4 * sizeof *out);
	im.pad = -1;
	ck_assert_int_eq(sw_ops_cpu.gather_image(NULL, rows, order, out, 2, &im), SW_INVALID);
}

static void setup(void)
{
	sw_ops_cpu_threads(1);
}

RUN_TESTS(setup, NULL)
