#include "spec/keys.h"
#include "base/utf8.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "spec/spec.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sw_spec_kind(const cJSON *v)
{
	if (cJSON_IsObject(v))
		return "an object";
	if (cJSON_IsArray(v))
		return "an array";
	if (cJSON_IsString(v))
		return "a string";
	if (cJSON_IsNumber(v))
		return "a number";
	return cJSON_IsBool(v) ? "true or false" : "null";
}

static bool has_no_effect(const char *key, const struct sw_spec_keys *keys)
{
	for (size_t i = 0; i < keys->n_hints; i++)
		if (strcmp(keys->hints[i].key, key) == 0)
			return keys->hints[i].use == NULL && keys->hints[i].line == NULL;
	return false;
}

void sw_spec_known_here(const char *const *known, size_t n_known, char list[SW_SPEC_KNOWN_HERE])
{
	size_t n = (size_t)snprintf(list, SW_SPEC_KNOWN_HERE, "; known here: ");

	for (size_t i = 0; i < n_known; i++) {
		/* An error's line is short: it shows the first ones. */
		if (n + strlen(known[i]) + sizeof ", , ..." > SW_SPEC_KNOWN_HERE) {
			(void)snprintf(list + n, SW_SPEC_KNOWN_HERE - n, ", ...");
			return;
		}
		n += (size_t)snprintf(list + n, SW_SPEC_KNOWN_HERE - n, "%s%s", i > 0 ? ", " : "",
				      known[i]);
	}
}

static sw_status unknown_key(const char *key, const struct sw_spec_keys *keys, struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "", list[SW_SPEC_KNOWN_HERE];

	sw_json_pointer_add(ptr, sizeof ptr, key);
	/* A key that people know from elsewhere has a line of its own; for others the nearest is
	 * named. */
	for (size_t i = 0; i < keys->n_hints; i++) {
		const struct sw_spec_hint *h = &keys->hints[i];
		if (strcmp(h->key, key) != 0)
			continue;
		if (h->use != NULL)
			return sw_err_at(err, SW_INVALID, ptr,
					 "unknown key \"%s\"; did you mean \"%s\"?", key, h->use);
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" is not supported by this version: %s", key, h->line);
	}
	sw_spec_known_here(keys->known, keys->n_known, list);
	return sw_spec_unknown("key", key, keys->known, keys->n_known, list, ptr, err);
}

sw_status sw_spec_check_keys(const cJSON *object, const struct sw_spec_keys *keys,
			     struct sw_err *err)
{
	const cJSON *v;

	cJSON_ArrayForEach (v, object) {
		size_t i = 0;
		while (i < keys->n_known && strcmp(keys->known[i], v->string) != 0)
			i++;
		if (i == keys->n_known && !has_no_effect(v->string, keys))
			return unknown_key(v->string, keys, err);
	}
	return SW_OK;
}

sw_status sw_spec_unknown(const char *what, const char *name, const char *const *known, size_t n,
			  const char *tail, const char *ptr, struct sw_err *err)
{
	const char *near = sw_nearest(name, known, n);
	char did[SW_DID_YOU_MEAN];

	return sw_err_at(err, SW_INVALID, ptr, "unknown %s \"%.64s\"%s", what, name,
			 near != NULL ? sw_did_you_mean(near, did) : tail);
}

const char *sw_spec_one_of(const char *const *words, char *out, size_t cap)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; words[i] != NULL && n < cap; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s\"%s\"",
				      i == 0                 ? ""
				      : words[i + 1] == NULL ? " or "
							     : ", ",
				      words[i]);
	return out;
}

sw_status sw_spec_at_key(struct sw_err *err, const char *key, const char *fmt, ...)
{
	char line[sizeof err->msg], ptr[sizeof err->ptr] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sw_json_pointer_add(ptr, sizeof ptr, key);
	return sw_err_at(err, SW_INVALID, ptr, "%s", line);
}

