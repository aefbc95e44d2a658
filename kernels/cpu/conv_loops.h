/* kernels/cpu/conv_loops.h — correlation of a flat image, in two ways:
 *   flat      lanes are places of the output, a tile is FLAT_OUTS outputs x FLAT_VECS vectors; for
 *             few outputs. Lost: the gaps.
 *   channels  lanes are outputs, a tile is ROW_PLACES places of a row; for outputs that fill
 *             vectors. Lost: the outputs that the last vector lacks.
 * Part of loops_body.h. */

#define FLAT_OUTS 6

INLINE size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Whether lanes are better filled by outputs than by places. */
static int by_channels(const struct sw_cpu_correlation *k)
{
	return k->O * k->in.stride >= k->ow * round_up(k->O, LANES);
}

static size_t places(const struct sw_cpu_correlation *k)
{
	return (k->oh - 1) * k->in.stride + k->ow;
}

static size_t packed_n(const struct sw_cpu_correlation *k)
{
	return k->C * k->kh * k->kw * round_up(k->O, by_channels(k) ? LANES : 1);
}

static size_t scratch_n(const struct sw_cpu_correlation *k)
{
	const size_t flat = FLAT_OUTS * round_up(places(k), FLAT_VECS * LANES);
	const size_t turned = k->oh * k->ow * LANES;

	return flat > turned ? flat : turned;
}

/* packed: blocks of outputs (FLAT_OUTS, or LANES with zeros behind the last); in each float
 * [C][kh][kw][outputs] */
static void pack(const struct sw_cpu_correlation *k, const float *w, int backward, float *packed)
{
	const size_t each = by_channels(k) ? LANES : FLAT_OUTS, K = k->kh * k->kw;

	for (size_t from = 0; from < k->O; from += each) {
		/* By channels a block always has LANES outputs, those that there are not with
		 * weights 0, so that its loop knows its width. */
		const size_t have = k->O - from < each ? k->O - from : each;
		const size_t n = by_channels(k) ? LANES : have;

		for (size_t c = 0; c < k->C; c++)
			for (size_t e = 0; e < K; e++, packed += n)
				for (size_t o = 0; o < n; o++) {
					const size_t out = from + o;
					const size_t at = backward
								  ? (c * k->O + out + 1) * K - 1 - e
								  : (out * k->C + c) * K + e;

					packed[o] = o < have ? w[at] : 0.0f;
				}
	}
}

/* The rows [from, to) of the kernel that meet more than zeros from places p to p + n. */
INLINE void kernel_rows(const struct sw_cpu_correlation *k, size_t p, size_t n, size_t *from,
			size_t *to)
{
	const struct sw_cpu_flat *f = &k->in;
	const size_t first = p / f->stride, last = (p + n - 1 + k->kw - 1) / f->stride;

	/* rows first + i .. last + i of the padded image, of which [ph, ph + H) are not zero */
	*from = last < f->ph ? f->ph - last : 0;
	*to = f->ph + f->H > first ? f->ph + f->H - first : 0;
	if (*to > k->kh)
		*to = k->kh;
	if (*from > *to)
		*from = *to;
}

