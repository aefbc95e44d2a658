#include "tests/kernels/cuda_shim/twin.h"
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include "tests/run.h"
#include <math.h>
#include <stdbool.h>
#ifndef SW_TEST_GPU
#include "tests/kernels/cuda_shim/shim.h"
#endif

/* Behind a buffer; none on the stand-in, which sees the first byte behind it. */
#define GUARD_BYTES 32
#define GUARD       0xa5

/* How often the CUDA table runs a call. On the stand-in device each run has another order of
 * threads: the watch sees a race in any, so the second is for what an order of atomics decides. A
 * sanitizer, in whose build nobody watches, sees in a second run what it saw in the first. */
#ifdef SW_TEST_GPU
#define RUNS 4
#elif defined SW_SHIM_WATCH
#define RUNS 2
#else
#define RUNS 1
#endif

/* About a second in each run. */
#define SLOW 300000

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *cuda;
static struct sw_queue *queue;
static void *products; /* lent to the queue for products of any shape */
static void *kept[256];
static size_t kept_n;

int twin_have(void)
{
	const struct sw_ops *o;

#ifndef SW_TEST_GPU
	return 1; /* and the tests open it, each in its own process */
#endif
	/* A process that forks after CUDA's start has children in which no call of it works. */
	setenv("CK_FORK", "no", 1);
	return sw_ops_cuda_open(0, &o, NULL) == SW_OK;
}

int twin_slow(size_t steps)
{
#ifdef SW_TEST_GPU
	(void)steps;
	return 0;
#else
	return steps > SLOW;
#endif
}

void twin_setup(void)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_ops_cuda_open(0, &cuda, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(cuda->queue_create(&queue), SW_OK);
	const size_t bytes = cuda->linear_products(SW_FP32, 1 << 20, 1 << 10, 1 << 10);

	ck_assert_int_eq(cuda->alloc(&products, bytes), SW_OK);
	ck_assert_int_eq(cuda->products_open(queue, &err), SW_OK);
	ck_assert_int_eq(cuda->precision(queue, SW_FP32, products, bytes), SW_OK);
}

const struct sw_ops *twin_cuda(void)
{
	return cuda;
}

void twin_teardown(void)
{
	cuda->queue_destroy(queue);
	cuda->free(products);
	while (kept_n)
		free(kept[--kept_n]);
}

void *twin_room(size_t bytes)
{
	ck_assert_uint_lt(kept_n, ROWS(kept));
	kept[kept_n] = calloc(1, bytes + 1);
	ck_assert_ptr_nonnull(kept[kept_n]);
	return kept[kept_n++];
}

static uint32_t word(unsigned seed, size_t i)
{
	return sw_philox_block(seed, SW_PHILOX_SHUFFLE, 0, 0, i).v[0];
}

float *twin_noise(size_t n, unsigned seed)
{
	float *x = twin_room(n * sizeof *x);

	for (size_t i = 0; i < n; i++) {
		const uint32_t w = word(seed, i);

		x[i] = w % 7 == 0 ? (w % 2 ? 0.0f : -0.0f) : 4.0f * sw_philox_unit(w) - 2.0f;
	}
	return x;
}

int32_t *twin_labels(size_t n, size_t below, unsigned seed)
{
	int32_t *x = twin_room(n * sizeof *x);

	for (size_t i = 0; i < n; i++)
		x[i] = (int32_t)(word(seed, i) % below);
	return x;
}

struct sum *twin_sums(size_t n)
{
	return twin_room(n * sizeof(struct sum));
}

static size_t bytes_of(const struct twin_buf *b)
{
	static const size_t each[] = {sizeof(float), sizeof(int32_t), sizeof(struct sw_metrics),
				      sizeof(double), sizeof(int64_t)};

	return b->n * each[b->kind];
}

static size_t guard_of(const struct sw_ops *o)
{
#ifndef SW_TEST_GPU
	if (o == cuda)
		return 0;
#endif
	(void)o;
	return GUARD_BYTES;
}

