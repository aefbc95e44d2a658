/* tests/kernels/test_tokens.c — padding of tokens, and images, of the CPU table by the definition.
 * Values and gradients of tokens: tests/trainer/test_fixtures.c beside PyTorch, tests/float64. */
#include "kernels/ops.h"
#include "kernels/philox.h"
#include "tests/run.h"
#include <math.h>

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
