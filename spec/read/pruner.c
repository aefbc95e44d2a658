/* "early_terminate": finds the type, whose keys fill its part of the config by name
 * (spec/schema.json). What several keys mean together is a function here, or of pbt in pbt.c; a
 * type whose keys stand alone needs none. */
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <string.h>

#define MOST_BANDS 63
#define STEP_MAX   ((uint64_t)1 << 53) /* a larger step would lose digits in JSON */

/* The name that a key goes by in the spec; NULL: it is not given. */
static const char *given_as(const struct sw_spec_pruner_reading *r, const char *key)
{
	const char *given = NULL;

	(void)sw_form_get(r->form, r->v, key, &given);
	return given;
}

/* Rungs, in the variants that stop and that promote. */
static sw_status asha_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_asha_config *a = &r->out->asha;
	const char *grace = given_as(r, "grace_period"), *last = given_as(r, "max_t");
	uint64_t epochs = 0;

	/* A trial of so many epochs ends there, whatever the pruner says. */
	if (last == NULL && sw_json_u64(sw_json_get(r->spec->trainer, "epochs"), &epochs) &&
	    epochs > 0)
		a->max_t = epochs;
	/* A kind of its own for the scheduler, since it pauses trials where "stop" ends them; in a
	 * spec it is the same type. */
	if (strcmp(sw_json_text(r->v, "variant", ""), "promote") == 0)
		r->out->kind = SW_PRUNER_PROMOTE;
	if (r->out->kind == SW_PRUNER_PROMOTE && a->min_results != 0)
		return sw_err_at(err, SW_INVALID, "/min_results",
				 "\"min_results\" is of variant \"stop\": a rung promotes none "
				 "before it has reduction_factor results");
	/* As many results as a rung must have to keep one of them. */
	if (a->min_results == 0)
		a->min_results = a->reduction_factor;
	if (a->grace_period <= a->max_t)
		return SW_OK;
	grace = grace != NULL ? grace : "grace_period";
	return sw_spec_at_key(err, grace, "\"%s\" is %llu, beyond the last step %llu (%s)", grace,
			      (unsigned long long)a->grace_period, (unsigned long long)a->max_t,
			      last != NULL ? last : "max_t");
}

/* Leaves out bands below step 1, as W&B does. */
static sw_status bands_from_max(struct sw_pruner_config *p, struct sw_err *err)
{
	struct sw_hyperband_config *h = &p->hyperband;
	uint64_t band = h->max_iter, n = 0;

	/* An eta close to 1 has far more bands than a trial can pass: 63 are what eta 2 makes of 64
	 * bits. */
	while (n < h->s && n < MOST_BANDS && sw_hyperband_down(band, h->eta) >= 1) {
		band = sw_hyperband_down(band, h->eta);
		n++;
	}
	if (n == 0)
		return sw_err_at(err, SW_INVALID, "/max_iter",
				 "\"max_iter\" is %llu: divided by eta %g it is below 1, and no "
				 "band is left",
				 (unsigned long long)h->max_iter, h->eta);
	/* The number of bands that there are, so the pruner divides as often as was done here. */
	h->s = n;
	/* 0 tells the pruner which of the two forms this is: bands from the top down. */
	h->min_iter = 0;
	p->first_step = band;
	return SW_OK;
}

/* W&B's files may have all three keys. "max_iter" with "s" wins, and a warning says so
 * (spec/warn/pruner.c). */
static sw_status hyperband_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_hyperband_config *h = &r->out->hyperband;
	const bool up = h->min_iter != 0, down = h->max_iter != 0;

	/* Bands go up until a trial's last step, which nobody knows of a program, or where the
	 * epochs are searched. */
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

/* --- median: Ray's, or Optuna's --- */

static bool is_rays(const char *key)
{
	return strcmp(key, "grace_period") == 0 || strcmp(key, "min_samples_required") == 0;
}

