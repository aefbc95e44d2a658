#include "daemon/api/plot_rank.h"
#include "base/memory.h"
#include "sched/sampler/pareto.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A trial's place among the others; key: less is better, NaN: it has none. */
struct merit {
	bool failed;
	double key;
	size_t i;
};

/* Failed ones behind the others; of equal ones the earlier first. */
static int by_merit(const void *a, const void *b)
{
	const struct merit *x = a, *y = b;

	if (isnan(x->key) || isnan(y->key))
		return isnan(x->key) - isnan(y->key);
	if (x->failed != y->failed)
		return x->failed - y->failed;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static int by_place(const void *a, const void *b)
{
	const struct merit *x = a, *y = b;

	return (x->i > y->i) - (x->i < y->i);
}

sw_status sw_plot_rank_best(struct sw_plot_trial *trials, double *values, size_t width, size_t *n,
			    bool maximize, size_t most)
{
	struct merit *m = sw_malloc((*n + 1) * sizeof *m);
	size_t kept = 0;

	if (m == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < *n; i++)
		m[i] = (struct merit){trials[i].state == SW_PLOT_STATE_FAILED,
				      maximize ? -trials[i].value : trials[i].value, i};
	qsort(m, *n, sizeof *m, by_merit);
	while (kept < *n && kept < most && !isnan(m[kept].key))
		kept++;
	qsort(m, kept, sizeof *m, by_place);
	for (size_t k = 0; k < kept; k++) {
		trials[k] = trials[m[k].i];
		if (width > 0)
			memmove(values + k * width, values + m[k].i * width,
				width * sizeof *values);
	}
	*n = kept;
	free(m);
	return SW_OK;
}

sw_status sw_plot_rank_front(struct sw_plot_trial *trials, size_t n, const bool *maximize, size_t m)
{
	size_t valued = 0, front_n = 0;
	double *y = sw_malloc((n * m + 1) * sizeof *y);
	size_t *at = sw_malloc((n + 1) * sizeof *at);
	size_t *front = sw_malloc((n + 1) * sizeof *front);
	sw_status rc = y != NULL && at != NULL && front != NULL ? SW_OK : SW_NOMEM;

	for (size_t i = 0; i < n && rc == SW_OK; i++) {
		if (trials[i].metrics == NULL)
			continue;
		for (size_t k = 0; k < m; k++)
			y[valued * m + k] = maximize[k] ? -trials[i].metrics[k]
							: trials[i].metrics[k];
		at[valued++] = i;
	}
	rc = rc == SW_OK ? sw_pareto_front(y, valued, m, front, &front_n) : rc;
	for (size_t i = 0; i < front_n; i++)
		trials[at[front[i]]].front = true;
	free(front);
	free(at);
	free(y);
	return rc;
}