/* in: at the tile's first place; packed: of its outputs; out: float[outs][out_stride] */
INLINE void flat_tile(const struct sw_cpu_correlation *k, const float *in, const float *packed,
		      const float *b, float *out, size_t out_stride, size_t row0, size_t row1,
		      const size_t outs, const size_t vecs)
{
	const size_t kw = k->kw;
	vec sum[FLAT_OUTS][FLAT_VECS];

	UNROLL
	for (size_t o = 0; o < outs; o++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		sum[o][v] = splat(b ? b[o] : 0.0f);
	for (size_t c = 0; c < k->C; c++, in += k->in.plane)
		for (size_t i = row0; i < row1; i++) {
			const float *row = in + i * k->in.stride;
			const float *w = packed + (c * k->kh + i) * kw * outs;

			for (size_t j = 0; j < kw; j++, w += outs) {
				vec x[FLAT_VECS];

				UNROLL
				for (size_t v = 0; v < vecs; v++)
					x[v] = load(row + j + v * LANES);
				UNROLL
				for (size_t o = 0; o < outs; o++)
					UNROLL
				for (size_t v = 0; v < vecs; v++)
					sum[o][v] += w[o] * x[v];
			}
		}
	UNROLL
	for (size_t o = 0; o < outs; o++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		store(out + o * out_stride + v * LANES, act_of(sum[o][v], k->act));
}

/* All places for a block of outputs, then the rows without the gaps to y. */
INLINE void flat_block(const struct sw_cpu_correlation *k, const float *in, const float *packed,
		       const float *b, float *y, float *scratch, const size_t outs)
{
	/* Whole tiles run over the last place: scratch and the flat image have room, and nobody
	 * reads what is made there. */
	const size_t n = places(k), tile = FLAT_VECS * LANES, out_stride = round_up(n, tile);
	size_t from, to, p = 0;

	for (; p + tile <= n; p += tile) {
		kernel_rows(k, p, tile, &from, &to);
		flat_tile(k, in + p, packed, b, scratch + p, out_stride, from, to, outs, FLAT_VECS);
	}
	for (; p < n; p += LANES) {
		kernel_rows(k, p, LANES, &from, &to);
		flat_tile(k, in + p, packed, b, scratch + p, out_stride, from, to, outs, 1);
	}
	for (size_t o = 0; o < outs; o++)
		for (size_t r = 0; r < k->oh; r++, y += k->ow)
			copy_where(scratch + o * out_stride + r * k->in.stride, NULL, y, k->ow);
}

static void correlate_flat(const struct sw_cpu_correlation *k, const float *in, const float *packed,
			   const float *b, float *y, float *scratch)
{
	const size_t K = k->C * k->kh * k->kw, P = k->oh * k->ow;

	for (size_t o = 0; o < k->O; o += FLAT_OUTS) {
		const float *w = packed + o * K, *bias = b ? b + o : NULL;
		float *to = y + o * P;

		/* One build for each number of outputs: sums stay in registers only where loops
		 * over them have a constant end. */
		switch (k->O - o) {
		case 1:
			flat_block(k, in, w, bias, to, scratch, 1);
			break;
		case 2:
			flat_block(k, in, w, bias, to, scratch, 2);
			break;
		case 3:
			flat_block(k, in, w, bias, to, scratch, 3);
			break;
		case 4:
			flat_block(k, in, w, bias, to, scratch, 4);
			break;
		case 5:
			flat_block(k, in, w, bias, to, scratch, 5);
			break;
		default:
			flat_block(k, in, w, bias, to, scratch, 6);
			break;
		}
	}
}

/* n places of a row (of several rows, `wrap` floats apart, when they are short), all outputs of one
 * vector; out: float[n][LANES] */
INLINE void channel_tile(const struct sw_cpu_correlation *k, const float *in, const float *packed,
			 vec bias, float *out, size_t row0, size_t row1, const size_t n)
{
	const size_t kw = k->kw;
	vec sum[ROW_PLACES];

	UNROLL
	for (size_t p = 0; p < n; p++)
		sum[p] = bias;
	for (size_t c = 0; c < k->C; c++, in += k->in.plane)
		for (size_t i = row0; i < row1; i++) {
			const float *row = in + i * k->in.stride;
			const float *w = packed + (c * k->kh + i) * kw * LANES;

			for (size_t j = 0; j < kw; j++, w += LANES) {
				const vec wv = load(w);

				UNROLL
				for (size_t p = 0; p < n; p++)
					sum[p] += row[j + p] * wv;
			}
		}
	UNROLL
	for (size_t p = 0; p < n; p++)
		store(out + p * LANES, act_of(sum[p], k->act));
}

/* One row of the output. */
static void channel_row(const struct sw_cpu_correlation *k, const float *in, const float *packed,
			vec bias, float *out, size_t row0, size_t row1)
{
	size_t s = 0;

#define TILE(n)                                                                                    \
	for (; s + (n) <= k->ow && (n) <= ROW_PLACES; s += (n))                                    \
	channel_tile(k, in + s, packed, bias, out + s * LANES, row0, row1, n)
#if ROW_PLACES >= 16
	TILE(16);
#endif
#if ROW_PLACES >= 10
	TILE(10);
#endif
	TILE(8);
	TILE(4);
	TILE(2);
	TILE(1);
#undef TILE
}

static void correlate_channels(const struct sw_cpu_correlation *k, const float *in,
			       const float *packed, const float *b, float *y, float *scratch)
{
	const size_t K = k->C * k->kh * k->kw, P = k->oh * k->ow;

	for (size_t o = 0; o < k->O; o += LANES) {
		const size_t have = k->O - o < LANES ? k->O - o : LANES;
		float bias[LANES] = {0};

		if (b)
			memcpy(bias, b + o, have * sizeof *b);
		/* By row, for the rows of the kernel that meet only padding differ from row to
		 * row. */
		for (size_t r = 0; r < k->oh; r++) {
			size_t from, to;

			kernel_rows(k, r * k->in.stride, k->ow, &from, &to);
			channel_row(k, in + r * k->in.stride, packed + o * K, load(bias),
				    scratch + r * k->ow * LANES, from, to);
		}
		transpose(scratch, LANES, y + o * P, P, P, have);
	}
}

static void correlate(const struct sw_cpu_correlation *k, const float *in, const float *packed,
		      const float *b, float *y, float *scratch)
{
	if (by_channels(k))
		correlate_channels(k, in, packed, b, y, scratch);
	else
		correlate_flat(k, in, packed, b, y, scratch);
}
