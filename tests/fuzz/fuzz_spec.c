/* Any JSON as a sweep spec: refused with one line and a place, or taken with fields that hold. */
#include "proto/json.h"
#include "proto/spec.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sw_spec *s)
{
	if (s->n_params == 0 || s->metric == NULL || s->method == NULL)
		abort();
	for (size_t i = 0; i < s->n_params; i++) {
		const struct sw_spec_param *p = &s->params[i];
		if (p->dist == NULL || !isfinite(p->min) || !isfinite(p->max))
			abort();
		if ((strcmp(p->dist, "categorical") == 0) != (p->n_values > 0))
			abort();
		if (sw_spec_param_find(s, p->name) != (int)i)
			abort();
	}
	if (sw_spec_max_t(s) > 0 && s->pruner.asha.grace_period > s->pruner.asha.max_t)
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