static sw_status median_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	const char *ray = NULL, *optuna = NULL;

	for (size_t i = 0; i < r->form->n; i++) {
		const struct sw_form_key *k = &r->form->keys[i];
		/* "type", and another name of a key, fill nothing. */
		const char *given = k->size > 0 ? given_as(r, k->name) : NULL;

		if (given != NULL && is_rays(k->name))
			ray = given;
		else if (given != NULL)
			optuna = given;
	}
	struct sw_median_config *m = &r->out->median;
	/* Without any key the rule is Optuna's. */
	m->running_mean = ray != NULL;
	r->out->first_step = m->running_mean ? m->grace_period : m->n_warmup_steps;
	/* The keys are of one rule. */
	if (ray == NULL || optuna == NULL)
		return SW_OK;
	return sw_spec_at_key(
		err, optuna,
		"\"%s\" is of Ray's median and \"%s\" of Optuna's: they are two rules, "
		"give the keys of one",
		ray, optuna);
}

/* --- patience and threshold, which is Optuna's --- */

static sw_status patience_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	(void)err;
	/* The first report is the best so far; only then do reports without progress begin to
	 * count. */
	r->out->first_step = r->out->patience.patience + 1;
	return SW_OK;
}

static sw_status threshold_rules(struct sw_spec_pruner_reading *r, struct sw_err *err)
{
	struct sw_threshold_config *t = &r->out->threshold;

	t->has_lower = sw_json_get(r->v, "lower") != NULL;
	t->has_upper = sw_json_get(r->v, "upper") != NULL;
	r->out->first_step = t->n_warmup_steps;
	if (!t->has_lower && !t->has_upper)
		return sw_err_at(err, SW_INVALID, "/upper",
				 "\"upper\" is missing, and \"lower\" too: give one of them, or "
				 "both");
	if (t->has_lower && t->has_upper && t->lower >= t->upper)
		return sw_err_at(err, SW_INVALID, "/lower",
				 "\"lower\" must be below \"upper\": no value lies between them");
	return SW_OK;
}

/* NULL: its keys stand alone. */
static sw_status (*const rules[SW_PRUNER_KIND_N])(struct sw_spec_pruner_reading *r,
						  struct sw_err *err) = {
	[SW_PRUNER_ASHA] = asha_rules,           [SW_PRUNER_HYPERBAND] = hyperband_rules,
	[SW_PRUNER_MEDIAN] = median_rules,       [SW_PRUNER_PATIENCE] = patience_rules,
	[SW_PRUNER_THRESHOLD] = threshold_rules, [SW_PRUNER_PBT] = sw_spec_pbt_rules,
};

static enum sw_pruner_kind kind_of(const char *type)
{
	static const struct {
		const char *name;
		enum sw_pruner_kind kind;
	} types[] = {
#define SW_ROW(name_, KIND) {#name_, SW_PRUNER_##KIND},
		SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
	};

	for (size_t i = 0; i < SW_SPEC_N(types); i++)
		if (strcmp(types[i].name, type) == 0)
			return types[i].kind;
	return SW_PRUNER_NONE;
}

sw_status sw_spec_pruner_read(struct sw_pruner_config *out, const struct sw_spec *s,
			      const cJSON *early_terminate, struct sw_err *err)
{
	struct sw_spec_pruner_reading r = {.out = out, .spec = s, .v = early_terminate};
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};

	/* The fill leaves a member as it is where its key has no default. */
	*out = (struct sw_pruner_config){.kind = SW_PRUNER_NONE};
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "",
				 "\"early_terminate\" compares trials by one metric, and the sweep "
				 "has %zu: leave it out, or give one \"metric\"",
				 s->n_metrics);
	sw_key_check(sw_form_find(&sw_form_top, "early_terminate"), early_terminate, "", &f);
	/* Its parts are checked only if it is an object at all, as the forms below expect. */
	if (f.n > 0)
		return sw_spec_first(&f, err);
	r.form = sw_forms_check(&sw_forms_pruner, early_terminate, "", &f);
	out->kind = kind_of(r.form->name);
	if (out->kind == SW_PRUNER_NONE)
		return sw_err_set(err, SW_INTERNAL, "no pruner of type \"%s\"", r.form->name);
	sw_form_fill(r.form, early_terminate, out);
	return rules[out->kind] != NULL ? rules[out->kind](&r, err) : SW_OK;
}

sw_status sw_spec_early_terminate_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_pruner_read(&s->pruner, s, v, err);

	sw_err_prefix(err, "/early_terminate");
	return rc;
}
