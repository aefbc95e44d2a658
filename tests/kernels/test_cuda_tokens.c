/* tests/kernels/test_cuda_tokens.c — embeddings, places, means and attention of kernels/cuda beside
 * those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- embeddings: up to 32 places the bits are the same, then a token's sums are of parts --- */

static const struct table {
	size_t N, V, D;
} tables[] = {
	{1, 1, 1},         {2, 3, 5},     {33, 16, 31},  {31, 17, 32},  {7, 257, 33},
	{513, 2, 3},       {1031, 70, 5}, {40, 5003, 2}, {257, 300, 7}, {0, 3, 4},
	{3, 4, 0},         {0, 0, 0},     {1100, 1, 3},  {32, 1, 40},
#ifdef SW_TEST_GPU
	{8209, 30011, 96},
#endif
};

struct call {
	size_t N, V, D;
};

/* table, token, y, dtable, work; backward over the rows of y */
static sw_status embedding(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			   const void *ctx)
{
	const struct call *c = ctx;
	const sw_status status = o->embedding_forward(q, p[0], p[1], p[2], c->N, c->V, c->D);

	return status != SW_OK ? status
			       : o->embedding_backward(q, p[1], p[2], p[3], c->N, c->V, c->D, p[4]);
}

TEST_ROWS(embedding_is_as_on_cpu, tables)
{
	const struct table *s = &tables[_i];
	const size_t n = s->V * s->D;
	const size_t work = twin_cuda()->embedding_workspace(s->N, s->V, s->D);
	const double tol = s->N <= 32 ? 0.0 : 1e-4;

	const struct call c = {s->N, s->V, s->D};
	const struct twin_buf b[] = {
		{TWIN_F32, n, twin_noise(n, 1), 0},
		{TWIN_I32, s->N, twin_labels(s->N, s->V ? s->V : 1, 2), 0},
		{TWIN_F32, s->N * s->D, NULL, 0},
		{TWIN_F32, n, NULL, tol},
		{TWIN_F32, work / sizeof(float), NULL, TWIN_SCRATCH},
	};

	twin_check("embedding", embedding, &c, b, ROWS(b));
}

/* An epoch's last batch is smaller than the one that scratch memory was counted for. */
TEST(fewer_tokens_need_no_more_scratch_memory)
{
	size_t before = 0;

	for (size_t N = 1; N < 20000; N++) {
		const size_t work = twin_cuda()->embedding_workspace(N, 50, 512);

		ck_assert_msg(work >= before, "%zu tokens: %zu bytes, one less: %zu", N, work,
			      before);
		before = work;
	}
}

/* --- rows of tokens --- */

static const struct row {
	size_t B, T, D;
} rows[] = {
	{1, 1, 1},   {2, 3, 5},   {5, 7, 33}, {3, 33, 31}, {13, 2, 64},
	{7, 11, 67}, {257, 2, 1}, {0, 3, 4},  {3, 0, 4},   {3, 4, 0},
};

struct row_call {
	size_t B, T, D;
	int lengths, in_place;
};

/* x, table, y, dtable: dtable from y's rows; in place or not */
static sw_status position(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			  const void *ctx)
{
	const struct row_call *c = ctx;
	float *y = p[c->in_place ? 0 : 2];
	const sw_status status = o->position_forward(q, p[0], p[1], y, c->B, c->T, c->D);

	return status != SW_OK ? status : o->position_backward(q, y, p[3], c->B, c->T, c->D);
}

TEST_ROWS(position_is_as_on_cpu, rows)
{
	const struct row *s = &rows[_i];
	const size_t n = s->B * s->T * s->D, m = s->T * s->D;

	for (int in_place = 0; in_place < 2; in_place++) {
		const struct row_call c = {s->B, s->T, s->D, 0, in_place};
		const struct twin_buf b[] = {
			{TWIN_F32, n, twin_noise(n, 1), 0},
			{TWIN_F32, m, twin_noise(m, 2), 0},
			{TWIN_F32, n, NULL, 0},
			{TWIN_F32, m, NULL, 0},
		};

		twin_check("position", position, &c, b, ROWS(b));
	}
}

/* Of B rows of at most T tokens: none and all of them, too. */
static int32_t *lengths(size_t B, size_t T, unsigned seed)
{
	int32_t *x = twin_labels(B, T + 1, seed);

	if (B > 1)
		x[1] = 0;
	if (B > 2)
		x[2] = (int32_t)T;
	return x;
}

/* x, length, y, dx */
static sw_status token_mean(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			    const void *ctx)
{
	const struct row_call *c = ctx;
	const int32_t *length = c->lengths ? p[1] : NULL;
	const sw_status status = o->token_mean_forward(q, p[0], length, p[2], c->B, c->T, c->D);

	return status != SW_OK ? status
			       : o->token_mean_backward(q, p[2], length, p[3], c->B, c->T, c->D);
}

