/* tests/float64/isa_all.c — in the place of kernels/cpu/isa.c: any build of the loops, on any
 * machine, for in double they hold no instruction of their own. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"

static int chosen;

int sw_cpu_isa(void)
{
	return chosen;
}

int sw_cpu_isa_force(int isa)
{
	chosen = isa < 0 ? SW_CPU_PLAIN : isa;
	return 1;
}

const struct sw_cpu_loops *sw_cpu_loops(void)
{
#if defined(__x86_64__)
	if (chosen == SW_CPU_AVX512)
		return &sw_cpu_loops_avx512;
	if (chosen == SW_CPU_AVX2)
		return &sw_cpu_loops_avx2;
#endif
	return &sw_cpu_loops_plain;
}
