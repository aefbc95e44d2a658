/* trainer/data/shuffle.h — an order of rows that is a pure function of (seed, stream, epoch). */
#ifndef SW_TRAINER_DATA_SHUFFLE_H
#define SW_TRAINER_DATA_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* order[0..n) becomes a permutation of 0..n-1 (Fisher and Yates; n < 2^31). stream: an
 * sw_philox_stream. */
void sw_shuffle(int32_t *order, size_t n, uint64_t seed, uint32_t stream, uint64_t epoch);

#endif
