#include "sched/sampler/scalarise.h"
#include "base/memory.h"
#include "sched/num/order.h"
#include "sched/sampler/pareto.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define SUM_SHARE 0.05
#define FAR       4 /* times (median - ideal): what is beyond does not set the scale */

void sw_scalar_weights(struct sw_scalar *s, const double *unit)
{
	double sum = 0;

	/* Exponential draws over their sum are uniform over the simplex. */
	for (size_t k = 0; k < s->m; k++) {
		s->weight[k] = -log(unit[k]);
		sum += s->weight[k];
	}
	for (size_t k = 0; k < s->m; k++)
		s->weight[k] = sum > 0 ? s->weight[k] / sum : 1 / (double)s->m;
}

/* Differences are halved terms: a whole one may overflow. sorted: all values of the metric. */
static double range_of(const double *sorted, size_t n, double nadir)
{
	const double ideal = sorted[0] / 2;
	const double front = nadir / 2 - ideal, usual = sorted[n / 2] / 2 - ideal;
	const double all = sorted[n - 1] / 2 - ideal;
	const double most = fmin(FAR * usual, DBL_MAX);

	/* One row far out on the front would shrink all others to a point: the median says how far
	 * is usual. */
	if (front > 0 && (front <= most || !(usual > 0)))
		return front;
	if (usual > 0)
		return front > 0 ? most : usual;
	return all > 0 ? all : 1;
}

sw_status sw_scalar_fit(struct sw_scalar *s, const double *y, size_t n)
{
	const size_t m = s->m;
	size_t n_front = 0;

	assert(n >= 1 && m >= 2 && m <= SW_METRICS_MAX);
	size_t *const front = sw_malloc(n * sizeof *front);
	double *const sorted = sw_malloc(n * sizeof *sorted);
	sw_status rc = front != NULL && sorted != NULL ? sw_pareto_front(y, n, m, front, &n_front)
						       : SW_NOMEM;

	for (size_t k = 0; rc == SW_OK && k < m; k++) {
		double nadir = -DBL_MAX;

		for (size_t i = 0; i < n_front; i++)
			nadir = fmax(nadir, y[front[i] * m + k]);
		for (size_t i = 0; i < n; i++)
			sorted[i] = y[i * m + k];
		qsort(sorted, n, sizeof *sorted, sw_order_doubles);
		s->ideal[k] = sorted[0];
		s->range[k] = range_of(sorted, n, nadir);
	}
	free(front);
	free(sorted);
	return rc;
}

double sw_scalar_value(const struct sw_scalar *s, const double *y)
{
	double most = -INFINITY, sum = 0;

	for (size_t k = 0; k < s->m; k++) {
		/* The augmented Chebyshev distance: the largest term reaches also the front's
		 * hollow parts, where no weighted sum has its least. */
		const double z = s->weight[k] * ((y[k] / 2 - s->ideal[k] / 2) / s->range[k]);

		most = fmax(most, z);
		sum += z;
	}
	/* The small share of the sum tells apart two rows of the same largest term, of which one
	 * dominates. */
	return fmin(fmax(most + SUM_SHARE * sum, -DBL_MAX), DBL_MAX);
}
