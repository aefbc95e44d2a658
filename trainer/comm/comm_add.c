/* trainer/comm/comm_add.c — the adding loops. Built with -O3, so that they are vectors; an addition
 * of two has the same bits whichever comes first. */
#include "trainer/comm/comm_internal.h"

static void add_f32(float *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

static void add_f64(double *restrict to, const double *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

static void add_u64(uint64_t *restrict to, const uint64_t *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

void comm_add(enum sw_comm_type type, void *restrict to, const void *restrict from, size_t bytes)
{
	switch (type) {
	case SW_COMM_F32:
		add_f32(to, from, bytes / sizeof(float));
		return;
	case SW_COMM_F64:
		add_f64(to, from, bytes / sizeof(double));
		return;
	case SW_COMM_I64: /* without a sign, so that it wraps */
		add_u64(to, from, bytes / sizeof(uint64_t));
		return;
	}
}
