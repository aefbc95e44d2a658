/* tests/kernels/cuda_shim/cub/device/device_radix_sort.cuh — stands in for CUB's header of this
 * name: the one call that kernels/cuda makes, as a kernel of one thread. It uses the whole of its
 * scratch memory, and sorts by the bits that it is given alone. */
#ifndef SW_TESTS_CUDA_SHIM_CUB_DEVICE_RADIX_SORT_CUH
#define SW_TESTS_CUDA_SHIM_CUB_DEVICE_RADIX_SORT_CUH

#include <cuda_runtime.h>

namespace cub
{

/* keys_out, values_out: those of bit 0 before those of bit 1, each in their order */
template <class K, class V>
void sort_by_bit(K *key, V *value, K *key_temp, V *value_temp, size_t n, int bit)
{
	size_t k = 0;

	for (unsigned half = 0; half < 2; half++)
		for (size_t i = 0; i < n; i++)
			if ((key[i] >> bit & 1) == half) {
				key_temp[k] = key[i];
				value_temp[k++] = value[i];
			}
	for (size_t i = 0; i < n; i++) {
		key[i] = key_temp[i];
		value[i] = value_temp[i];
	}
}

struct DeviceRadixSort {
	template <class K, class V>
	static cudaError_t SortPairs(void *temp, size_t &bytes, const K *keys_in, K *keys_out,
				     const V *values_in, V *values_out, int items, int begin_bit,
				     int end_bit, cudaStream_t s)
	{
		const size_t n = (size_t)items;

		if (!temp) {
			bytes = n * (sizeof(K) + sizeof(V));
			return cudaSuccess;
		}
		if (bytes < n * (sizeof(K) + sizeof(V)))
			return cudaErrorInvalidValue;
		sw_shim_launch_closure(1, 1, 0, s, [=]() {
			for (size_t i = 0; i < n; i++) {
				keys_out[i] = keys_in[i];
				values_out[i] = values_in[i];
			}
			for (int bit = begin_bit; bit < end_bit; bit++)
				sort_by_bit(keys_out, values_out, (K *)temp, (V *)((K *)temp + n),
					    n, bit);
		});
		return cudaGetLastError();
	}
};

} // namespace cub

#endif
