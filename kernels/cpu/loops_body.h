/* kernels/cpu/loops_body.h — one build of the loops: the file that includes it says how many LANES
 * a vector has, and how large tiles are so that their sums stay in registers. */
#include "kernels/cpu/loops.h"
#include "kernels/cpu/vector.h"

#include "kernels/cpu/flat_loops.h"

#include "kernels/cpu/conv_loops.h"

#include "kernels/cpu/sums_loops.h"

#include "kernels/cpu/linear_loops.h"

const struct sw_cpu_loops TABLE = {
	.lanes = LANES,
	.fill = fill,
	.planes_add = planes_add,
	.planes_end = planes_end,
	.packed_n = packed_n,
	.scratch_n = scratch_n,
	.pack = pack,
	.correlate = correlate,
	.sums_n = sums_n,
	.weights_add = weights_add,
	.weights_end = weights_end,
	.linear_forward = linear_forward,
	.linear_dx = linear_dx,
	.linear_dw = linear_dw,
};
