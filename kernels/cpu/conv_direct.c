/* kernels/cpu/conv_direct.c — convolution without a matrix of columns: one image at a time, laid
 * flat (loops.h), then correlated. The gradient of the input is a correlation too: of dy, padded
 * by what the kernel has left of its pad, with the kernel turned. Both flat images have the same
 * stride, W + pad, so one flat dy serves both gradients. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"
#include <assert.h>
#include <string.h>

/* Scratch memory, handed out in pieces. */
struct piece {
	float *at;
	size_t bytes;
};

static float *take(struct piece *p, size_t n)
{
	float *here = p->at;
	const size_t bytes = (n * sizeof *here + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;

	p->bytes += bytes;
	if (here)
		p->at = here + bytes / sizeof *here;
	return here;
}

static struct sw_cpu_flat flat_of(size_t H, size_t W, size_t ph, size_t pw)
{
	struct sw_cpu_flat f = {.H = H, .W = W, .ph = ph, .pw = pw, .stride = W + pw};
	const size_t n = pw + (H + 2 * ph) * f.stride + SW_CPU_SLACK;

	f.plane = (n + SW_CPU_LANES_MAX - 1) / SW_CPU_LANES_MAX * SW_CPU_LANES_MAX;
	return f;
}

static struct sw_cpu_correlation forward_of(const struct sw_conv *c, enum sw_act act)
{
	return (struct sw_cpu_correlation){.in = flat_of(c->H, c->W, c->pad, c->pad),
					   .C = c->C,
					   .O = c->O,
					   .kh = c->kh,
					   .kw = c->kw,
					   .oh = sw_conv_out_h(c),
					   .ow = sw_conv_out_w(c),
					   .act = act};
}

static struct sw_cpu_correlation backward_of(const struct sw_conv *c)
{
	return (struct sw_cpu_correlation){.in = flat_of(sw_conv_out_h(c), sw_conv_out_w(c),
							 c->kh - 1 - c->pad, c->kw - 1 - c->pad),
					   .C = c->O,
					   .O = c->C,
					   .kh = c->kh,
					   .kw = c->kw,
					   .oh = c->H,
					   .ow = c->W,
					   .act = SW_ACT_NONE};
}

/* Where the first row of a flat image begins. */
static size_t first_row(const struct sw_cpu_flat *f)
{
	return f->pw + f->ph * f->stride;
}

/* What a pass keeps in its scratch memory. */
struct room {
	float *x, *dy; /* flat images */
	float *packed, *scratch, *sums, *bias;
	size_t x_n, dy_n, sums_n, bias_n;
	size_t bytes;
};

static struct room room_of(const struct sw_conv *c, float *work)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct sw_cpu_correlation f = forward_of(c, SW_ACT_NONE), b = backward_of(c);
	const size_t forward = l->scratch_n(&f), backward = l->scratch_n(&b);
	const size_t packed = l->packed_n(&f), turned = l->packed_n(&b);
	struct piece p = {.at = work};
	struct room r = {.x_n = c->C * f.in.plane,
			 .dy_n = c->O * b.in.plane,
			 .sums_n = l->sums_n(&f),
			 .bias_n = c->O * l->lanes};

	r.x = take(&p, r.x_n);
	r.dy = take(&p, r.dy_n);
	r.packed = take(&p, packed > turned ? packed : turned);
	r.scratch = take(&p, forward > backward ? forward : backward);
	r.sums = take(&p, r.sums_n);
	r.bias = take(&p, r.bias_n);
	r.bytes = p.bytes;
	return r;
}

size_t sw_cpu_conv_direct_workspace(const struct sw_conv *c)
{
	return room_of(c, NULL).bytes;
}

void sw_cpu_conv_direct_forward(const float *x, const float *w, const float *b, float *y,
				const struct sw_conv *c, enum sw_act act, void *work)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct sw_cpu_correlation k = forward_of(c, act);
	const struct room r = room_of(c, work);

	assert(r.x != NULL);
	memset(r.x, 0, r.x_n * sizeof *r.x);
	l->pack(&k, w, 0, r.packed);
	for (size_t n = 0; n < c->B; n++) {
		l->fill(&k.in, c->C, x, NULL, r.x);
		l->correlate(&k, r.x, r.packed, b, y, r.scratch);
		x += c->C * c->H * c->W;
		y += c->O * k.oh * k.ow;
	}
}

void sw_cpu_conv_direct_backward(const float *x, const float *w, const float *y, const float *dy,
				 float *dx, float *dw, float *db, const struct sw_conv *c,
				 enum sw_act act, int accumulate, void *work)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct sw_cpu_correlation f = forward_of(c, SW_ACT_NONE), b = backward_of(c);
	const struct room r = room_of(c, work);
	const size_t out = c->O * f.oh * f.ow;

	assert(r.x != NULL);
	memset(r.x, 0, r.x_n * sizeof *r.x);
	memset(r.dy, 0, r.dy_n * sizeof *r.dy);
	memset(r.sums, 0, r.sums_n * sizeof *r.sums);
	memset(r.bias, 0, r.bias_n * sizeof *r.bias);
	if (dx)
		l->pack(&b, w, 1, r.packed);
	for (size_t n = 0; n < c->B; n++) {
		l->fill(&f.in, c->C, x + n * c->C * c->H * c->W, NULL, r.x);
		l->fill(&b.in, c->O, dy + n * out, act == SW_ACT_RELU ? y + n * out : NULL, r.dy);
		l->weights_add(&f, r.x, r.dy + first_row(&b.in), b.in.plane, r.sums, r.scratch);
		if (db)
			l->planes_add(&b.in, c->O, r.dy, r.bias);
		if (dx)
			l->correlate(&b, r.dy, r.packed, NULL, dx + n * c->C * c->H * c->W,
				     r.scratch);
	}
	l->weights_end(&f, r.sums, dw, accumulate);
	if (db)
		l->planes_end(c->O, r.bias, db, accumulate);
}
