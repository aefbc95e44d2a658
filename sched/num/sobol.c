#include "sched/num/sobol.h"
#include "sched/num/rng.h"
#include "sched/num/sobol_table.h"
#include <assert.h>

#define DIGITS 32

/* v[0..n): direction numbers of one dimension. v[k] belongs to the number's bit k, and its highest
 * digit that is set is digit k + 1. The recurrence is equation (2) of Joe and Kuo, on m_k / 2^k. */
static void directions(size_t dim, unsigned n, uint32_t v[DIGITS])
{
	assert(dim < SW_SOBOL_DIMS);
	if (dim == 0) {
		/* The first dimension has no polynomial: its points are the van der Corput
		 * sequence. */
		for (unsigned k = 0; k < n; k++)
			v[k] = UINT32_C(1) << (DIGITS - 1 - k);
		return;
	}
	const struct sw_sobol_row *row = &sw_sobol_rows[dim - 1];
	assert(row->s >= 1);
	for (unsigned k = 0; k < n; k++) {
		if (k < row->s) {
			v[k] = (uint32_t)row->m[k] << (DIGITS - 1 - k);
			continue;
		}
		v[k] = v[k - row->s] ^ (v[k - row->s] >> row->s);
		for (unsigned i = 1; i < row->s; i++)
			if ((row->a >> (row->s - 1u - i) & 1u) != 0)
				v[k] ^= v[k - i];
	}
}

static unsigned bits_of(uint32_t x)
{
	return x != 0 ? DIGITS - (unsigned)__builtin_clz(x) : 0;
}

static uint32_t digits_of(const uint32_t *v, uint32_t number)
{
	uint32_t x = 0;

	for (unsigned k = 0; number != 0; number >>= 1, k++)
		if ((number & 1u) != 0)
			x ^= v[k];
	return x;
}

static uint32_t reverse(uint32_t x)
{
	x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
	x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
	x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
	x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
	return x << 16 | x >> 16;
}

/* Flips each digit by a hash of the key and the digits above it. On reversed digits "above" is
 * "below", and sums and products carry no other way. */
static uint32_t scramble(uint32_t x, uint32_t key)
{
	x = reverse(x);
	x ^= x * 0x3d20adeau;
	x += key;
	x *= (key >> 16) | 1u;
	x ^= x * 0x05526c56u;
	x ^= x * 0x53a22864u;
	return reverse(x);
}

/* Any good mixer of 32 bits (Murmur3's last step): the digits past the 32nd. */
static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}

uint32_t sw_sobol_digits(uint32_t number, size_t dim)
{
	uint32_t v[DIGITS] = {0};

	directions(dim, bits_of(number), v);
	return digits_of(v, number);
}

void sw_sobol_points(uint64_t seed, uint64_t first, size_t n, size_t d, double *out)
{
	if (n == 0)
		return;
	const uint64_t last = first + n - 1;
	/* Directions are made only for bits that some number has. Past 2^32 the numbers begin anew,
	 * with all bits. */
	const unsigned bits = first >> 32 == last >> 32 ? bits_of((uint32_t)last) : DIGITS;
	for (size_t dim = 0; dim < d; dim++) {
		uint32_t v[DIGITS] = {0};
		uint64_t key = 0;

		directions(dim, bits, v);
		for (size_t i = 0; i < n; i++) {
			const uint64_t number = first + i;

			/* The sequence has 2^32 points. The next 2^32 are the same ones under
			 * another key, so that they do not repeat. */
			if (i == 0 || (uint32_t)number == 0)
				key = sw_rng_u64(seed, SW_RNG_SOBOL, number >> 32, (uint32_t)dim);
			const uint32_t x = scramble(digits_of(v, (uint32_t)number), (uint32_t)key);
			/* 32 digits would leave gaps between doubles, and 0 would come once in each
			 * 2^32: random digits fill up to 53. */
			const uint32_t rest = mix(x ^ (uint32_t)(key >> 32)) >> 11;

			out[i * d + dim] = (double)((uint64_t)x << 21 | rest) * 0x1p-53;
		}
	}
}

void sw_sobol_point(uint64_t seed, uint64_t number, size_t d, double *out)
{
	sw_sobol_points(seed, number, 1, d, out);
}
