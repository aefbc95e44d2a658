/* kernels/cpu/norm.c — batch and layer normalisation. Sums are made in double: a mean of many
 * floats far from zero keeps its digits, and two passes (mean, then squares around it) keep those
 * of the variance. Where ranks share the rows one pass is all there is: ops.h says what it
 * costs. */
#include "kernels/cpu/cpu.h"
#include <math.h>
#include <string.h>

static double sum(const float *x, size_t n)
{
	double s[4] = {0}, rest = 0;
	size_t i = 0;

	/* Four sums side by side: the compiler makes a vector of them, where it may not change the
	 * order of one sum. */
	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			s[k] += (double)x[i + k];
	for (; i < n; i++)
		rest += (double)x[i];
	return (s[0] + s[2]) + (s[1] + s[3]) + rest;
}

/* sum of (x - mean)^2 */
static double sum_square(const float *x, double mean, size_t n)
{
	double s[4] = {0}, rest = 0;
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++) {
			const double d = (double)x[i + k] - mean;

			s[k] += d * d;
		}
	for (; i < n; i++)
		rest += ((double)x[i] - mean) * ((double)x[i] - mean);
	return (s[0] + s[2]) + (s[1] + s[3]) + rest;
}

/* sum of dy (x - mean) */
static double sum_product(const float *x, const float *dy, float mean, size_t n)
{
	double s[4] = {0}, rest = 0;
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			s[k] += (double)dy[i + k] * (double)(x[i + k] - mean);
	for (; i < n; i++)
		rest += (double)dy[i] * (double)(x[i] - mean);
	return (s[0] + s[2]) + (s[1] + s[3]) + rest;
}

/* y = (x - mean) a + b: with the mean taken off first, no digits are lost to a large one */
static void center_scale(const float *x, float *y, size_t n, float mean, float a, float b)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (x[i] - mean) * a + b;
}

/* The statistics of channel c over B planes of S. */
static void channel_stats(const float *x, size_t B, size_t C, size_t S, size_t c, double *mean,
			  double *squares)
{
	double total = 0;

	for (size_t b = 0; b < B; b++)
		total += sum(x + (b * C + c) * S, S);
	*mean = total / (double)(B * S);
	*squares = 0;
	for (size_t b = 0; b < B; b++)
		*squares += sum_square(x + (b * C + c) * S, *mean, S);
}

/* running += momentum (value - running) */
static void move_running(float *running, double value, float momentum)
{
	*running = (float)((double)*running + (double)momentum * (value - (double)*running));
}

/* Of N values, the squares around their mean. */
static void channel_keep(double m, double squares, size_t N, struct sw_norm n, float *running_mean,
			 float *running_var, float *mean, float *rstd)
{
	*mean = (float)m;
	*rstd = (float)(1 / sqrt(squares / (double)N + (double)n.eps));
	move_running(running_mean, m, n.momentum);
	if (N > 1)
		move_running(running_var, squares / (double)(N - 1), n.momentum);
}

sw_status sw_cpu_batchnorm_train(struct sw_queue *q, const float *x, const float *gamma,
				 const float *beta, float *running_mean, float *running_var,
				 float *y, float *mean, float *rstd, size_t B, size_t C, size_t S,
				 struct sw_norm n)
{
	(void)q;
	for (size_t c = 0; c < C && B && S; c++) {
		double m, squares;

		channel_stats(x, B, C, S, c, &m, &squares);
		channel_keep(m, squares, B * S, n, &running_mean[c], &running_var[c], &mean[c],
			     &rstd[c]);
		for (size_t b = 0; b < B; b++)
			center_scale(x + (b * C + c) * S, y + (b * C + c) * S, S, mean[c],
				     rstd[c] * gamma[c], beta[c]);
	}
	return SW_OK;
}

sw_status sw_cpu_batchnorm_eval(struct sw_queue *q, const float *x, const float *gamma,
				const float *beta, const float *running_mean,
				const float *running_var, float *y, size_t B, size_t C, size_t S,
				struct sw_norm n)
{
	(void)q;
	for (size_t c = 0; c < C; c++) {
		const float a =
			(float)((double)gamma[c] / sqrt((double)running_var[c] + (double)n.eps));

		for (size_t b = 0; b < B; b++)
			center_scale(x + (b * C + c) * S, y + (b * C + c) * S, S, running_mean[c],
				     a, beta[c]);
	}
	return SW_OK;
}

/* dx = a (dy - mean(dy)) - k (x - mean), k = a rstd^2 mean(dy (x - mean)), a = gamma rstd; dx may
 * be dy. */
static void center_backward(const float *x, const float *dy, float *dx, size_t n, float mean,
			    float a, float mean_dy, float k)
{
	for (size_t i = 0; i < n; i++)
		dx[i] = a * (dy[i] - mean_dy) - k * (x[i] - mean);
}

/* The channel's sums of dy, and of dy (x - mean). */
static void channel_gradients(const float *x, const float *dy, float mean, size_t B, size_t C,
			      size_t S, size_t c, double *all, double *product)
{
	*all = *product = 0;
	for (size_t b = 0; b < B; b++) {
		const size_t at = (b * C + c) * S;

		*all += sum(dy + at, S);
		*product += sum_product(x + at, dy + at, mean, S);
	}
}

