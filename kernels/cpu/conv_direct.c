/* kernels/cpu/conv_direct.c — convolution without a matrix of columns: one image at a time, laid
 * flat (loops.h), then correlated. The gradient of the input is a correlation too: of dy, padded
 * by what the kernel has left of its pad, with the kernel turned. Both flat images have the same
 * stride, W + pad, so one flat dy serves both gradients. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/threads.h"
#include <assert.h>
#include <string.h>

/* Scratch memory, handed out in pieces. */
struct piece {
	float *at;
	size_t bytes;
};

static float *piece_take(struct piece *p, size_t n)
{
	float *here = p->at;
	const size_t bytes = (n * sizeof *here + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;

	p->bytes += bytes;
	/* Without memory it only counts, so that workspace and call lay out the same. */
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

/* Images are dealt out in groups that depend on the shape alone: each has its own sums for the
 * weights, added up in order at the end. */
#define GROUPS_MAX   4
#define GROUP_IMAGES ((size_t)4)
#define GROUP_SUMS   ((size_t)1 << 18) /* floats; with more, one group */

/* The scratch memory of a pass: for each slot flat images and scratch, for each group sums, and the
 * packed weights. */
struct room {
	float *x, *dy, *scratch, *sums, *bias, *packed;
	size_t x_n, dy_n, scratch_n, sums_n, bias_n; /* of one slot, or group */
	size_t groups, slots;
	size_t bytes;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct room room_of(const struct sw_conv *c, float *work)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct sw_cpu_correlation f = forward_of(c, SW_ACT_NONE), b = backward_of(c);
	struct piece p = {.at = work};
	struct room r = {.x_n = c->C * f.in.plane,
			 .dy_n = c->O * b.in.plane,
			 .scratch_n = larger(l->scratch_n(&f), l->scratch_n(&b)),
			 .sums_n = l->sums_n(&f),
			 .bias_n = c->O * l->lanes,
			 .groups = c->B / GROUP_IMAGES,
			 .slots = sw_cpu_threads()};

	/* Groups by the shape alone, never by the threads: else the order of the sums, and so their
	 * bits, would change with the cores. */
	if (r.groups > GROUPS_MAX)
		r.groups = GROUPS_MAX;
	if (r.groups == 0 || r.sums_n > GROUP_SUMS)
		r.groups = 1;
	r.scratch_n = (r.scratch_n + SW_CPU_LANES_MAX - 1) / SW_CPU_LANES_MAX * SW_CPU_LANES_MAX;
	r.x = piece_take(&p, r.slots * r.x_n);
	r.dy = piece_take(&p, r.slots * r.dy_n);
	r.scratch = piece_take(&p, r.slots * r.scratch_n);
	r.sums = piece_take(&p, r.groups * r.sums_n);
	r.bias = piece_take(&p, r.groups * r.bias_n);
	r.packed = piece_take(&p, larger(l->packed_n(&f), l->packed_n(&b)));
	r.bytes = p.bytes;
	return r;
}

size_t sw_cpu_conv_direct_workspace(const struct sw_conv *c)
{
	return room_of(c, NULL).bytes;
}

/* A call, as its parts see it. */
struct pass {
	const struct sw_conv *c;
	struct sw_cpu_correlation f, b;
	struct room r;
	const float *x, *bias, *mask, *dy; /* mask: y, NULL without relu */
	float *y, *dx;
	size_t parts;
	int with_db;
	unsigned char *cleared; /* of each slot: its flat images were */
};

/* The gap between rows stays zero from one image to the next. */
static void slot_clear(const struct pass *p, size_t slot)
{
	if (p->cleared[slot])
		return;
	p->cleared[slot] = 1;
	memset(p->r.x + slot * p->r.x_n, 0, p->r.x_n * sizeof *p->r.x);
	if (p->dy)
		memset(p->r.dy + slot * p->r.dy_n, 0, p->r.dy_n * sizeof *p->r.dy);
}

/* The images of part i of n. */
static size_t first_image(const struct pass *p, size_t part)
{
	return p->c->B * part / p->parts;
}

static void forward_part(void *ctx, size_t part, size_t slot)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct pass *p = ctx;
	const size_t image = p->c->C * p->c->H * p->c->W, out = p->c->O * p->f.oh * p->f.ow;
	float *x = p->r.x + slot * p->r.x_n, *scratch = p->r.scratch + slot * p->r.scratch_n;

	slot_clear(p, slot);
	for (size_t n = first_image(p, part); n < first_image(p, part + 1); n++) {
		l->fill(&p->f.in, p->c->C, p->x + n * image, NULL, x);
		l->correlate(&p->f, x, p->r.packed, p->bias, p->y + n * out, scratch);
	}
}

void sw_cpu_conv_direct_forward(const float *x, const float *w, const float *b, float *y,
				const struct sw_conv *c, enum sw_act act, void *work)
{
	const struct room r = room_of(c, work);
	unsigned char cleared[SW_CPU_THREADS_MAX] = {0};
	struct pass p = {.c = c,
			 .f = forward_of(c, act),
			 .r = r,
			 .x = x,
			 .bias = b,
			 .y = y,
			 .cleared = cleared};

	assert(r.x != NULL);
	sw_cpu_loops()->pack(&p.f, w, 0, r.packed);
	/* Two parts a thread, so that one that is held up leaves the others work; each image's
	 * output is apart, so their number changes no bit. */
	p.parts = c->B < 2 * r.slots ? c->B : 2 * r.slots;
	sw_cpu_parallel(p.parts, forward_part, &p);
}

static void backward_part(void *ctx, size_t part, size_t slot)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct pass *p = ctx;
	const struct sw_conv *c = p->c;
	const size_t image = c->C * c->H * c->W, out = c->O * p->f.oh * p->f.ow;
	const size_t first_row = p->b.in.pw + p->b.in.ph * p->b.in.stride;
	float *x = p->r.x + slot * p->r.x_n, *dy = p->r.dy + slot * p->r.dy_n;
	float *scratch = p->r.scratch + slot * p->r.scratch_n;
	/* By part, not by slot: whichever thread takes a group adds to the group's own sums. */
	float *sums = p->r.sums + part * p->r.sums_n, *bias = p->r.bias + part * p->r.bias_n;

	slot_clear(p, slot);
	for (size_t n = first_image(p, part); n < first_image(p, part + 1); n++) {
		l->fill(&p->f.in, c->C, p->x + n * image, NULL, x);
		l->fill(&p->b.in, c->O, p->dy + n * out, p->mask ? p->mask + n * out : NULL, dy);
		l->weights_add(&p->f, x, dy + first_row, p->b.in.plane, sums, scratch);
		if (p->with_db)
			l->planes_add(&p->b.in, c->O, dy, bias);
		if (p->dx)
			l->correlate(&p->b, dy, p->r.packed, NULL, p->dx + n * image, scratch);
	}
}

