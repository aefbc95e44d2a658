/* kernels/cpu/loops_avx512.c — the loops with AVX-512: 32 registers of 16 floats. */
#if defined(__x86_64__)
#define LANES       16
#define FLAT_VECS   4
#define ROW_PLACES  20
#define SUM_OUTS    4
#define SUM_ROWS    5
#define LINEAR_ROWS 4
#define LINEAR_OUTS 4
#define LINEAR_VECS 4
#define TABLE       sw_cpu_loops_avx512
#include "kernels/cpu/loops_body.h"
#endif
