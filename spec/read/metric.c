/* "metric", and "metrics" in its place: what the trials of a sweep are compared by. */
#include "proto/json.h"
#include "spec/read/read.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIKE "{\"name\": \"val_loss\", \"goal\": \"minimize\"}"

bool sw_spec_metric_spared(const struct sw_spec *s)
{
	static const char *const blind[] = {"random", "grid", "sobol"};
	static const char *const compares[] = {"trainer", "early_terminate", "plateau"};
	bool spared = false;

	for (size_t i = 0; i < SW_SPEC_N(blind); i++)
		spared = spared || strcmp(s->method, blind[i]) == 0;
	for (size_t i = 0; i < SW_SPEC_N(compares); i++)
		spared = spared && sw_json_get(s->tree, compares[i]) == NULL;
	return spared;
}

static sw_status read_goal(struct sw_spec_metric *m, const cJSON *goal, struct sw_err *err)
{
	if (!cJSON_IsString(goal) || (strcmp(goal->valuestring, "minimize") != 0 &&
				      strcmp(goal->valuestring, "maximize") != 0))
		return sw_err_at(err, SW_INVALID, "/goal",
				 "\"goal\" must be \"minimize\" or \"maximize\"");
	m->maximize = strcmp(goal->valuestring, "maximize") == 0;
	return SW_OK;
}

static sw_status read_reference(struct sw_spec_metric *m, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
		return sw_spec_must_be(v, "reference", "a number", err);
	m->has_reference = true;
	m->reference = v->valuedouble;
	return SW_OK;
}

/* Only one of several metrics can have a reference, from which their hypervolume is measured. */
static sw_status read_fields(struct sw_spec_metric *m, const cJSON *v, bool several,
			     struct sw_err *err)
{
	static const char *const known_one[] = {"name", "goal", "target"};
	static const char *const known_several[] = {"name", "goal", "reference"};
	static const struct sw_spec_hint metric_hints[] = {
		{"impute", NULL, NULL}, {"impute_while_running", NULL, NULL},
		{"mode", "goal", NULL}, {"direction", "goal", NULL},
		{"type", "goal", NULL}, {"metric", "name", NULL},
	};
	const struct sw_spec_keys keys = {several ? known_several : known_one, 3, metric_hints,
					  SW_SPEC_N(metric_hints)};
	const cJSON *name = sw_json_get(v, "name"), *goal = sw_json_get(v, "goal");
	const cJSON *reference = sw_json_get(v, "reference");

	if (several && sw_json_get(v, "target") != NULL)
		return sw_err_at(err, SW_INVALID, "/target",
				 "\"target\" ends a sweep of one metric, and this one has "
				 "several: leave it out");
	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc != SW_OK)
		return rc;
	if (name == NULL)
		return sw_err_at(err, SW_INVALID, "/name",
				 "\"name\" is missing: the metric that trials report");
	rc = sw_spec_read_label(name, "name", &m->name, err);
	if (rc == SW_OK && goal != NULL)
		rc = read_goal(m, goal, err);
	if (rc == SW_OK && reference != NULL)
		rc = read_reference(m, reference, err);
	return rc;
}

sw_status sw_spec_metric_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "metric", "an object like " LIKE, err);
	sw_status rc = read_fields(&s->metrics[0], v, false, err);
	s->has_target = sw_json_get(v, "target") != NULL;
	if (rc == SW_OK)
		rc = sw_spec_key_real(v, "target", -DBL_MAX, false, DBL_MAX, &s->target, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/metric");
		return rc;
	}
	/* Set last: a metric that was refused is none. */
	s->n_metrics = 1;
	s->metric = s->metrics[0].name;
	s->maximize = s->metrics[0].maximize;
	return SW_OK;
}

/* The last of those read so far, against the ones before it. */
static sw_status check_name(const struct sw_spec *s, struct sw_err *err)
{
	const char *name = s->metrics[s->n_metrics - 1].name;

	for (size_t i = 0; i + 1 < s->n_metrics; i++)
		if (strcmp(s->metrics[i].name, name) == 0)
			return sw_err_at(err, SW_INVALID, "/name", "metric \"%s\" is there twice",
					 name);
	return SW_OK;
}

static sw_status read_item(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_err_at(err, SW_INVALID, "",
				 "a metric must be an object like " LIKE ", not %s",
				 sw_spec_kind(v));
	const sw_status rc = read_fields(&s->metrics[s->n_metrics++], v, true, err);
	return rc == SW_OK ? check_name(s, err) : rc;
}

sw_status sw_spec_metrics_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *item;
	char at[32];

	if (sw_json_get(s->tree, "metric") != NULL)
		return sw_err_at(err, SW_INVALID, "/metrics",
				 "give \"metric\" or \"metrics\", not both");
	if (!cJSON_IsArray(v))
		return sw_spec_must_be(v, "metrics", "an array of objects like " LIKE, err);
	const int n = cJSON_GetArraySize(v);
	if (n < 2 || n > SW_SPEC_MAX_METRICS)
		return sw_err_at(err, SW_INVALID, "/metrics",
				 "\"metrics\" has %d of them: it takes 2 to %d%s", n,
				 SW_SPEC_MAX_METRICS,
				 n == 1 ? " (for one there is \"metric\")" : "");
	size_t i = 0;
	cJSON_ArrayForEach (item, v) {
		const sw_status rc = read_item(s, item, err);
		(void)snprintf(at, sizeof at, "/metrics/%zu", i++);
		if (rc != SW_OK) {
			sw_err_prefix(err, at);
			return rc;
		}
	}
	if (strcmp(s->method, "tpe") == 0 || strcmp(s->method, "bohb") == 0)
		return sw_err_at(err, SW_INVALID, "/method",
				 "method \"%s\" learns from one metric, and the sweep has %d: use "
				 "\"bayes\", or give one \"metric\"",
				 s->method, n);
	/* Where there is room for one metric the first stands for all. */
	s->metric = s->metrics[0].name;
	s->maximize = s->metrics[0].maximize;
	return SW_OK;
}
