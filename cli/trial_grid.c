#include "cli/trial_grid.h"
#include "base/clock.h"
#include "proto/json.h"
#include "spec/param_value.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_S 120.0

enum drop {
	DROP_STEP = 5,
	DROP_PARAM = 10,
	DROP_FAILURE = 300, /* the cause, where it is that of a failure */
	DROP_BAR = 400,
	DROP_PARENT,
	DROP_SECONDS,
	DROP_METRIC,
	DROP_CAUSE = 10000
};

const char *sw_trial_grid_silent(const cJSON *trial, char out[64])
{
	const cJSON *heard = sw_json_get(trial, "heard_ms");
	char text[32];

	if (!cJSON_IsNumber(heard))
		return NULL;
	const double s = ((double)sw_clock_wall_ms() - heard->valuedouble) / 1e3;
	if (s < SILENT_S)
		return NULL;
	sw_fmt_duration(s, text);
	(void)snprintf(out, 64,
		       sw_json_number(trial, "step", 0) > 0 ? "last report %s ago"
							    : "no report for %s",
		       text);
	return out;
}

void sw_trial_grid_name(struct sw_names *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0)
			return;
	if (s->n < SW_NAMES_MAX)
		s->name[s->n++] = name;
}

void sw_trial_grid_names_sort(struct sw_names *s)
{
	qsort(s->name, s->n, sizeof s->name[0], sw_fmt_times_last);
}

/* Is it a group of parameters, which are named in full ("opt.wd")? */
static bool is_group(const struct sw_names *s, const cJSON *v)
{
	const size_t n = strlen(v->string);

	for (size_t i = 0; cJSON_IsObject(v) && i < s->n; i++)
		if (strncmp(s->name[i], v->string, n) == 0 && s->name[i][n] == '.')
			return true;
	return false;
}

static void add_keys(struct sw_names *s, const cJSON *object)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		if (v->string != NULL && !is_group(s, v))
			sw_trial_grid_name(s, v->string);
	}
}

struct columns {
	struct sw_names params, metrics; /* metrics: without the sweep's first */
	size_t own;                      /* of metrics: so many are the sweep's as well */
	bool cause, bar, parent, left;   /* all but bar: some trial has one */
	bool failure;                    /* some trial failed, or is silent */
};

static void find_columns(struct columns *c, const struct sw_trial_grid *how,
			 const cJSON *const *trials, size_t n)
{
	struct sw_names all = {.n = 0};
	const cJSON *name;
	char text[64];

	cJSON_ArrayForEach (name, how->parameters) {
		if (cJSON_IsString(name))
			sw_trial_grid_name(&c->params, name->valuestring);
	}
	for (size_t i = 0; i < n; i++) {
		add_keys(&c->params, sw_json_get(trials[i], "params"));
		add_keys(&all, sw_json_get(trials[i], "metrics"));
		const bool silent = sw_trial_grid_silent(trials[i], text) != NULL;
		if (silent || cJSON_IsString(sw_json_get(trials[i], "cause")))
			c->cause = how->cause;
		if (silent || sw_grid_tint(sw_json_text(trials[i], "state", "")) == SW_TINT_RED)
			c->failure = true;
		if (cJSON_IsNumber(sw_json_get(trials[i], "parent")))
			c->parent = true;
		if (sw_json_uint(trials[i], "left_out") > 0)
			c->left = true;
	}
	cJSON_ArrayForEach (name, how->metrics) {
		const cJSON *own = sw_json_get(name, "name");

		if (cJSON_IsString(own) &&
		    (how->metric == NULL || strcmp(own->valuestring, how->metric) != 0))
			sw_trial_grid_name(&c->metrics, own->valuestring);
	}
	c->own = c->metrics.n;
	/* Trials bring their metrics in any order, and a column must not move from frame to
	 * frame. */
	sw_trial_grid_names_sort(&all);
	for (size_t i = 0; i < all.n; i++)
		if (how->metric == NULL || strcmp(all.name[i], how->metric) != 0)
			sw_trial_grid_name(&c->metrics, all.name[i]);
	c->bar = how->max_t > 0.0;
}

static void add_columns(struct sw_grid *g, const struct columns *c, const struct sw_trial_grid *how)
{
	sw_grid_col(g, "trial", false, 0);
	sw_grid_col(g, "state", false, 0);
	for (size_t i = 0; i < c->params.n; i++)
		sw_grid_col(g, c->params.name[i], true, DROP_PARAM + (int)i);
	if (how->metric != NULL)
		sw_grid_col(g, how->metric, true, 0);
	for (size_t i = 0; i < c->metrics.n; i++)
		sw_grid_col(g, c->metrics.name[i], true, i < c->own ? 0 : DROP_METRIC + (int)i);
	sw_grid_col(g, "step", true, DROP_STEP);
	if (c->parent)
		sw_grid_col(g, "parent", true, DROP_PARENT);
	if (c->left)
		sw_grid_col(g, "left out", true, DROP_PARENT);
	sw_grid_col(g, "seconds", true, DROP_SECONDS);
	if (c->bar)
		sw_grid_col(g, "progress", false, DROP_BAR);
	if (c->cause)
		sw_grid_col(g, "cause", false, c->failure ? DROP_FAILURE : DROP_CAUSE);
}