TEST_ROWS(token_mean_is_as_on_cpu_and_reads_no_padding, rows)
{
	const struct row *s = &rows[_i];
	const size_t n = s->B * s->T * s->D;
	const int32_t *length = lengths(s->B, s->T, 2);

	for (int with = 0; with < 2; with++) {
		const struct row_call c = {s->B, s->T, s->D, with, 0};
		float *x = twin_noise(n, 1);
		const struct twin_buf b[] = {
			{TWIN_F32, n, x, 0},
			{TWIN_I32, s->B, length, 0},
			{TWIN_F32, s->B * s->D, NULL, 0},
			{TWIN_F32, n, NULL, 0},
		};

		for (size_t i = 0; with && i < n; i++)
			if (i / s->D % s->T >= (size_t)length[i / s->D / s->T])
				x[i] = (float)strtod("nan", NULL);
		twin_check("token_mean", token_mean, &c, b, ROWS(b));
	}
}

/* --- attention --- */

/* Heads narrower and wider than a tile of 32, tokens about tiles of 32 and of 64. */
static const struct sw_attention shapes[] = {
	{1, 1, 1, 1, 0},     {2, 2, 4, 2, 0},   {3, 5, 6, 3, 0},   {2, 33, 10, 2, 0},
	{1, 31, 33, 1, 0},   {2, 65, 37, 1, 0}, {1, 67, 80, 2, 0}, {5, 17, 21, 7, 0},
	{0, 3, 4, 2, 0},     {3, 0, 4, 2, 0},   {3, 4, 0, 2, 0},   {3, 4, 5, 2, 0},
	{3, 4, 5, 0, 0},
#ifdef SW_TEST_GPU
	{4, 257, 192, 3, 0},
#endif
};

struct attention_call {
	struct sw_attention a;
	int lengths;
};

/* qkv, length, p, y, work */
static sw_status forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct attention_call *c = ctx;

	return o->attention_forward(q, p[0], c->lengths ? p[1] : NULL, p[2], p[3], &c->a, p[4]);
}

/* qkv, length, p (made by forward), y, work, dy, dqkv */
static sw_status both(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct attention_call *c = ctx;
	const sw_status status = forward(o, q, p, ctx);

	return status != SW_OK ? status
			       : o->attention_backward(q, p[0], p[2], p[5], p[6], &c->a, p[4]);
}

static size_t work_floats(const struct sw_attention *a)
{
	const size_t cpu = sw_ops_cpu.attention_workspace(a);
	const size_t cuda = twin_cuda()->attention_workspace(a);

	return (cpu > cuda ? cpu : cuda) / sizeof(float);
}

TEST_ROWS(attention_is_as_on_cpu, shapes)
{
	for (int way = 0; way < 4; way++) {
		struct attention_call c = {shapes[_i], way % 2};
		const size_t n = c.a.B * c.a.T * c.a.D;

		c.a.causal = way / 2;
		const struct twin_buf b[] = {
			{TWIN_F32, 3 * n, twin_noise(3 * n, 1), 0},
			{TWIN_I32, c.a.B, lengths(c.a.B, c.a.T, 2), 0},
			{TWIN_F32, c.a.B * c.a.heads * c.a.T * c.a.T, NULL, 2e-6},
			{TWIN_F32, n, NULL, 2e-6},
			{TWIN_F32, work_floats(&c.a), NULL, TWIN_SCRATCH},
			{TWIN_F32, n, twin_noise(n, 3), 0},
			{TWIN_F32, 3 * n, NULL, 1e-5},
		};

		twin_check("attention", both, &c, b, ROWS(b));
	}
}

TEST_LOOP(attention_forward_reads_no_values_of_padding, 0, 2)
{
	struct attention_call c = {{3, 35, 6, 2, _i}, 1};
	const size_t n = c.a.B * c.a.T * c.a.D;
	float *qkv = twin_noise(3 * n, 1);
	const int32_t *length = lengths(c.a.B, c.a.T, 2);
	const struct twin_buf b[] = {
		{TWIN_F32, 3 * n, qkv, 0},
		{TWIN_I32, c.a.B, length, 0},
		{TWIN_F32, c.a.B * c.a.heads * c.a.T * c.a.T, NULL, 2e-6},
		{TWIN_F32, n, NULL, 2e-6},
		{TWIN_F32, work_floats(&c.a), NULL, TWIN_SCRATCH},
	};

	for (size_t i = 0; i < 3 * n; i++) {
		const size_t token = i / (3 * c.a.D);

		if (i % (3 * c.a.D) >= c.a.D && token % c.a.T >= (size_t)length[token / c.a.T])
			qkv[i] = (float)strtod("nan", NULL);
	}
	twin_check("attention, NaN behind the rows", forward, &c, b, ROWS(b));
}

RUN_TWINS()
