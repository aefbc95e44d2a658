/* "metric", and "metrics" in its place: what the trials of a sweep are compared by. */
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <string.h>

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

/* Where there is room for one metric the first stands for all. */
static void set_first(struct sw_spec *s, size_t n)
{
	s->n_metrics = n;
	s->metric = s->metrics[0].name;
	s->maximize = s->metrics[0].maximize;
}

sw_status sw_spec_metric_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)err;
	sw_form_fill(&sw_form_metric, v, &s->metrics[0]);
	s->has_target = sw_json_get(v, "target") != NULL;
	s->target = sw_json_number(v, "target", 0);
	set_first(s, 1);
	return SW_OK;
}

sw_status sw_spec_metrics_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *item;
	size_t n = 0;

	if (sw_json_get(s->tree, "metric") != NULL)
		return sw_err_at(err, SW_INVALID, "/metrics",
				 "give \"metric\" or \"metrics\", not both");
	cJSON_ArrayForEach (item, v) {
		struct sw_spec_metric *m = &s->metrics[n];
		char at[32];

		sw_form_fill(&sw_form_one_of_several, item, m);
		/* Every number can be a reference point, so a flag says whether one was given. */
		m->has_reference = sw_json_get(item, "reference") != NULL;
		(void)snprintf(at, sizeof at, "/metrics/%zu/name", n);
		for (size_t i = 0; i < n; i++)
			if (strcmp(s->metrics[i].name, m->name) == 0)
				return sw_err_at(err, SW_INVALID, at,
						 "metric \"%s\" is there twice", m->name);
		n++;
	}
	/* Both split the trials into good and bad by one order, which several metrics do not
	 * give. */
	if (strcmp(s->method, "tpe") == 0 || strcmp(s->method, "bohb") == 0)
		return sw_err_at(err, SW_INVALID, "/method",
				 "method \"%s\" learns from one metric, and the sweep has %zu: use "
				 "\"bayes\", or give one \"metric\"",
				 s->method, n);
	set_first(s, n);
	return SW_OK;
}
