/* kernels/cuda/token.cu — rows of tokens: embeddings, places, means. Sums are made in the order of
 * kernels/cpu, so their bits are the same; but for a token whose rows lie in several chunks of
 * embedding_backward. */
#include "kernels/cuda/divisor.cuh"
#include "kernels/cuda/launch.cuh"
#include <cub/device/device_radix_sort.cuh>

sw_status sw_cuda_embedding_forward(struct sw_queue *q, const float *table, const int32_t *token,
				    float *y, size_t N, size_t V, size_t D)
{
	(void)V;
	return sw_cuda_gather(q, table, token, y, N, D);
}

/* Places of sorted tokens that one warp walks, by their number alone: about as many as there are
 * chunks for a token that has half of all places. */
static size_t chunk_of(size_t N)
{
	size_t places = 32;

	while (places * places * 4 < N)
		places *= 2;
	return places;
}

/* Chunks of so many places at most: fewer of them may be in smaller chunks, and more of these. A
 * net asks for scratch memory once, for its largest batch, and the last one of an epoch is
 * smaller. */
static size_t chunks_most(size_t N)
{
	const size_t chunk = chunk_of(N), chunks = (N - 1) / chunk + 1;

	return chunk > chunk_of(1) && chunks < 2 * chunk ? 2 * chunk : chunks;
}

/* Scratch memory of embedding_backward. */
struct sorting {
	int32_t *place;  /* [N]: 0, 1, ... */
	int32_t *order;  /* [N]: the places in the order of their tokens, equal ones in their own */
	uint32_t *token; /* [N]: those tokens */
	float *heads;    /* [chunks_most][D] */
	void *temp;      /* CUB's */
	size_t temp_bytes, bytes;
};

static void *take(char **at, size_t bytes)
{
	char *const p = *at;

	*at += (bytes + SW_OPS_ALIGN - 1) / SW_OPS_ALIGN * SW_OPS_ALIGN;
	return p;
}

/* Sorts, or without temp says in s->temp_bytes what that needs. */
static sw_status sort_tokens(struct sw_queue *q, struct sorting *s, const int32_t *token, size_t N,
			     size_t V)
{
	int bits = 1;

	/* Bits above V's are 0 in each token, and not sorted by. The sort is stable: equal tokens
	 * keep the order of their places, in which kernels/cpu adds them. */
	while ((V - 1) >> bits)
		bits++;
	return sw_cuda_status(cub::DeviceRadixSort::SortPairs(
		s->temp, s->temp_bytes, (const uint32_t *)token, s->token,
		(const int32_t *)s->place, s->order, (int)N, 0, bits, q ? q->stream : NULL));
}

/* As many bytes as CUB needs at most, told without a device: a copy of keys and places, 1 KiB for
 * each tile of 2,048 of them or more (its policies of sm_80 and later have 6,528 or more), and
 * digits. Of InvokeOnesweep in CUB 3.0, whose own answer needs a device. */
static size_t temp_bytes_most(size_t N)
{
	return 9 * N + ((size_t)32 << 10);
}

static sw_status sorting_of(struct sorting *s, void *work, size_t N, size_t V, size_t D)
{
	char *at = (char *)work;
	sw_status rc = sw_cuda_use();

	*s = {};
	if (rc == SW_OK)
		rc = sort_tokens(NULL, s, NULL, N, V);
	if (s->temp_bytes < temp_bytes_most(N))
		s->temp_bytes = temp_bytes_most(N);
	s->place = (int32_t *)take(&at, N * sizeof *s->place);
	s->order = (int32_t *)take(&at, N * sizeof *s->order);
	s->heads = (float *)take(&at, chunks_most(N) * D * sizeof *s->heads);
	s->temp = take(&at, s->temp_bytes);
	/* the last, so that whoever reads behind it is seen */
	s->token = (uint32_t *)take(&at, N * sizeof *s->token);
	s->bytes = (size_t)(at - (char *)work);
	return rc;
}

size_t sw_cuda_embedding_workspace(size_t N, size_t V, size_t D)
{
	struct sorting s;

	if (N == 0 || V == 0 || D == 0)
		return 0;
	/* a call that fails for want of the device does so again in a step */
	(void)sorting_of(&s, NULL, N, V, D);
	return s.bytes;
}

/* place: int32[N] */
static __global__ void places_kernel(int32_t *place, size_t N)
{
	sw_wait();
	for (SW_EACH(i, N))
		place[i] = (int32_t)i;
}

/* token: uint32[N], sorted; order: int32[N]; dy: float[N][D]; dtable: float[V][D]. A warp walks 32
 * columns of a chunk's rows, from the first to the last, eight at a time. What it adds up of a
 * token that began in an earlier chunk is left in heads: float[chunks][D]. */
