#include "daemon/sweep/run/suggest_why.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <stdlib.h>
#include <string.h>

/* Samplers minimise: the user's own sign comes back on the way out. */
static double turn_value(const struct sw_spec *spec, size_t metric, double v)
{
	return spec->metrics[metric].maximize ? -v : v;
}

static void write_posterior(double mean, double sd, struct sw_jw *w)
{
	sw_jw_knum(w, "mean", mean);
	sw_jw_knum(w, "sd", sd);
}

/* Writes, for several metrics, the weights of this suggestion and what the model expected. */
static void write_metrics(const struct sw_suggestion *s, const struct sw_spec *spec,
			  struct sw_jw *w)
{
	sw_jw_kobj(w, "weights");
	for (size_t k = 0; k < spec->n_metrics; k++)
		sw_jw_knum(w, spec->metrics[k].name, s->weight[k]);
	sw_jw_obj_end(w);
	sw_jw_kobj(w, s->acquisition == SW_ACQUISITION_WHOLE ? "scalarised" : "metrics");
	if (s->acquisition == SW_ACQUISITION_WHOLE) {
		write_posterior(s->mean, s->sd, w);
		sw_jw_obj_end(w);
		return;
	}
	for (size_t k = 0; k < spec->n_metrics; k++) {
		sw_jw_kobj(w, spec->metrics[k].name);
		write_posterior(turn_value(spec, k, s->metric_mean[k]), s->metric_sd[k], w);
		sw_jw_obj_end(w);
	}
	sw_jw_obj_end(w);
}

void sw_suggest_why(const struct sw_suggestion *s, uint64_t seen, const struct sw_spec *spec,
		    struct sw_buf *out)
{
	static const char *const names[] = {
		[SW_ACQUISITION_EI] = "expected_improvement",
		[SW_ACQUISITION_WHOLE] = "scalarised_expected_improvement",
		[SW_ACQUISITION_MAX] = "expected_improvement_of_weighted_maximum"};
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kstr(&w, "source", s->source);
	sw_jw_kint(&w, "known", (int64_t)s->known);
	/* Suggestions are made ahead: seen >= known, for a history only grows. */
	sw_jw_kint(&w, "unseen", (int64_t)(seen - s->known));
	if (s->acquisition != SW_ACQUISITION_NONE) {
		sw_jw_kstr(&w, "acquisition", names[s->acquisition]);
		if (s->acquisition == SW_ACQUISITION_EI)
			write_posterior(turn_value(spec, 0, s->mean), s->sd, &w);
		else
			write_metrics(s, spec, &w);
		sw_jw_knum(&w, "expected_improvement", s->ei);
		sw_jw_knum(&w, "log_expected_improvement", s->log_ei);
	} else if (s->ei > 0) {
		sw_jw_knum(&w, "density_ratio", s->ei);
	}
	sw_jw_obj_end(&w);
}
