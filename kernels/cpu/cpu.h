/*
 * kernels/cpu/cpu.h — the entries of the CPU table; their meaning is written in kernels/ops.h.
 *
 * Everything runs before the call returns, so the queue holds nothing. Internal to kernels/cpu.
 */
#ifndef SW_KERNELS_CPU_CPU_H
#define SW_KERNELS_CPU_CPU_H

#include "kernels/ops.h"

#define SW_OP(result, name, parameters) result sw_cpu_##name parameters;
#include "kernels/ops_list.h"

/* Sets of instructions, each with its own build of the loops in loops.h. */
enum { SW_CPU_PLAIN, SW_CPU_AVX2, SW_CPU_AVX512, SW_CPU_ISA_N };

int sw_cpu_isa(void);
/* For tests: 0 when the machine lacks it, and nothing changes; -1 goes back to the widest. */
int sw_cpu_isa_force(int isa);

/* 0: the measured threshold decides; 1: always the own loops; 2: always BLAS. For tests, which hold
 * both to the reference. */
void sw_cpu_linear_force(int path);

/* 0: the shape decides; 1: the direct loops where they can; 2: always columns. For tests. */
void sw_cpu_conv_force(int path);

#endif
