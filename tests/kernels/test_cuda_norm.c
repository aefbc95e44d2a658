/* tests/kernels/test_cuda_norm.c — batch and layer normalisation, counts and norms of kernels/cuda
 * beside those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums in double, of which only the order differs: a float is another one in rare cases. */
#define TOL 5e-7

/* Channels about the 3 blocks of the stand-in's grid; values of a channel about a warp, a block of
 * 256 and the 1024 from which on a block is larger; features (S 1) and images. */
static const struct shape {
	size_t B, C, S;
} shapes[] = {
	{1, 1, 1},       {2, 1, 1},  {1, 2, 1},   {3, 5, 1},     {33, 7, 1}, {257, 3, 1},
	{2, 4, 33},      {5, 3, 49}, {1, 3, 257}, {13, 4, 100},  {4, 7, 64}, {2, 2, 521},
	{0, 3, 4},       {3, 0, 4},  {3, 4, 0},   {11, 17, 100},
#ifdef SW_TEST_GPU
	{64, 130, 1024},
#endif
};

static const struct sw_norm norm = {.eps = 1e-5f, .momentum = 0.1f};

struct call {
	size_t B, C, S;
	int in_place;
};

/* x, gamma, beta, running_mean, running_var, y, mean, rstd */
static sw_status train(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_train(q, p[0], p[1], p[2], p[3], p[4], p[c->in_place ? 0 : 5], p[6],
				  p[7], c->B, c->C, c->S, norm);
}

static sw_status eval(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_eval(q, p[0], p[1], p[2], p[3], p[4], p[c->in_place ? 0 : 5], c->B,
				 c->C, c->S, norm);
}

/* Numbers that a variance, or one over its root, may be. */
static float *positive(size_t n, unsigned seed)
{
	float *x = twin_noise(n, seed);

	for (size_t i = 0; i < n; i++)
		x[i] = 0.25f + fabsf(x[i]);
	return x;
}

/* Far from zero: what a sum of squares loses its digits by. */
static float *far(size_t n, unsigned seed)
{
	float *x = twin_noise(n, seed);

	for (size_t i = 0; i < n; i++)
		x[i] += 100.0f;
	return x;
}

TEST_ROWS(batchnorm_forward_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C * s->S;

	for (int way = 0; way < 4; way++) {
		const struct call c = {s->B, s->C, s->S, way % 2};
		const struct twin_buf b[] = {
			{TWIN_F32, n, way / 2 ? far(n, 1) : twin_noise(n, 1), 1e-5},
			{TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 4), TOL},
			{TWIN_F32, s->C, positive(s->C, 5), TOL},
			{TWIN_F32, n, NULL, way / 2 ? 1e-5 : TOL},
			{TWIN_F32, s->C, NULL, TOL},
			{TWIN_F32, s->C, NULL, TOL},
		};

		twin_check("batchnorm_train", train, &c, b, ROWS(b));
		twin_check("batchnorm_eval", eval, &c, b, ROWS(b));
	}
}

/* x, gamma, mean, rstd, dy, dx, dgamma, dbeta */
static sw_status backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			  const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_backward(q, p[0], p[1], p[2], p[3], p[4], p[c->in_place ? 4 : 5], p[6],
				     p[7], c->B, c->C, c->S);
}

TEST_ROWS(batchnorm_backward_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C * s->S;

	for (int way = 0; way < 2; way++) {
		const struct call c = {s->B, s->C, s->S, way};
		const struct twin_buf b[] = {
			{TWIN_F32, n, twin_noise(n, 1), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, s->C, positive(s->C, 4), 0},
			{TWIN_F32, n, twin_noise(n, 5), 2e-6},
			{TWIN_F32, n, NULL, 2e-6},
			{TWIN_F32, s->C, NULL, TOL},
			{TWIN_F32, s->C, NULL, TOL},
		};

		twin_check("batchnorm_backward", backward, &c, b, ROWS(b));
	}
}

/* --- batchnorm over rows that lie apart: here are some of 3 B + 1 rows --- */

/* x, sums */
static sw_status shared_sums(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			     const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_sums(q, p[0], p[1], c->B, c->C, c->S);
}

