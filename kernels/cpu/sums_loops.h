/* kernels/cpu/sums_loops.h — the gradient of a convolution's weights, dw(o, c, i, j) = sum over
 * places p of dy[o][p] x[c][p + i stride + j], in two ways:
 *   flat      lanes are places: each weight has LANES partial sums, added up at the batch's end; a
 *             tile is SUM_OUTS outputs x SUM_COLUMNS columns of the kernel.
 *   channels  lanes are outputs; a tile is SUM_ROWS rows x SUM_COLUMNS columns of the kernel.
 * Part of loops_body.h. */

#define SUM_COLUMNS 5

/* flat: float[C][kh][kw][O][LANES]; channels: float[blocks of LANES outputs][C][kh][kw][LANES] */
static size_t sums_n(const struct sw_cpu_correlation *k)
{
	return k->C * k->kh * k->kw * (by_channels(k) ? round_up(k->O, LANES) : k->O * LANES);
}

/* dy, x: at the first place; n: places, a multiple of LANES; sums: of (j, o) */
INLINE void sum_flat_tile(const float *x, const float *dy, size_t dy_plane, size_t n, float *sums,
			  size_t O, const size_t outs, const size_t columns)
{
	vec sum[SUM_OUTS][SUM_COLUMNS];

	UNROLL
	for (size_t o = 0; o < outs; o++)
		UNROLL
	for (size_t j = 0; j < columns; j++)
		sum[o][j] = load(sums + (j * O + o) * LANES);
	for (size_t p = 0; p < n; p += LANES) {
		vec d[SUM_OUTS];

		UNROLL
		for (size_t o = 0; o < outs; o++)
			d[o] = load(dy + o * dy_plane + p);
		UNROLL
		for (size_t j = 0; j < columns; j++) {
			const vec v = load(x + p + j);

			UNROLL
			for (size_t o = 0; o < outs; o++)
				sum[o][j] += d[o] * v;
		}
	}
	UNROLL
	for (size_t o = 0; o < outs; o++)
		UNROLL
	for (size_t j = 0; j < columns; j++)
		store(sums + (j * O + o) * LANES, sum[o][j]);
}

/* One row of the kernel for all outputs. */
INLINE void sum_flat_row(const struct sw_cpu_correlation *k, const float *x, const float *dy,
			 size_t dy_plane, float *sums, const size_t columns)
{
	const size_t n = round_up(places(k), LANES);
	size_t o = 0;

	for (; o + SUM_OUTS <= k->O; o += SUM_OUTS)
		sum_flat_tile(x, dy + o * dy_plane, dy_plane, n, sums + o * LANES, k->O, SUM_OUTS,
			      columns);
	for (; o + 2 <= k->O; o += 2)
		sum_flat_tile(x, dy + o * dy_plane, dy_plane, n, sums + o * LANES, k->O, 2,
			      columns);
	for (; o < k->O; o++)
		sum_flat_tile(x, dy + o * dy_plane, dy_plane, n, sums + o * LANES, k->O, 1,
			      columns);
}

static void sum_flat(const struct sw_cpu_correlation *k, const float *x, const float *dy,
		     size_t dy_plane, float *sums)
{
	for (size_t c = 0; c < k->C; c++)
		for (size_t i = 0; i < k->kh; i++) {
			const float *row = x + c * k->in.plane + i * k->in.stride;
			float *to = sums + (c * k->kh + i) * k->kw * k->O * LANES;
			size_t j = 0;

			for (; j + 5 <= k->kw; j += 5)
				sum_flat_row(k, row + j, dy, dy_plane, to + j * k->O * LANES, 5);
			for (; j + 3 <= k->kw; j += 3)
				sum_flat_row(k, row + j, dy, dy_plane, to + j * k->O * LANES, 3);
			for (; j < k->kw; j++)
				sum_flat_row(k, row + j, dy, dy_plane, to + j * k->O * LANES, 1);
		}
}

