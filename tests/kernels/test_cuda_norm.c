/* tests/kernels/test_cuda_norm.c — batch and layer normalisation, counts and norms of kernels/cuda
 * beside those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <math.h>

/* Sums in double, of which only the order differs: a float is another one in rare cases. */

/* Channels about the 3 blocks of the stand-in's grid; values of a channel about a warp, a block of
 * 256 and the 1024 from which on a block is larger; features (S 1) and images. */
static const size_t shapes[][3] = {
	{1, 1, 1},       {2, 1, 1},  {1, 2, 1},   {3, 5, 1},     {33, 7, 1}, {257, 3, 1},
	{2, 4, 33},      {5, 3, 49}, {1, 3, 257}, {13, 4, 100},  {4, 7, 64}, {2, 2, 521},
	{0, 3, 4},       {3, 0, 4},  {3, 4, 0},   {11, 17, 100},
#ifdef SW_TEST_GPU
	{64, 130, 1024},
#endif
};

static const struct sw_norm norm = {.eps = 1e-5f, .momentum = 0.1f};

/* --- batchnorm; way 1: in place --- */

TWIN_CALL(train, batchnorm_train(q, p[0], p[1], p[2], p[3], p[4], p[way ? 0 : 5], p[6], p[7], d[0],
				 d[1], d[2], norm))
TWIN_CALL(eval,
	  batchnorm_eval(q, p[0], p[1], p[2], p[3], p[4], p[way ? 0 : 5], d[0], d[1], d[2], norm))
TWIN_CALL(backward, batchnorm_backward(q, p[0], p[1], p[2], p[3], p[4], p[way ? 4 : 5], p[6], p[7],
				       d[0], d[1], d[2]))

/* Over rows that lie apart: here are some of 3 B + 1 rows. */
TWIN_CALL(shared_sums, batchnorm_sums(q, p[0], p[1], d[0], d[1], d[2]))
TWIN_CALL(shared_train,
	  batchnorm_train_summed(q, p[0], p[1], p[2], p[3], p[4], p[5], p[way ? 0 : 6], p[7], p[8],
				 (3 * d[0] + 1) * d[2], d[0], d[1], d[2], norm))
TWIN_CALL(shared_gradients,
	  batchnorm_backward_sums(q, p[0], p[1], p[2], p[3], p[4], p[5], p[6], d[0], d[1], d[2]))
TWIN_CALL(shared_backward,
	  batchnorm_backward_summed(q, p[0], p[1], p[2], p[3], p[4], p[5], p[way ? 4 : 6],
				    (3 * d[0] + 1) * d[2], d[0], d[1], d[2]))

/* Such as (3 B + 1) S gradients may have. */
static const void *sums_of_gradients(size_t n, unsigned seed, const struct twin_at *at)
{
	double *sums = twin_room(n * sizeof *sums);
	const float *x = twin_noise(n, seed);

	for (size_t i = 0; i < n; i++)
		sums[i] = (double)x[i] * (double)((3 * at->d[0] + 1) * at->d[2]);
	return sums;
}

/* And values, with their squares; of the last channel rounding has made less than nothing. */
static const void *sums_of_values(size_t n, unsigned seed, const struct twin_at *at)
{
	double *sums = twin_room(n * sizeof *sums);
	const float *x = twin_noise(n, seed);
	const double N = (double)((3 * at->d[0] + 1) * at->d[2]);

	for (size_t i = 0; i < n; i += 2) {
		sums[i] = (double)x[i] * N;
		sums[i + 1] = sums[i] * sums[i] / N + (fabs((double)x[i + 1]) + 0.01) * N;
	}
	if (n > 0)
		sums[n - 1] = sums[n - 2] * sums[n - 2] / fmax(N, 1) - 1e-9;
	return sums;
}

