/* kernels/cpu/flat_loops.h — into flat images and out of them, and the sums of their planes. Part
 * of loops_body.h. */

/* y[i] = x[i] where mask (NULL: everywhere) is above 0, else 0, for n elements apart. The last
 * vector overlaps the one before it: nothing is read or written outside. */
INLINE void copy_where(const float *x, const float *mask, float *y, size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n || (i < n && n >= LANES); i += LANES) {
		const size_t at = i + LANES <= n ? i : n - LANES;
		const vec v = load(x + at);

		store(y + at, mask ? (vec)((ivec)v & (load(mask + at) > 0.0f)) : v);
	}
	for (; i + 4 <= n || (i < n && n >= 4); i += 4) {
		const size_t at = i + 4 <= n ? i : n - 4;
		const vec4 v = *(const vec4_at *)(x + at);

		*(vec4_at *)(y + at) =
			mask ? (vec4)((ivec4)v & (*(const vec4_at *)(mask + at) > 0.0f)) : v;
	}
	for (; i < n; i++)
		y[i] = !mask || mask[i] > 0.0f ? x[i] : 0.0f;
}

static void fill(const struct sw_cpu_flat *f, size_t C, const float *x, const float *mask,
		 float *flat)
{
	flat += f->pw + f->ph * f->stride;
	for (size_t c = 0; c < C; c++, flat += f->plane)
		for (size_t r = 0; r < f->H; r++, x += f->W) {
			if (mask) {
				copy_where(x, mask, flat + r * f->stride, f->W);
				mask += f->W;
			} else {
				copy_where(x, NULL, flat + r * f->stride, f->W);
			}
		}
}

static void planes_add(const struct sw_cpu_flat *f, size_t C, const float *flat, float *sums)
{
	flat += f->pw + f->ph * f->stride;
	for (size_t c = 0; c < C; c++, flat += f->plane, sums += LANES) {
		vec sum = load(sums);

		/* the gaps and what follows the last row are zeros */
		for (size_t p = 0; p < f->H * f->stride; p += LANES)
			sum += load(flat + p);
		store(sums, sum);
	}
}

static void planes_end(size_t C, const float *sums, float *out)
{
	for (size_t c = 0; c < C; c++)
		out[c] = lanes_sum(load(sums + c * LANES));
}
