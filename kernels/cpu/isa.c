/* kernels/cpu/isa.c — which instructions the loops of kernels/cpu use: the widest that both this
 * build and this machine have. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"
#include <stdatomic.h>

static int forced = -1;

static int widest(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
		return SW_CPU_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return SW_CPU_AVX2;
#endif
	return SW_CPU_PLAIN;
}

int sw_cpu_isa(void)
{
	static atomic_int found = -1;
	int isa = atomic_load_explicit(&found, memory_order_relaxed);

	if (forced >= 0)
		return forced;
	if (isa < 0) {
		isa = widest(); /* two threads may both find out: the same */
		atomic_store_explicit(&found, isa, memory_order_relaxed);
	}
	return isa;
}

int sw_cpu_isa_force(int isa)
{
	if (isa > widest())
		return 0;
	forced = isa;
	return 1;
}

const struct sw_cpu_loops *sw_cpu_loops(void)
{
#if defined(__x86_64__)
	switch (sw_cpu_isa()) {
	case SW_CPU_AVX512:
		return &sw_cpu_loops_avx512;
	case SW_CPU_AVX2:
		return &sw_cpu_loops_avx2;
	default:
		break;
	}
#endif
	return &sw_cpu_loops_plain;
}
