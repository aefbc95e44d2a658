/*
 * kernels/backend.h — opens the table of a device by its name.
 *
 * "cpu" and "cpu:N" give the CPU table; "gpu:N" the table of the module libsweepd-cuda.so, which is
 * looked for beside the executable, then where an installed one has it (lib/sweepd), or is the
 * file that SWEEPD_CUDA_MODULE names, and opened with dlopen: one program runs on machines with and
 * without a GPU. It stays loaded for the life of the process, because a CUDA context cannot be
 * taken down cleanly.
 *
 * Errors   SW_INVALID (not a device name), SW_NOT_FOUND (no module, no driver, no such GPU), and
 *          what the module says; always one line.
 */
#ifndef SW_KERNELS_BACKEND_H
#define SW_KERNELS_BACKEND_H

#include "kernels/ops.h"

/* cores: what a CPU backend may use; at least 1. */
SW_NODISCARD sw_status sw_backend_open(const char *device, unsigned cores,
				       const struct sw_ops **out, struct sw_err *err);

/* A GPU's table without a GPU, to count bytes with: see sw_ops_open_fn. SW_NOT_FOUND: no module. */
SW_NODISCARD sw_status sw_backend_gpu_sizes(const struct sw_ops **out, struct sw_err *err);

#endif