/* x: plane c at row i, column j of the kernel; dy: float[oh ow][LANES] */
INLINE void sum_channels_tile(const struct sw_cpu_correlation *k, const float *x, const float *dy,
			      float *sums, const size_t rows, const size_t columns)
{
	const size_t stride = k->in.stride;
	vec sum[SUM_ROWS][SUM_COLUMNS];

	UNROLL
	for (size_t i = 0; i < rows; i++)
		UNROLL
	for (size_t j = 0; j < columns; j++)
		sum[i][j] = load(sums + (i * k->kw + j) * LANES);
	for (size_t r = 0; r < k->oh; r++, x += stride)
		for (size_t s = 0; s < k->ow; s++, dy += LANES) {
			const vec d = load(dy);

			UNROLL
			for (size_t i = 0; i < rows; i++)
				UNROLL
			for (size_t j = 0; j < columns; j++)
				sum[i][j] += x[i * stride + s + j] * d;
		}
	UNROLL
	for (size_t i = 0; i < rows; i++)
		UNROLL
	for (size_t j = 0; j < columns; j++)
		store(sums + (i * k->kw + j) * LANES, sum[i][j]);
}

/* All of the kernel's rows for some of its columns. */
INLINE void sum_channels_columns(const struct sw_cpu_correlation *k, const float *x,
				 const float *dy, float *sums, const size_t columns)
{
	const size_t stride = k->in.stride, next = k->kw * LANES;
	size_t i = 0;

#if SUM_ROWS >= 5
	for (; i + 5 <= k->kh; i += 5)
		sum_channels_tile(k, x + i * stride, dy, sums + i * next, 5, columns);
#endif
#if SUM_ROWS >= 3
	for (; i + 3 <= k->kh; i += 3)
		sum_channels_tile(k, x + i * stride, dy, sums + i * next, 3, columns);
#endif
#if SUM_ROWS >= 2
	for (; i + 2 <= k->kh; i += 2)
		sum_channels_tile(k, x + i * stride, dy, sums + i * next, 2, columns);
#endif
	for (; i < k->kh; i++)
		sum_channels_tile(k, x + i * stride, dy, sums + i * next, 1, columns);
}

static void sum_channels(const struct sw_cpu_correlation *k, const float *x, const float *dy,
			 float *sums)
{
	for (size_t c = 0; c < k->C; c++, x += k->in.plane, sums += k->kh * k->kw * LANES) {
		size_t j = 0;

		for (; j + 5 <= k->kw; j += 5)
			sum_channels_columns(k, x + j, dy, sums + j * LANES, 5);
		for (; j + 3 <= k->kw; j += 3)
			sum_channels_columns(k, x + j, dy, sums + j * LANES, 3);
		for (; j < k->kw; j++)
			sum_channels_columns(k, x + j, dy, sums + j * LANES, 1);
	}
}

/* turned: float[oh ow][LANES] = the dy of `have` outputs, without gaps, zeros behind them */
static void turn(const struct sw_cpu_correlation *k, const float *dy, size_t dy_plane, size_t have,
		 float *turned)
{
	/* The lanes behind the last output multiply x, too: they must not hold what the last image
	 * left there. */
	if (have < LANES)
		memset(turned, 0, k->oh * k->ow * LANES * sizeof *turned);
	for (size_t r = 0; r < k->oh; r++)
		transpose(dy + r * k->in.stride, dy_plane, turned + r * k->ow * LANES, LANES, have,
			  k->ow);
}

static void weights_add(const struct sw_cpu_correlation *k, const float *x, const float *dy,
			size_t dy_plane, float *sums, float *scratch)
{
	if (!by_channels(k)) {
		sum_flat(k, x, dy, dy_plane, sums);
		return;
	}
	for (size_t o = 0; o < k->O; o += LANES) {
		turn(k, dy + o * dy_plane, dy_plane, k->O - o < LANES ? k->O - o : LANES, scratch);
		sum_channels(k, x, scratch, sums);
		sums += k->C * k->kh * k->kw * LANES;
	}
}

static void weights_end(const struct sw_cpu_correlation *k, const float *sums, float *dw)
{
	const size_t K = k->C * k->kh * k->kw;

	for (size_t o = 0; o < k->O; o++)
		for (size_t e = 0; e < K; e++, dw++)
			*dw = by_channels(k) ? sums[(o / LANES * K + e) * LANES + o % LANES]
					     : lanes_sum(load(sums + (e * k->O + o) * LANES));
}