/* x, sums, gamma, beta, running_mean, running_var, y, mean, rstd */
static sw_status shared_train(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_train_summed(q, p[0], p[1], p[2], p[3], p[4], p[5],
					 p[c->in_place ? 0 : 6], p[7], p[8], (3 * c->B + 1) * c->S,
					 c->B, c->C, c->S, norm);
}

/* Such as (3 B + 1) S values may have; of the last channel rounding has made less than nothing. */
static double *sums_of_all(const struct shape *s, int gradients)
{
	double *sums = calloc(2 * s->C + 1, sizeof *sums);
	const float *x = twin_noise(2 * s->C, 6);
	const double N = (double)((3 * s->B + 1) * s->S);

	ck_assert_ptr_nonnull(sums);
	for (size_t c = 0; c < s->C; c++) {
		sums[2 * c] = (double)x[2 * c] * N;
		sums[2 * c + 1] = gradients ? (double)x[2 * c + 1] * N
					    : sums[2 * c] * sums[2 * c] / N +
						      (fabs((double)x[2 * c + 1]) + 0.01) * N;
	}
	if (s->C > 0 && !gradients)
		sums[2 * s->C - 1] = sums[2 * s->C - 2] * sums[2 * s->C - 2] / fmax(N, 1) - 1e-9;
	return sums;
}

TEST_ROWS(batchnorm_of_shared_rows_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C * s->S;
	double *all = sums_of_all(s, 0);

	for (int way = 0; way < 2; way++) {
		const struct call c = {s->B, s->C, s->S, way};
		const struct twin_buf sums[] = {
			{TWIN_F32, n, way ? far(n, 1) : twin_noise(n, 1), 0},
			{TWIN_F64, 2 * s->C, NULL, 1e-12},
		};
		const struct twin_buf b[] = {
			{TWIN_F32, n, twin_noise(n, 1), 1e-5},
			{TWIN_F64, 2 * s->C, all, 0},
			{TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 4), TOL},
			{TWIN_F32, s->C, positive(s->C, 5), TOL},
			{TWIN_F32, n, NULL, TOL},
			{TWIN_F32, s->C, NULL, TOL},
			{TWIN_F32, s->C, NULL, TOL},
		};

		twin_check("batchnorm_sums", shared_sums, &c, sums, ROWS(sums));
		twin_check("batchnorm_train_summed", shared_train, &c, b, ROWS(b));
	}
	free(all);
}

/* x, mean, rstd, dy, sums, dgamma, dbeta */
static sw_status shared_gradients(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				  const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_backward_sums(q, p[0], p[1], p[2], p[3], p[4], p[5], p[6], c->B, c->C,
					  c->S);
}

/* x, gamma, mean, rstd, dy, sums, dx */
static sw_status shared_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				 const void *ctx)
{
	const struct call *c = ctx;

	return o->batchnorm_backward_summed(q, p[0], p[1], p[2], p[3], p[4], p[5],
					    p[c->in_place ? 4 : 6], (3 * c->B + 1) * c->S, c->B,
					    c->C, c->S);
}

TEST_ROWS(batchnorm_backward_of_shared_rows_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C * s->S;
	double *all = sums_of_all(s, 1);

	for (int way = 0; way < 2; way++) {
		const struct call c = {s->B, s->C, s->S, way};
		const struct twin_buf sums[] = {
			{TWIN_F32, n, twin_noise(n, 1), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, s->C, positive(s->C, 4), 0},
			{TWIN_F32, n, twin_noise(n, 5), 0},
			{TWIN_F64, 2 * s->C, NULL, 1e-12},
			{TWIN_F32, s->C, NULL, TOL},
			{TWIN_F32, s->C, NULL, TOL},
		};
		const struct twin_buf b[] = {
			{TWIN_F32, n, twin_noise(n, 1), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, s->C, positive(s->C, 4), 0},
			{TWIN_F32, n, twin_noise(n, 5), 2e-6},
			{TWIN_F64, 2 * s->C, all, 0},
			{TWIN_F32, n, NULL, 2e-6},
		};

		twin_check("batchnorm_backward_sums", shared_gradients, &c, sums, ROWS(sums));
		twin_check("batchnorm_backward_summed", shared_backward, &c, b, ROWS(b));
	}
	free(all);
}

/* --- layernorm: B rows of C values --- */