sw_status sw_cpu_batchnorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *mean, const float *rstd, const float *dy,
				    float *dx, float *dgamma, float *dbeta, size_t B, size_t C,
				    size_t S)
{
	const double N = (double)(B * S);

	(void)q;
	for (size_t c = 0; c < C; c++) {
		/* Without a row forward has not written rstd. */
		const double r = B && S ? (double)rstd[c] : 0;
		double all, product;

		channel_gradients(x, dy, mean[c], B, C, S, c, &all, &product);
		dbeta[c] = (float)all;
		dgamma[c] = (float)(product * r);
		for (size_t b = 0; b < B && S; b++)
			center_backward(x + (b * C + c) * S, dy + (b * C + c) * S,
					dx + (b * C + c) * S, S, mean[c], gamma[c] * rstd[c],
					(float)(all / N),
					(float)((double)gamma[c] * r * r * r * product / N));
	}
	return SW_OK;
}

/* --- of rows that ranks share --- */

sw_status sw_cpu_batchnorm_sums(struct sw_queue *q, const float *x, double *sums, size_t B,
				size_t C, size_t S)
{
	(void)q;
	for (size_t c = 0; c < C; c++) {
		sums[2 * c] = sums[2 * c + 1] = 0;
		for (size_t b = 0; b < B; b++) {
			sums[2 * c] += sum(x + (b * C + c) * S, S);
			sums[2 * c + 1] += sum_square(x + (b * C + c) * S, 0, S);
		}
	}
	return SW_OK;
}

sw_status sw_cpu_batchnorm_train_summed(struct sw_queue *q, const float *x, const double *sums,
					const float *gamma, const float *beta, float *running_mean,
					float *running_var, float *y, float *mean, float *rstd,
					size_t N, size_t B, size_t C, size_t S, struct sw_norm n)
{
	(void)q;
	for (size_t c = 0; c < C && N; c++) {
		const double m = sums[2 * c] / (double)N;
		const double squares = sums[2 * c + 1] - sums[2 * c] * m;

		/* below 0 by rounding alone; a NaN stays */
		channel_keep(m, squares < 0 ? 0 : squares, N, n, &running_mean[c], &running_var[c],
			     &mean[c], &rstd[c]);
		for (size_t b = 0; b < B; b++)
			center_scale(x + (b * C + c) * S, y + (b * C + c) * S, S, mean[c],
				     rstd[c] * gamma[c], beta[c]);
	}
	return SW_OK;
}

sw_status sw_cpu_batchnorm_backward_sums(struct sw_queue *q, const float *x, const float *mean,
					 const float *rstd, const float *dy, double *sums,
					 float *dgamma, float *dbeta, size_t B, size_t C, size_t S)
{
	(void)q;
	for (size_t c = 0; c < C; c++) {
		channel_gradients(x, dy, mean[c], B, C, S, c, &sums[2 * c], &sums[2 * c + 1]);
		dbeta[c] = (float)sums[2 * c];
		dgamma[c] = B && S ? (float)(sums[2 * c + 1] * (double)rstd[c]) : 0;
	}
	return SW_OK;
}

sw_status sw_cpu_batchnorm_backward_summed(struct sw_queue *q, const float *x, const float *gamma,
					   const float *mean, const float *rstd, const float *dy,
					   const double *sums, float *dx, size_t N, size_t B,
					   size_t C, size_t S)
{
	(void)q;
	for (size_t c = 0; c < C && N; c++) {
		const double r = (double)rstd[c], all = sums[2 * c] / (double)N;
		const double product = sums[2 * c + 1] / (double)N;

		for (size_t b = 0; b < B; b++)
			center_backward(x + (b * C + c) * S, dy + (b * C + c) * S,
					dx + (b * C + c) * S, S, mean[c], gamma[c] * rstd[c],
					(float)all,
					(float)((double)gamma[c] * r * r * r * product));
	}
	return SW_OK;
}

sw_status sw_cpu_layernorm_forward(struct sw_queue *q, const float *x, const float *gamma,
				   const float *beta, float *y, float *mean, float *rstd, size_t R,
				   size_t D, struct sw_norm n)
{
	(void)q;
	for (size_t r = 0; r < R && D; r++, x += D, y += D) {
		const double m = sum(x, D) / (double)D;
		const float mf = (float)m;
		const float k = (float)(1 / sqrt(sum_square(x, m, D) / (double)D + (double)n.eps));

		if (mean) {
			mean[r] = mf;
			rstd[r] = k;
		}
		for (size_t d = 0; d < D; d++)
			y[d] = (x[d] - mf) * k * gamma[d] + beta[d];
	}
	return SW_OK;
}

/* With h = (x - mean) rstd and e = dy gamma: dx = rstd (e - mean(e) - h mean(e h)). */
static void layernorm_row(const float *x, const float *gamma, float mean, float rstd,
			  const float *dy, float *dx, float *dgamma, float *dbeta, size_t D)
{
	double all = 0, product = 0;

	for (size_t d = 0; d < D; d++) {
		const float h = (x[d] - mean) * rstd, e = dy[d] * gamma[d];

		all += (double)e;
		product += (double)e * (double)h;
		dgamma[d] += dy[d] * h;
		dbeta[d] += dy[d];
	}
	const float a = (float)(all / (double)D), k = (float)(product / (double)D);

	for (size_t d = 0; d < D; d++) {
		const float h = (x[d] - mean) * rstd;

		dx[d] = rstd * (dy[d] * gamma[d] - a - h * k);
	}
}

sw_status sw_cpu_layernorm_backward(struct sw_queue *q, const float *x, const float *gamma,
				    const float *mean, const float *rstd, const float *dy,
				    float *dx, float *dgamma, float *dbeta, size_t R, size_t D)
{
	(void)q;
	if (D) {
		memset(dgamma, 0, D * sizeof *dgamma);
		memset(dbeta, 0, D * sizeof *dbeta);
	}
	for (size_t r = 0; r < R; r++)
		layernorm_row(x + r * D, gamma, mean[r], rstd[r], dy + r * D, dx + r * D, dgamma,
			      dbeta, D);
	return SW_OK;
}