static const struct twin_op norms[] = {
	{"batchnorm_train", train, "BCS", 2,
	 "BCS~1e-5 C C C~5e-7 C+~5e-7 BCS?~5e-7 C?~5e-7 C?~5e-7", NULL},
	{"batchnorm_train of values far from zero", train, "BCS", 2,
	 "BCS@~1e-5 C C C~5e-7 C+~5e-7 BCS?~1e-5 C?~5e-7 C?~5e-7", NULL},
	{"batchnorm_eval", eval, "BCS", 2, "BCS~1e-5 C C C C+ BCS?~5e-7", NULL},
	{"batchnorm_backward", backward, "BCS", 2, "BCS C C C+ BCS~2e-6 BCS?~2e-6 C?~5e-7 C?~5e-7",
	 NULL},
	{"batchnorm_sums", shared_sums, "BCS", 1, "BCS d2C?~1e-12", NULL},
	{"batchnorm_sums of values far from zero", shared_sums, "BCS", 1, "BCS@ d2C?~1e-12", NULL},
	{"batchnorm_train_summed", shared_train, "BCS", 2,
	 "BCS~1e-5 d2C! C C C~5e-7 C+~5e-7 BCS?~5e-7 C?~5e-7 C?~5e-7", sums_of_values},
	{"batchnorm_backward_sums", shared_gradients, "BCS", 1,
	 "BCS C C+ BCS d2C?~1e-12 C?~5e-7 C?~5e-7", NULL},
	{"batchnorm_backward_summed", shared_backward, "BCS", 2,
	 "BCS C C C+ BCS~2e-6 d2C! BCS?~2e-6", sums_of_gradients},
};

TEST_ROWS(batchnorm_is_as_on_cpu, shapes)
{
	for (size_t i = 0; i < ROWS(norms); i++)
		twin_row(&norms[i], shapes[_i]);
}

/* --- layernorm: R rows of D values --- */

static const size_t rows[][2] = {
	{1, 1},    {1, 2},    {2, 1}, {3, 31}, {25, 32}, {7, 33},   {9, 97},     {2, 257},
	{1031, 5}, {1100, 2}, {0, 3}, {3, 0},  {0, 0},   {4099, 3}, {4099, 768},
};

TWIN_CALL(layer, layernorm_forward(q, p[0], p[1], p[2], p[3], p[4], p[5], d[0], d[1], norm))
TWIN_CALL(layer_eval,
	  layernorm_forward(q, p[0], p[1], p[2], p[way ? 0 : 3], NULL, NULL, d[0], d[1], norm))
TWIN_CALL(layer_backward, layernorm_backward(q, p[0], p[1], p[2], p[3], p[4], p[way ? 4 : 5], p[6],
					     p[7], d[0], d[1]))

static const struct twin_op layernorms[] = {
	{"layernorm_forward", layer, "RD", 1, "RD D D RD?~5e-7 R?~5e-7 R?~5e-7", NULL},
	{"layernorm_forward of values far from zero", layer, "RD", 1,
	 "RD@ D D RD?~1e-5 R?~5e-7 R?~5e-7", NULL},
	{"layernorm_forward in evaluation", layer_eval, "RD", 2, "RD~1e-5 D D RD?~5e-7", NULL},
	{"layernorm_forward in evaluation, far from zero", layer_eval, "RD", 2,
	 "RD@~1e-5 D D RD?~1e-5", NULL},
};

TEST_ROWS(layernorm_forward_is_as_on_cpu, rows)
{
	for (size_t i = 0; i < ROWS(layernorms) && !twin_slow(rows[_i][0] * rows[_i][1]); i++)
		twin_row(&layernorms[i], rows[_i]);
}

TEST_ROWS(layernorm_backward_is_as_on_cpu, rows)
{
	struct twin_at at = {{rows[_i][0], rows[_i][1]}, 0};
	const size_t R = at.d[0], D = at.d[1], n = R * D;
	const float *x = twin_noise(n, 1), *mean = twin_noise(R, 3), *dy = twin_noise(n, 5);
	const float *rstd = twin_positive(R, 4);

	for (; at.way < 2 && !twin_slow(n); at.way++) {
		const struct twin_buf b[] = {
			{TWIN_F32, n, x, 0},     {TWIN_F32, D, twin_noise(D, 2), 0},
			{TWIN_F32, R, mean, 0},  {TWIN_F32, R, rstd, 0},
			{TWIN_F32, n, dy, 2e-6}, {TWIN_F32, n, NULL, 2e-6},
			{TWIN_F32, D, NULL, 0},  {TWIN_F32, D, NULL, 0},
		};
		struct sum *dgamma = twin_sums(D), *dbeta = twin_sums(D);
		const struct sum *const sums[ROWS(b)] = {[6] = dgamma, [7] = dbeta};

		sums_layernorm_backward(dgamma, dbeta, x, mean, rstd, dy, R, D);
		twin_check_sums("layernorm_backward", layer_backward, &at, b, ROWS(b), sums);
	}
}

