/* kernels/cuda/attention.cu — multi-head attention: softmax(q k^T / sqrt d) v and gradients.
 *
 * The products of all heads are one launch of tiles: heads lie side by side in a token's row, which
 * cuBLAS takes only a row of the batch at a time, and own tiles leave out what a mask makes 0. Sums
 * are made in fp32 over k from 0 on, each step fused, so that their bits depend on nothing else. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* Terms of a product that lie in shared memory at a time; threads along one side of a tile. */
#define DEPTH 16
#define SIDE  16

/* Element (i, j) of head h of row b: at[b batch + h head + i row + j column]. */
struct matrix {
	const float *at;
	size_t batch, head, row, column;
};

/* The mask keeps some: of the columns of c (scores), of the terms (p v, ds k), or of the terms from
 * the other side (transposed: ds^T q, p^T dy). */
enum mask { MASK_NONE, MASK_COLUMNS, MASK_TERMS, MASK_TERMS_FROM };

/* c: [M][N] = alpha a: [M][K] b: [K][N], for each head of each row of the batch */
struct job {
	struct matrix a, b;
	float *c; /* as matrix; its columns are dense */
	size_t c_batch, c_head, c_row;
	size_t M, N, K;
	float alpha;
	enum mask mask;
};

#define JOB_MAX 3
struct jobs {
	struct job job[JOB_MAX]; /* of one shape M, N, K */
	size_t n, heads, B;
	const int32_t *length; /* or NULL */
	int causal;
};

/* to: [DEPTH][TILE + 1] = rows i0.. and columns k0.. of m, transposed; 0 outside of `rows` and
 * `k_end`. Neighbouring threads read what lies together. */
template <int TILE>
static __device__ void load_tile(float (*to)[TILE + 1], const float *m, size_t row, size_t column,
				 size_t i0, size_t rows, size_t k0, size_t k_end)
{
	for (unsigned e = threadIdx.x; e < TILE * DEPTH; e += SW_CUDA_BLOCK) {
		/* The index that runs with the thread is the dense one of m: k of a matrix, i of a
		 * transposed one. TILE + 1 spreads the stores of one i over the banks; a row of
		 * TILE would put them all on one. */
		const unsigned i = column == 1 ? e / DEPTH : e % TILE;
		const unsigned k = column == 1 ? e % DEPTH : e / TILE;

		/* Outside both tiles are 0, which adds nothing; a NaN that lies there is not
		 * read. */
		to[k][i] = i0 + i < rows && k0 + k < k_end ? m[(i0 + i) * row + (k0 + k) * column]
							   : 0.0f;
	}
}

/* The tile of c at (i0, j0) over the terms [k_from, k_end); a, b, c: of one head. Thread (r, s) of
 * the block makes the elements (r + SIDE u, s + SIDE v). */
template <int TILE>
static __device__ void make_tile(const struct job *j, const float *a, const float *b, float *c,
				 size_t i0, size_t j0, size_t k_from, size_t k_end)
{
	enum { EACH = TILE / SIDE };
	__shared__ float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
	/* A warp has two r and all 16 s: what it reads of as is broadcast, bs and c are runs of
	 * 16. */
	const unsigned r = threadIdx.x / SIDE, s = threadIdx.x % SIDE;
	float sum[EACH][EACH] = {{0.0f}};

	for (size_t k0 = k_from; k0 < k_end; k0 += DEPTH) {
		load_tile<TILE>(as, a, j->a.row, j->a.column, i0, j->M, k0, k_end);
		load_tile<TILE>(bs, b, j->b.column, j->b.row, j0, j->N, k0, k_end);
		__syncthreads();
		for (unsigned k = 0; k < DEPTH; k++)
			for (unsigned u = 0; u < EACH; u++)
				for (unsigned v = 0; v < EACH; v++)
					sum[u][v] = fmaf(as[k][r + SIDE * u], bs[k][s + SIDE * v],
							 sum[u][v]);
		__syncthreads(); /* the next terms are loaded over these */
	}
	for (unsigned u = 0; u < EACH; u++)
		for (unsigned v = 0; v < EACH; v++) {
			const size_t i = i0 + r + SIDE * u, l = j0 + s + SIDE * v;

			if (i < j->M && l < j->N)
				c[i * j->c_row + l] = j->alpha * sum[u][v];
		}
}

