/* tests/kernels/cuda_queue.h — a queue of the CUDA table, and floats in its memory: for each test
 * of a suite, on the stand-in (which has none left at its end) or on a GPU. */
#ifndef SW_TESTS_KERNELS_CUDA_QUEUE_H
#define SW_TESTS_KERNELS_CUDA_QUEUE_H

#include "kernels/ops.h"
#include "tests/run.h"
#ifndef SW_TEST_GPU
#include "tests/kernels/cuda_shim/shim.h"
#endif

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *o;
static struct sw_queue *q;

static inline void queue_setup(void)
{
	ck_assert_int_eq(sw_ops_cuda_open(0, &o, NULL), SW_OK);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
}

static inline void queue_teardown(void)
{
	o->queue_destroy(q);
#ifndef SW_TEST_GPU
	ck_assert_uint_eq(sw_shim.live, 0);
#endif
}

/* n floats from `first` on, each one more than the one before; to be freed. */
static inline float *floats(size_t n, float first)
{
	float *live = malloc(n * sizeof *live);
	void *p;

	ck_assert_ptr_nonnull(live);
	for (size_t i = 0; i < n; i++)
		live[i] = first + (float)i;
	ck_assert_int_eq(o->alloc(&p, n * sizeof *live), SW_OK);
	ck_assert_int_eq(o->upload(q, p, live, n * sizeof *live), SW_OK);
	free(live);
	return p;
}

static inline float value(const float *p)
{
	float v;

	ck_assert_int_eq(o->download(q, &v, p, sizeof v), SW_OK);
	return v;
}

#endif
