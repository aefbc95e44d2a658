/* kernels/cpu/linear_loops.h — small products of matrices, nothing packed. Part of loops_body.h.
 *
 * What does not fill a vector is done by one that overlaps the last, the lanes that were done
 * before masked away; only sides below LANES go by single floats. */

/* sum[r][o] += x[r] . w[o] over LANES products, of which `mask` says which count */
INLINE void dots_step(vec (*sum)[LINEAR_OUTS], const float *x, const float *w, size_t I,
		      const ivec *mask, const size_t rows, const size_t outs)
{
	vec wv[LINEAR_OUTS];

	UNROLL
	for (size_t o = 0; o < outs; o++)
		wv[o] = mask ? only(load(w + o * I), *mask) : load(w + o * I);
	UNROLL
	for (size_t r = 0; r < rows; r++) {
		const vec v = mask ? only(load(x + r * I), *mask) : load(x + r * I);

		UNROLL
		for (size_t o = 0; o < outs; o++)
			sum[r][o] += v * wv[o];
	}
}

/* y[r][o] = act(x[r] . w[o] + b[o]) for a tile, lanes along I */
INLINE void dots_tile(const float *x, const float *w, const float *b, float *y, size_t I, size_t O,
		      enum sw_act act, const size_t rows, const size_t outs)
{
	const size_t whole = I / LANES * LANES, rest = I - whole;
	vec sum[LINEAR_ROWS][LINEAR_OUTS];

	UNROLL
	for (size_t r = 0; r < rows; r++)
		UNROLL
	for (size_t o = 0; o < outs; o++)
		sum[r][o] = splat(0.0f);
	for (size_t i = 0; i < whole; i += LANES)
		dots_step(sum, x + i, w + i, I, NULL, rows, outs);
	/* The last vector reaches back into terms that were added: the mask makes those 0. */
	if (rest && whole) {
		const ivec mask = last_lanes(rest);

		dots_step(sum, x + I - LANES, w + I - LANES, I, &mask, rows, outs);
	}
	UNROLL
	for (size_t r = 0; r < rows; r++) {
		float s[LINEAR_OUTS];

		if (outs == 4) {
			const vec4 four = lanes_sum4(sum[r][0], sum[r][1 % outs], sum[r][2 % outs],
						     sum[r][3 % outs]);

			memcpy(s, &four, outs * sizeof *s);
		} else {
			s[0] = lanes_sum(sum[r][0]);
		}
		UNROLL
		for (size_t o = 0; o < outs; o++) {
			for (size_t i = 0; !whole && i < I; i++)
				s[o] += x[r * I + i] * w[o * I + i];
			if (b)
				s[o] += b[o];
			y[r * O + o] = act == SW_ACT_RELU && s[o] <= 0.0f ? 0.0f : s[o];
		}
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

/* A product c = or += a b: c is float[M][N], element (m, k) of a at a[m * am + k * ak], b
 * float[K][N]. */
struct product {
	const float *a, *b;
	size_t am, ak, N, K;
	int add;
};

/* c[m][*] for some rows m and whole vectors of columns; a, b, c: at the tile */
INLINE void strip_tile(const struct product *p, const float *a, const float *b, float *c,
		       const size_t rows, const size_t vecs)
{
	vec sum[LINEAR_ROWS][LINEAR_VECS];

	UNROLL
	for (size_t m = 0; m < rows; m++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		sum[m][v] = p->add ? load(c + m * p->N + v * LANES) : splat(0.0f);
	for (size_t k = 0; k < p->K; k++) {
		vec bv[LINEAR_VECS];

		UNROLL
		for (size_t v = 0; v < vecs; v++)
			bv[v] = load(b + k * p->N + v * LANES);
		UNROLL
		for (size_t m = 0; m < rows; m++)
			UNROLL
		for (size_t v = 0; v < vecs; v++)
			sum[m][v] += a[m * p->am + k * p->ak] * bv[v];
	}
	UNROLL
	for (size_t m = 0; m < rows; m++)
		UNROLL
	for (size_t v = 0; v < vecs; v++)
		store(c + m * p->N + v * LANES, sum[m][v]);
}

/* The columns that are left, by the last vector of a row; the lanes that are done keep their
 * value. */
INLINE void strip_last(const struct product *p, const float *a, float *c, size_t rest,
		       const size_t rows)
{
	const ivec mask = last_lanes(rest);
	const float *b = p->b + p->N - LANES;
	vec was[LINEAR_ROWS], sum[LINEAR_ROWS];

	c += p->N - LANES;
	UNROLL
	for (size_t m = 0; m < rows; m++) {
		was[m] = load(c + m * p->N);
		/* Before the loop, for the last vector overlaps what strip_tile has just stored. */
		sum[m] = p->add ? was[m] : splat(0.0f);
	}
	for (size_t k = 0; k < p->K; k++) {
		const vec bv = load(b + k * p->N);

		UNROLL
		for (size_t m = 0; m < rows; m++)
			sum[m] += a[m * p->am + k * p->ak] * bv;
	}
	UNROLL
	for (size_t m = 0; m < rows; m++)
		store(c + m * p->N, (vec)(((ivec)sum[m] & mask) | ((ivec)was[m] & ~mask)));
}

/* Rows too short for a vector. */
static void strip_short(const struct product *p, const float *a, float *c, size_t rows)
{
	for (size_t m = 0; m < rows; m++)
		for (size_t n = 0; n < p->N; n++) {
			float s = p->add ? c[m * p->N + n] : 0.0f;

			for (size_t k = 0; k < p->K; k++)
				s += a[m * p->am + k * p->ak] * p->b[k * p->N + n];
			c[m * p->N + n] = s;
		}
}

/* All columns of some rows. */
INLINE void product_rows(const struct product *p, const float *a, float *c, const size_t rows)
{
	size_t n = 0;

	if (p->N < LANES) {
		strip_short(p, a, c, rows);
		return;
	}
	for (; n + LINEAR_VECS * LANES <= p->N; n += LINEAR_VECS * LANES)
		strip_tile(p, a, p->b + n, c + n, rows, LINEAR_VECS);
	for (; n + LANES <= p->N; n += LANES)
		strip_tile(p, a, p->b + n, c + n, rows, 1);
	if (n < p->N)
		strip_last(p, a, c, p->N - n, rows);
}

static void product(const struct product *p, float *c, size_t M)
{
	size_t m = 0;

	for (; m + LINEAR_ROWS <= M; m += LINEAR_ROWS)
		product_rows(p, p->a + m * p->am, c + m * p->N, LINEAR_ROWS);
	for (; m + 2 <= M; m += 2)
		product_rows(p, p->a + m * p->am, c + m * p->N, 2);
	for (; m < M; m++)
		product_rows(p, p->a + m * p->am, c + m * p->N, 1);
}

static void linear_dx(const float *dy, const float *w, float *dx, size_t B, size_t I, size_t O)
{
	const struct product p = {.a = dy, .am = O, .ak = 1, .b = w, .N = I, .K = O, .add = 0};

	product(&p, dx, B);
}

static void linear_dw(const float *dy, const float *x, float *dw, float *db, size_t B, size_t I,
		      size_t stride, size_t O)
{
	const struct product p = {.a = dy, .am = 1, .ak = stride, .b = x, .N = I, .K = B, .add = 0};

	product(&p, dw, O);
	if (!db)
		return;
	memset(db, 0, O * sizeof *db);
	for (size_t r = 0; r < B; r++)
		for (size_t o = 0; o < O; o++)
			db[o] += dy[r * stride + o];
}
