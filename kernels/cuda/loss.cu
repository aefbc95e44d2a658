/* kernels/cuda/loss.cu — cross entropy and mean squared error; a warp a row.
 *
 * Sums over rows: warp (its rows in order) -> block (its eight warps in order) -> one partial a
 * block in the queue's memory -> one thread that adds the partials to the metrics. A batch that one
 * block holds is added by that block, without the second launch. The shape of this tree depends on
 * B alone, so the same batch gives the same bits. The gradient is made where the loss is. */
#include "kernels/cuda/launch.cuh"
#include <math.h>

static __device__ void add_metrics(struct sw_metrics *to, const struct sw_metrics *from)
{
	to->rows += from->rows;
	to->loss_sum += from->loss_sum;
	to->correct += from->correct;
	to->top5 += from->top5;
	to->values += from->values;
	to->abs_sum += from->abs_sum;
	to->square_sum += from->square_sum;
	to->t_sum += from->t_sum;
	to->t_square_sum += from->t_square_sum;
}

/* Adds the warps' sums to m if this block is the only one, else to its partial.
 * All threads of the block call it; lane 0 of each warp holds the warp's sums. */
static __device__ void block_metrics(const struct sw_metrics *mine, struct sw_metrics *m,
				     struct sw_metrics *partial)
{
	__shared__ struct sw_metrics found[SW_CUDA_WARPS];
	struct sw_metrics sum = {0, 0, 0, 0, 0, 0, 0, 0, 0};

	if (threadIdx.x % SW_CUDA_WARP == 0)
		found[threadIdx.x / SW_CUDA_WARP] = *mine;
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (unsigned k = 0; k < SW_CUDA_WARPS; k++)
		add_metrics(&sum, &found[k]);
	if (gridDim.x == 1)
		add_metrics(m, &sum);
	else
		partial[blockIdx.x] = sum;
}

/* partial: [n]; one thread: n is at most SW_CUDA_PARTIAL_MAX */
static __global__ void add_partials_kernel(const struct sw_metrics *partial, unsigned n,
					   struct sw_metrics *m)
{
	sw_wait();

	struct sw_metrics sum = {0, 0, 0, 0, 0, 0, 0, 0, 0};

	for (unsigned k = 0; k < n; k++)
		add_metrics(&sum, &partial[k]);
	add_metrics(m, &sum);
}

static unsigned loss_grid(size_t B)
{
	return sw_cuda_grid(B, SW_CUDA_WARPS, SW_CUDA_PARTIAL_MAX);
}

/* launched: what the launch over the batch said */
static sw_status add_partials(struct sw_queue *q, sw_status launched, struct sw_metrics *m,
			      size_t B)
{
	if (launched != SW_OK || loss_grid(B) == 1)
		return launched;
	SW_LAUNCH(add_partials_kernel, 1, 1, q, q->partial, loss_grid(B), m);
	return sw_cuda_launched();
}

/* How many logits stand before the label's: larger ones, and equals of a smaller class; C or more
 * with a NaN. The same in all lanes. */
static __device__ size_t row_rank(const float *z, size_t label, size_t C)
{
	const float at = z[label];
	double before = 0.0; /* exact below 2^53 */

	for (SW_EACH_COLUMN(c, C))
		before += isnan(z[c])                              ? (double)C
			  : z[c] > at || (z[c] == at && c < label) ? 1.0
								   : 0.0;
	return (size_t)sw_warp_sum(before);
}

/* The terms of a row's gradient. */
struct slope {
	float k, on, off;
};

/* One row by a warp; returns its loss, in all lanes. dz: float[C], NULL, z or apart. */
static __device__ double row_loss(const float *z, size_t label, float *dz, size_t C, double smooth,
				  const struct slope &slope)
{
	const float at_label = z[label], max = sw_row_max(z, C);
	double sum = 0.0, all = 0.0;

	for (SW_EACH_COLUMN(c, C))
		all += (double)z[c];
	__syncwarp(); /* dz may be z: all lanes have read row[label] */
	/* log sum exp z = max + log sum exp (z - max), where no exp overflows. */
	for (SW_EACH_COLUMN(c, C)) {
		const float e = expf(z[c] - max);

		sum += (double)e;
		if (dz)
			dz[c] = e;
	}
	sum = sw_warp_sum(sum); /* a NaN logit has made it NaN, and so each of dz */
	all = sw_warp_sum(all);
	/* A lane reads again only the columns that it wrote: no barrier. */
	if (dz)
		for (SW_EACH_COLUMN(c, C)) {
			const float p = (float)((double)dz[c] / sum);

			dz[c] = slope.k * (p - (c == label ? slope.on : slope.off));
		}
	if (smooth == 0.0)
		return log(sum) + (double)max - (double)at_label;
	return log(sum) + (double)max - (1.0 - smooth) * (double)at_label -
	       smooth / (double)C * all;
}