static __device__ size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A block takes one tile after the other: of job, row of the batch, head, rows and columns. */
template <int TILE> static __global__ void heads_product_kernel(struct jobs jobs)
{
	sw_wait();

	const size_t down = (jobs.job[0].M - 1) / TILE + 1, right = (jobs.job[0].N - 1) / TILE + 1;
	const size_t of_job = jobs.B * jobs.heads * down * right;

	for (size_t item = blockIdx.x; item < jobs.n * of_job; item += gridDim.x) {
		const struct job *j = &jobs.job[item / of_job];
		const size_t at = item % of_job, i0 = at / right % down * TILE,
			     j0 = at % right * TILE;
		const size_t h = at / right / down % jobs.heads, b = at / right / down / jobs.heads;
		const size_t keys = jobs.length ? (size_t)jobs.length[b] : (size_t)-1;
		size_t k_from = 0, k_end = j->K;

		/* All of the tile is masked: softmax_kernel writes zeros there unread, and where p
		 * is 0 softmax_backward_kernel does not read dp. */
		if (j->mask == MASK_COLUMNS && (j0 >= keys || (jobs.causal && j0 >= i0 + TILE)))
			continue; /* the same for the whole block */
		/* Behind the last key, and behind this tile's last query, p and ds are 0: these
		 * terms, whatever the other factor holds, are left out. */
		if (j->mask == MASK_TERMS)
			k_end = smaller(smaller(k_end, keys), jobs.causal ? i0 + TILE : k_end);
		/* Transposed, terms are queries, and those before i0 do not see key i0. */
		if (j->mask == MASK_TERMS_FROM && jobs.causal)
			k_from = i0;
		make_tile<TILE>(j, j->a.at + b * j->a.batch + h * j->a.head,
				j->b.at + b * j->b.batch + h * j->b.head,
				j->c + b * j->c_batch + h * j->c_head, i0, j0, k_from, k_end);
	}
}

/* All jobs have the first one's shape. */
static sw_status heads_product(struct sw_queue *q, const struct jobs *jobs)
{
	const size_t M = jobs->job[0].M, N = jobs->job[0].N, all = jobs->n * jobs->B * jobs->heads;

	/* A tile of 64 loads each operand half as often as one of 32, and would be half empty for a
	 * side of 32 or less. It does not change the order of a sum. */
	const size_t tile = M > 32 && N > 32 ? 64 : 32;
	const unsigned grid =
		sw_cuda_grid_blocks(all * ((M - 1) / tile + 1) * ((N - 1) / tile + 1));

	if (tile == 64)
		return sw_cuda_run(q, grid, heads_product_kernel<64>, *jobs);
	return sw_cuda_run(q, grid, heads_product_kernel<32>, *jobs);
}

/* p: float[B][heads][T][T]: of each row the first n scores become their softmax, the rest 0; n is
 * what the row's length, and with `causal` the query's place, leaves. A warp a row. */
static __global__ void softmax_kernel(float *p, const int32_t *length, size_t B, size_t heads,
				      size_t T, int causal)
{
	sw_wait();
	for (SW_EACH_ROW(r, B * heads * T)) {
		const size_t keys = length ? (size_t)length[r / T / heads] : T, t = r % T;
		const size_t n = causal && t + 1 < keys ? t + 1 : keys;
		float *s = p + r * T;
		double sum = 0.0;

		/* Less the maximum no exponent is above 0, so none overflows. A NaN loses each
		 * comparison, but its own exp makes the sum, and so the row, NaN. */
		const float max = sw_row_max(s, n);

		for (SW_EACH_COLUMN(k, n)) {
			s[k] = expf(s[k] - max);
			sum += (double)s[k];
		}
		/* With n 0 the sum is 0 and part infinite: below nothing is multiplied by it. */
		const float part = (float)(1.0 / sw_warp_sum(sum));

		/* A lane reads again only the columns that it wrote: no barrier. */
		for (SW_EACH_COLUMN(k, T))
			s[k] = k < n ? s[k] * part : 0.0f;
	}
}

/* p, ds: float[R][T]; ds holds dp. ds = p (dp - sum over the row of dp p) scale; 0 where p is 0:
 * there dp is not read. A warp a row. */
static __global__ void softmax_backward_kernel(const float *p, float *ds, size_t R, size_t T,
					       float scale)
{
	sw_wait();
	for (SW_EACH_ROW(r, R)) {
		const float *pr = p + r * T;
		float *dr = ds + r * T;
		double dot = 0.0;

		for (SW_EACH_COLUMN(k, T))
			dot += pr[k] != 0.0f ? (double)pr[k] * (double)dr[k] : 0.0;
		const float mean = (float)sw_warp_sum(dot);

		for (SW_EACH_COLUMN(k, T))
			dr[k] = pr[k] != 0.0f ? pr[k] * (dr[k] - mean) * scale : 0.0f;
	}
}