/* --- counts --- */

static const size_t lengths[] = {
	0,      1,       2, 31, 33, 255, 257, 1023, 1025, 2048, 3073, 4099,
#ifdef SW_TEST_GPU
	600011, 2097157,
#endif
};

TWIN_CALL(norm2, norm2(q, p[0], p[1], d[0]))

TEST(norm2_of_any_length_is_as_on_cpu)
{
	for (size_t i = 0; i < ROWS(lengths); i++) {
		const size_t n = lengths[i];
		const struct twin_at at = {{n}, 0};
		float *x = twin_noise(n, (unsigned)i);
		/* The CPU has eight sums, whose n / 8 additions each round by 2^-53 at most. */
		const struct twin_buf b[] = {{TWIN_F32, n, x, 0},
					     {TWIN_F64, 1, NULL, 1e-14 + (double)n * 0x1p-56}};

		twin_check("norm2", norm2, &at, b, ROWS(b));
		if (n == 0)
			continue;
		x[n - 1] = (float)strtod("nan", NULL);
		twin_check("norm2 of a NaN", norm2, &at, b, ROWS(b));
	}
}

/* Labels of 10 classes, of which way makes none, or each third or second one, such as count. */
static const void *some_labels(size_t n, unsigned seed, const struct twin_at *at)
{
	int32_t *label = twin_labels(n, 10, seed);

	for (size_t k = 0; k < n; k += (size_t)at->way + 1)
		label[k] = -1;
	return label;
}

TWIN_CALL(labels_count, labels_count(q, p[0], p[1], d[0]))

TEST_ROWS(labels_count_is_as_on_cpu, lengths)
{
	twin_row(&(struct twin_op){"labels_count", labels_count, "B", 3, "iB! i1?", some_labels},
		 &lengths[_i]);
}

/* z, label, counts; twice: they are added to */
TWIN_CALLS(class_counts, class_counts(q, p[0], p[1], p[2], d[0], d[1]),
	   class_counts(q, p[0], p[1], p[2], d[0], d[1]))

static const size_t classes[][2] = {{1, 1},  {2, 2},  {33, 10}, {29, 31}, {25, 32},
				    {9, 33}, {7, 67}, {101, 3}, {0, 3},   {3, 0}};

static const void *odd_logits(size_t n, unsigned seed, const struct twin_at *at)
{
	const size_t C = at->d[1];
	float *z = twin_noise(n, seed);

	for (size_t i = 0; n > 0 && i < at->d[0]; i++) {
		if (i % 7 == 3) /* a NaN: no prediction */
			z[i * C + i % C] = (float)strtod("nan", NULL);
		if (i % 7 == 4) /* equals: the first */
			for (size_t k = i % C; k < C; k++)
				z[i * C + k] = 3.0f;
		if (i % 7 == 5)
			for (size_t k = 0; k < C; k++)
				z[i * C + k] = -(float)strtod("inf", NULL);
	}
	return z;
}

/* The mean over the labels that count. */
TWIN_CALLS(counted, labels_count(q, p[0], p[1], d[0]),
	   cross_entropy(q, p[2], p[0], NULL, p[3], p[4], 1.0f, p[1], d[0], d[1], 0.1f))

static const struct twin_op of_classes[] = {
	{"class_counts", class_counts, "BC", 1, "BC! iB<C- l3C", odd_logits},
	{"cross_entropy by the count", counted, "BC", 1, "iB<C- i1? BC BC?~2e-6 m1~2e-6", NULL},
};

TEST_ROWS(classes_are_counted_as_on_cpu, classes)
{
	for (size_t i = 0; i < ROWS(of_classes); i++)
		twin_row(&of_classes[i], classes[_i]);
}

RUN_TWINS()
