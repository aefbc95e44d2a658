#include "proto/json.h"
#include <math.h>
#include <string.h>

/* The end of the string that starts at the quote p. */
static const char *after_string(const char *p)
{
	for (p++; *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == 'e' || c == 'E' || c == '+';
}

/* Numbers come in the text in the order of the tree's walk, so one cursor serves both. The text
 * has been checked: every string and number is whole. */
static const char *mark_reals(cJSON *v, const char *p, const char *end)
{
	if (!cJSON_IsNumber(v)) {
		cJSON *child;
		cJSON_ArrayForEach (child, v)
			p = mark_reals(child, p, end);
		return p;
	}
	while (*p != '-' && (*p < '0' || *p > '9'))
		p = *p == '"' ? after_string(p) : p + 1;
	for (; p < end && *p != '\0' && in_number(*p); p++)
		if (*p == '.' || *p == 'e' || *p == 'E')
			v->type |= SW_JSON_REAL;
	return p;
}

sw_status sw_json_parse(cJSON **out, const char *text, size_t len, struct sw_err *err)
{
	const sw_status rc = sw_json_check(text, len, err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	/* A text that passed the check is within cJSON's own limits: only memory can fail. */
	*out = cJSON_ParseWithLength(text, len);
	if (*out == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	(void)mark_reals(*out, text, text + len);
	return SW_OK;
}

const cJSON *sw_json_get(const cJSON *object, const char *key)
{
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool sw_json_has_object(const cJSON *v)
{
	const cJSON *item;

	if (cJSON_IsObject(v))
		return true;
	cJSON_ArrayForEach (item, v)
		if (sw_json_has_object(item))
			return true;
	return false;
}

const char *sw_json_text(const cJSON *object, const char *key, const char *absent)
{
	const cJSON *v = sw_json_get(object, key);

	return cJSON_IsString(v) ? v->valuestring : absent;
}

double sw_json_number(const cJSON *object, const char *key, double absent)
{
	const cJSON *v = sw_json_get(object, key);

	return cJSON_IsNumber(v) ? v->valuedouble : absent;
}

bool sw_json_is_integer(const cJSON *v)
{
	return cJSON_IsNumber(v) && (v->type & SW_JSON_REAL) == 0 &&
	       v->valuedouble == floor(v->valuedouble) && fabs(v->valuedouble) <= SW_JSON_MAX_INT;
}

bool sw_json_u64(const cJSON *v, uint64_t *out)
{
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble <= SW_JSON_MAX_INT) ||
	    v->valuedouble != floor(v->valuedouble))
		return false;
	*out = (uint64_t)v->valuedouble;
	return true;
}
