/* tests/kernels/test_cuda_tokens.c — embeddings, places, means and attention of kernels/cuda beside
 * those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <stdbool.h>

/* --- embeddings: up to 32 places the bits are the same, then a token's sums are of parts --- */

static const size_t few[][3] = {{1, 1, 1},   {2, 3, 5}, {31, 17, 32}, {7, 257, 33},
				{32, 1, 40}, {0, 3, 4}, {3, 4, 0},    {0, 0, 0}};
static const size_t many[][3] = {
	{33, 16, 31},      {513, 2, 3}, {1031, 70, 5}, {40, 5003, 2}, {257, 300, 7}, {1100, 1, 3},
#ifdef SW_TEST_GPU
	{8209, 30011, 96},
#endif
};

/* table, token, y, dtable; backward over the rows of y, in a table's own scratch memory. */
static sw_status embedding(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			   const void *ctx)
{
	const size_t *d = ((const struct twin_at *)ctx)->d;
	void *work;
	sw_status rc = o->alloc(&work, o->embedding_workspace(d[0], d[1], d[2]));

	if (rc == SW_OK)
		rc = o->embedding_forward(q, p[0], p[1], p[2], d[0], d[1], d[2]);
	if (rc == SW_OK)
		rc = o->embedding_backward(q, p[1], p[2], p[3], d[0], d[1], d[2], work);
	const sw_status done = o->sync(q);

	o->free(work);
	return rc != SW_OK ? rc : done;
}

TEST_ROWS(embedding_of_few_tokens_has_the_bits_of_the_cpu, few)
{
	twin_row(&(struct twin_op){"embedding", embedding, "NVD", 1, "VD iN<V ND? VD?", NULL},
		 few[_i]);
}

TEST_ROWS(embedding_of_many_tokens_is_as_on_cpu, many)
{
	twin_row(&(struct twin_op){"embedding", embedding, "NVD", 1, "VD iN<V ND? VD?~1e-4", NULL},
		 many[_i]);
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

static const size_t rows[][3] = {
	{1, 1, 1},   {2, 3, 5},   {5, 7, 33}, {3, 33, 31}, {13, 2, 64},
	{7, 11, 67}, {257, 2, 1}, {0, 3, 4},  {3, 0, 4},   {3, 4, 0},
};

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

/* Operand 2: lengths, which odd ways use; operand 1: n / (B T) numbers a token, in an odd way NaN
 * behind a row's length but for the first `read` of a token. */
static const void *padded(size_t n, unsigned seed, const struct twin_at *at, size_t read)
{
	const size_t B = at->d[0], T = at->d[1], each = B * T > 0 ? n / (B * T) : 0;
	const int32_t *length = lengths(B, T, 2);
	float *x;

	if (seed == 2)
		return length;
	x = twin_noise(n, seed);
	for (size_t i = 0; at->way % 2 && each && i < n; i++)
		if (i % each >= read && i / each % T >= (size_t)length[i / each / T])
			x[i] = (float)strtod("nan", NULL);
	return x;
}

static const void *padded_rows(size_t n, unsigned seed, const struct twin_at *at)
{
	return padded(n, seed, at, 0);
}

/* Queries are read. */
static const void *padded_values(size_t n, unsigned seed, const struct twin_at *at)
{
	return padded(n, seed, at, at->d[2]);
}

static const void *some_lengths(size_t n, unsigned seed, const struct twin_at *at)
{
	return lengths(n, at->d[1], seed);
}

/* dtable from y's rows; way 1: in place */
TWIN_CALLS(position, position_forward(q, p[0], p[1], p[way ? 0 : 2], d[0], d[1], d[2]),
	   position_backward(q, p[way ? 0 : 2], p[3], d[0], d[1], d[2]))
TWIN_CALLS(token_mean, token_mean_forward(q, p[0], way ? p[1] : NULL, p[2], d[0], d[1], d[2]),
	   token_mean_backward(q, p[2], way ? p[1] : NULL, p[3], d[0], d[1], d[2]))

static const struct twin_op of_rows[] = {
	{"position", position, "BTD", 2, "BTD TD BTD? TD?", NULL},
	{"token_mean, which reads no padding", token_mean, "BTD", 2, "BTD! iB! BD? BTD?",
	 padded_rows},
};

TEST_ROWS(positions_and_means_have_the_bits_of_the_cpu, rows)
{
	for (size_t i = 0; i < ROWS(of_rows); i++)
		twin_row(&of_rows[i], rows[_i]);
}

/* --- attention of {B, T, D, heads} --- */

/* Heads narrower and wider than a tile of 32, tokens about tiles of 32 and of 64. */
static const size_t shapes[][4] = {
	{1, 1, 1, 1},     {2, 2, 4, 2},   {3, 5, 6, 3},   {2, 33, 10, 2}, {1, 31, 33, 1},
	{2, 65, 37, 1},   {1, 67, 80, 2}, {5, 17, 21, 7}, {0, 3, 4, 2},   {3, 0, 4, 2},
	{3, 4, 0, 2},     {3, 4, 5, 2},   {3, 4, 5, 0},
#ifdef SW_TEST_GPU
	{4, 257, 192, 3},
#endif
};

/* qkv, length, p, y, and for backward dy and dqkv. way: with lengths, causal */
static sw_status attend(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			const struct twin_at *at, bool back)
{
	const struct sw_attention a = {at->d[0], at->d[1], at->d[2], at->d[3], at->way / 2};
	void *work;
	sw_status rc = o->alloc(&work, o->attention_workspace(&a));

	if (rc == SW_OK)
		rc = o->attention_forward(q, p[0], at->way % 2 ? p[1] : NULL, p[2], p[3], &a, work);
	if (rc == SW_OK && back)
		rc = o->attention_backward(q, p[0], p[2], p[4], p[5], &a, work);
	const sw_status done = o->sync(q);

	o->free(work);
	return rc != SW_OK ? rc : done;
}

static sw_status attention(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			   const void *ctx)
{
	return attend(o, q, p, ctx, true);
}

static sw_status attention_alone(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				 const void *ctx)
{
	return attend(o, q, p, ctx, false);
}

TEST_ROWS(attention_is_as_on_cpu, shapes)
{
	twin_row(&(struct twin_op){"attention", attention, "BTDH", 4,
				   "3BTD iB! BHTT?~2e-6 BTD?~2e-6 BTD 3BTD?~1e-5", some_lengths},
		 shapes[_i]);
}

TEST(attention_forward_reads_no_values_of_padding)
{
	twin_row(&(struct twin_op){"attention_forward", attention_alone, "BTDH", 4,
				   "3BTD! iB! BHTT?~2e-6 BTD?~2e-6", padded_values},
		 (size_t[]){3, 35, 6, 2});
}

RUN_TWINS()
