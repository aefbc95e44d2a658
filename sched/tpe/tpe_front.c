/* Several metrics. Each trial's rank is the number of kept ones that dominate it (no worse in every
 * metric, better in one); it is kept up to date in O(TPE_FRONT) as trials come and go. */
#include "base/memory.h"
#include "sched/num/sobol.h"
#include "sched/sampler/pareto.h"
#include "sched/tpe/tpe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sw_tpe_front {
	size_t n_metrics, n;
	struct sw_tpe_seen seen[TPE_FRONT]; /* by arrival */
	uint32_t beaten[TPE_FRONT];         /* by so many */
	double y[];                         /* [TPE_FRONT][n_metrics] */
};

sw_status sw_tpe_front_create(struct sw_tpe_front **out, size_t n_metrics)
{
	*out = sw_calloc(1, sizeof **out + TPE_FRONT * n_metrics * sizeof(double));
	if (*out == NULL)
		return SW_NOMEM;
	(*out)->n_metrics = n_metrics;
	return SW_OK;
}

void sw_tpe_front_destroy(struct sw_tpe_front *f)
{
	free(f);
}

static void drop_least(struct sw_tpe_front *f)
{
	const size_t m = f->n_metrics;
	size_t at = 0;

	/* The oldest one that is dominated goes; if all are on the front, the oldest. */
	while (at < f->n && f->beaten[at] == 0)
		at++;
	if (at == f->n)
		at = 0;
	for (size_t i = 0; i < f->n; i++)
		f->beaten[i] -= i != at && sw_pareto_dominates(f->y + at * m, f->y + i * m, m);
	f->n--;
	memmove(f->seen + at, f->seen + at + 1, (f->n - at) * sizeof *f->seen);
	memmove(f->beaten + at, f->beaten + at + 1, (f->n - at) * sizeof *f->beaten);
	memmove(f->y + at * m, f->y + (at + 1) * m, (f->n - at) * m * sizeof *f->y);
}

void sw_tpe_front_add(struct sw_tpe_front *f, struct sw_tpe_seen seen, const double *y)
{
	const size_t m = f->n_metrics;
	uint32_t beaten = 0;

	if (f->n == TPE_FRONT)
		drop_least(f);
	for (size_t i = 0; i < f->n; i++) {
		beaten += sw_pareto_dominates(f->y + i * m, y, m);
		f->beaten[i] += sw_pareto_dominates(y, f->y + i * m, m);
	}
	f->seen[f->n] = seen;
	f->beaten[f->n] = beaten;
	memcpy(f->y + f->n * m, y, m * sizeof *y);
	f->n++;
}

/* Least and range of each metric over those of one rank, so that none outweighs the others. */
static void ranges(const struct sw_tpe_front *f, uint32_t rank, double *least, double *range)
{
	for (size_t k = 0; k < f->n_metrics; k++) {
		double hi = -INFINITY;

		least[k] = INFINITY;
		for (size_t i = 0; i < f->n; i++) {
			const double v = f->y[i * f->n_metrics + k];

			if (f->beaten[i] == rank) {
				least[k] = fmin(least[k], v);
				hi = fmax(hi, v);
			}
		}
		/* Halves: no overflow. */
		range[k] = hi > least[k] ? 0.5 * hi - 0.5 * least[k] : 1.0;
	}
}

/* Direction j: first each metric alone, then points spread evenly over the simplex. */
static void direction(size_t j, size_t m, double *w)
{
	if (j >= m)
		sw_sobol_point(0, j - m, m, w);
	for (size_t k = 0; k < m; k++)
		if (j >= m) /* exponential: uniform once it is normalised */
			w[k] = 1e-9 - log(1.0 - w[k]);
		else
			w[k] = k == j ? 1.0 : 1e-3;
}

/* The augmented Chebyshev value of trial i: small where it is good in every metric that counts. */
static double value_along(const struct sw_tpe_front *f, size_t i, const double *w,
			  const double *least, const double *range)
{
	double most = 0.0, sum = 0.0;

	for (size_t k = 0; k < f->n_metrics; k++) {
		const double y = f->y[i * f->n_metrics + k];
		const double v = w[k] * ((0.5 * y - 0.5 * least[k]) / range[k]);

		most = fmax(most, v);
		sum += v;
	}
	/* The sum, small beside the maximum, prefers the better of two that share their worst
	 * metric. */
	return most + 0.05 * sum;
}

/* Takes up to `room` of one rank: for one direction after another the best that is left. */
static size_t take_spread(const struct sw_tpe_front *f, uint32_t rank, size_t room,
			  struct sw_tpe_seen *out)
{
	double least[SW_METRICS_MAX], range[SW_METRICS_MAX], w[SW_METRICS_MAX];
	bool taken[TPE_FRONT] = {false};
	size_t n = 0;

	ranges(f, rank, least, range);
	for (; n < room; n++) {
		double lowest = INFINITY;
		size_t at = f->n;

		direction(n, f->n_metrics, w);
		for (size_t i = 0; i < f->n; i++) {
			if (taken[i] || f->beaten[i] != rank)
				continue;
			const double v = value_along(f, i, w, least, range);
			if (v < lowest || at == f->n) {
				lowest = v;
				at = i;
			}
		}
		if (at == f->n)
			break;
		taken[at] = true;
		out[n] = f->seen[at];
	}
	return n;
}

size_t sw_tpe_front_good(const struct sw_tpe_front *f, size_t n, struct sw_tpe_seen *out)
{
	size_t found = 0;
	uint32_t rank = 0;

	while (found < n && found < f->n) {
		uint32_t next = UINT32_MAX;

		found += take_spread(f, rank, n - found, out + found);
		for (size_t i = 0; i < f->n; i++)
			if (f->beaten[i] > rank && f->beaten[i] < next)
				next = f->beaten[i];
		if (next == UINT32_MAX)
			break;
		rank = next;
	}
	return found;
}