/* The sums of all groups into the first's. */
static void groups_add(float *sums, size_t n, size_t groups)
{
	for (size_t g = 1; g < groups; g++)
		for (size_t i = 0; i < n; i++)
			sums[i] += sums[g * n + i];
}

void sw_cpu_conv_direct_backward(const float *x, const float *w, const float *y, const float *dy,
				 float *dx, float *dw, float *db, const struct sw_conv *c,
				 enum sw_act act, void *work)
{
	const struct sw_cpu_loops *l = sw_cpu_loops();
	const struct room r = room_of(c, work);
	unsigned char cleared[SW_CPU_THREADS_MAX] = {0};
	struct pass p = {.c = c,
			 .f = forward_of(c, SW_ACT_NONE),
			 .b = backward_of(c),
			 .r = r,
			 .x = x,
			 .mask = act == SW_ACT_RELU ? y : NULL,
			 .dy = dy,
			 .dx = dx,
			 .parts = r.groups,
			 .with_db = db != NULL,
			 .cleared = cleared};

	assert(r.x != NULL && r.dy != NULL && r.sums != NULL && r.bias != NULL);
	memset(r.sums, 0, r.groups * r.sums_n * sizeof *r.sums);
	memset(r.bias, 0, r.groups * r.bias_n * sizeof *r.bias);
	if (dx)
		l->pack(&p.b, w, 1, r.packed);
	sw_cpu_parallel(p.parts, backward_part, &p);
	groups_add(r.sums, r.sums_n, r.groups);
	l->weights_end(&p.f, r.sums, dw);
	if (!db)
		return;
	groups_add(r.bias, r.bias_n, r.groups);
	l->planes_end(c->O, r.bias, db);
}
