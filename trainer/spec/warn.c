/* What is likely a mistake about the built-in trainer. Nobody knows what a program reports. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/keys.h"
#include "spec/query.h"
#include "trainer/spec/layers.h"
#include "trainer/spec/options.h"
#include "trainer/spec/spec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool given(const struct sw_spec *s, const char *option)
{
	return sw_spec_option_param(s, option) != NULL || sw_json_get(s->trainer, option) != NULL;
}

static bool is_word(const cJSON *v, const char *word)
{
	return cJSON_IsString(v) && strcmp(v->valuestring, word) == 0;
}

static void warn_metric(struct sw_spec *s, const char *metric, const char *ptr)
{
	static const char *const of_classes[] = {"train_loss",   "val_loss", "val_accuracy",
						 "val_macro_f1", "val_auc",  "val_top5",
						 "samples_per_s"};
	static const char *const of_numbers[] = {"train_loss", "val_loss", "val_rmse",
						 "val_mae",    "val_r2",   "samples_per_s"};
	const bool numbers = is_word(sw_spec_fixed_option(s, "loss"), "mse");
	const char *const *names = numbers ? of_numbers : of_classes;
	const size_t n = numbers ? SW_SPEC_N(of_numbers) : SW_SPEC_N(of_classes);
	char list[120] = "", did[SW_DID_YOU_MEAN];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		/* The trainer reports it. */
		if (strcmp(names[i], metric) == 0)
			return;
		len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "",
					names[i]);
	}
	sw_spec_warn(s, ptr, "the trainer reports %s, and no \"%s\": the sweep will fail%s", list,
		     metric, sw_did_you_mean(sw_nearest(metric, names, n), did));
}

static void warn_metrics(struct sw_spec *s)
{
	char ptr[48] = "/metric/name";

	for (size_t i = 0; i < s->n_metrics; i++) {
		if (s->n_metrics > 1)
			(void)snprintf(ptr, sizeof ptr, "/metrics/%zu/name", i);
		warn_metric(s, s->metrics[i].name, ptr);
	}
}

/* Warns of those of the options that the spec has, in the trainer or as a parameter. */
static void no_effect(struct sw_spec *s, const char *const *options, size_t n, const char *why,
		      const char *what)
{
	for (size_t i = 0; i < n; i++) {
		char ptr[sizeof s->warnings[0].ptr] = "/trainer";

		if (!given(s, options[i]))
			continue;
		/* A parameter of the option's own name feeds it. */
		if (sw_json_get(s->trainer, options[i]) == NULL)
			(void)snprintf(ptr, sizeof ptr, "/parameters");
		sw_json_pointer_add(ptr, sizeof ptr, options[i]);
		sw_spec_warn(s, ptr, "\"%s\" has no effect: %s%s", options[i], why, what);
	}
}

static void warn_options(struct sw_spec *s)
{
	static const char *const sgd_only[] = {"momentum", "nesterov"},
				 *const adam_only[] = {"beta1", "beta2", "eps"},
				 *const step_only[] = {"step_epochs", "gamma"},
				 *const classes_only[] = {"label_smoothing", "class_weight"};
	const cJSON *momentum = sw_spec_fixed_option(s, "momentum"),
		    *optimizer = sw_spec_fixed_option(s, "optimizer"),
		    *schedule = sw_spec_fixed_option(s, "schedule");

	/* An optimizer that is searched is no fixed word: each option then has an effect in some
	 * trials, and there is nothing to warn of. */
	if (is_word(optimizer, "adamw") || is_word(optimizer, "adam"))
		no_effect(s, sgd_only, SW_SPEC_N(sgd_only), "the optimizer is ",
			  optimizer->valuestring);
	else if (cJSON_IsTrue(sw_spec_fixed_option(s, "nesterov")) &&
		 (!given(s, "momentum") ||
		  (cJSON_IsNumber(momentum) && momentum->valuedouble == 0)))
		sw_spec_warn(s, "/trainer/nesterov", "\"nesterov\" has no effect: momentum is 0");
	if (is_word(optimizer, "sgd") || !given(s, "optimizer"))
		no_effect(s, adam_only, SW_SPEC_N(adam_only), "the optimizer is sgd", "");
	if (!is_word(schedule, "step") && (schedule != NULL || !given(s, "schedule")))
		no_effect(s, step_only, SW_SPEC_N(step_only), "the schedule is not \"step\"", "");
	if (is_word(sw_spec_fixed_option(s, "loss"), "mse"))
		no_effect(s, classes_only, SW_SPEC_N(classes_only), "the loss is mse", "");
}