static const struct shape rows[] = {
	{1, 1, 0},  {1, 2, 0},  {2, 1, 0},   {3, 31, 0},   {25, 32, 0},
	{7, 33, 0}, {9, 97, 0}, {2, 257, 0}, {1031, 5, 0}, {1100, 2, 0},
	{0, 3, 0},  {3, 0, 0},  {0, 0, 0},   {4099, 3, 0}, {4099, 768, 0},
};

/* x, gamma, beta, y, mean, rstd */
static sw_status layer(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct call *c = ctx;

	return o->layernorm_forward(q, p[0], p[1], p[2], p[3], p[4], p[5], c->B, c->C, norm);
}

static sw_status layer_eval(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			    const void *ctx)
{
	const struct call *c = ctx;

	return o->layernorm_forward(q, p[0], p[1], p[2], p[c->in_place ? 0 : 3], NULL, NULL, c->B,
				    c->C, norm);
}

TEST_ROWS(layernorm_forward_is_as_on_cpu, rows)
{
	const struct shape *s = &rows[_i];
	const size_t n = s->B * s->C;

	for (int way = 0; way < 2 && !twin_slow(n); way++) {
		const struct call c = {s->B, s->C, 0, way};
		const struct twin_buf b[] = {
			{TWIN_F32, n, way ? far(n, 1) : twin_noise(n, 1), 1e-5},
			{TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->C, twin_noise(s->C, 3), 0},
			{TWIN_F32, n, NULL, way ? 1e-5 : TOL},
			{TWIN_F32, s->B, NULL, TOL},
			{TWIN_F32, s->B, NULL, TOL},
		};

		twin_check("layernorm_forward", layer, &c, b, ROWS(b));
		twin_check("layernorm_forward, evaluation", layer_eval, &c, b, ROWS(b));
	}
}

/* x, gamma, mean, rstd, dy, dx, dgamma, dbeta */
static sw_status layer_backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
				const void *ctx)
{
	const struct call *c = ctx;

	return o->layernorm_backward(q, p[0], p[1], p[2], p[3], p[4], p[c->in_place ? 4 : 5], p[6],
				     p[7], c->B, c->C);
}

TEST_ROWS(layernorm_backward_is_as_on_cpu, rows)
{
	const struct shape *s = &rows[_i];
	const size_t n = s->B * s->C;
	float *x = twin_noise(n, 1), *mean = twin_noise(s->B, 3), *rstd = positive(s->B, 4);
	float *dy = twin_noise(n, 5);

	for (int way = 0; way < 2 && !twin_slow(n); way++) {
		const struct call c = {s->B, s->C, 0, way};
		const struct twin_buf b[] = {
			{TWIN_F32, n, x, 0},       {TWIN_F32, s->C, twin_noise(s->C, 2), 0},
			{TWIN_F32, s->B, mean, 0}, {TWIN_F32, s->B, rstd, 0},
			{TWIN_F32, n, dy, 2e-6},   {TWIN_F32, n, NULL, 2e-6},
			{TWIN_F32, s->C, NULL, 0}, {TWIN_F32, s->C, NULL, 0},
		};
		struct sum *dgamma = twin_sums(s->C), *dbeta = twin_sums(s->C);
		const struct sum *const sums[ROWS(b)] = {[6] = dgamma, [7] = dbeta};

		sums_layernorm_backward(dgamma, dbeta, x, mean, rstd, dy, s->B, s->C);
		twin_check_sums("layernorm_backward", layer_backward, &c, b, ROWS(b), sums);
	}
}

/* --- counts --- */

static const size_t lengths[] = {
	0,      1,       2, 31, 33, 255, 257, 1023, 1025, 2048, 3073, 4099,
#ifdef SW_TEST_GPU
	600011, 2097157,
#endif
};

static sw_status norm2(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	return o->norm2(q, p[0], p[1], *(const size_t *)ctx);
}

TEST(norm2_of_any_length_is_as_on_cpu)
{
	for (size_t i = 0; i < ROWS(lengths); i++) {
		const size_t n = lengths[i];
		float *x = twin_noise(n, (unsigned)i);
		/* The CPU has eight sums, whose n / 8 additions each round by 2^-53 at most. */
		const struct twin_buf b[] = {{TWIN_F32, n, x, 0},
					     {TWIN_F64, 1, NULL, 1e-14 + (double)n * 0x1p-56}};

		twin_check("norm2", norm2, &n, b, ROWS(b));
		if (n == 0)
			continue;
		x[n - 1] = (float)strtod("nan", NULL);
		twin_check("norm2 of a NaN", norm2, &n, b, ROWS(b));
	}
}

