/* Any JSON as a sweep spec: refused with one line and a place, or taken with fields that hold. */
#include "proto/json.h"
#include "spec/spec.h"
#include "trainer/spec/spec.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is said of each field in spec/spec.h. */
static void check_pruner(const struct sw_spec *s)
{
	const struct sw_pruner_config *p = &s->pruner;
	bool holds = true, any = false;

	switch (p->kind) {
	case SW_PRUNER_NONE:
		break;
	case SW_PRUNER_ASHA:
	case SW_PRUNER_PROMOTE:
		holds = p->asha.grace_period >= 1 && p->asha.grace_period <= p->asha.max_t &&
			p->asha.reduction_factor >= 2 && p->asha.brackets >= 1 &&
			p->asha.min_results >= 1;
		break;
	case SW_PRUNER_HYPERBAND:
		holds = p->hyperband.eta > 1 &&
			(p->hyperband.min_iter > 0 ? p->hyperband.s == 0
						   : p->hyperband.s > 0 && p->hyperband.s < 64);
		break;
	case SW_PRUNER_MEDIAN:
		holds = p->median.interval_steps >= 1 && p->median.n_min_trials >= 1;
		break;
	case SW_PRUNER_PATIENCE:
		holds = p->patience.patience >= 1 && p->patience.min_delta >= 0;
		break;
	case SW_PRUNER_THRESHOLD:
		holds = p->threshold.has_lower || p->threshold.has_upper;
		break;
	case SW_PRUNER_PBT:
		for (size_t i = 0; i < s->n_params; i++)
			any = any || !p->pbt.fixed[i];
		holds = any && s->run_cap >= 2 && p->pbt.factor_n >= 1 &&
			p->pbt.perturbation_interval >= 1 && p->pbt.quantile_fraction > 0 &&
			p->pbt.quantile_fraction <= 0.5;
		break;
	}
	if (!holds || (s->n_metrics > 1 && p->kind != SW_PRUNER_NONE))
		abort();
}

/* Any JSON below "trainer": refused with lines and places, or good enough to be warned of. */
static void check_trainer(struct sw_spec *s)
{
	struct sw_err list[4];
	struct sw_faults f = {list, 4, 0};

	if (s->trainer == NULL)
		return;
	sw_trainer_spec_check(s, &f);
	for (size_t i = 0; i < f.n && i < f.cap; i++)
		if (list[i].msg[0] == '\0' || list[i].ptr[0] != '/')
			abort();
	if (f.n == 0)
		sw_trainer_spec_warn(s);
}

static void check(struct sw_spec *s)
{
	if (s->n_params == 0 || s->metric == NULL || s->method == NULL)
		abort();
	for (size_t i = 0; i < s->n_params; i++) {
		const struct sw_spec_param *p = &s->params[i];
		if (!isfinite(p->min) || !isfinite(p->max))
			abort();
		if ((p->dist == SW_DIST_CATEGORICAL) != (p->n_values > 0))
			abort();
		if (sw_spec_param_find(s, p->name) != (int)i)
			abort();
	}
	check_pruner(s);
	check_trainer(s);
	if (!(s->weight > 0) || s->time_budget_s < 0 || s->gpu_hours < 0 || s->plateau.top == 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = NULL;

	if (sw_json_parse(&tree, (const char *)data, size, NULL) != SW_OK)
		return 0;
	const sw_status rc = sw_spec_read(&s, tree, &err);
	cJSON_Delete(tree);
	if (rc != err.code || (s != NULL) != (rc == SW_OK))
		abort();
	if (rc == SW_OK)
		check(s);
	else if (rc != SW_INVALID || err.msg[0] == '\0')
		abort();
	sw_spec_destroy(s);
	return 0;
}
