#include "spec/param_value.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <string.h>

const cJSON *sw_param_value(const cJSON *params, const char *name)
{
	char head[SW_SPEC_MAX_PARAM_NAME + 1];
	const cJSON *v = sw_json_get(params, name);

	/* A key may have dots of its own, so each dot is tried as the end of a group: "a.b.c" is
	 * "c" in "a.b", or "b.c" in "a". */
	for (const char *dot = strchr(name, '.'); v == NULL && dot != NULL;
	     dot = strchr(dot + 1, '.')) {
		const size_t n = (size_t)(dot - name);

		/* No group has a longer name, and the heads after this one are longer still. */
		if (n >= sizeof head)
			return NULL;
		memcpy(head, name, n);
		head[n] = '\0';
		const cJSON *group = sw_json_get(params, head);
		if (cJSON_IsObject(group))
			v = sw_param_value(group, dot + 1);
	}
	return v;
}
