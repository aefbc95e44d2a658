/* tests/kernels/test_cuda_conv.c — convolution of kernels/cuda beside that of kernels/cpu, by each
 * of its ways. */
#include "kernels/cuda/conv.h"
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"

/* Every way: direct with few and with 4 channels a thread, by patches where the shape has them (1,
 * 2) or without (4, 5); columns and cuBLAS (3). */
#define PATHS   5
#define COLUMNS 3

/* Of a convolution with its pooling: sums of up to some hundred terms, in another order. */
#define TOL 1e-4

static const struct sw_conv convs[] = {
	/*B  C   H   W   O   kh kw s  p */
	{1, 1, 1, 1, 1, 1, 1, 1, 0},
	{2, 3, 5, 4, 2, 3, 3, 1, 0},
	{4, 3, 9, 8, 6, 5, 5, 1, 0},
	{2, 1, 7, 11, 17, 5, 5, 1, 2},
	{2, 2, 7, 7, 3, 3, 3, 1, 1},
	{1, 2, 6, 7, 33, 3, 3, 2, 1},
	{5, 4, 6, 5, 7, 1, 1, 2, 0},
	{1, 1, 3, 17, 2, 2, 3, 1, 1},
	{1, 2, 4, 4, 2, 4, 4, 1, 0},
	{2, 3, 7, 6, 4, 3, 2, 3, 1},
	{3, 17, 5, 5, 6, 1, 1, 1, 0},
	{1, 1, 2, 2, 1, 2, 2, 2, 2},
	{1, 33, 3, 4, 2, 3, 3, 1, 1},
	{1, 3, 11, 15, 1, 7, 7, 2, 3},
	{2, 2, 9, 8, 5, 7, 7, 1, 0},
	{1, 1, 13, 14, 2, 3, 5, 3, 2},
	{2, 1, 6, 6, 2, 9, 9, 1, 4},
	/* places of the weights' gradient in more than one segment */
	{1, 1, 19, 17, 2, 1, 2, 1, 0},
	{5, 2, 12, 11, 1, 3, 3, 1, 1},
	/* patches of 2 x 2: padding that is odd, wider than half a kernel, than the image */
	{1, 2, 5, 6, 3, 3, 3, 1, 2},
	{2, 1, 3, 3, 5, 5, 5, 1, 3},
	{2, 6, 6, 7, 2, 5, 5, 1, 1},
	{1, 1, 2, 3, 2, 3, 3, 1, 4},
	{40, 1, 7, 8, 1, 3, 3, 1, 0},
	/* rows and channels beyond the vectors of a CPU's instructions */
	{3, 6, 14, 14, 16, 5, 5, 1, 0},
	{1, 3, 32, 32, 6, 5, 5, 1, 0},
	{2, 6, 9, 21, 17, 5, 5, 1, 0},
	{1, 16, 6, 34, 13, 3, 3, 1, 1},
	{1, 17, 10, 10, 32, 3, 3, 1, 1},
	{1, 3, 19, 35, 1, 7, 7, 2, 3},
	/* sums of 16,384 places */
	{64, 2, 16, 16, 3, 3, 3, 1, 1},
	/* nothing of something */
	{0, 3, 4, 4, 2, 3, 3, 1, 1},
	{3, 0, 4, 4, 2, 3, 3, 1, 1},
	{3, 2, 4, 4, 0, 3, 3, 1, 1},
	{0, 0, 0, 0, 0, 1, 1, 1, 0},
	/* that make no sense */
	{1, 1, 2, 2, 1, 3, 3, 1, 0},
	{1, 1, 4, 4, 1, 3, 3, 0, 0},
	{1, 1, 4, 4, 1, 0, 3, 1, 0},
	{128, 3, 32, 32, 6, 5, 5, 1, 0},
	{64, 32, 16, 16, 64, 3, 3, 1, 1},
	{64, 64, 8, 8, 128, 3, 3, 2, 1},
};

struct call {
	struct sw_conv c;
	enum sw_act act;
	int bias, input;
	int no_work; /* for shapes that no table looks at */
};

static size_t in_n(const struct sw_conv *c)
{
	return c->B * c->C * c->H * c->W;
}

static size_t out_n(const struct sw_conv *c)
{
	return c->B * c->O * sw_conv_out_h(c) * sw_conv_out_w(c);
}

static size_t weights_n(const struct sw_conv *c)
{
	return c->O * c->C * c->kh * c->kw;
}

static int makes_sense(const struct sw_conv *c)
{
	return c->stride && c->kh && (!c->B || !c->C || (sw_conv_out_h(c) && sw_conv_out_w(c)));
}