static sw_status labels_count(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *ctx)
{
	return o->labels_count(q, p[0], p[1], *(const size_t *)ctx);
}

TEST(labels_count_is_as_on_cpu)
{
	for (size_t i = 0; i < ROWS(lengths); i++)
		for (size_t every = 1; every < 4; every++) { /* 1: no label is left */
			const size_t n = lengths[i];
			int32_t *label = twin_labels(n, 10, 1);
			const struct twin_buf b[] = {{TWIN_I32, n, label, 0},
						     {TWIN_I32, 1, NULL, 0}};

			for (size_t k = 0; k < n; k += every)
				label[k] = -1;
			twin_check("labels_count", labels_count, &n, b, ROWS(b));
		}
}

/* z, label, counts; twice: they are added to */
static sw_status class_counts(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			      const void *ctx)
{
	const struct call *c = ctx;
	const sw_status status = o->class_counts(q, p[0], p[1], p[2], c->B, c->C);

	return status != SW_OK ? status : o->class_counts(q, p[0], p[1], p[2], c->B, c->C);
}

static const struct shape classes[] = {{1, 1, 0},   {2, 2, 0},  {33, 10, 0}, {29, 31, 0},
				       {25, 32, 0}, {9, 33, 0}, {7, 67, 0},  {101, 3, 0},
				       {0, 3, 0},   {3, 0, 0}};

TEST_ROWS(class_counts_are_as_on_cpu, classes)
{
	const struct call c = {classes[_i].B, classes[_i].C, 0, 0};
	const size_t n = c.B * c.C;
	float *z = twin_noise(n, 1);
	int32_t *label = twin_labels(c.B, c.C ? c.C : 1, 2);
	const int64_t before[3] = {7, (int64_t)1 << 40, 0};
	int64_t counts[3 * 67] = {0};
	const struct twin_buf b[] = {
		{TWIN_F32, n, z, 0},
		{TWIN_I32, c.B, label, 0},
		{TWIN_I64, 3 * c.C, counts, 0},
	};

	for (size_t i = 0; i < 3 * c.C; i++)
		counts[i] = before[i % 3];
	for (size_t i = 0; i < c.B; i++) {
		if (i % 5 == 2)
			label[i] = -1;
		if (i % 7 == 3) /* a NaN: no prediction */
			z[i * c.C + i % c.C] = (float)strtod("nan", NULL);
		if (i % 7 == 4) /* equals: the first */
			for (size_t k = i % c.C; k < c.C; k++)
				z[i * c.C + k] = 3.0f;
		if (i % 7 == 5)
			for (size_t k = 0; k < c.C; k++)
				z[i * c.C + k] = -(float)strtod("inf", NULL);
	}
	twin_check("class_counts", class_counts, &c, b, ROWS(b));
}

/* label, count, z, dz, metrics: the mean over the labels that count */
static sw_status counted(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct call *c = ctx;
	const sw_status status = o->labels_count(q, p[0], p[1], c->B);

	return status != SW_OK ? status
			       : o->cross_entropy(q, p[2], p[0], NULL, p[3], p[4], 1.0f, p[1], c->B,
						  c->C, 0.1f);
}

TEST_ROWS(cross_entropy_divides_its_gradient_by_the_count, classes)
{
	static const struct sw_metrics before;
	const struct call c = {classes[_i].B, classes[_i].C, 0, 0};
	const size_t n = c.B * c.C;
	int32_t *label = twin_labels(c.B, c.C ? c.C : 1, 2);
	const struct twin_buf b[] = {
		{TWIN_I32, c.B, label, 0},          {TWIN_I32, 1, NULL, 0},
		{TWIN_F32, n, twin_noise(n, 1), 0}, {TWIN_F32, n, NULL, 2e-6},
		{TWIN_METRICS, 1, &before, 2e-6},
	};

	for (size_t i = 0; i < c.B; i += 3)
		label[i] = -1;
	twin_check("cross_entropy", counted, &c, b, ROWS(b));
}

RUN_TWINS()