/* Options have a default for where their parameter is not active; a layer's number has none. */
static sw_status warn_value(void *ctx, const struct sw_form_key *o, enum sw_layer_form_id layer,
			    const cJSON *v, const char *ptr, struct sw_err *err)
{
	struct sw_spec *s = ctx;
	const char *name = cJSON_GetStringValue(v);
	const int at = name != NULL ? sw_spec_param_find(s, name) : -1;

	(void)o;
	(void)layer;
	(void)err;
	/* A literal, or a parameter that every trial has. */
	if (at < 0 || !sw_spec_param_conditional(s, (size_t)at))
		return SW_OK;
	sw_spec_warn(
		s, ptr,
		"\"%s\" is conditional (\"when\"): a trial where it is not active has no value "
		"for this layer, and fails",
		name);
	return SW_OK;
}

static void warn_layers(struct sw_spec *s)
{
	const struct sw_layer_visit visit = {s, warn_value};
	struct sw_faults none = {NULL, 0, 0}; /* it was checked */

	sw_layers_walk(sw_json_get(s->trainer, "model"), "/trainer/model", &visit, NULL, &none);
}

/* If the data set names its validation part nothing is split; if it gives constants nothing is
 * measured. */
static void warn_dataset(struct sw_spec *s)
{
	const cJSON *dataset = sw_json_get(s->trainer, "dataset");
	const bool part = sw_json_get(dataset, "val_path") != NULL ||
			  is_word(sw_json_get(dataset, "validation"), "test");

	if (part && sw_json_get(s->trainer, "val_fraction") != NULL)
		sw_spec_warn(
			s, "/trainer/val_fraction",
			"\"val_fraction\" has no effect: the data set names its validation part");
	if (part && sw_json_get(s->trainer, "split_seed") != NULL)
		sw_spec_warn(
			s, "/trainer/split_seed",
			"\"split_seed\" has no effect: the data set names its validation part");
	if (sw_json_get(dataset, "normalize") != NULL && sw_json_get(s->trainer, "scale") != NULL)
		sw_spec_warn(s, "/trainer/scale",
			     "\"scale\" has no effect: \"normalize\" gives the constants");
}

/* The smallest batch_size of a trial. */
static double least_batch(const struct sw_spec *s)
{
	const struct sw_form_key *o = sw_trainer_option_find("batch_size");
	const struct sw_spec_param *p = sw_spec_option_param(s, o->name);
	const cJSON *fixed = sw_spec_fixed_option(s, o->name), *v;
	double least = o->max;

	/* All trials have the same. */
	if (p == NULL || fixed != NULL)
		return cJSON_IsNumber(fixed) ? fixed->valuedouble : o->fallback;
	if (p->values == NULL)
		return p->has_min ? p->min : o->min;
	cJSON_ArrayForEach (v, p->values)
		if (cJSON_IsNumber(v) && v->valuedouble < least)
			least = v->valuedouble;
	return least;
}

static void warn_pipeline(struct sw_spec *s)
{
	static const char at[] = "/parallel/microbatches";
	const unsigned parts = s->microbatches, usual = 4 * s->stages;

	/* No rank waits for another stage. */
	if (s->stages <= 1)
		return;
	/* A stage waits (K - 1) of every (M + K - 1) turns, for K stages and M micro-batches: the
	 * "bubble" of GPipe (Huang et al. 2019, section 2.3). */
	const double idle = s->stages - 1, rows = least_batch(s),
		     share = ceil(rows / s->data_ranks);
	if (parts < s->stages)
		sw_spec_warn(s, at,
			     "with %u micro-batch%s each of the %u stages waits %.0f%% of a step; "
			     "with %u (the default) %.0f%%",
			     parts, parts == 1 ? "" : "es", s->stages, 100 * idle / (parts + idle),
			     usual, 100 * idle / (usual + idle));
	/* Rows are dealt to the data ranks first, and each rank's share is then cut. */
	if (share < parts)
		sw_spec_warn(s, at,
			     "a data rank has %.0f rows of a batch of %.0f, fewer than %u "
			     "micro-batches: some are empty",
			     share, rows, parts);
}

void sw_trainer_spec_warn(struct sw_spec *s)
{
	warn_metrics(s);
	warn_layers(s);
	warn_dataset(s);
	warn_options(s);
	warn_pipeline(s);
}