/* The stand-in has no time for large shapes by the direct kernels, nor for the largest at all. */
static int skipped(const struct sw_conv *c, int path)
{
	const size_t columns =
		makes_sense(c) ? c->C * c->kh * c->kw * c->B * sw_conv_out_h(c) * sw_conv_out_w(c)
			       : 0;

	return twin_slow(path == COLUMNS ? columns : c->O * columns);
}

/* A table's own scratch memory, of just the bytes that it asks for. */
static sw_status work_alloc(const struct sw_ops *o, const struct call *s, void **work)
{
	*work = NULL;
	return s->no_work ? SW_OK : o->alloc(work, o->conv2d_workspace(&s->c));
}

/* p: x, w, b, y */
static sw_status forward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			 const void *ctx)
{
	const struct call *s = ctx;
	void *work;
	sw_status status = work_alloc(o, s, &work);

	if (status != SW_OK)
		return status;
	status = o->conv2d_forward(q, p[0], p[1], s->bias ? p[2] : NULL, p[3], &s->c, s->act, work);
	if (status == SW_OK)
		status = o->sync(q);
	o->free(work);
	return status;
}

/* p: x, w, y, dy, dx, dw and db end to end */
static sw_status backward(const struct sw_ops *o, struct sw_queue *q, void *const *p,
			  const void *ctx)
{
	const struct call *s = ctx;
	float *dw = p[5], *db = dw + weights_n(&s->c);
	void *work;
	sw_status status = work_alloc(o, s, &work);

	if (status != SW_OK)
		return status;
	status = o->conv2d_backward(q, p[0], p[1], s->act == SW_ACT_NONE ? NULL : p[2], p[3],
				    s->input ? p[4] : NULL, dw, s->bias ? db : NULL, &s->c, s->act,
				    work);
	if (status == SW_OK)
		status = o->sync(q);
	o->free(work);
	return status;
}

TEST_ROWS(conv2d_forward_is_as_on_cpu, convs)
{
	const struct sw_conv *c = &convs[_i];
	float *x = twin_noise(in_n(c), 1), *w = twin_noise(weights_n(c), 2),
	      *bias = twin_noise(c->O, 3);
	const struct twin_buf b[] = {
		{TWIN_F32, in_n(c), x, 0},
		{TWIN_F32, weights_n(c), w, 0},
		{TWIN_F32, c->O, bias, 0},
		{TWIN_F32, out_n(c), NULL, 0},
	};

	for (int path = 1; path <= PATHS; path++) {
		if (skipped(c, path))
			continue;
		const struct call s = {.c = *c,
				       .act = (path + _i) % 2 ? SW_ACT_RELU : SW_ACT_NONE,
				       .bias = (path / 2 + _i) % 2};
		struct sum *y = twin_sums(out_n(c));
		const struct sum *const sums[ROWS(b)] = {[3] = makes_sense(c) ? y : NULL};

		if (makes_sense(c))
			sums_conv2d_forward(y, x, w, s.bias ? bias : NULL, c, s.act);
		sw_cuda_conv_force(path);
		twin_check_sums("conv2d_forward", forward, &s, b, ROWS(b), sums);
	}
	sw_cuda_conv_force(0);
}

TEST_ROWS(conv2d_backward_is_as_on_cpu, convs)
{
	const struct sw_conv *c = &convs[_i];
	const size_t grads = weights_n(c) + c->O;
	float *x = twin_noise(in_n(c), 1), *w = twin_noise(weights_n(c), 2);
	float *y = twin_noise(out_n(c), 3), *dy = twin_noise(out_n(c), 4);

	for (int path = 1; path <= PATHS; path++)
		for (int way = 0; way < 2 && !skipped(c, path); way++) {
			const struct call s = {.c = *c,
					       .act = way ? SW_ACT_RELU : SW_ACT_NONE,
					       .bias = (way + path) % 3 != 0,
					       .input = (way + _i + path) % 4 != 0};
			struct sum *dx = twin_sums(in_n(c)), *dw = twin_sums(grads);
			const struct twin_buf b[] = {
				{TWIN_F32, in_n(c), x, 0},
				{TWIN_F32, weights_n(c), w, 0},
				{TWIN_F32, out_n(c), y, 0},
				/* without an activation dy stays as it is */
				{TWIN_F32, out_n(c), dy, way ? TWIN_SCRATCH : 0},
				{TWIN_F32, in_n(c), NULL, 0},
				{TWIN_F32, s.bias ? grads : weights_n(c), NULL, 0},
			};
			const struct sum *sums[ROWS(b)] = {NULL};

			if (makes_sense(c)) {
				sums_conv2d_backward(dx, dw, dw + weights_n(c), x, w,
						     way ? y : NULL, dy, c);
				sums[4] = s.input ? dx : NULL;
				sums[5] = dw;
			}
			sw_cuda_conv_force(path);
			twin_check_sums("conv2d_backward", backward, &s, b, ROWS(b), sums);
		}
	sw_cuda_conv_force(0);
}

