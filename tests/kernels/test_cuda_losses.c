/* tests/kernels/test_cuda_losses.c — the losses of kernels/cuda beside those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"

/* expf and log differ by units in the last place between libraries, and sums in their order. */
#define TOL 2e-6

/* About a warp of columns, a block of 8 rows, and the 3 blocks of the stand-in's grid. */
static const size_t shapes[][2] = {
	{1, 1},     {1, 2},     {2, 10},  {7, 31}, {8, 32}, {9, 33}, {24, 3},
	{25, 7},    {29, 67},   {101, 5}, {0, 4},  {3, 0},  {0, 0},
#ifdef SW_TEST_GPU
	{4099, 10}, {3, 50021},
#endif
};

/* Twice: metrics are added to. dz: apart, in place and not wanted; the latter half is smoothed, and
 * odd ways read labels by an index. */
#define DZ    (way % 3 == 2 ? NULL : p[way % 3 ? 0 : 3])
#define INDEX (way % 2 ? p[4] : NULL)
#define CROSS_ENTROPY                                                                              \
	cross_entropy(q, p[0], p[1], INDEX, DZ, p[2], 0.125f, NULL, d[0], d[1],                    \
		      way / 3 ? 0.1f : 0.0f)
#define MSE mse(q, p[0], p[1], INDEX, DZ, p[2], 0.3f, d[0], d[1])
TWIN_CALLS(cross_entropy, CROSS_ENTROPY, CROSS_ENTROPY)
TWIN_CALLS(mse, MSE, MSE)

static const struct twin_op losses[] = {
	{"cross_entropy", cross_entropy, "BC", 6, "BC~2e-6 iB<C- m1~2e-6 BC?~2e-6 iB<B", NULL},
	{"mse", mse, "BC", 6, "BC BC m1~1e-12 BC? iB<B", NULL},
};

TEST_ROWS(losses_are_as_on_cpu, shapes)
{
	for (size_t i = 0; i < ROWS(losses); i++)
		twin_row(&losses[i], shapes[_i]);
}

/* The label that a table would call correct if it did not see what is at k. */
static int32_t largest_but(const float *row, size_t C, size_t k)
{
	size_t best = k == 0;

	for (size_t c = 0; c < C; c++)
		if (c != k && row[c] > row[best])
			best = c;
	return (int32_t)best;
}

/* Each value at each place of a row of 35, so that every lane, and a second round, meets it. */
TEST_LOOP(cross_entropy_of_odd_rows_is_as_on_cpu, 0, 5)
{
	static const char *const odd[] = {"nan", "inf", "-inf", "1e38", "-1e38"};
	const size_t C = 35, B = C + 2;
	static const struct sw_metrics before = {1.5, 2, 3, 4, 5, 6, 7, 8, 9};
	const float v = (float)strtod(odd[_i], NULL);
	float *z = twin_noise(B * C, 1);
	int32_t *label = twin_labels(B, C, 2);
	const struct twin_buf b[] = {
		{TWIN_F32, B * C, z, TOL},
		{TWIN_I32, B, label, 0},
		{TWIN_METRICS, 1, &before, TOL},
		{TWIN_F32, B * C, NULL, TOL},
		{TWIN_I32, B, twin_labels(B, B, 3), 0},
	};

	for (size_t k = 0; k < C; k++) {
		z[k * C + k] = v;
		label[k] = k % 2 ? (int32_t)k : largest_but(z + k * C, C, k);
		z[C * C + k] = v; /* a row of nothing else, and one of equals: the first counts */
		z[(C + 1) * C + k] = 0.5f;
	}
	label[C] = label[C + 1] = 0;
	for (int way = 0; way < 3; way++) {
		const struct twin_at at = {{B, C}, way};

		twin_check(odd[_i], cross_entropy, &at, b, ROWS(b));
	}
	for (size_t k = 0; k < B; k++) { /* row by row: one NaN must not hide the other rows */
		const struct twin_at at = {{1, C}, 0};
		const struct twin_buf row[] = {
			{TWIN_F32, C, z + k * C, TOL},
			{TWIN_I32, 1, label + k, 0},
			{TWIN_METRICS, 1, &before, TOL},
			{TWIN_F32, C, NULL, TOL},
		};

		twin_check(odd[_i], cross_entropy, &at, row, ROWS(row));
	}
}

RUN_TWINS()
