/* kernels/cuda/round.cu — the operands of products that no kernel makes, in the queue's form. */
#include "kernels/cuda/half.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/product.h"

/* x: float[n]; y: bf16[n], two at a time; of an odd n one more is written, a zero. The byte order
 * is the device's, little endian. */
static __global__ void round_kernel(const float *__restrict__ x, uint32_t *__restrict__ y, size_t n)
{
	sw_wait();
	for (SW_EACH(i, (n + 1) / 2)) {
		const uint32_t low = sw_cuda_bf16(x[2 * i]);

		y[i] = low | (2 * i + 1 < n ? (uint32_t)sw_cuda_bf16(x[2 * i + 1]) << 16 : 0);
	}
}

sw_status sw_cuda_round(struct sw_queue *q, const float *x, void *bf16, size_t n)
{
	return sw_cuda_run_items(q, (n + 1) / 2, round_kernel, x, (uint32_t *)bf16, n);
}

sw_status sw_cuda_operand(struct sw_queue *q, const float *x, size_t n, size_t *at,
			  const void **out)
{
	const uintptr_t place = ((uintptr_t)x - (uintptr_t)q->weights) / sizeof *x;
	uint16_t *bf16;
	sw_status rc;

	*out = x;
	if (!sw_cuda_halves(q))
		return SW_OK;
	/* An x below the weights has wrapped around to more than weights_n. */
	if (place < q->weights_n && n <= q->weights_n - place) {
		*out = q->weights_half + place;
		return SW_OK;
	}
	rc = sw_cuda_operand_room(q, n, at, &bf16);
	if (rc != SW_OK)
		return rc;
	*out = bf16;
	return sw_cuda_round(q, x, bf16, n);
}

sw_status sw_cuda_weights(struct sw_queue *q, const float *w, size_t n, void *copy)
{
	const sw_status rc = sw_cuda_use();

	if (rc != SW_OK || !sw_cuda_halves(q))
		return rc;
	q->weights = w;
	q->weights_half = (const uint16_t *)copy;
	q->weights_n = n;
	return sw_cuda_round(q, w, copy, n);
}
