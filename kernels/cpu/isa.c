/* kernels/cpu/isa.c — which instructions the loops of kernels/cpu use: the widest that both this
 * build and this machine have. */
#include "kernels/cpu/cpu.h"

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