/* Runs call on table o; out[i]: the bytes of buffer i afterwards, in memory to be freed. */
static sw_status run(const struct sw_ops *o, struct sw_queue *q, twin_call *call, const void *ctx,
		     const struct twin_buf *b, size_t n, unsigned char **out)
{
	void *p[TWIN_BUFS] = {NULL};
	const size_t guard = guard_of(o);
	sw_status status;

	for (size_t i = 0; i < n; i++) {
		const size_t bytes = bytes_of(&b[i]);

		out[i] = malloc(bytes + guard + 1);
		ck_assert_ptr_nonnull(out[i]);
		memset(out[i], 0xff, bytes);
		if (b[i].init && bytes)
			memcpy(out[i], b[i].init, bytes);
		memset(out[i] + bytes, GUARD, guard);
		/* A tensor without elements has an address, too. */
		ck_assert_int_eq(o->alloc(&p[i], bytes + guard ? bytes + guard : 1), SW_OK);
		ck_assert_int_eq(o->upload(q, p[i], out[i], bytes + guard), SW_OK);
	}
	status = call(o, q, p, ctx);
	for (size_t i = 0; i < n; i++) {
		const size_t bytes = bytes_of(&b[i]);

		ck_assert_int_eq(o->download(q, out[i], p[i], bytes + guard), SW_OK);
		o->free(p[i]);
		for (size_t k = 0; k < guard; k++)
			if (out[i][bytes + k] != GUARD)
				ck_abort_msg("%s wrote behind buffer %zu", o->name, i);
	}
	return status;
}

static int same_number(double want, double got, double tol)
{
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	if (isinf(want) || isinf(got))
		return want == got;
	return fabs(want - got) <= tol * (1 + fabs(want));
}

/* Check writes a record for each of its assertions: one a buffer, not one a number. */
static void same_buf(const char *what, size_t buf, const struct twin_buf *b, const void *want,
		     const void *got)
{
	for (size_t i = 0; i < b->n && b->tol != TWIN_SCRATCH; i++) {
		const struct sw_metrics *mw = want, *mg = got;
		double w, g;

		if (b->kind == TWIN_METRICS) {
			w = mw[i].loss_sum;
			g = mg[i].loss_sum;
			ck_assert_double_eq(mw[i].correct, mg[i].correct);
			ck_assert_double_eq(mw[i].top5, mg[i].top5);
			ck_assert_double_eq(mw[i].rows, mg[i].rows);
			ck_assert_double_eq(mw[i].values, mg[i].values);
			ck_assert(same_number(mw[i].abs_sum, mg[i].abs_sum, b->tol));
			ck_assert(same_number(mw[i].square_sum, mg[i].square_sum, b->tol));
			ck_assert(same_number(mw[i].t_sum, mg[i].t_sum, b->tol));
			ck_assert(same_number(mw[i].t_square_sum, mg[i].t_square_sum, b->tol));
		} else if (b->kind == TWIN_I32) {
			w = ((const int32_t *)want)[i];
			g = ((const int32_t *)got)[i];
		} else if (b->kind == TWIN_I64) {
			w = (double)((const int64_t *)want)[i];
			g = (double)((const int64_t *)got)[i];
		} else if (b->kind == TWIN_F64) {
			w = ((const double *)want)[i];
			g = ((const double *)got)[i];
		} else {
			w = (double)((const float *)want)[i];
			g = (double)((const float *)got)[i];
		}
		if (!same_number(w, g, b->tol))
			ck_abort_msg("%s: buffer %zu at %zu of %zu: cpu %.9g, cuda %.9g", what, buf,
				     i, b->n, w, g);
	}
}

static void near_sums(const char *what, size_t buf, const struct sum *want, const void *got,
		      size_t n, const struct sw_ops *o)
{
	const size_t i = sums_wrong(want, got, n);

	if (i < n)
		ck_abort_msg("%s: buffer %zu at %zu of %zu, a sum of %zu: %.9g, %s %.9g, %g units",
			     what, buf, i, n, want[i].n, want[i].value, o->name,
			     (double)((const float *)got)[i],
			     fabs((double)((const float *)got)[i] - want[i].value) /
				     sum_unit(&want[i]));
}

