/* kernels/cpu/loops_avx2.c — the loops with AVX2 and FMA: 16 registers of 8 floats. */
#if defined(__x86_64__)
#define LANES       8
#define FLAT_VECS   2
#define ROW_PLACES  12
#define SUM_OUTS    2
#define SUM_ROWS    2
#define LINEAR_ROWS 3
#define LINEAR_OUTS 4
#define LINEAR_VECS 3
#define TABLE       sw_cpu_loops_avx2
#include "kernels/cpu/loops_body.h"
#endif
