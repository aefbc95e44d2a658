/* Which parameters are drawn where not all can be. */
#include "plot/build.h"
#include <stdlib.h>
#include <string.h>

/* Of the varied parameters in out[n] the `most` heaviest, the heaviest first. */
static void take_heaviest(const double *weight, size_t *out, size_t n, size_t most)
{
	for (size_t k = 0; k < most; k++) {
		size_t heaviest = k;
		for (size_t i = k + 1; i < n; i++)
			if (weight[out[i]] > weight[out[heaviest]])
				heaviest = i;
		const size_t param = out[heaviest];
		memmove(&out[k + 1], &out[k], (heaviest - k) * sizeof *out);
		out[k] = param;
	}
}

size_t sw_plot_shown(struct sw_plot *p, const struct sw_plot_data *d, const size_t *named,
		     size_t n_named, size_t most, size_t *out)
{
	size_t n = 0;

	if (n_named > 0) {
		n = n_named < most ? n_named : most;
		memcpy(out, named, n * sizeof *out);
		return n;
	}
	size_t *const varied = sw_plot_scratch(p, d->n_params, sizeof *varied);
	double *const weight = sw_plot_scratch(p, d->n_params, sizeof *weight);
	if (varied == NULL || weight == NULL)
		goto out;
	for (size_t i = 0; i < d->n_params; i++)
		if (d->params[i].varied)
			varied[n++] = i;
	if (n == 0)
		sw_plot_note(p, "No parameter has two values yet.");
	if (n > most) {
		(void)sw_plot_weigh(p, d, weight);
		take_heaviest(weight, varied, n, most);
		sw_plot_note(p, "Of %zu varied parameters the %zu that matter most are drawn.", n,
			     most);
		n = most;
	}
	memcpy(out, varied, n * sizeof *out);
out:
	free(varied);
	free(weight);
	return n;
}