/* TWIN_RUNS in the environment: fewer of them, for tests/planted. */
static int runs(void)
{
	const char *n = getenv("TWIN_RUNS");

	return n && atoi(n) > 0 && atoi(n) < RUNS ? atoi(n) : RUNS;
}

/* Takes the nth way of the CPU table, or returns false: as this machine chooses, then by each set
 * of instructions that it has, products by its own loops; and sums by columns and BLAS. */
static bool cpu_way(int n, bool summed)
{
	const bool library = n > SW_CPU_ISA_N;
	const int path = n == 0 ? 0 : library ? 2 : 1;

	sw_cpu_conv_force(path);
	sw_cpu_linear_force(path);
	return sw_cpu_isa_force(library ? SW_CPU_PLAIN : n - 1) && (summed || !library);
}

/* What the CPU leaves, in want: near the sums, whichever way it goes. Returns its status. */
static sw_status on_cpu(const char *what, twin_call *call, const void *ctx,
			const struct twin_buf *b, size_t n, const struct sum *const *sums,
			unsigned char **want)
{
	unsigned char *again[TWIN_BUFS];
	sw_status status = SW_OK;
	struct sw_queue *q;

	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_OK);
	for (int way = 0; way < SW_CPU_ISA_N + 2; way++) {
		unsigned char **out = way ? again : want;

		if (!cpu_way(way, sums != NULL))
			continue;
		const sw_status rc = run(&sw_ops_cpu, q, call, ctx, b, n, out);

		status = way ? status : rc;
		ck_assert_int_eq(rc, status);
		for (size_t i = 0; i < n; i++) {
			if (sums && sums[i])
				near_sums(what, i, sums[i], out[i], b[i].n, &sw_ops_cpu);
			else if (way)
				same_buf(what, i, &b[i], want[i], out[i]);
			if (way)
				free(out[i]);
		}
	}
	(void)cpu_way(0, false);
	sw_ops_cpu.queue_destroy(q);
	return status;
}

void twin_check_sums(const char *what, twin_call *call, const void *ctx, const struct twin_buf *b,
		     size_t n, const struct sum *const *sums)
{
	unsigned char *want[TWIN_BUFS], *first[TWIN_BUFS] = {NULL}, *got[TWIN_BUFS];
	const int all = runs();
	const sw_status status = on_cpu(what, call, ctx, b, n, sums, want);

	for (int nth = 0; nth < all; nth++) {
#ifndef SW_TEST_GPU
		sw_shim.order = nth ? SW_SHIM_SHUFFLED : SW_SHIM_FORWARD;
		sw_shim.seed++;
#endif
		ck_assert_int_eq(run(cuda, queue, call, ctx, b, n, got), status);
		for (size_t i = 0; i < n; i++) {
			if (sums && sums[i])
				near_sums(what, i, sums[i], got[i], b[i].n, cuda);
			else
				same_buf(what, i, &b[i], want[i], got[i]);
			if (nth == 0) {
				first[i] = got[i];
				continue;
			}
			ck_assert_msg(memcmp(first[i], got[i], bytes_of(&b[i])) == 0,
				      "%s: buffer %zu is not the same in another run", what, i);
			free(got[i]);
		}
	}
	for (size_t i = 0; i < n; i++) {
		free(want[i]);
		free(first[i]);
	}
}

void twin_check(const char *what, twin_call *call, const void *ctx, const struct twin_buf *b,
		size_t n)
{
	twin_check_sums(what, call, ctx, b, n, NULL);
}

/* --- rows --- */

float *twin_positive(size_t n, unsigned seed)
{
	float *x = twin_noise(n, seed);

	for (size_t i = 0; i < n; i++)
		x[i] = 0.25f + fabsf(x[i]);
	return x;
}

