/* The types hyperband, median, patience and threshold: each reads its own keys. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"

/* --- hyperband: W&B's --- */

#define MOST_BANDS 63
#define STEP_MAX   ((uint64_t)1 << 53) /* beyond it a step is no number of JSON's any more */

static const struct sw_row hyperband_rows[] = {
	PRUNER_AT("min_iter", hyperband.min_iter),
	PRUNER_AT("max_iter", hyperband.max_iter),
	PRUNER_AT("s", hyperband.s),
	PRUNER_AT("eta", hyperband.eta),
	PRUNER_AT("strict", hyperband.strict),
};

/* Leaves out bands below step 1, as W&B does. */
static sw_status bands_from_max(struct sw_pruner_config *p, struct sw_err *err)
{
	struct sw_hyperband_config *h = &p->hyperband;
	uint64_t band = h->max_iter, n = 0;

	while (n < h->s && n < MOST_BANDS && sw_hyperband_down(band, h->eta) >= 1) {
		band = sw_hyperband_down(band, h->eta);
		n++;
	}
	if (n == 0)
		return sw_err_at(err, SW_INVALID, "/max_iter",
				 "\"max_iter\" is %llu: divided by eta %g it is below 1, and no "
				 "band is left",
				 (unsigned long long)h->max_iter, h->eta);
	h->s = n;
	h->min_iter = 0;
	p->first_step = band;
	return SW_OK;
}

/* W&B's files may have all three keys. "max_iter" with "s" wins, and a warning says so
 * (spec/warn/pruner.c). */
static sw_status hyperband_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_hyperband_config *h = &r->out->hyperband;
	const bool up = h->min_iter != 0, down = h->max_iter != 0;

	h->last_step = sw_spec_epochs(r->spec);
	if (h->last_step == 0)
		h->last_step = STEP_MAX;
	if (down && h->s != 0)
		return bands_from_max(r->out, err);
	h->max_iter = 0;
	h->s = 0;
	r->out->first_step = h->min_iter;
	/* The bands go up from there. */
	if (up)
		return SW_OK;
	if (!down)
		return sw_err_at(err, SW_INVALID, "/min_iter",
				 "\"min_iter\" is missing: the first band, or \"max_iter\" with "
				 "\"s\" in its place");
	return sw_err_at(err, SW_INVALID, "/s",
			 "\"s\" is missing: how many bands lie below max_iter");
}

const struct sw_spec_pruner_type sw_spec_pruner_hyperband = {
	.name = "hyperband",
	.kind = SW_PRUNER_HYPERBAND,
	PRUNER_ROWS(hyperband_rows),
	.finish = hyperband_finish,
};

/* --- median: Ray's, or Optuna's --- */

#define RAYS 2 /* the first rows; the rest are Optuna's */

static const struct sw_row median_rows[] = {
	PRUNER_AT("grace_period", median.grace_period),
	PRUNER_AT("min_samples_required", median.min_samples),
	PRUNER_AT("n_startup_trials", median.startup_trials),
	PRUNER_AT("n_warmup_steps", median.warmup_steps),
	PRUNER_AT("interval_steps", median.interval_steps),
	PRUNER_AT("n_min_trials", median.min_trials),
};

static sw_status median_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	const char *ray = NULL, *optuna = NULL;

	for (size_t i = 0; i < SW_SPEC_N(median_rows); i++) {
		const char *given = sw_spec_pruner_given(r, median_rows[i].key);

		if (given != NULL && i < RAYS)
			ray = given;
		else if (given != NULL)
			optuna = given;
	}
	struct sw_median_config *m = &r->out->median;
	m->running_mean = ray != NULL;
	r->out->first_step = m->running_mean ? m->grace_period : m->warmup_steps;
	/* The keys are of one rule. */
	if (ray == NULL || optuna == NULL)
		return SW_OK;
	return sw_spec_at_key(
		err, optuna,
		"\"%s\" is of Ray's median and \"%s\" of Optuna's: they are two rules, "
		"give the keys of one",
		ray, optuna);
}

const struct sw_spec_pruner_type sw_spec_pruner_median = {
	.name = "median",
	.kind = SW_PRUNER_MEDIAN,
	PRUNER_ROWS(median_rows),
	.finish = median_finish,
};

/* --- patience --- */

static const struct sw_row patience_rows[] = {
	PRUNER_AT("patience", patience.patience),
	PRUNER_AT("min_delta", patience.min_delta),
};

static sw_status patience_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	(void)err;
	r->out->first_step = r->out->patience.patience + 1;
	return SW_OK;
}

const struct sw_spec_pruner_type sw_spec_pruner_patience = {
	.name = "patience",
	.kind = SW_PRUNER_PATIENCE,
	PRUNER_ROWS(patience_rows),
	.finish = patience_finish,
};

/* --- threshold: Optuna's --- */

static const struct sw_row threshold_rows[] = {
	PRUNER_AT("lower", threshold.lower),
	PRUNER_AT("upper", threshold.upper),
	PRUNER_AT("n_warmup_steps", threshold.warmup_steps),
	PRUNER_AT("interval_steps", threshold.interval_steps),
};

static sw_status threshold_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_threshold_config *t = &r->out->threshold;

	t->has_lower = sw_json_get(r->v, "lower") != NULL;
	t->has_upper = sw_json_get(r->v, "upper") != NULL;
	r->out->first_step = t->warmup_steps;
	if (!t->has_lower && !t->has_upper)
		return sw_err_at(err, SW_INVALID, "/upper",
				 "\"upper\" is missing, and \"lower\" too: give one of them, or "
				 "both");
	if (t->has_lower && t->has_upper && t->lower >= t->upper)
		return sw_err_at(err, SW_INVALID, "/lower",
				 "\"lower\" must be below \"upper\": no value lies between them");
	return SW_OK;
}

const struct sw_spec_pruner_type sw_spec_pruner_threshold = {
	.name = "threshold",
	.kind = SW_PRUNER_THRESHOLD,
	PRUNER_ROWS(threshold_rows),
	.finish = threshold_finish,
};