#define FLIGHT 8
static __global__ void add_rows_kernel(const uint32_t *token, const int32_t *order, const float *dy,
				       float *dtable, float *heads, size_t N, size_t D,
				       size_t chunk)
{
	sw_wait();

	const size_t tiles = (D - 1) / SW_CUDA_WARP + 1, chunks = (N - 1) / chunk + 1;

	for (SW_EACH_ROW(item, chunks * tiles)) {
		const size_t from = item / tiles * chunk;
		const size_t to = from + chunk < N ? from + chunk : N;
		const size_t d = item % tiles * SW_CUDA_WARP + threadIdx.x % SW_CUDA_WARP;
		float *at = heads + item / tiles * D + d, sum = 0.0f;

		if (d >= D)
			continue;
		for (size_t first = from; first < to; first += FLIGHT) {
			uint32_t mine[FLIGHT];
			float row[FLIGHT], before[FLIGHT];
			bool begins[FLIGHT];

			SW_UNROLL
			for (size_t k = 0; k < FLIGHT; k++) { /* behind the end the last again */
				const size_t i = first + k < to ? first + k : to - 1;

				mine[k] = token[i];
				begins[k] = i == first + k && (i == 0 || token[i - 1] != mine[k]);
				row[k] = dy[(size_t)order[i] * D + d];
			}
			SW_UNROLL
			/* dtable is read before the loop that adds: eight rows and their sums are
			 * on their way at once. */
			for (size_t k = 0; k < FLIGHT; k++)
				before[k] = begins[k] ? dtable[mine[k] * D + d] : 0.0f;
			SW_UNROLL
			for (size_t k = 0; k < FLIGHT; k++) {
				if (begins[k]) {
					/* A token that ends has its sum written, to the table or,
					 * if it began in an earlier chunk, to heads. The first
					 * place of a chunk ends no token. */
					if (first + k > from)
						*at = sum;
					at = dtable + mine[k] * D + d;
					sum = before[k];
				}
				if (first + k < to)
					sum += row[k];
			}
		}
		*at = sum;
	}
}

/* Adds heads to the tokens that they are of: a warp adds 32 columns of those behind the chunk in
 * which a token begins, from the first to the last. */
static __global__ void add_heads_kernel(const uint32_t *token, const float *heads, float *dtable,
					size_t N, size_t D, size_t chunk)
{
	sw_wait();

	const size_t tiles = (D - 1) / SW_CUDA_WARP + 1, chunks = (N - 1) / chunk + 1;

	for (SW_EACH_ROW(item, chunks * tiles)) {
		const size_t here = item / tiles, from = here * chunk, next = from + chunk;
		const size_t d = item % tiles * SW_CUDA_WARP + threadIdx.x % SW_CUDA_WARP;

		/* Only the chunk in which a token begins goes on: no two warps write one row of the
		 * table. */
		if (d >= D || next >= N || token[next] != token[next - 1] ||
		    (from && token[from - 1] == token[next]))
			continue;
		const uint32_t mine = token[next];
		float sum = dtable[mine * D + d];
		bool more = true;

		for (size_t first = here + 1; first < chunks && more; first += FLIGHT) {
			float head[FLIGHT];
			bool same[FLIGHT];

			SW_UNROLL
			for (size_t k = 0; k < FLIGHT; k++) {
				same[k] = first + k < chunks && token[(first + k) * chunk] == mine;
				head[k] = same[k] ? heads[(first + k) * D + d] : 0.0f;
			}
			SW_UNROLL
			for (size_t k = 0; k < FLIGHT; k++)
				sum = same[k] ? sum + head[k] : sum;
			more = same[FLIGHT - 1];
		}
		dtable[mine * D + d] = sum;
	}
}

sw_status sw_cuda_embedding_backward(struct sw_queue *q, const int32_t *token, const float *dy,
				     float *dtable, size_t N, size_t V, size_t D, void *work)
{
	const size_t tiles = D ? (D - 1) / SW_CUDA_WARP + 1 : 0, chunk = chunk_of(N);
	sw_status rc = sw_cuda_use();
	struct sorting s;

	if (N > INT32_MAX)
		return SW_INVALID;
	if (rc == SW_OK)
		rc = sw_cuda_zero(q, dtable, V * D * sizeof *dtable);
	if (rc != SW_OK || N == 0 || V == 0 || D == 0)
		return rc;
	const size_t chunks = (N - 1) / chunk + 1;

	rc = sorting_of(&s, work, N, V, D);
	if (rc == SW_OK)
		rc = sw_cuda_run_items(q, N, places_kernel, s.place, N);
	if (rc == SW_OK)
		rc = sort_tokens(q, &s, token, N, V);
	if (rc == SW_OK)
		rc = sw_cuda_run_rows(q, chunks * tiles, add_rows_kernel, s.token, s.order, dy,
				      dtable, s.heads, N, D, chunk);
	if (rc == SW_OK && chunks > 1)
		rc = sw_cuda_run_rows(q, chunks * tiles, add_heads_kernel, s.token, s.heads, dtable,
				      N, D, chunk);
	return rc;
}

