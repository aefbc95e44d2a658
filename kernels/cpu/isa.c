/* kernels/cpu/isa.c — which instructions the loops of kernels/cpu use: the widest that both this
 * build and this machine have. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"

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
	static int found = -1;

	if (forced >= 0)
		return forced;
	if (found < 0)
		found = widest(); /* two threads may both find out: the same */
	return found;
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
