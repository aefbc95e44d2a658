/*
 * kernels/philox.h — the random numbers of the training core: which counter of base/philox.h each
 * use draws.
 *
 * Layout   key = (seed low, seed high); counter = (index low, step low, step high << 8 ^ index
 *          high, stream << 24 | layer): streams never meet, nor do layers or steps below 2^56.
 */
#ifndef SW_KERNELS_PHILOX_H
#define SW_KERNELS_PHILOX_H

#include "base/philox.h"
#include <assert.h>
#include <stdint.h>

/* The uses of the numbers. Never renumber: a seed then means another run. */
enum sw_philox_stream {
	SW_PHILOX_DROPOUT = 1,  /* layer, optimizer step, block of four elements */
	SW_PHILOX_INIT = 2,     /* layer, tensor (0 weight, 1 bias), block of four elements */
	SW_PHILOX_SHUFFLE = 3,  /* 0, epoch, draw */
	SW_PHILOX_SPLIT = 4,    /* 0, 0, draw */
	SW_PHILOX_AUGMENT = 5,  /* 0, epoch, row of the data set */
	SW_PHILOX_SYNTHETIC = 6 /* what (trainer/data/data_synthetic.c), class or row, draw */
};

/* layer below 2^24, step below 2^56, index below 2^40. */
SW_PHILOX_FN struct sw_philox_words sw_philox_block(uint64_t seed, uint32_t stream, uint32_t layer,
						    uint64_t step, uint64_t index)
{
	struct sw_philox_words c;

	c.v[0] = (uint32_t)index;
	c.v[1] = (uint32_t)step;
	c.v[2] = ((uint32_t)(step >> 32) << 8) ^ (uint32_t)(index >> 32);
	c.v[3] = (stream << 24) | layer;
	return sw_philox_raw(c, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* [0, 1), a multiple of 2^-24: exact in float. */
SW_PHILOX_FN float sw_philox_unit(uint32_t word)
{
	return (float)(word >> 8) * 0x1p-24f;
}

/* A word at or above it is kept: the part p of all words is below. p in [0, 1), which the caller
 * has asked: that of 1 is no uint32_t. */
SW_PHILOX_FN uint32_t sw_philox_threshold(float p)
{
	assert(p >= 0.0f && p < 1.0f);
	return (uint32_t)((double)p * 4294967296.0);
}

#endif
