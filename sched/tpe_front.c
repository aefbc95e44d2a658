/* Several metrics. Each trial's rank is the number of kept ones that dominate it (no worse in every
 * metric, better in one); it is kept up to date in O(TPE_FRONT) as trials come and go. */
#include "base/fault.h"
#include "sched/tpe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tpe_front {
	size_t n_metrics, n;
	struct tpe_seen seen[TPE_FRONT]; /* by arrival */
	uint32_t beaten[TPE_FRONT];      /* by so many */
	double *y;                       /* [TPE_FRONT][n_metrics] */
};

sw_status sw_tpe_front_create(struct tpe_front **out, size_t n_metrics)
{
	struct tpe_front *f = sw_calloc(1, sizeof *f);

	*out = NULL;
	if (f == NULL)
		return SW_NOMEM;
	f->n_metrics = n_metrics;
	f->y = sw_malloc(TPE_FRONT * n_metrics * sizeof *f->y);
	if (f->y == NULL) {
		free(f);
		return SW_NOMEM;
	}
	*out = f;
	return SW_OK;
}

void sw_tpe_front_destroy(struct tpe_front *f)
{
	if (f != NULL)
		free(f->y);
	free(f);
}

static bool dominates(const double *a, const double *b, size_t n)
{
	bool one = false;

	for (size_t i = 0; i < n; i++) {
		if (a[i] > b[i])
			return false;
		one = one || a[i] < b[i];
	}
	return one;
}

static void drop(struct tpe_front *f)
{
	const size_t m = f->n_metrics;
	size_t at = 0;

	while (at < f->n && f->beaten[at] == 0)
		at++;
	if (at == f->n)
		at = 0;
	for (size_t i = 0; i < f->n; i++)
		f->beaten[i] -= i != at && dominates(f->y + at * m, f->y + i * m, m);
	f->n--;
	memmove(f->seen + at, f->seen + at + 1, (f->n - at) * sizeof *f->seen);
	memmove(f->beaten + at, f->beaten + at + 1, (f->n - at) * sizeof *f->beaten);
	memmove(f->y + at * m, f->y + (at + 1) * m, (f->n - at) * m * sizeof *f->y);
}

void sw_tpe_front_add(struct tpe_front *f, struct tpe_seen seen, const double *y)
{
	const size_t m = f->n_metrics;
	uint32_t beaten = 0;

	if (f->n == TPE_FRONT)
		drop(f);
	for (size_t i = 0; i < f->n; i++) {
		beaten += dominates(f->y + i * m, y, m);
		f->beaten[i] += dominates(y, f->y + i * m, m);
	}
	f->seen[f->n] = seen;
	f->beaten[f->n] = beaten;
	memcpy(f->y + f->n * m, y, m * sizeof *y);
	f->n++;
}

/* Of those of one rank: range[m] of each metric, so that none outweighs the others. */
static void ranges(const struct tpe_front *f, uint32_t rank, double *range)
{
	for (size_t k = 0; k < f->n_metrics; k++) {
		double lo = INFINITY, hi = -INFINITY;

		for (size_t i = 0; i < f->n; i++) {
			const double v = f->y[i * f->n_metrics + k];

			if (f->beaten[i] == rank) {
				lo = fmin(lo, v);
				hi = fmax(hi, v);
			}
		}
		range[k] = hi > lo ? 0.5 * hi - 0.5 * lo : 1.0; /* halves: no overflow */
	}
}

static double gap2(const struct tpe_front *f, const double *range, size_t a, size_t b)
{
	double sum = 0.0;

	for (size_t k = 0; k < f->n_metrics; k++) {
		const double gap =
			(0.5 * f->y[a * f->n_metrics + k] - 0.5 * f->y[b * f->n_metrics + k]) /
			range[k];

		sum += gap * gap;
	}
	return sum;
}

/* Takes up to `room` of one rank: the best in the first metric, then always the one farthest from
 * those that this call took. */
static size_t take_apart(const struct tpe_front *f, uint32_t rank, size_t room,
			 struct tpe_seen *out)
{
	double range[SW_METRICS_MAX], far[TPE_FRONT];
	size_t n = 0, next = f->n;

	ranges(f, rank, range);
	for (size_t i = 0; i < f->n; i++) {
		far[i] = f->beaten[i] == rank ? (double)INFINITY : -1.0;
		if (f->beaten[i] == rank &&
		    (next == f->n || f->y[i * f->n_metrics] < f->y[next * f->n_metrics]))
			next = i;
	}
	while (n < room && next < f->n) {
		const size_t last = next;

		out[n++] = f->seen[last];
		far[last] = -1.0;
		next = f->n;
		for (size_t i = 0; i < f->n; i++) {
			if (far[i] < 0.0)
				continue;
			far[i] = fmin(far[i], gap2(f, range, i, last));
			if (next == f->n || far[i] > far[next])
				next = i;
		}
	}
	return n;
}

size_t sw_tpe_front_good(const struct tpe_front *f, size_t n, struct tpe_seen *out)
{
	size_t found = 0;
	uint32_t rank = 0;

	while (found < n && found < f->n) {
		uint32_t next = UINT32_MAX;

		found += take_apart(f, rank, n - found, out + found);
		for (size_t i = 0; i < f->n; i++)
			if (f->beaten[i] > rank && f->beaten[i] < next)
				next = f->beaten[i];
		if (next == UINT32_MAX)
			break;
		rank = next;
	}
	return found;
}