/* z, dz: float[B][C], dz NULL or z or apart; label: int32[B] */
static __global__ void cross_entropy_kernel(const float *z, const int32_t *label,
					    const int32_t *index, float *dz, struct sw_metrics *m,
					    struct sw_metrics *partial, float scale,
					    const int32_t *count, size_t B, size_t C, float smooth)
{
	sw_wait();

	const float off = smooth / (float)C;
	/* count lies in device memory, where another kernel has just written it: the host does not
	 * wait for it. */
	const struct slope slope = {dz && count ? scale / (float)*count : scale,
				    1.0f - smooth + off, off};
	struct sw_metrics mine = {0, 0, 0, 0, 0, 0, 0, 0, 0};

	for (SW_EACH_ROW(b, B)) {
		const int32_t want = label[index ? (size_t)index[b] : b];
		float *out = dz ? dz + b * C : NULL;

		if (want < 0) {
			/* dz is overwritten, never added to: what an earlier batch left there has
			 * to go. */
			for (SW_EACH_COLUMN(c, out ? C : 0))
				out[c] = 0.0f;
			continue;
		}
		const size_t at = (size_t)want, rank = row_rank(z + b * C, at, C);

		mine.rows += 1.0;
		mine.loss_sum += row_loss(z + b * C, at, out, C, (double)smooth, slope);
		mine.correct += rank == 0;
		mine.top5 += rank < 5 && rank < C;
	}
	block_metrics(&mine, m, partial);
}

sw_status sw_cuda_cross_entropy(struct sw_queue *q, const float *z, const int32_t *label,
				const int32_t *index, float *dz, struct sw_metrics *m, float scale,
				const int32_t *count, size_t B, size_t C, float smooth)
{
	if (C == 0 || C >= INT32_MAX || !(smooth >= 0.0f && smooth <= 1.0f))
		return SW_INVALID;
	if (B == 0)
		return sw_cuda_use();
	return add_partials(q,
			    sw_cuda_run(q, loss_grid(B), cross_entropy_kernel, z, label, index, dz,
					m, q->partial, scale, count, B, C, smooth),
			    m, B);
}

/* y, t, dy: float[B][O], dy NULL or y or apart */
static __global__ void mse_kernel(const float *y, const float *t, const int32_t *index, float *dy,
				  struct sw_metrics *m, struct sw_metrics *partial, float k,
				  size_t B, size_t O)
{
	sw_wait();

	struct sw_metrics mine = {0, 0, 0, 0, 0, 0, 0, 0, 0};

	for (SW_EACH_ROW(b, B)) {
		const float *goal = t + (index ? (size_t)index[b] : b) * O;
		double sum = 0.0, abs_sum = 0.0, t_sum = 0.0, t_square_sum = 0.0;

		for (SW_EACH_COLUMN(o, O)) {
			const size_t i = b * O + o;
			const double want = (double)goal[o], d = (double)y[i] - want;

			sum += d * d;
			abs_sum += fabs(d);
			t_sum += want;
			t_square_sum += want * want;
			if (dy)
				dy[i] = k * (y[i] - goal[o]);
		}
		sum = sw_warp_sum(sum);
		mine.rows += 1.0;
		mine.values += (double)O;
		mine.loss_sum += sum / (double)O;
		mine.square_sum += sum;
		mine.abs_sum += sw_warp_sum(abs_sum);
		mine.t_sum += sw_warp_sum(t_sum);
		mine.t_square_sum += sw_warp_sum(t_square_sum);
	}
	block_metrics(&mine, m, partial);
}

sw_status sw_cuda_mse(struct sw_queue *q, const float *y, const float *t, const int32_t *index,
		      float *dy, struct sw_metrics *m, float scale, size_t B, size_t O)
{
	if (O == 0)
		return SW_INVALID;
	if (B == 0)
		return sw_cuda_use();
	return add_partials(q,
			    sw_cuda_run(q, loss_grid(B), mse_kernel, y, t, index, dy, m, q->partial,
					scale * 2.0f / (float)O, B, O),
			    m, B);
}