/* The metric's last value: `value` where the daemon sent one, else what was reported under the
 * sweep's metric. */
static const cJSON *value_of(const cJSON *trial, const char *metric)
{
	const cJSON *v = sw_json_get(trial, "value");

	return cJSON_IsNumber(v) ? v : sw_json_get(sw_json_get(trial, "metrics"), metric);
}

const cJSON *sw_trial_grid_value(const struct sw_trial_grid *how, const cJSON *trial,
				 const char *column)
{
	const cJSON *v;

	if (strcmp(column, "trial") == 0 || strcmp(column, "state") == 0)
		return sw_json_get(trial, column);
	/* Parameters before metrics, as the columns stand: of two with one name the first is
	 * meant. */
	v = sw_param_value(sw_json_get(trial, "params"), column);
	if (v == NULL && how->metric != NULL && strcmp(column, how->metric) == 0)
		return value_of(trial, column);
	if (v == NULL)
		v = sw_json_get(sw_json_get(trial, "metrics"), column);
	return v != NULL ? v : sw_json_get(trial, column);
}

/* The part that is done of the step under way; 0: nothing is known of it. */
static double part_of(const struct sw_trial_grid *how, uint64_t trial)
{
	const cJSON *p;

	cJSON_ArrayForEach (p, how->progress) {
		const double total = sw_json_number(p, "total", 0.0);

		if (sw_json_uint(p, "trial") == trial && total > 0.0)
			return sw_json_number(p, "done", 0.0) / total;
	}
	return 0.0;
}

/* "3 +42%" */
static void add_step(struct sw_grid *g, const cJSON *step, double part)
{
	struct sw_buf b;

	sw_buf_init(&b, 256);
	sw_fmt_value(&b, step, false, g->utf8);
	if (part > 0.0)
		(void)sw_buf_addf(&b, " +%.0f%%", floor(100.0 * part));
	sw_grid_add_taken(g, &b, SW_TINT_NONE);
}

static void add_bar(struct sw_grid *g, double ratio, enum sw_tint tint)
{
	struct sw_buf b;

	sw_buf_init(&b, 256);
	sw_fmt_bar(&b, ratio, SW_TRIAL_BAR, g->utf8);
	sw_grid_add_taken(g, &b, tint);
}

static void add_trial(struct sw_grid *g, const struct columns *c, const struct sw_trial_grid *how,
		      size_t at, const cJSON *trial)
{
	const cJSON *params = sw_json_get(trial, "params"),
		    *metrics = sw_json_get(trial, "metrics");
	const uint64_t number = sw_json_uint(trial, "trial");
	const double part = part_of(how, number);
	double seconds = sw_json_number(trial, "seconds", -1.0);
	char text[64];

	if (how->rows != NULL && how->rows[at].rank == 0)
		/* A running trial's clock goes on between two messages. */
		seconds += (double)(how->now_us - how->rows[at].at_us) / 1e6;
	sw_grid_row(g);
	sw_grid_addf(g, "%llu/%llu", (unsigned long long)how->sweep, (unsigned long long)number);
	sw_grid_add_state(g, trial);
	for (size_t i = 0; i < c->params.n; i++)
		sw_grid_add_value(g, sw_param_value(params, c->params.name[i]), SW_TINT_NONE);
	if (how->metric != NULL)
		sw_grid_add_value(g, value_of(trial, how->metric), SW_TINT_BOLD);
	for (size_t i = 0; i < c->metrics.n; i++)
		sw_grid_add_value(g, sw_json_get(metrics, c->metrics.name[i]),
				  i < c->own ? SW_TINT_BOLD : SW_TINT_NONE);
	add_step(g, sw_json_get(trial, "step"), part);
	if (c->parent)
		sw_grid_add_member(g, trial, "parent");
	if (c->left)
		sw_grid_add_member(g, trial, "left_out");
	if (seconds >= 0.0)
		sw_grid_addf(g, "%.1f", seconds);
	else
		sw_grid_addf(g, "-");
	if (c->bar)
		add_bar(g, (sw_json_number(trial, "step", 0.0) + part) / how->max_t,
			sw_grid_tint(sw_json_text(trial, "state", "")));
	if (c->cause) {
		const char *silent = sw_trial_grid_silent(trial, text);

		sw_grid_add(g, silent != NULL ? silent : sw_json_text(trial, "cause", NULL),
			    silent != NULL ? SW_TINT_RED : SW_TINT_NONE);
	}
}

struct sw_trial_grid sw_trial_grid_of(const struct sw_view *v, int64_t now_us)
{
	return (struct sw_trial_grid){
		.sweep = v->sweep,
		.parameters = sw_json_get(v->head, "parameters"),
		.metric = sw_json_text(v->head, "metric", NULL),
		.max_t = sw_json_number(v->head, "max_t", 0.0),
		.cause = true,
		.rows = v->rows,
		.now_us = now_us,
		.progress = sw_json_get(v->head, "progress"),
	};
}

void sw_trial_grid_fill(struct sw_grid *g, const struct sw_trial_grid *how,
			const cJSON *const *trials, size_t n)
{
	struct columns c = {.bar = false};

	find_columns(&c, how, trials, n);
	add_columns(g, &c, how);
	for (size_t i = 0; i < n; i++)
		add_trial(g, &c, how, i, trials[i]);
}
