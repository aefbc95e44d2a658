/* tests/kernels/test_cuda_load.c — the list of kernels that are loaded when a device is taken, on
 * the stand-in device. */
#undef SW_CUDA_BLAS_BYTES /* that of the stand-in is small; the product's is looked at here */
#include "base/fault.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/load.h"
#include "kernels/ops.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"

/* cuBLAS's choice of an algorithm, and so the bits of a product, may depend on it. */
_Static_assert(SW_CUDA_BLAS_BYTES == 33554432, "a queue's workspace of cuBLAS is 32 MiB");

sw_ops_open_fn sw_ops_cuda_open;

#define KERNELS_N 3000 /* far more than there are */

static const char kernel[KERNELS_N];

static void kernel_register(size_t i)
{
	__wrap___cudaRegisterFunction(NULL, &kernel[i], NULL, "", -1, NULL, NULL, NULL, NULL, NULL);
}

/* Else the first launch of each loads it, when a trial may have taken the memory. */
TEST(kernels_are_loaded_when_the_device_is_taken)
{
	const struct sw_ops *o;
	struct sw_err err = SW_ERR_INIT;
	unsigned probed;

	for (size_t i = 0; i < KERNELS_N; i++)
		kernel_register(i);
	sw_shim.unloadable = &kernel[KERNELS_N - 1];
	ck_assert_int_eq(sw_ops_cuda_open(0, &o, &err), SW_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "no memory left"));
	sw_shim.unloadable = NULL;
	probed = sw_shim.loads;
	ck_assert_msg(sw_ops_cuda_open(0, &o, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_ge(sw_shim.loads - probed, KERNELS_N);
	ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
}

#ifdef SW_FAULTS
/* One that is not in the list would be loaded in mid-trial. */
TEST(kernel_that_cannot_be_noted_keeps_the_device_from_being_taken)
{
	const struct sw_ops *o;
	struct sw_err err = SW_ERR_INIT;
	size_t i = 0;

	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	while (!sw_fault_fired(SW_FAULT_MALLOC)) { /* the list grows now and then */
		ck_assert_uint_lt(i, KERNELS_N);
		kernel_register(i++);
	}
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_int_eq(sw_ops_cuda_open(0, &o, &err), SW_NOMEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "no memory left"));
}
#endif

RUN_TESTS(NULL, NULL)
