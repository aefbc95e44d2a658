/* tests/kernels/test_cuda_conv.c — convolution of kernels/cuda beside that of kernels/cpu, by each
 * of its ways. */
#include "tests/kernels/cuda_shim/twin.h"
#include "tests/run.h"
#include <stdio.h>
#include <stdlib.h>

/* Sums of up to some thousand terms, in another order. */
#define TOL 1e-4

/* Every way, where a test can say which: direct with 1 and with 4 channels a thread, columns. On a
 * GPU the shape decides. */
#ifndef SW_TEST_GPU
void sw_cuda_conv_force(int path);

#define PATH_FIRST 1
#define PATH_LAST  3
#define force      sw_cuda_conv_force
#else
#define PATH_FIRST  0
#define PATH_LAST   0
#define force(path) (void)(path)
#endif

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
	/* nothing of something */
	{0, 3, 4, 4, 2, 3, 3, 1, 1},
	{3, 0, 4, 4, 2, 3, 3, 1, 1},
	{3, 2, 4, 4, 0, 3, 3, 1, 1},
	{0, 0, 0, 0, 0, 1, 1, 1, 0},
	/* that make no sense */
	{1, 1, 2, 2, 1, 3, 3, 1, 0},
	{1, 1, 4, 4, 1, 3, 3, 0, 0},
	{1, 1, 4, 4, 1, 0, 3, 1, 0},
#ifdef SW_TEST_GPU
	{128, 3, 32, 32, 6, 5, 5, 1, 0},
	{64, 32, 16, 16, 64, 3, 3, 1, 1},
	{64, 64, 8, 8, 128, 3, 3, 2, 1},
#endif
};

struct call {
	struct sw_conv c;
	enum sw_act act;
	int bias, accumulate, input;
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
				    s->accumulate, work);
	if (status == SW_OK)
		status = o->sync(q);
	o->free(work);
	return status;
}

START_TEST(conv2d_forward_is_as_on_cpu)
{
	const struct sw_conv *c = &convs[_i];
	const struct twin_buf b[] = {
		{TWIN_F32, in_n(c), twin_noise(in_n(c), 1), 0},
		{TWIN_F32, weights_n(c), twin_noise(weights_n(c), 2), 0},
		{TWIN_F32, c->O, twin_noise(c->O, 3), 0},
		{TWIN_F32, out_n(c), NULL, TOL},
	};

	for (int path = PATH_FIRST; path <= PATH_LAST; path++) {
		const struct call s = {.c = *c,
				       .act = (path + _i) % 2 ? SW_ACT_RELU : SW_ACT_NONE,
				       .bias = (path / 2 + _i) % 2};

		force(path);
		twin_check("conv2d_forward", forward, &s, b, ROWS(b));
	}
	force(0);
}
END_TEST

START_TEST(conv2d_backward_is_as_on_cpu)
{
	const struct sw_conv *c = &convs[_i];
	const size_t grads = weights_n(c) + c->O;

	for (int path = PATH_FIRST; path <= PATH_LAST; path++)
		for (int way = 0; way < 2; way++) {
			const struct call s = {.c = *c,
					       .act = way ? SW_ACT_RELU : SW_ACT_NONE,
					       .bias = (way + path) % 3 != 0,
					       .accumulate = (way + _i) % 2,
					       .input = (way + _i + path) % 4 != 0};
			const struct twin_buf b[] = {
				{TWIN_F32, in_n(c), twin_noise(in_n(c), 1), 0},
				{TWIN_F32, weights_n(c), twin_noise(weights_n(c), 2), 0},
				{TWIN_F32, out_n(c), twin_noise(out_n(c), 3), 0},
				/* without an activation dy stays as it is */
				{TWIN_F32, out_n(c), twin_noise(out_n(c), 4),
				 way ? TWIN_SCRATCH : 0},
				{TWIN_F32, in_n(c), NULL, TOL},
				{TWIN_F32, grads, s.accumulate ? twin_noise(grads, 5) : NULL, TOL},
			};

			force(path);
			twin_check("conv2d_backward", backward, &s, b, ROWS(b));
		}
	force(0);
}
END_TEST

START_TEST(conv2d_over_the_limits_is_refused)
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
END_TEST

SUITE(tcase)
{
	if (!twin_have()) {
		puts("no GPU here: skipped");
		exit(77);
	}
	tcase_add_checked_fixture(tcase, twin_setup, twin_teardown);
	tcase_add_rows(tcase, conv2d_forward_is_as_on_cpu, convs);
	tcase_add_rows(tcase, conv2d_backward_is_as_on_cpu, convs);
	tcase_add_loop_test(tcase, conv2d_over_the_limits_is_refused, 0, 3);
}
