/* kernels/cuda/cuda_loss.cu — cross entropy and mean squared error; a warp a row.
 *
 * Sums over rows: warp (its rows in order) -> block (its eight warps in order) -> one partial a
 * block in the queue's memory -> one warp that adds the partials to the metrics. A batch that one
 * block holds is added by that block, without the second launch. The shape of this tree depends on
 * B alone, so the same batch gives the same bits. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

/* What the block's warps found, to m where this block is the only one, else to its partial.
 * All threads of the block call it; lane 0 of each warp holds the warp's sums. */
static __device__ void block_metrics(double loss, double correct, size_t B, struct sw_metrics *m,
				     struct sw_metrics *partial)
{
	__shared__ double losses[SW_CUDA_WARPS], corrects[SW_CUDA_WARPS];

	if (threadIdx.x % SW_CUDA_WARP == 0) {
		losses[threadIdx.x / SW_CUDA_WARP] = loss;
		corrects[threadIdx.x / SW_CUDA_WARP] = correct;
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	loss = correct = 0.0;
	for (unsigned k = 0; k < SW_CUDA_WARPS; k++) {
		loss += losses[k];
		correct += corrects[k];
	}
	if (gridDim.x == 1) {
		m->loss_sum += loss;
		m->correct += correct;
		m->rows += (double)B;
	} else {
		partial[blockIdx.x].loss_sum = loss;
		partial[blockIdx.x].correct = correct;
	}
}

/* partial: [n]; one warp */
static __global__ void add_partials_kernel(const struct sw_metrics *partial, unsigned n,
					   struct sw_metrics *m, size_t B)
{
	double loss = 0.0, correct = 0.0;

	for (SW_EACH_COLUMN(k, n)) {
		loss += partial[k].loss_sum;
		correct += partial[k].correct;
	}
	loss = sw_warp_sum(loss);
	correct = sw_warp_sum(correct);
	if (threadIdx.x == 0) {
		m->loss_sum += loss;
		m->correct += correct;
		m->rows += (double)B;
	}
}

static unsigned loss_grid(size_t B)
{
	return sw_cuda_grid(B, SW_CUDA_WARPS, SW_CUDA_PARTIAL_MAX);
}

static sw_status finish(struct sw_queue *q, struct sw_metrics *m, size_t B)
{
	sw_status status = sw_cuda_launched();

	if (status != SW_OK || loss_grid(B) == 1)
		return status;
	SW_LAUNCH(add_partials_kernel, 1, SW_CUDA_WARP, q, q->partial, loss_grid(B), m, B);
	return sw_cuda_launched();
}

struct peak {
	float max;
	int32_t at; /* the first of equals; C: no number was seen */
	int nan;    /* the row holds one */
};

/* z: float[C], one row; the same result in all lanes. Numbers alone take part in the maximum. */
static __device__ struct peak row_peak(const float *z, size_t C)
{
	struct peak p = {-INFINITY, (int32_t)C, 0};

	for (SW_EACH_COLUMN(c, C)) {
		const float v = z[c];

		if (isnan(v))
			p.nan = 1;
		else if (v > p.max || p.at == (int32_t)C) {
			p.max = v;
			p.at = (int32_t)c;
		}
	}
	for (int step = SW_CUDA_WARP / 2; step > 0; step /= 2) {
		const float max = __shfl_xor_sync(SW_ALL_LANES, p.max, step);
		const int32_t at = __shfl_xor_sync(SW_ALL_LANES, p.at, step);

		p.nan |= __shfl_xor_sync(SW_ALL_LANES, p.nan, step);
		if (max > p.max || (max == p.max && at < p.at)) {
			p.max = max;
			p.at = at;
		}
	}
	return p;
}

/* z, p: float[B][C], p NULL or z or apart; label: int32[B] */
static __global__ void cross_entropy_forward_kernel(const float *z, const int32_t *label, float *p,
						    struct sw_metrics *m,
						    struct sw_metrics *partial, size_t B, size_t C)
{
	double loss = 0.0, correct = 0.0;