/* --- with the pooling behind it --- */

static const struct pooled_row {
	struct sw_conv c;
	size_t k, stride, pad;
} pooled_rows[] = {
	/* windows of 2 x 2 beside one another: of even and odd maps, padding, many images */
	{{2, 3, 10, 12, 3, 5, 5, 1, 0}, 2, 2, 0},
	{{1, 5, 9, 11, 5, 5, 5, 1, 0}, 2, 2, 0},
	{{3, 2, 7, 6, 3, 3, 3, 1, 1}, 2, 2, 0},
	{{1, 3, 5, 8, 9, 5, 5, 1, 2}, 2, 2, 0},
	{{40, 1, 7, 8, 1, 3, 3, 1, 0}, 2, 2, 0},
	/* others, which two calls make */
	{{2, 3, 9, 8, 4, 3, 3, 1, 1}, 3, 2, 1},
	{{2, 3, 9, 8, 4, 3, 3, 1, 0}, 2, 1, 0},
	{{2, 2, 8, 8, 3, 3, 3, 2, 1}, 2, 2, 0},
	{{2, 2, 6, 6, 3, 1, 1, 1, 0}, 2, 2, 0},
	{{0, 3, 7, 7, 2, 3, 3, 1, 0}, 2, 2, 0},
	{{2, 3, 3, 3, 2, 3, 3, 1, 0}, 2, 2, 0}, /* no window fits */
#ifdef SW_TEST_GPU
	{{128, 3, 32, 32, 6, 5, 5, 1, 0}, 2, 2, 0},
#endif
};

struct pooled_call {
	struct sw_conv c;
	struct sw_window p;
	enum sw_act act;
	int input;
	int apart; /* by two calls */
};

/* p: x, w, dy, full, y, argmax, dfull, dx, dw and db end to end */
static sw_status pooled(const struct sw_ops *o, struct sw_queue *q, void *const *p, const void *ctx)
{
	const struct pooled_call *s = ctx;
	const struct sw_pooled m = {s->p, p[3], p[4], p[5]};
	const float *w = p[1];
	float *dx = s->input ? p[7] : NULL, *dw = p[8], *db = dw + weights_n(&s->c);
	void *work;
	sw_status rc = o->alloc(&work, o->conv2d_workspace(&s->c));

	if (rc == SW_OK && s->apart) {
		rc = o->conv2d_forward(q, p[0], w, w, m.full, &s->c, s->act, work);
		if (rc == SW_OK)
			rc = o->maxpool2d_forward(q, m.full, m.y, m.argmax, &s->p);
		if (rc == SW_OK)
			rc = o->maxpool2d_backward(q, p[2], m.argmax, p[6], &s->p);
		if (rc == SW_OK)
			rc = o->conv2d_backward(q, p[0], w, m.full, p[6], dx, dw, db, &s->c, s->act,
						work);
	} else if (rc == SW_OK) {
		rc = o->conv2d_maxpool_forward(q, p[0], w, w, &m, &s->c, s->act, work);
		if (rc == SW_OK)
			rc = o->conv2d_maxpool_backward(q, p[0], w, &m, p[2], p[6], dx, dw, db,
							&s->c, s->act, work);
	}
	const sw_status done = o->sync(q); /* the first of two calls may use work */

	o->free(work);
	return rc == SW_OK ? done : rc;
}

static struct pooled_call pooled_call_of(const struct pooled_row *r, int way)
{
	const size_t oh = sw_conv_out_h(&r->c), ow = sw_conv_out_w(&r->c);

	return (struct pooled_call){
		.c = r->c,
		.p = {r->c.B, r->c.O, oh, ow, r->k, r->k, r->stride, r->pad},
		.act = way % 2 ? SW_ACT_RELU : SW_ACT_NONE,
		.input = way != 2,
	};
}