sw_status sw_spec_key_wrong(const char *key, struct sw_err *err, const char *what)
{
	return sw_spec_at_key(err, key, "\"%s\" %s", key, what);
}

sw_status sw_spec_must_be(const cJSON *v, const char *key, const char *want, struct sw_err *err)
{
	return sw_spec_at_key(err, key, "\"%s\" must be %s, not %s", key, want, sw_spec_kind(v));
}

sw_status sw_spec_read_u64(const cJSON *v, const char *key, uint64_t min, uint64_t max,
			   uint64_t *out, struct sw_err *err)
{
	char what[96];

	if (!cJSON_IsNumber(v))
		return sw_spec_must_be(v, key, "an integer", err);
	if (v->valuedouble != floor(v->valuedouble))
		return sw_spec_key_wrong(key, err, "must be an integer, not a fraction");
	if (v->valuedouble < (double)min)
		(void)snprintf(what, sizeof what, "must be at least %llu", (unsigned long long)min);
	else if (v->valuedouble > (double)max)
		(void)snprintf(what, sizeof what, "must be at most %llu", (unsigned long long)max);
	else if (sw_json_u64(v, out))
		return SW_OK;
	return sw_spec_key_wrong(key, err, what);
}

sw_status sw_spec_read_real(const cJSON *v, const char *key, double min, bool open, double max,
			    double *out, struct sw_err *err)
{
	char what[96], end[32];

	if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
		return sw_spec_must_be(v, key, "a number", err);
	const bool low = open ? v->valuedouble <= min : v->valuedouble < min;
	if (!low && v->valuedouble <= max) {
		*out = v->valuedouble;
		return SW_OK;
	}
	sw_json_num_text(low ? min : max, end);
	(void)snprintf(what, sizeof what, "must be %s %s",
		       low && open ? "above" : (low ? "at least" : "at most"), end);
	return sw_spec_key_wrong(key, err, what);
}

sw_status sw_spec_read_bool(const cJSON *v, const char *key, bool *out, struct sw_err *err)
{
	if (!cJSON_IsBool(v))
		return sw_spec_must_be(v, key, "true or false", err);
	*out = cJSON_IsTrue(v) != 0;
	return SW_OK;
}

sw_status sw_spec_key_u64(const cJSON *object, const char *key, uint64_t min, uint64_t max,
			  uint64_t *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(object, key);

	return v == NULL ? SW_OK : sw_spec_read_u64(v, key, min, max, out, err);
}

sw_status sw_spec_key_real(const cJSON *object, const char *key, double min, bool open, double max,
			   double *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(object, key);

	return v == NULL ? SW_OK : sw_spec_read_real(v, key, min, open, max, out, err);
}

sw_status sw_spec_key_bool(const cJSON *object, const char *key, bool *out, struct sw_err *err)
{
	const cJSON *v = sw_json_get(object, key);

	return v == NULL ? SW_OK : sw_spec_read_bool(v, key, out, err);
}

/* What turns the direction of text, too: a terminal would show another line than the one that is
 * stored. */
static bool is_no_label(uint32_t r)
{
	return r < 0x20 || r == 0x7f || r == 0x200e || r == 0x200f ||
	       (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069);
}

sw_status sw_spec_read_label(const cJSON *v, const char *key, const char **out, struct sw_err *err)
{
	if (!cJSON_IsString(v))
		return sw_spec_must_be(v, key, "a string", err);
	const size_t n = strlen(v->valuestring);
	if (n == 0)
		return sw_spec_key_wrong(key, err, "is empty");
	if (n > SW_SPEC_MAX_NAME)
		return sw_spec_key_wrong(key, err, "is longer than 64 bytes");
	for (const char *p = v->valuestring; *p != '\0';)
		if (is_no_label(sw_utf8_next(&p)))
			return sw_spec_key_wrong(key, err,
						 "has a control or text-direction character in it");
	*out = v->valuestring;
	return SW_OK;
}
