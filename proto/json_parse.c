#include "proto/json.h"
#include <math.h>
#include <stdlib.h>
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
	/* Strings are passed over whole, since digits in them are no numbers. */
	while (*p != '-' && (*p < '0' || *p > '9'))
		p = *p == '"' ? after_string(p) : p + 1;
	for (; p < end && *p != '\0' && in_number(*p); p++)
		if (*p == '.' || *p == 'e' || *p == 'E')
			v->type |= SW_JSON_REAL;
	return p;
}

sw_status sw_json_parse(cJSON **out, const char *text, size_t len, struct sw_err *err)
{
	return sw_json_parse_most(out, text, len, SW_JSON_MAX_VALUES, err);
}

sw_status sw_json_parse_most(cJSON **out, const char *text, size_t len, size_t most,
			     struct sw_err *err)
{
	const sw_status rc = sw_json_check_most(text, len, most, err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	/* A text that passed the check is within cJSON's own limits: only memory can fail. */
	*out = cJSON_ParseWithLength(text, len);
	if (*out == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	/* cJSON keeps a double alone; whether a number had a point is a matter of meaning here: 5.0
	 * and 5 are two parameters by W&B's rules. */
	(void)mark_reals(*out, text, text + len);
	return SW_OK;
}

const cJSON *sw_json_get(const cJSON *object, const char *key)
{
	return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
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

uint64_t sw_json_uint(const cJSON *object, const char *key)
{
	uint64_t n;

	return sw_json_u64(sw_json_get(object, key), &n) ? n : 0;
}

#define TENS_N 23 /* powers of ten that a double has exactly */

/* digits / 10^places, both above 0, rounded as strtod() rounds: the quotient has 54 bits or more,
 * and one behind them says that a rest is left, which tells a half from a bit more. */
static double decimal(uint64_t digits, unsigned places)
{
	static const double tens[TENS_N] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	__extension__ typedef unsigned __int128 wide;
	/* So the dividend has its highest bit at the top of 128, and the quotient as many as there
	 * can be. */
	const int shift = 64 + __builtin_clzll(digits);
	const wide over = (wide)digits << shift, ten = (wide)tens[places];
	const wide quotient = over / ten;

	return ldexp((double)(quotient << 1 | (quotient * ten != over)), -shift - 1);
}

double sw_json_num_read(const char *text, const char **end)
{
	const char *p = text + (*text == '-');
	uint64_t digits = 0;
	int n = 0; /* from the first that is not 0 on */
	long places = 0, exponent = 0;
	bool point = false;
	char *rest;

	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		digits = 10 * digits + (uint64_t)(*p - '0');
		n += digits > 0;
		places += point;
	}
	if (*p == 'e' || *p == 'E') {
		exponent = strtol(p + 1, &rest, 10);
		p = rest > p + 1 ? rest : p;
	}
	/* 19 digits fit into 64 bits. What is rare, or short, is left to strtod(). */
	if (n == 0 || n > 19 || exponent >= places || exponent < places + 1 - TENS_N) {
		const double v = strtod(text, &rest);
		*end = rest;
		return v;
	}
	*end = p;
	const double v = decimal(digits, (unsigned)(places - exponent));
	return *text == '-' ? -v : v;
}