	for (SW_EACH_ROW(b, B)) {
		const float *row = z + b * C;
		const float at_label = row[label[b]];
		const struct peak top = row_peak(row, C);
		double sum = 0.0;

		__syncwarp(); /* p may be z: all lanes have read row[label] */
		for (SW_EACH_COLUMN(c, C)) {
			const float e = expf(row[c] - top.max);

			sum += (double)e;
			if (p)
				p[b * C + c] = e;
		}
		sum = sw_warp_sum(sum); /* a NaN logit has made it NaN, and so each p */
		if (p)
			for (SW_EACH_COLUMN(c, C))
				p[b * C + c] = (float)((double)p[b * C + c] / sum);
		if (top.nan) {
			loss += (double)NAN;
		} else {
			loss += log(sum) + (double)top.max - (double)at_label;
			correct += top.at == label[b];
		}
	}
	block_metrics(loss, correct, B, m, partial);
}

sw_status sw_cuda_cross_entropy_forward(struct sw_queue *q, const float *z, const int32_t *label,
					float *p, struct sw_metrics *m, size_t B, size_t C)
{
	const sw_status status = sw_cuda_use();

	if (C == 0 || C >= INT32_MAX)
		return SW_INVALID;
	if (status != SW_OK || B == 0)
		return status;
	SW_LAUNCH(cross_entropy_forward_kernel, loss_grid(B), SW_CUDA_BLOCK, q, z, label, p, m,
		  q->partial, B, C);
	return finish(q, m, B);
}

/* p, dz: float[B][C], perhaps the same; label: int32[B] */
static __global__ void cross_entropy_backward_kernel(const float *p, const int32_t *label,
						     float *dz, float scale, size_t B, size_t C)
{
	for (SW_EACH_ROW(b, B)) {
		const size_t hit = (size_t)label[b];

		for (SW_EACH_COLUMN(c, C))
			dz[b * C + c] = scale * (p[b * C + c] - (c == hit ? 1.0f : 0.0f));
	}
}

sw_status sw_cuda_cross_entropy_backward(struct sw_queue *q, const float *p, const int32_t *label,
					 float *dz, float scale, size_t B, size_t C)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || B == 0 || C == 0)
		return status;
	SW_LAUNCH(cross_entropy_backward_kernel, sw_cuda_grid_rows(B), SW_CUDA_BLOCK, q, p, label,
		  dz, scale, B, C);
	return sw_cuda_launched();
}

/* y, t: float[B][O] */
static __global__ void mse_forward_kernel(const float *y, const float *t, struct sw_metrics *m,
					  struct sw_metrics *partial, size_t B, size_t O)
{
	double loss = 0.0;

	for (SW_EACH_ROW(b, B)) {
		double sum = 0.0;

		for (SW_EACH_COLUMN(o, O)) {
			const double d = (double)y[b * O + o] - (double)t[b * O + o];

			sum += d * d;
		}
		loss += sw_warp_sum(sum) / (double)O;
	}
	block_metrics(loss, 0.0, B, m, partial);
}

sw_status sw_cuda_mse_forward(struct sw_queue *q, const float *y, const float *t,
			      struct sw_metrics *m, size_t B, size_t O)
{
	const sw_status status = sw_cuda_use();

	if (O == 0)
		return SW_INVALID;
	if (status != SW_OK || B == 0)
		return status;
	SW_LAUNCH(mse_forward_kernel, loss_grid(B), SW_CUDA_BLOCK, q, y, t, m, q->partial, B, O);
	return finish(q, m, B);
}

/* y, t, dy: float[n]; dy may be y */
static __global__ void mse_backward_kernel(const float *y, const float *t, float *dy, float k,
					   size_t n)
{
	for (SW_EACH(i, n))
		dy[i] = k * (y[i] - t[i]);
}

sw_status sw_cuda_mse_backward(struct sw_queue *q, const float *y, const float *t, float *dy,
			       float scale, size_t B, size_t O)
{
	const sw_status status = sw_cuda_use();

	if (status != SW_OK || B == 0 || O == 0)
		return status;
	SW_LAUNCH(mse_backward_kernel, sw_cuda_grid_items(B * O), SW_CUDA_BLOCK, q, y, t, dy,
		  scale * 2.0f / (float)O, B * O);
	return sw_cuda_launched();
}
