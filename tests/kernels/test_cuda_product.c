/* tests/kernels/test_cuda_product.c — layers whose products cuBLAS makes: the bits of their
 * operands' form, and the launches that each costs. */
#include "kernels/cuda/conv.h"
#include "kernels/cuda/linear.h"
#include "kernels/ops.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include <math.h>

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *o;
static struct sw_queue *q;

static void setup(void)
{
	ck_assert_int_eq(sw_ops_cuda_open(0, &o, NULL), SW_OK);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert_int_eq(o->products_open(q, NULL), SW_OK);
	sw_cuda_linear_force(2); /* cuBLAS, however small */
	sw_cuda_conv_force(3);
}

static void teardown(void)
{
	sw_cuda_linear_force(0);
	sw_cuda_conv_force(0);
	o->queue_destroy(q);
	ck_assert_uint_eq(sw_shim.live, 0);
}

/* The number next to v that bf16 has, of two as near the even one. */
static float near(float v)
{
	const double unit = v == 0.0f ? 1.0 : ldexp(1.0, ilogb((double)v) - 7);

	return (float)(nearbyint((double)v / unit) * unit);
}

/* What a layer reads and writes, each in a buffer of its own. */
enum { X, W, BIAS, Y, DY, DX, DW, DB, WORK, OPERANDS, COPY, KEPT, BUFFERS };

struct layer {
	size_t n[BUFFERS]; /* floats */
	float *at[BUFFERS];
	bool keeps; /* forward what backward reads x as */
};

/* numbers: of the buffers up to DY; the rest, and Y, begin as NaN. */
static void layer_open(struct layer *l)
{
	for (int b = 0; b < BUFFERS; b++) {
		float *host = malloc((l->n[b] + 1) * sizeof *host);
		void *p;

		for (size_t i = 0; i < l->n[b]; i++)
			host[i] = b < DX && b != Y ? sinf((float)(i * 7 + 3 * (size_t)b)) : NAN;
		ck_assert_int_eq(o->alloc(&p, l->n[b] * sizeof *host), SW_OK);
		ck_assert_int_eq(o->upload(q, p, host, l->n[b] * sizeof *host), SW_OK);
		l->at[b] = p;
		free(host);
	}
}

static void layer_close(struct layer *l)
{
	ck_assert_int_eq(o->sync(q), SW_OK);
	for (int b = 0; b < BUFFERS; b++)
		o->free(l->at[b]);
}

static void choose(enum sw_precision p, const struct layer *l)
{
	ck_assert_int_eq(o->precision(q, p, l->at[OPERANDS], l->n[OPERANDS] * sizeof(float)),
			 SW_OK);
}

static float *take(const struct layer *l, int b)
{
	float *host = malloc((l->n[b] + 1) * sizeof *host);

	ck_assert_int_eq(o->download(q, host, l->at[b], l->n[b] * sizeof *host), SW_OK);
	return host;
}

static void round_on_host(const struct layer *l, int b)
{
	float *host = take(l, b);

	for (size_t i = 0; i < l->n[b]; i++)
		host[i] = near(host[i]);
	ck_assert_int_eq(o->upload(q, l->at[b], host, l->n[b] * sizeof *host), SW_OK);
	free(host);
}

static void same_within(const struct layer *a, const struct layer *b, int which, float tol)
{
	float *left = take(a, which), *right = take(b, which);

	for (size_t i = 0; i < a->n[which]; i++)
		ck_assert_msg(fabsf(left[i] - right[i]) <= tol, "buffer %d, %zu: %g, not %g", which,
			      i, (double)left[i], (double)right[i]);
	free(left);
	free(right);
}

static void same_bits(const struct layer *a, const struct layer *b, int which)
{
	same_within(a, b, which, 0);
}

/* --- the two kinds of layers --- */

struct shape {
	size_t B, I, O;   /* linear */
	struct sw_conv c; /* of B images; B 0: linear */
	bool bias;
	enum sw_act act;
};

static const struct shape shapes[] = {
	{.B = 5, .I = 37, .O = 9, .bias = true, .act = SW_ACT_NONE},
	{.B = 33, .I = 8, .O = 35, .bias = true, .act = SW_ACT_RELU},
	{.B = 5, .I = 7, .O = 3, .bias = false, .act = SW_ACT_RELU},
	{.B = 521, .I = 3, .O = 5, .bias = true, .act = SW_ACT_NONE},
	{.c = {3, 3, 6, 5, 4, 3, 3, 1, 1}, .bias = true, .act = SW_ACT_RELU},
	{.c = {5, 4, 7, 7, 8, 3, 3, 2, 1}, .bias = false, .act = SW_ACT_NONE},
};

static struct layer layer_of(const struct shape *s)
{
	const bool conv = s->c.B != 0;
	const size_t P = conv ? sw_conv_out_h(&s->c) * sw_conv_out_w(&s->c) : 1;
	const size_t B = conv ? s->c.B * P : s->B, I = conv ? s->c.C * s->c.kh * s->c.kw : s->I;
	const size_t O = conv ? s->c.O : s->O;
	const size_t x = conv ? s->c.B * s->c.C * s->c.H * s->c.W : B * I;

	return (struct layer){.n = {[X] = x,
				    [W] = O * I,
				    [BIAS] = O,
				    [Y] = B * O,
				    [DY] = B * O,
				    [DX] = x,
				    [DW] = O * I,
				    [DB] = O,
				    [WORK] = conv ? o->conv2d_workspace(&s->c) / sizeof(float) : 0,
				    [OPERANDS] = (conv ? o->conv2d_products(SW_BF16, &s->c)
						       : o->linear_products(SW_BF16, B, I, O)) /
						 sizeof(float),
				    [COPY] = o->weights_copy(SW_BF16, O * I) / sizeof(float),
				    [KEPT] = o->weights_copy(SW_BF16, x) / sizeof(float)}};
}

