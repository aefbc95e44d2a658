/* kernels/step.c — an optimizer step's numbers, prepared by the host. */
#include "kernels/shapes.h"
#include <math.h>

struct sw_step sw_step_make(uint64_t step, double lr, double beta1, double beta2)
{
	return (struct sw_step){.step = step,
				.lr = lr,
				.beta1_t = pow(beta1, (double)step),
				.beta2_t = pow(beta2, (double)step)};
}
