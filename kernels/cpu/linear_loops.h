/* kernels/cpu/linear_loops.h — small products of matrices, nothing packed. Part of loops_body.h. */

/* y[r][o] = x[r] . w[o] for a tile, lanes along I; rest: what I leaves behind whole vectors */
INLINE void dots_tile(const float *x, const float *w, const float *b, float *y, size_t I, size_t O,
		      enum sw_act act, const size_t rows, const size_t outs)
{
	const size_t whole = I / LANES * LANES;
	vec sum[LINEAR_ROWS][LINEAR_OUTS];

	UNROLL
	for (size_t r = 0; r < rows; r++)
		UNROLL
	for (size_t o = 0; o < outs; o++)
		sum[r][o] = splat(0.0f);
	for (size_t i = 0; i < whole; i += LANES) {
		vec wv[LINEAR_OUTS];

		UNROLL
		for (size_t o = 0; o < outs; o++)
			wv[o] = load(w + o * I + i);
		UNROLL
		for (size_t r = 0; r < rows; r++) {
			const vec v = load(x + r * I + i);

			UNROLL
			for (size_t o = 0; o < outs; o++)
				sum[r][o] += v * wv[o];
		}
	}
	UNROLL
	for (size_t r = 0; r < rows; r++)
		UNROLL
	for (size_t o = 0; o < outs; o++) {
		float s = lanes_sum(sum[r][o]);

		for (size_t i = whole; i < I; i++)
			s += x[r * I + i] * w[o * I + i];
		if (b)
			s += b[o];
		y[r * O + o] = act == SW_ACT_RELU && s <= 0.0f ? 0.0f : s;
	}
}

INLINE void dots_rows(const float *x, const float *w, const float *b, float *y, size_t I, size_t O,
		      enum sw_act act, const size_t rows)
{
	size_t o = 0;

	for (; o + LINEAR_OUTS <= O; o += LINEAR_OUTS)
		dots_tile(x, w + o * I, b ? b + o : NULL, y + o, I, O, act, rows, LINEAR_OUTS);
	for (; o < O; o++)
		dots_tile(x, w + o * I, b ? b + o : NULL, y + o, I, O, act, rows, 1);
}

static void linear_forward(const float *x, const float *w, const float *b, float *y, size_t B,
			   size_t I, size_t O, enum sw_act act)
{
	size_t r = 0;

	for (; r + LINEAR_ROWS <= B; r += LINEAR_ROWS)
		dots_rows(x + r * I, w, b, y + r * O, I, O, act, LINEAR_ROWS);
	for (; r + 2 <= B; r += 2)
		dots_rows(x + r * I, w, b, y + r * O, I, O, act, 2);
	for (; r < B; r++)
		dots_rows(x + r * I, w, b, y + r * O, I, O, act, 1);
}

/* c[m][*] = or += sum over k of a[m * am + k * ak] b[k * ldb + *] for M rows, K products and a
 * strip of columns; lanes along the columns */
INLINE void strip_tile(const float *a, size_t am, size_t ak, const float *b, size_t ldb, float *c,
		       size_t ldc, size_t K, int add, const size_t rows, const size_t vecs)
{
	vec sum[LINEAR_ROWS][LINEAR_VECS];

	UNROLL
	for (size_t m = 0; m < rows; m++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		sum[m][v] = add ? load(c + m * ldc + v * LANES) : splat(0.0f);
	for (size_t k = 0; k < K; k++) {
		vec bv[LINEAR_VECS];

		UNROLL
		for (size_t v = 0; v < vecs; v++)
			bv[v] = load(b + k * ldb + v * LANES);
		UNROLL
		for (size_t m = 0; m < rows; m++)
			UNROLL
		for (size_t v = 0; v < vecs; v++)
			sum[m][v] += a[m * am + k * ak] * bv[v];
	}
	UNROLL
	for (size_t m = 0; m < rows; m++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		store(c + m * ldc + v * LANES, sum[m][v]);
}

/* The columns that do not fill a vector. */
INLINE void strip_rest(const float *a, size_t am, size_t ak, const float *b, size_t ldb, float *c,
		       size_t ldc, size_t M, size_t N, size_t K, int add)
{
	for (size_t m = 0; m < M; m++)
		for (size_t n = 0; n < N; n++) {
			float s = add ? c[m * ldc + n] : 0.0f;

			for (size_t k = 0; k < K; k++)
				s += a[m * am + k * ak] * b[k * ldb + n];
			c[m * ldc + n] = s;
		}
}

INLINE void strip(const float *a, size_t am, size_t ak, const float *b, size_t ldb, float *c,
		  size_t ldc, size_t M, size_t K, int add, const size_t vecs)
{
	size_t m = 0;

	for (; m + LINEAR_ROWS <= M; m += LINEAR_ROWS)
		strip_tile(a + m * am, am, ak, b, ldb, c + m * ldc, ldc, K, add, LINEAR_ROWS, vecs);
	for (; m + 2 <= M; m += 2)
		strip_tile(a + m * am, am, ak, b, ldb, c + m * ldc, ldc, K, add, 2, vecs);
	for (; m < M; m++)
		strip_tile(a + m * am, am, ak, b, ldb, c + m * ldc, ldc, K, add, 1, vecs);
}

/* c: float[M][N] = or += a b, a as in strip_tile, b: float[K][N] */
static void product(const float *a, size_t am, size_t ak, const float *b, float *c, size_t M,
		    size_t N, size_t K, int add)
{
	size_t n = 0;

	for (; n + LINEAR_VECS * LANES <= N; n += LINEAR_VECS * LANES)
		strip(a, am, ak, b + n, N, c + n, N, M, K, add, LINEAR_VECS);
	for (; n + LANES <= N; n += LANES)
		strip(a, am, ak, b + n, N, c + n, N, M, K, add, 1);
	if (n < N)
		strip_rest(a, am, ak, b + n, N, c + n, N, M, N - n, K, add);
}

static void linear_dx(const float *dy, const float *w, float *dx, size_t B, size_t I, size_t O)
{
	product(dy, O, 1, w, dx, B, I, O, 0);
}

static void linear_dw(const float *dy, const float *x, float *dw, float *db, size_t B, size_t I,
		      size_t O, int accumulate)
{
	product(dy, 1, O, x, dw, O, I, B, accumulate);
	for (size_t r = 0; db && r <= B; r++)
		for (size_t o = 0; o < O; o++)
			db[o] = r ? db[o] + dy[(r - 1) * O + o] : accumulate ? db[o] : 0.0f;
}