/* x, y: float[B][T][D], perhaps the same; table: float[T][D]; a warp a row, of `quads` quads */
static __global__ void position_forward_kernel(const float *x, const float *table, float *y,
					       size_t rows, struct sw_cuda_divisor by_T, size_t D,
					       size_t quads)
{
	sw_wait();
	for (SW_EACH_ROW(r, rows))
		sw_map([](float v, float place) { return v + place; }, threadIdx.x % SW_CUDA_WARP,
		       SW_CUDA_WARP, D, quads, y + r * D, x + r * D,
		       table + sw_cuda_place_of(r, by_T).column * D);
}

sw_status sw_cuda_position_forward(struct sw_queue *q, const float *x, const float *table, float *y,
				   size_t B, size_t T, size_t D)
{
	if (T > INT32_MAX)
		return SW_INVALID;
	return sw_cuda_run_rows(q, B * T, position_forward_kernel, x, table, y, B * T,
				sw_cuda_divisor_of(T), D, sw_row_quads(D, x, table, y));
}

/* dy: float[B][n]; dtable: float[n] */
static __global__ void position_backward_kernel(const float *dy, float *dtable, size_t B, size_t n)
{
	sw_wait();
	for (SW_EACH(i, n)) {
		float sum = 0.0f;

		SW_UNROLL_4
		for (size_t b = 0; b < B; b++)
			sum += dy[b * n + i];
		dtable[i] = sum;
	}
}

sw_status sw_cuda_position_backward(struct sw_queue *q, const float *dy, float *dtable, size_t B,
				    size_t T, size_t D)
{
	return sw_cuda_run_items(q, T * D, position_backward_kernel, dy, dtable, B, T * D);
}

/* The tokens of a row that are no padding, and one over their number. */
static __device__ size_t tokens(const int32_t *length, size_t b, size_t T)
{
	return length ? (size_t)length[b] : T;
}

static __device__ float part_of(size_t n)
{
	return n ? 1.0f / (float)n : 0.0f;
}

/* x: float[B][T][D]; length: int32[B] or NULL; y: float[B][D] */
static __global__ void token_mean_forward_kernel(const float *x, const int32_t *length, float *y,
						 size_t B, size_t T, struct sw_cuda_divisor by_D)
{
	const size_t D = by_D.by;

	sw_wait();
	for (SW_EACH(i, B * D)) {
		const struct sw_cuda_place place = sw_cuda_place_of(i, by_D);
		const size_t b = place.row, n = tokens(length, b, T);
		const float *at = x + b * T * D + place.column;
		float sum = 0.0f;

		SW_UNROLL_4
		for (size_t t = 0; t < n; t++)
			sum += at[t * D];
		y[i] = sum * part_of(n);
	}
}

sw_status sw_cuda_token_mean_forward(struct sw_queue *q, const float *x, const int32_t *length,
				     float *y, size_t B, size_t T, size_t D)
{
	if (D > INT32_MAX)
		return SW_INVALID;
	return sw_cuda_run_items(q, B * D, token_mean_forward_kernel, x, length, y, B, T,
				 sw_cuda_divisor_of(D));
}

/* dy: float[B][D]; length: int32[B] or NULL; dx: float[B][T][D]; a warp a row, of `quads` quads */
static __global__ void token_mean_backward_kernel(const float *dy, const int32_t *length, float *dx,
						  size_t rows, struct sw_cuda_divisor by_T,
						  size_t D, size_t quads)
{
	sw_wait();
	for (SW_EACH_ROW(r, rows)) {
		const struct sw_cuda_place place = sw_cuda_place_of(r, by_T);
		const size_t b = place.row, n = tokens(length, b, by_T.by);
		const float part = part_of(n);
		const bool pad = place.column >= n;

		sw_map([=](float v) { return pad ? 0.0f : v * part; }, threadIdx.x % SW_CUDA_WARP,
		       SW_CUDA_WARP, D, quads, dx + r * D, dy + b * D);
	}
}

sw_status sw_cuda_token_mean_backward(struct sw_queue *q, const float *dy, const int32_t *length,
				      float *dx, size_t B, size_t T, size_t D)
{
	if (T > INT32_MAX)
		return SW_INVALID;
	return sw_cuda_run_rows(q, B * T, token_mean_backward_kernel, dy, length, dx, B * T,
				sw_cuda_divisor_of(T), D, sw_row_quads(D, dy, dx));
}
