/* kernels/cpu/loss.c — cross entropy, mean squared error, and what is counted with them. */
#include "kernels/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* How many logits stand before the label's: larger ones, and equals of a smaller class. C when the
 * row holds a NaN. 0: the label is the prediction. */
static size_t rank_of(const float *z, int32_t label, size_t C)
{
	const float at = z[label];
	size_t before = 0;
	int nan = 0;

	for (size_t c = 0; c < C; c++) {
		nan |= isnan(z[c]);
		before += z[c] > at || (z[c] == at && c < (size_t)label);
	}
	return nan ? C : before;
}

/* One row of C logits. Returns its loss; a NaN logit makes it NaN. */
static double cross_entropy_row(const float *z, int32_t label, float *p, size_t C, double smooth)
{
	/* log sum exp z = max + log sum exp (z - max), where no exp overflows. */
	const float at_label = z[label]; /* p may be z: read before it is written */
	double sum = 0, all = 0, base;
	float max = z[0];

	/* A NaN loses each comparison, but its own exp makes sum NaN, and with it loss and
	 * gradient. */
	for (size_t c = 1; c < C; c++)
		max = z[c] > max ? z[c] : max;
	for (size_t c = 0; smooth != 0 && c < C; c++)
		all += (double)z[c];
	for (size_t c = 0; c < C; c++) {
		const float e = expf(z[c] - max);

		sum += (double)e;
		if (p)
			p[c] = e;
	}
	for (size_t c = 0; p && c < C; c++)
		p[c] = (float)((double)p[c] / sum);
	base = log(sum) + (double)max;
	if (smooth == 0)
		return base - (double)at_label;
	return base - (1 - smooth) * (double)at_label - smooth / (double)C * all;
}

/* p: float[C], a row's softmax, becomes its gradient. */
static void gradient_row(float *p, int32_t label, size_t C, float k, float smooth)
{
	const float off = smooth / (float)C, on = 1.0f - smooth + off;

	for (size_t c = 0; c < C; c++)
		p[c] = k * (p[c] - ((size_t)label == c ? on : off));
}

sw_status sw_cpu_cross_entropy(struct sw_queue *q, const float *z, const int32_t *label,
			       const int32_t *index, float *dz, struct sw_metrics *m, float scale,
			       const int32_t *count, size_t B, size_t C, float smooth)
{
	const float k = count ? scale / (float)*count : scale;

	(void)q;
	if (C == 0 || !(smooth >= 0.0f && smooth <= 1.0f))
		return SW_INVALID;
	for (size_t b = 0; b < B; b++) {
		const int32_t want = label[index ? (size_t)index[b] : b];
		float *out = dz ? dz + b * C : NULL;

		if (want < 0) {
			if (out)
				/* Gradients are overwritten, never added to: what an earlier batch
				 * left there has to go. */
				memset(out, 0, C * sizeof *out);
			continue;
		}
		const size_t rank = rank_of(z + b * C, want, C);

		m->correct += rank == 0;
		m->top5 += rank < 5 && rank < C;
		m->loss_sum += cross_entropy_row(z + b * C, want, out, C, (double)smooth);
		m->rows += 1;
		if (out)
			gradient_row(out, want, C, k, smooth);
	}
	return SW_OK;
}

sw_status sw_cpu_labels_count(struct sw_queue *q, const int32_t *label, int32_t *out, size_t B)
{
	int32_t n = 0;

	(void)q;
	if (B > INT32_MAX)
		return SW_INVALID;
	for (size_t b = 0; b < B; b++)
		n += label[b] >= 0;
	*out = n ? n : 1;
	return SW_OK;
}

sw_status sw_cpu_class_counts(struct sw_queue *q, const float *z, const int32_t *label,
			      int64_t *counts, size_t B, size_t C)
{
	(void)q;
	for (size_t b = 0; b < B && C; b++) {
		const float *row = z + b * C;
		size_t best = 0;
		int nan = isnan(row[0]);

		if (label[b] < 0)
			continue;
		for (size_t c = 1; c < C; c++) {
			nan |= isnan(row[c]);
			best = row[c] > row[best] ? c : best;
		}
		if (!nan && best == (size_t)label[b]) {
			counts[best]++;
			continue;
		}
		if (!nan)
			counts[C + best]++;
		counts[2 * C + (size_t)label[b]]++;
	}
	return SW_OK;
}

sw_status sw_cpu_mse(struct sw_queue *q, const float *y, const float *t, const int32_t *index,
		     float *dy, struct sw_metrics *m, float scale, size_t B, size_t O)
{
	const float k = scale * 2.0f / (float)O;

	(void)q;
	if (O == 0)
		return SW_INVALID;
	for (size_t b = 0; b < B; b++) {
		const float *goal = t + (index ? (size_t)index[b] : b) * O;
		double sum = 0;

		for (size_t o = 0; o < O; o++) {
			const double want = (double)goal[o];
			const double d = (double)y[b * O + o] - want;

			sum += d * d;
			m->abs_sum += fabs(d);
			m->t_sum += want;
			m->t_square_sum += want * want;
			if (dy)
				dy[b * O + o] = k * (y[b * O + o] - goal[o]);
		}
		m->square_sum += sum;
		m->loss_sum += sum / (double)O;
	}
	m->rows += (double)B;
	m->values += (double)B * (double)O;
	return SW_OK;
}
