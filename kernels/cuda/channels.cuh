/*
 * kernels/cuda/channels.cuh — x: float[B][C][S] as its channels, of which large ones are cut into
 * parts: a block's way over the values of one.
 */
#ifndef SW_KERNELS_CUDA_CHANNELS_CUH
#define SW_KERNELS_CUDA_CHANNELS_CUH

#include "kernels/cuda/launch.cuh"

/* Values of a channel that are one block's: 32 for each of its threads. */
#ifndef SW_CUDA_PART_VALUES
#define SW_CUDA_PART_VALUES 8192
#endif

/* x: float[B][C][S]; the N = B S values of a channel in `parts` parts of `each`, the last perhaps
 * smaller */
struct channels {
	size_t B, C, S;
	size_t N, parts, each;
};

static struct channels channels_of(size_t B, size_t C, size_t S, size_t most)
{
	const size_t N = B * S, last = N ? N - 1 : 0, want = last / SW_CUDA_PART_VALUES + 1;
	const size_t parts = want < most ? want : most ? most : 1;
	const size_t each = (last / parts / 4 + 1) * 4; /* a part begins with a quad */

	return {B, C, S, N, last / each + 1, each};
}

static unsigned channels_grid(const struct channels &s)
{
	return sw_cuda_grid_blocks(s.C * s.parts);
}

/* A block with more threads where it has a channel of many values to itself. */
static unsigned channels_block(const struct channels &s)
{
	return s.parts == 1 && s.N > 4 * SW_CUDA_BLOCK ? SW_CUDA_BLOCK_MAX : SW_CUDA_BLOCK;
}

/* Values [from, to) of channel c. */
struct part {
	size_t c, from, to;
};

static __device__ struct part part_of(const struct channels &s, size_t item)
{
	const size_t from = item % s.parts * s.each;

	return {item / s.parts, from, from + s.each < s.N ? from + s.each : s.N};
}

/* A thread's way over the values of a part: the ith of a channel lies in plane i / S, at i % S. */
struct way {
	size_t i, b, s;
	size_t step, step_b, step_s;
};

static __device__ struct way way_from(size_t from, size_t S)
{
	const size_t i = from + threadIdx.x, step = blockDim.x;

	return {i, i / S, i % S, step, step / S, step % S};
}

static __device__ void way_on(struct way *w, size_t S)
{
	/* A step adds (step / S, step % S) to the plane and the place, with a carry: two divisions
	 * at the start of the way, none for each value. */
	w->i += w->step;
	w->b += w->step_b;
	w->s += w->step_s;
	if (w->s >= S) {
		w->s -= S;
		w->b++;
	}
}

/* Calls use(load(place)) for this thread's values of p, in turn; four loads are made before the
 * first of their values is used. */
#define FLIGHT 4
template <class L, class U>
static __device__ void each_value(const struct channels &s, const struct part &p, L load, U use)
{
	struct way w = way_from(p.from, s.S);

	while (w.i + (FLIGHT - 1) * w.step < p.to) {
		decltype(load(0)) v[FLIGHT];

		SW_UNROLL
		for (int k = 0; k < FLIGHT; k++) {
			v[k] = load((w.b * s.C + p.c) * s.S + w.s);
			way_on(&w, s.S);
		}
		SW_UNROLL
		for (int k = 0; k < FLIGHT; k++)
			use(v[k]);
	}
	for (; w.i < p.to; way_on(&w, s.S))
		use(load((w.b * s.C + p.c) * s.S + w.s));
}

/* y = f(x...) for the values of p; by quads where planes are made of them. */
template <class F, class... T>
static __device__ void map_values(const struct channels &s, const struct part &p, bool quads, F f,
				  float *y, T *...x)
{
	const size_t S = quads ? s.S / 4 : s.S, to = quads ? p.to / 4 : p.to;

	for (struct way w = way_from(quads ? p.from / 4 : p.from, S); w.i < to; way_on(&w, S)) {
		const size_t at = (w.b * s.C + p.c) * S + w.s;

		if (quads)
			sw_map_quad(f, y + 4 * at, sw_quad_at(x + 4 * at)...);
		else
			y[at] = f(x[at]...);
	}
}

#endif
