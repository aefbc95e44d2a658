/* Several metrics as one number, by weights of this suggestion (sched/sampler/scalarise.h): it says
 * which rows are the best of these weights. */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include "sched/num/order.h"
#include "sched/sampler/scalarise.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static sw_status fit_scale(const struct sw_bayes_data *b, struct sw_scalar *s)
{
	const size_t m = b->n_metrics;
	double *const good = sw_malloc(b->n_good * m * sizeof *good);
	size_t n = 0;

	if (good == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < b->n; i++)
		if (!b->bad[i])
			memcpy(good + m * n++, b->metrics + i * m, m * sizeof *good);
	assert(n == b->n_good);
	const sw_status rc = sw_scalar_fit(s, good, n);

	free(good);
	return rc;
}

sw_status sw_bayes_data_weigh(struct sw_bayes_data *b, struct sw_scalar *scalar,
			      struct sw_bayes_rng *rng)
{
	struct sw_scalar s = {.m = b->n_metrics};
	double unit[SW_METRICS_MAX];
	size_t n = 0;

	assert(b->n_metrics > 1 && b->n_good > 0);
	for (size_t k = 0; k < s.m; k++)
		unit[k] = sw_bayes_rng_unit(rng);
	/* ParEGO: new weights each time lead the samples along the whole front, not to one point of
	 * it. */
	sw_scalar_weights(&s, unit);
	const sw_status rc = fit_scale(b, &s);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < b->n; i++) {
		if (b->bad[i])
			continue;
		b->y[i] = sw_scalar_value(&s, b->metrics + i * s.m);
		b->sorted[n++] = b->y[i];
		if (n == 1 || b->y[i] < b->y[b->best])
			b->best = i;
	}
	qsort(b->sorted, n, sizeof *b->sorted, sw_order_doubles);
	*scalar = s;
	return SW_OK;
}
