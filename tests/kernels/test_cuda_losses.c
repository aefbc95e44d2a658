/* tests/kernels/test_cuda_losses.c — the losses of kernels/cuda beside those of kernels/cpu. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <stdio.h>
#include <stdlib.h>

/* expf and log differ by units in the last place between libraries, and sums in their order. */
#define TOL 2e-6

/* About a warp of columns, a block of 8 rows, and the 3 blocks of the stand-in's grid. */
static const struct shape {
	size_t B, C;
} shapes[] = {
	{1, 1},     {1, 2},     {2, 10},  {7, 31}, {8, 32}, {9, 33}, {24, 3},
	{25, 7},    {29, 67},   {101, 5}, {0, 4},  {3, 0},  {0, 0},
#ifdef SW_TEST_GPU
	{4099, 10}, {3, 50021},
#endif
};

enum place { APART, IN_PLACE, NO_GRADIENT };

struct call {
	size_t B, C;
	enum place place;
	float smooth;
	int index; /* labels are read by it */
};

/* p: z, label, metrics, dz, index, or without. Twice: metrics are added to. */
static sw_status cross_entropy(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			       const void *ctx)
{
	const struct call *c = ctx;
	float *dz = c->place == NO_GRADIENT ? NULL : c->place == IN_PLACE ? p[0] : p[3];
	sw_status status = SW_OK;

	for (int i = 0; status == SW_OK && i < 2; i++)
		status = o->cross_entropy(q, p[0], p[1], c->index ? p[4] : NULL, dz, p[2], 0.125f,
					  NULL, c->B, c->C, c->smooth);
	return status;
}

static const struct sw_metrics before = {1.5, 2, 3, 4, 5, 6, 7, 8, 9};

TEST_ROWS(cross_entropy_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C;
	int32_t *label = twin_labels(s->B, s->C ? s->C : 1, 2);
	const struct twin_buf b[] = {
		{TWIN_F32, n, twin_noise(n, 1), TOL},
		{TWIN_I32, s->B, label, 0},
		{TWIN_METRICS, 1, &before, TOL},
		{TWIN_F32, n, NULL, TOL},
		{TWIN_I32, s->B, twin_labels(s->B, s->B ? s->B : 1, 3), 0},
	};

	for (size_t k = 2; k < s->B; k += 5)
		label[k] = -1; /* rows that are left out */
	for (int p = APART; p <= NO_GRADIENT; p++) {
		const struct call c = {s->B, s->C, (enum place)p, _i % 2 ? 0.1f : 0.0f, p % 2};

		twin_check("cross_entropy", cross_entropy, &c, b, ROWS(b));
	}
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
	const float v = (float)strtod(odd[_i], NULL);
	float *z = twin_noise(B * C, 1);
	int32_t *label = twin_labels(B, C, 2);
	const struct twin_buf b[] = {
		{TWIN_F32, B * C, z, TOL},
		{TWIN_I32, B, label, 0},
		{TWIN_METRICS, 1, &before, TOL},
		{TWIN_F32, B * C, NULL, TOL},
	};

	for (size_t k = 0; k < C; k++) {
		z[k * C + k] = v;
		label[k] = k % 2 ? (int32_t)k : largest_but(z + k * C, C, k);
		z[C * C + k] = v; /* a row of nothing else, and one of equals: the first counts */
		z[(C + 1) * C + k] = 0.5f;
	}
	label[C] = label[C + 1] = 0;
	for (int p = APART; p <= NO_GRADIENT; p++) {
		const struct call c = {B, C, (enum place)p, 0, 0};

		twin_check(odd[_i], cross_entropy, &c, b, ROWS(b));
	}
	for (size_t k = 0; k < B; k++) { /* row by row: one NaN must not hide the other rows */
		const struct call c = {1, C, APART, 0, 0};
		const struct twin_buf row[] = {
			{TWIN_F32, C, z + k * C, TOL},
			{TWIN_I32, 1, label + k, 0},
			{TWIN_METRICS, 1, &before, TOL},
			{TWIN_F32, C, NULL, TOL},
		};

		twin_check(odd[_i], cross_entropy, &c, row, ROWS(row));
	}
}

/* p: y, t, metrics, dy, index */
static sw_status mse(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct call *c = ctx;
	float *dy = c->place == NO_GRADIENT ? NULL : c->place == IN_PLACE ? p[0] : p[3];
	sw_status status = SW_OK;

	for (int i = 0; status == SW_OK && i < 2; i++)
		status = o->mse(q, p[0], p[1], c->index ? p[4] : NULL, dy, p[2], 0.3f, c->B, c->C);
	return status;
}

TEST_ROWS(mse_is_as_on_cpu, shapes)
{
	const struct shape *s = &shapes[_i];
	const size_t n = s->B * s->C;
	const struct twin_buf b[] = {
		{TWIN_F32, n, twin_noise(n, 1), 0},
		{TWIN_F32, n, twin_noise(n, 2), 0},
		{TWIN_METRICS, 1, &before, 1e-12},
		{TWIN_F32, n, NULL, 0},
		{TWIN_I32, s->B, twin_labels(s->B, s->B ? s->B : 1, 3), 0},
	};

	for (int p = APART; p <= NO_GRADIENT; p++) {
		const struct call c = {s->B, s->C, (enum place)p, 0, p != APART};

		twin_check("mse", mse, &c, b, ROWS(b));
	}
}

RUN_TWINS()