TEST_ROWS(conv2d_with_its_pooling_is_as_on_cpu, pooled_rows)
{
	const struct pooled_row *r = &pooled_rows[_i];

	/* Of so many maxima some are of two values that differ by their rounding. */
	if (out_n(&r->c) > ((size_t)1 << 16))
		return;
	for (int path = 1; path <= 2; path++) /* by patches */
		for (int way = 0; way < 4; way++) {
			const struct pooled_call s = pooled_call_of(r, way);
			const size_t n =
				r->c.B * r->c.O * sw_pool_out_h(&s.p) * sw_pool_out_w(&s.p);
			const size_t grads = weights_n(&r->c) + r->c.O;
			const struct twin_buf b[] = {
				{TWIN_F32, in_n(&r->c), twin_noise(in_n(&r->c), 1), 0},
				{TWIN_F32, weights_n(&r->c), twin_noise(weights_n(&r->c), 2), 0},
				{TWIN_F32, n, twin_noise(n, 4), 0},
				{TWIN_F32, out_n(&r->c), NULL, TWIN_SCRATCH},
				{TWIN_F32, n, NULL, TOL},
				{TWIN_I32, n, NULL, 0},
				{TWIN_F32, out_n(&r->c), NULL, TWIN_SCRATCH},
				{TWIN_F32, in_n(&r->c), NULL, TOL},
				{TWIN_F32, grads, NULL, TOL},
			};

			sw_cuda_conv_force(path);
			twin_check("conv2d_maxpool", pooled, &s, b, ROWS(b));
		}
	sw_cuda_conv_force(0);
}

/* Host memory with what the call leaves in y, argmax, dx, dw and db, from the same noise. */
static float *pooled_bits(const struct pooled_call *s, size_t n, const float *noise, size_t *all)
{
	const struct sw_ops *o = twin_cuda();
	const size_t grads = weights_n(&s->c) + s->c.O;
	const size_t sizes[9] = {in_n(&s->c), weights_n(&s->c), n,           out_n(&s->c), n,
				 n,           out_n(&s->c),     in_n(&s->c), grads};
	struct sw_queue *q;
	void *p[9];
	float *out, *to;

	*all = 2 * n + in_n(&s->c) + grads;
	out = to = malloc((*all + 1) * sizeof *out);
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	for (size_t i = 0; i < 9; i++) {
		ck_assert_int_eq(o->alloc(&p[i], sizes[i] * sizeof *out), SW_OK);
		ck_assert_int_eq(o->upload(q, p[i], noise + i, sizes[i] * sizeof *out), SW_OK);
	}
	ck_assert_int_eq(pooled(o, q, p, s), SW_OK);
	for (size_t i = 4; i < 9; i++) {
		if (i == 6) /* scratch */
			continue;
		ck_assert_int_eq(o->download(q, to, p[i], sizes[i] * sizeof *out), SW_OK);
		to += sizes[i];
	}
	for (size_t i = 0; i < 9; i++)
		o->free(p[i]);
	o->queue_destroy(q);
	return out;
}

TEST_ROWS(conv2d_with_its_pooling_has_the_bits_of_two_calls, pooled_rows)
{
	const struct pooled_row *r = &pooled_rows[_i];
	const struct pooled_call first = pooled_call_of(r, 0);

	if (!sw_window_fits(&first.p)) /* two calls refuse it, too */
		return;

	const float *noise = twin_noise(in_n(&r->c) + weights_n(&r->c) + out_n(&r->c) + 64, 1);

	for (int way = 0; way < 8; way++) {
		struct pooled_call s = pooled_call_of(r, way % 4);
		const size_t n = r->c.B * r->c.O * sw_pool_out_h(&s.p) * sw_pool_out_w(&s.p);
		size_t all;

		sw_cuda_conv_force(1 + way / 4); /* by patches */
		float *one = pooled_bits(&s, n, noise, &all), *two;

		s.apart = 1;
		two = pooled_bits(&s, n, noise, &all);
		ck_assert_mem_eq(one, two, all * sizeof *one);
		free(one);
		free(two);
	}
	sw_cuda_conv_force(0);
}

TEST_LOOP(conv2d_over_the_limits_is_refused, 0, 3)
{
	static const struct sw_conv over[] = {
		{1, (size_t)1 << 16, 300, 300, 1, 256, 256, 1, 0},
		{(size_t)1 << 31, 1, 1, 1, 1, 1, 1, 1, 0},
		{1, 1, 1 << 16, 1 << 15, 1, 1, 1, 1, 0},
	};
	const struct call s = {.c = over[_i], .no_work = 1};
	const struct twin_buf b[] = {{TWIN_F32, 1, NULL, 0}, {TWIN_F32, 1, NULL, 0},
				     {TWIN_F32, 1, NULL, 0}, {TWIN_F32, 1, NULL, 0},
				     {TWIN_F32, 1, NULL, 0}, {TWIN_F32, 1, NULL, 0}};

	twin_check("conv2d_forward", forward, &s, b, ROWS(b));
	twin_check("conv2d_backward", backward, &s, b, ROWS(b));
}

RUN_TWINS()
