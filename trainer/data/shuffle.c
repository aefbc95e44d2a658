#include "trainer/data/shuffle.h"
#include "base/beat.h"
#include "kernels/philox.h"

#define BEAT_EACH 65536 /* rows */

void sw_shuffle(int32_t *order, size_t n, uint64_t seed, uint32_t stream, uint64_t epoch)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (int32_t)i;
	for (size_t i = n; i > 1; i--) {
		const struct sw_philox_words r = sw_philox_block(seed, stream, 0, epoch, i);
		/* 64 bits against a range below 2^31: the bias of the remainder is under 2^-33 */
		const uint64_t wide = (uint64_t)r.v[0] << 32 | r.v[1];
		const size_t j = (size_t)(wide % i);
		const int32_t t = order[i - 1];

		if (i % BEAT_EACH == 0)
			sw_beat();
		order[i - 1] = order[j];
		order[j] = t;
	}
}