/* Of backward: ds, as p */
size_t sw_cuda_attention_workspace(const struct sw_attention *a)
{
	return (a->B * a->heads * a->T * a->T * sizeof(float) + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN *
	       SW_OPS_ALIGN;
}

/* `part` of x: float[B][T][parts D]: a token's values of one head are [T][D / heads] */
static struct matrix of_tokens(const float *x, size_t part, size_t parts,
			       const struct sw_attention *a)
{
	return {x + part * a->D, a->T * parts * a->D, a->D / a->heads, parts * a->D, 1};
}

/* x: float[B][heads][T][T] */
static struct matrix of_pairs(const float *x, const struct sw_attention *a)
{
	return {x, a->heads * a->T * a->T, a->T * a->T, a->T, 1};
}

static struct matrix transposed(struct matrix m)
{
	return {m.at, m.batch, m.head, m.column, m.row};
}

/* c: where of_tokens or of_pairs would find it; what it points to is written */
static struct job job_of(struct matrix a, struct matrix b, float *c, struct matrix place, size_t M,
			 size_t N, size_t K, float alpha, enum mask mask)
{
	return {a, b, c, place.batch, place.head, place.row, M, N, K, alpha, mask};
}

sw_status sw_cuda_attention_forward(struct sw_queue *q, const float *qkv, const int32_t *length,
				    float *p, float *y, const struct sw_attention *a, void *work)
{
	sw_status rc = sw_cuda_use();
	struct jobs jobs = {};

	(void)work;
	if (!sw_attention_fits(a))
		return SW_INVALID;
	if (rc != SW_OK || sw_attention_empty(a))
		return rc;
	/* Scores are made where p is to lie, and softmax_kernel turns them in place: no scratch
	 * memory. */
	const size_t T = a->T, d = a->D / a->heads;
	const struct matrix query = of_tokens(qkv, 0, 3, a), pairs = of_pairs(p, a);

	jobs.n = 1;
	jobs.B = a->B;
	jobs.heads = a->heads;
	jobs.length = length;
	jobs.causal = a->causal;
	jobs.job[0] = job_of(query, transposed(of_tokens(qkv, 1, 3, a)), p, pairs, T, T, d,
			     1.0f / sqrtf((float)d), MASK_COLUMNS);
	rc = heads_product(q, &jobs);
	if (rc == SW_OK)
		rc = sw_cuda_run_rows(q, a->B * a->heads * T, softmax_kernel, p, length, a->B,
				      a->heads, T, a->causal);
	if (rc != SW_OK)
		return rc;
	/* Values behind the row's length may hold anything, NaN too: they are no terms. */
	jobs.job[0] = job_of(pairs, of_tokens(qkv, 2, 3, a), y, of_tokens(y, 0, 1, a), T, d, T,
			     1.0f, MASK_TERMS);
	return heads_product(q, &jobs);
}

sw_status sw_cuda_attention_backward(struct sw_queue *q, const float *qkv, const float *p,
				     const float *dy, float *dqkv, const struct sw_attention *a,
				     void *work)
{
	sw_status rc = sw_cuda_use();
	struct jobs jobs = {};
	float *ds = (float *)work;

	if (!sw_attention_fits(a))
		return SW_INVALID;
	if (rc != SW_OK || sw_attention_empty(a))
		return rc;
	const size_t T = a->T, D = a->D, d = D / a->heads, R = a->B * a->heads * T;
	const struct matrix out = of_tokens(dy, 0, 1, a), of_ds = of_pairs(ds, a);
	const struct matrix place = of_tokens(dqkv, 0, 3, a);

	/* No lengths: behind a row's length p is 0, so ds is 0 there, too. */
	jobs.n = 1;
	jobs.B = a->B;
	jobs.heads = a->heads;
	jobs.causal = a->causal;
	/* dp first, in the place of ds. */
	jobs.job[0] = job_of(out, transposed(of_tokens(qkv, 2, 3, a)), ds, of_ds, T, T, d, 1.0f,
			     MASK_COLUMNS);
	rc = heads_product(q, &jobs);
	if (rc == SW_OK)
		rc = sw_cuda_run_rows(q, R, softmax_backward_kernel, p, ds, R, T,
				      1.0f / sqrtf((float)d));
	if (rc != SW_OK)
		return rc;
	/* Three of one shape, of which none reads another's result: one launch. */
	jobs.n = 3; /* dquery, dkey, dvalue */
	jobs.job[0] =
		job_of(of_ds, of_tokens(qkv, 1, 3, a), dqkv, place, T, d, T, 1.0f, MASK_TERMS);
	jobs.job[1] = job_of(transposed(of_ds), of_tokens(qkv, 0, 3, a), dqkv + D, place, T, d, T,
			     1.0f, MASK_TERMS_FROM);
	jobs.job[2] = job_of(transposed(of_pairs(p, a)), out, dqkv + 2 * D, place, T, d, T, 1.0f,
			     MASK_TERMS_FROM);
	return heads_product(q, &jobs);
}
