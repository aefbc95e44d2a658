#include "proto/json.h"
#include <math.h>
#include <string.h>

sw_status sw_json_parse(cJSON **out, const char *text, size_t len, struct sw_err *err)
{
	const sw_status rc = sw_json_check(text, len, err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	/* What passed the check is within cJSON's own limits: only memory can fail it. */
	*out = cJSON_ParseWithLength(text, len);
	return *out != NULL ? SW_OK : sw_err_set(err, SW_NOMEM, "out of memory");
}

const cJSON *sw_json_get(const cJSON *object, const char *key)
{
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool sw_json_u64(const cJSON *v, uint64_t *out)
{
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble <= SW_JSON_MAX_INT) ||
	    v->valuedouble != floor(v->valuedouble))
		return false;
	*out = (uint64_t)v->valuedouble;
	return true;
}

void sw_json_pointer_add(char *ptr, size_t cap, const char *token)
{
	size_t n = strlen(ptr);

	if (n + 1 >= cap)
		return;
	ptr[n++] = '/';
	for (; *token != '\0'; token++) {
		const char *as = *token == '~' ? "~0" : *token == '/' ? "~1" : NULL;
		if (n + (as != NULL ? 2 : 1) >= cap)
			break;
		if (as != NULL) {
			ptr[n++] = as[0];
			ptr[n++] = as[1];
		} else {
			ptr[n++] = *token;
		}
	}
	ptr[n] = '\0';
}
