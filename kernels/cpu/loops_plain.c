/* kernels/cpu/loops_plain.c — the loops for any machine, with vectors that gcc and clang split into
 * what it has (on x86-64 SSE2: 16 registers of 4 floats). */
#define LANES       4
#define FLAT_VECS   2
#define ROW_PLACES  8
#define SUM_OUTS    2
#define SUM_ROWS    1
#define LINEAR_ROWS 2
#define LINEAR_OUTS 4
#define LINEAR_VECS 2
#define TABLE       sw_cpu_loops_plain
#include "kernels/cpu/loops_body.h"
