/* The types hyperband, median, patience and threshold: each reads its own keys. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <float.h>

/* --- hyperband: W&B's --- */

enum { MIN_ITER, MAX_ITER, S, ETA, STRICT };

#define MOST_BANDS 63
#define STEP_MAX   ((uint64_t)1 << 53) /* beyond it a step is no number of JSON's any more */

static const struct sw_spec_pruner_field hyperband_fields[] = {
	[MIN_ITER] = PRUNER_COUNT("min_iter", hyperband.min_iter, 1),
	[MAX_ITER] = PRUNER_COUNT("max_iter", hyperband.max_iter, 1),
	[S] = PRUNER_COUNT("s", hyperband.s, 1),
	[ETA] = PRUNER_REAL("eta", hyperband.eta, 1.1, 1e9),
	[STRICT] = {.names = {"strict"}, .kind = FIELD_BOOL, .at = PRUNER_AT(hyperband.strict)},
};
_Static_assert(SW_SPEC_N(hyperband_fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint hyperband_hints[] = {
	{"grace_period", "min_iter", NULL},
	{"min_resource", "min_iter", NULL},
	{"max_t", "max_iter", NULL},
	{"max_resource", "max_iter", NULL},
	{"reduction_factor", "eta", NULL},
	{"brackets", "s", NULL},
	{"stop_last_trials", NULL, "leave it out"},
};

static void hyperband_defaults(struct sw_spec_pruner_reading *r)
{
	r->out->hyperband.eta = 3;
}

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

	h->last_step = sw_spec_epochs(r->spec);
	if (h->last_step == 0)
		h->last_step = STEP_MAX;
	if (r->given[MAX_ITER] != NULL && r->given[S] != NULL)
		return bands_from_max(r->out, err);
	h->max_iter = 0;
	h->s = 0;
	r->out->first_step = h->min_iter;
	/* The bands go up from there. */
	if (r->given[MIN_ITER] != NULL)
		return SW_OK;
	if (r->given[MAX_ITER] == NULL)
		return sw_err_at(err, SW_INVALID, "/min_iter",
				 "\"min_iter\" is missing: the first band, or \"max_iter\" with "
				 "\"s\" in its place");
	return sw_err_at(err, SW_INVALID, "/s",
			 "\"s\" is missing: how many bands lie below max_iter");
}

const struct sw_spec_pruner_type sw_spec_pruner_hyperband = {
	.name = "hyperband",
	.kind = SW_PRUNER_HYPERBAND,
	PRUNER_KEYS(hyperband_fields, hyperband_hints),
	.defaults = hyperband_defaults,
	.finish = hyperband_finish,
};

/* --- median: Ray's, or Optuna's --- */

#define RAYS 2 /* the first fields; the rest are Optuna's */

static const struct sw_spec_pruner_field median_fields[] = {
	PRUNER_COUNT("grace_period", median.grace_period, 1),
	PRUNER_COUNT("min_samples_required", median.min_samples, 1),
	PRUNER_COUNT("n_startup_trials", median.startup_trials, 0),
	PRUNER_COUNT("n_warmup_steps", median.warmup_steps, 0),
	PRUNER_COUNT("interval_steps", median.interval_steps, 1),
	PRUNER_COUNT("n_min_trials", median.min_trials, 1),
};
_Static_assert(SW_SPEC_N(median_fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint median_hints[] = {
	{"min_samples", "min_samples_required", NULL},
	{"percentile", NULL, "the rule is the median's"},
	{"hard_stop", NULL, "a trial below the median is stopped: leave it out"},
	{"min_time_slice", NULL, "leave it out"},
};

static void median_defaults(struct sw_spec_pruner_reading *r)
{
	r->out->median = (struct sw_median_config){.grace_period = 1,
						   .min_samples = 3,
						   .startup_trials = 5,
						   .interval_steps = 1,
						   .min_trials = 1};
}

static sw_status median_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	const char *ray = NULL, *optuna = NULL;

	for (size_t i = 0; i < SW_SPEC_N(median_fields); i++) {
		if (r->given[i] == NULL)
			continue;
		if (i < RAYS)
			ray = r->given[i];
		else
			optuna = r->given[i];
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
	PRUNER_KEYS(median_fields, median_hints),
	.defaults = median_defaults,
	.finish = median_finish,
};

/* --- patience --- */

/* clang-format off */
static const struct sw_spec_pruner_field patience_fields[] = {
	{.names = {"patience"}, .at = PRUNER_AT(patience.patience), .least = 1,
	 .needs = "how many reports in a row may bring nothing better"},
	PRUNER_REAL("min_delta", patience.min_delta, 0, DBL_MAX),
};
/* clang-format on */
_Static_assert(SW_SPEC_N(patience_fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint patience_hints[] = {
	{"num_results", "patience", NULL},
	{"std", "min_delta", NULL},
	{"wrapped_pruner", NULL, "a sweep has one pruner: leave it out"},
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
	PRUNER_KEYS(patience_fields, patience_hints),
	.finish = patience_finish,
};

/* --- threshold: Optuna's --- */

enum { LOWER, UPPER, WARMUP, INTERVAL };

static const struct sw_spec_pruner_field threshold_fields[] = {
	[LOWER] = PRUNER_REAL("lower", threshold.lower, -DBL_MAX, DBL_MAX),
	[UPPER] = PRUNER_REAL("upper", threshold.upper, -DBL_MAX, DBL_MAX),
	[WARMUP] = PRUNER_COUNT("n_warmup_steps", threshold.warmup_steps, 0),
	[INTERVAL] = PRUNER_COUNT("interval_steps", threshold.interval_steps, 1),
};
_Static_assert(SW_SPEC_N(threshold_fields) <= PRUNER_MAX_FIELDS, "given[] has room");

static const struct sw_spec_hint threshold_hints[] = {
	{"min", "lower", NULL},
	{"max", "upper", NULL},
};

static void threshold_defaults(struct sw_spec_pruner_reading *r)
{
	r->out->threshold.interval_steps = 1;
}

static sw_status threshold_finish(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_threshold_config *t = &r->out->threshold;

	t->has_lower = r->given[LOWER] != NULL;
	t->has_upper = r->given[UPPER] != NULL;
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
	PRUNER_KEYS(threshold_fields, threshold_hints),
	.defaults = threshold_defaults,
	.finish = threshold_finish,
};