/* Far from zero: what a sum of squares loses its digits by. */
static float *far(size_t n, unsigned seed)
{
	float *x = twin_noise(n, seed);

	for (size_t i = 0; i < n; i++)
		x[i] += 100.0f;
	return x;
}

/* The product of the sizes that *s begins with; *s is moved behind it. */
static size_t product(const char **s, const struct twin_op *op, const struct twin_at *at)
{
	size_t n = 1;

	for (; (**s >= '0' && **s <= '9') || (**s >= 'A' && **s <= 'Z'); ++*s) {
		const char *size = strchr(op->sizes, **s);

		ck_assert(size || **s <= '9');
		n *= size ? at->d[size - op->sizes] : (size_t)(**s - '0');
	}
	return n;
}

static int32_t *integers(size_t n, size_t below, unsigned seed, bool left_out)
{
	int32_t *x = twin_labels(n, below ? below : 1, seed);

	for (size_t i = 2; left_out && i < n; i += 3)
		x[i] = -1;
	return x;
}

/* What is added to, and not from zero. */
static const void *counts(enum twin_kind kind, size_t n)
{
	static const struct sw_metrics metrics = {1.5, 2, 3, 4, 5, 6, 7, 8, 9};
	int64_t *x = twin_room(n * sizeof *x);

	for (size_t i = 0; i < n; i++)
		x[i] = (int64_t)(i % 3) << 40;
	return kind == TWIN_METRICS ? (const void *)&metrics : x;
}

static const void *begin(const struct twin_buf *b, size_t below, char begin, unsigned seed,
			 const struct twin_op *op, const struct twin_at *at)
{
	if (begin == '?')
		return NULL;
	if (begin == '!')
		return op->fill(b->n, seed, at);
	if (b->kind == TWIN_I32)
		return integers(b->n, below, seed, begin == '-');
	if (b->kind != TWIN_F32)
		return counts(b->kind, b->n);
	return begin == '+'   ? twin_positive(b->n, seed)
	       : begin == '@' ? far(b->n, seed)
			      : twin_noise(b->n, seed);
}

/* Of the operand at *s, which is moved to the next one. */
static struct twin_buf operand(const char **s, unsigned seed, const struct twin_op *op,
			       const struct twin_at *at)
{
	static const char kinds[] = "imdl"; /* from TWIN_I32 on */
	const char *kind = strchr(kinds, **s);
	struct twin_buf b = {.kind = kind ? (enum twin_kind)(kind - kinds + 1) : TWIN_F32};
	size_t below = 0;
	char first = ' ', *end;

	*s += kind != NULL;
	b.n = product(s, op, at);
	if (**s == '<') {
		++*s;
		below = product(s, op, at);
	}
	if (**s && strchr("?+@-!", **s))
		first = *(*s)++;
	b.init = begin(&b, below, first, seed, op, at);
	if (**s == '~') {
		b.tol = strtod(*s + 1, &end);
		*s = end;
	}
	ck_assert_msg(**s == ' ' || !**s, "%s: %s", op->name, *s);
	*s += **s == ' ';
	return b;
}

void twin_row(const struct twin_op *op, const size_t *shape)
{
	const size_t before = kept_n;
	struct twin_at at = {.way = 0};
	char what[120];

	memcpy(at.d, shape, strlen(op->sizes) * sizeof *shape);
	for (; at.way < op->ways; at.way++) {
		const char *s = op->operands;
		struct twin_buf b[TWIN_BUFS];
		size_t n = 0;

		while (*s) {
			ck_assert_uint_lt(n, TWIN_BUFS);
			b[n] = operand(&s, (unsigned)n + 1, op, &at);
			n++;
		}
		snprintf(what, sizeof what, "%s, %s %zu %zu %zu %zu, way %d", op->name, op->sizes,
			 at.d[0], at.d[1], at.d[2], at.d[3], at.way);
		twin_check(what, op->call, &at, b, n);
		while (kept_n > before)
			free(kept[--kept_n]);
	}
}
