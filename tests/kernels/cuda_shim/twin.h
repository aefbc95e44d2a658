/*
 * tests/kernels/cuda_shim/twin.h — runs one call on the CPU table and on the CUDA table, from the
 * same bytes, and compares every buffer: what should change and what should not.
 *
 * The CUDA table runs the call several times (with sanitizers once), on the stand-in device in
 * another order of threads each time, and must give the same bits. The CPU runs it by each set of
 * instructions that this machine has, and products by each of its ways. Each buffer has a guard
 * behind it.
 */
#ifndef SW_TESTS_CUDA_SHIM_TWIN_H
#define SW_TESTS_CUDA_SHIM_TWIN_H

#include "kernels/ops.h"
#include "tests/kernels/sums.h"
#include <stddef.h>

#define TWIN_BUFS 9

enum twin_kind { TWIN_F32, TWIN_I32, TWIN_METRICS, TWIN_F64, TWIN_I64 };

/* init: n elements, or NULL: NaN. tol: of |a - b| <= tol (1 + |a|); 0: equal, with NaN like NaN;
 * TWIN_SCRATCH: whatever, but the same each time. */
#define TWIN_SCRATCH (-1.0)

struct twin_buf {
	enum twin_kind kind;
	size_t n;
	const void *init;
	double tol;
};

/* p: the buffers' addresses. ctx: the caller's, or in a row a struct twin_at. */
typedef sw_status twin_call(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			    const void *ctx);

/* Check's fixtures. On a machine without a GPU, twin_have() of the device's build is 0. */
int twin_have(void);
void twin_setup(void);
void twin_teardown(void);

/* RUN_TESTS (tests/run.h) for these: all are skipped where there is no GPU. */
#define RUN_TWINS()                                                                                \
	SUITE(tcase)                                                                               \
	{                                                                                          \
		if (!twin_have()) {                                                                \
			puts("no GPU here: skipped");                                              \
			exit(77);                                                                  \
		}                                                                                  \
		tcase_add_checked_fixture(tcase, twin_setup, twin_teardown);                       \
	}

/* Whether the stand-in is what runs, and so many steps of a kernel's loops are too many for it. */
int twin_slow(size_t steps);

/* The CUDA table, after twin_setup: for the sizes of scratch memory. */
const struct sw_ops *twin_cuda(void);

/* Freed by twin_teardown. room: zeros. noise: in [-2, 2), a seventh of it zeros of both signs.
 * sums: of nothing yet. */
void *twin_room(size_t bytes);
float *twin_noise(size_t n, unsigned seed);
int32_t *twin_labels(size_t n, size_t below, unsigned seed);
struct sum *twin_sums(size_t n);

/* Fails the test unless both tables return the same status and leave the same values. */
void twin_check(const char *what, twin_call *call, const void *ctx, const struct twin_buf *b,
		size_t n);

/* As twin_check; but where sums[i] is not NULL, both tables' buffer i, of floats, must be near
 * these (sums.h), however they differ from one another. */
void twin_check_sums(const char *what, twin_call *call, const void *ctx, const struct twin_buf *b,
		     size_t n, const struct sum *const *sums);

/* --- rows: what an op is called with, and the sizes that it is called in --- */

#define TWIN_SIZES 4

struct twin_at {
	size_t d[TWIN_SIZES];
	int way; /* of a call: in place, without a mask ... */
};

/* n elements to begin with, freed by twin_teardown. */
typedef const void *twin_fill(size_t n, unsigned seed, const struct twin_at *at);

/* An op in a line of text: a word for each operand, "BC?~1e-6" or "iN<V". In this order:
 *	i d l m    int32, double, int64, struct sw_metrics; none of them: float
 *	3BTD       so many elements: the product of digits and of sizes by their letters
 *	<V         int32 below this product
 *	? + @ - !  begins as NaN; from 0.25 on; far from zero; with -1 in each third place; as fill
 *	           says; none of them: noise, or counts that are added to
 *	~1e-6      how near the tables must be afterwards; none: equal */
struct twin_op {
	const char *name;
	twin_call *call;
	const char *sizes; /* a letter for each number of a shape */
	int ways;
	const char *operands;
	twin_fill *fill;
};

/* One call of o: p its operands, d the sizes, way. */
#define TWIN_CALL(name, called) TWIN_CALLS(name, called, sync(q))
/* Two: the second if the first went well. */
#define TWIN_CALLS(name, first, second)                                                            \
	static sw_status name(const struct sw_ops *o, struct sw_queue *q, void *const *p,          \
			      const void *ctx)                                                     \
	{                                                                                          \
		const int way = ((const struct twin_at *)ctx)->way;                                \
		const size_t *d = ((const struct twin_at *)ctx)->d;                                \
		const sw_status status = o->first;                                                 \
                                                                                                   \
		(void)d;                                                                           \
		(void)way;                                                                         \
		return status != SW_OK ? status : o->second;                                       \
	}

/* Numbers that a variance, or one over its root, may be. */
float *twin_positive(size_t n, unsigned seed);

/* twin_check of the op in this shape, in each of its ways. */
void twin_row(const struct twin_op *op, const size_t *shape);

#endif