static void forward(const struct shape *s, const struct layer *l)
{
	const float *b = s->bias ? l->at[BIAS] : NULL;

	if (s->c.B)
		ck_assert_int_eq(o->conv2d_forward(q, l->at[X], l->at[W], b, l->at[Y], &s->c,
						   s->act, l->at[WORK]),
				 SW_OK);
	else
		ck_assert_int_eq(o->linear_forward(q, l->at[X], l->at[W], b, l->at[Y], s->B, s->I,
						   s->O, s->act, l->keeps ? l->at[KEPT] : NULL),
				 SW_OK);
}

static void backward(const struct shape *s, const struct layer *l)
{
	float *db = s->bias ? l->at[DB] : NULL;

	if (s->c.B)
		ck_assert_int_eq(o->conv2d_backward(q, l->at[X], l->at[W], l->at[Y], l->at[DY],
						    l->at[DX], l->at[DW], db, &s->c, s->act,
						    l->at[WORK]),
				 SW_OK);
	else
		ck_assert_int_eq(o->linear_backward(q, l->at[X], l->at[W], l->at[Y], l->at[DY],
						    l->at[DX], l->at[DW], db, s->B, s->I, s->O,
						    s->act, l->keeps ? l->at[KEPT] : NULL),
				 SW_OK);
}

/* A product in bf16 is the whole one of operands that were rounded before, bit for bit; bias and
 * its gradient are not rounded. */
static void check_bits(const struct shape *s, bool copied)
{
	struct layer half = layer_of(s), whole = layer_of(s), sums = layer_of(s);
	float *lost = NULL;

	layer_open(&half);
	layer_open(&whole);
	layer_open(&sums);
	choose(SW_BF16, &half);
	if (copied)
		ck_assert_int_eq(o->weights(q, half.at[W], half.n[W], half.at[COPY]), SW_OK);
	half.keeps = copied;
	forward(s, &half);
	if (copied && !s->c.B) { /* x is not read again */
		lost = take(&half, DX);
		ck_assert_int_eq(o->upload(q, half.at[X], lost, half.n[X] * sizeof *lost), SW_OK);
	}
	backward(s, &half);
	choose(SW_FP32, &half);
	round_on_host(&whole, X);
	round_on_host(&whole, W);
	forward(s, &whole);
	same_bits(&half, &whole, Y);
	/* the mask, and the bias's gradient, of numbers that are not rounded */
	float *y = take(&half, Y);

	ck_assert_int_eq(o->upload(q, sums.at[Y], y, half.n[Y] * sizeof *y), SW_OK);
	free(y);
	backward(s, &sums);
	round_on_host(&whole, DY);
	backward(s, &whole);
	same_bits(&half, &whole, DX);
	same_bits(&half, &whole, DW);
	if (s->bias)
		same_bits(&half, &sums, DB);
	free(lost);
	layer_close(&half);
	layer_close(&whole);
	layer_close(&sums);
}

TEST_ROWS(bf16_layers_have_the_bits_of_rounded_operands, shapes)
{
	check_bits(&shapes[_i], false);
	check_bits(&shapes[_i], true);
}

/* --- what a layer costs --- */

static unsigned given(void)
{
	const unsigned n = sw_shim.given.kernels + sw_shim.given.products;

	memset(&sw_shim.given, 0, sizeof sw_shim.given);
	return n;
}

struct cost {
	struct shape shape;
	unsigned launches[3][2]; /* by precision, forward and backward */
};

static const struct cost costs[] = {
	{{.B = 8, .I = 16, .O = 32, .bias = true, .act = SW_ACT_RELU}, {{2, 3}, {2, 3}, {3, 3}}},
	{{.B = 8, .I = 16, .O = 32, .bias = true, .act = SW_ACT_NONE}, {{2, 3}, {2, 3}, {3, 3}}},
	{{.B = 520, .I = 16, .O = 32, .bias = true, .act = SW_ACT_NONE}, {{2, 4}, {2, 4}, {3, 4}}},
	{{.c = {1, 4, 6, 6, 8, 3, 3, 1, 1}, .bias = true, .act = SW_ACT_NONE},
	 {{3, 6}, {3, 6}, {3, 6}}},
};

TEST_ROWS(layer_has_so_many_launches, costs)
{
	const struct cost *c = &costs[_i];
	struct layer l = layer_of(&c->shape);

	layer_open(&l);
	l.keeps = true;
	for (int p = SW_FP32; p <= SW_BF16; p++) {
		const unsigned *want = c->launches[p];

		choose((enum sw_precision)p, &l);
		ck_assert_int_eq(o->weights(q, l.at[W], l.n[W], l.at[COPY]), SW_OK);
		(void)given();
		forward(&c->shape, &l);
		ck_assert_uint_eq(given(), want[0]);
		backward(&c->shape, &l);
		ck_assert_uint_eq(given(), want[1]);
	}
	layer_close(&l);
}

/* A net that diverged must be seen to. */
TEST(relu_of_a_nan_stays_one)
{
	const struct shape s = {.B = 9, .I = 20, .O = 12, .bias = true, .act = SW_ACT_RELU};
	struct layer l = layer_of(&s);
	float *y;

	layer_open(&l);
	choose(SW_FP32, &l);
	ck_assert_int_eq(o->upload(q, l.at[X], &(float){NAN}, sizeof(float)), SW_OK);
	forward(&s, &l);
	y = take(&l, Y);
	for (size_t i = 0; i < l.n[Y]; i++)
		ck_assert(!isnan(y[i]) == (i >= s.O)); /* in the first row alone */
	free(y);
	layer_close(&l);
}

RUN_TESTS(setup, teardown)
