/* tests/kernels/test_sums.c — the bound of sums.h: sums in float keep it, in any order, and an
 * error that is not much larger is seen. That tables keep it: test_cuda_linear.c and its like. */
#include "tests/kernels/sums.h"
#include "tests/run.h"
#include <math.h>

/* The bound holds; and in some elements of the n an error of three units, up or down, is seen. */
static void near_and_sharp(const struct sum *want, float *got, size_t n)
{
	const size_t step = n / 97 + 1, wrong = sums_wrong(want, got, n);

	ck_assert_msg(wrong == n, "at %zu of %zu: %.9g, not %.9g", wrong, n, (double)got[wrong],
		      want[wrong].value);
	for (size_t i = 0; i < n; i += step)
		for (int sign = -1; sign <= 1; sign += 2) {
			const float is = got[i];

			got[i] = (float)((double)is + 3 * sign * sum_unit(&want[i]));
			ck_assert_uint_eq(sums_wrong(want, got, n), i);
			got[i] = is;
		}
}

static float one_by_one(const float *x, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static float backwards(const float *x, size_t n)
{
	float sum = 0;

	while (n)
		sum += x[--n];
	return sum;
}

static float halves(const float *x, size_t n)
{
	return n < 2 ? one_by_one(x, n) : halves(x, n / 2) + halves(x + n / 2, n - n / 2);
}

static float lanes(const float *x, size_t n)
{
	float lane[32] = {0};

	for (size_t i = 0; i < n; i++)
		lane[i % 32] += x[i];
	return one_by_one(lane, 32);
}

/* _i: how far the terms are from a mean of zero */
TEST_LOOP(sums_in_any_order_are_near, 0, 3)
{
	static float (*const orders[])(const float *, size_t) = {one_by_one, backwards, halves,
								 lanes};
	static const size_t lengths[] = {1, 2, 3, 7, 32, 100, 1000, 5000};
	enum { SUMS = 200, MOST = 5000 };
	float *x = sums_noise((size_t)SUMS * MOST, 8), got[SUMS];

	for (size_t i = 0; i < (size_t)SUMS * MOST; i++)
		x[i] += (float)_i;
	for (size_t l = 0; l < ROWS(lengths); l++)
		for (size_t o = 0; o < ROWS(orders); o++) {
			struct sum *want = sums_none(SUMS);

			for (size_t s = 0; s < SUMS; s++) {
				got[s] = orders[o](x + s * MOST, lengths[l]);
				for (size_t i = 0; i < lengths[l]; i++)
					sum_add(&want[s], (double)x[s * MOST + i]);
			}
			near_and_sharp(want, got, SUMS);
			free(want);
		}
	free(x);
}

TEST(sums_that_are_no_number_are_wrong)
{
	const struct sum none = {0};
	float zero = 0, nan = (float)strtod("nan", NULL);

	ck_assert_uint_eq(sums_wrong(&none, &zero, 1), 1);
	ck_assert_uint_eq(sums_wrong(&none, &nan, 1), 0);
	zero = 1e-30f;
	ck_assert_uint_eq(sums_wrong(&none, &zero, 1), 0);
}

RUN_TESTS(NULL, NULL)
