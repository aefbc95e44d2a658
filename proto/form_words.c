/* Faults, and the words for what a key must be. */
#include "proto/form.h"
#include "proto/json.h"
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- faults --- */

void sw_fault_note(struct sw_faults *f, const char *ptr, const char *fmt, ...)
{
	char line[sizeof f->list->msg];
	va_list ap;

	/* A list for people is long enough; the others are counted. */
	if (f->n++ >= f->cap)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	f->list[f->n - 1] = (struct sw_err)SW_ERR_INIT;
	(void)sw_err_at(&f->list[f->n - 1], SW_INVALID, ptr, "%s", line);
}

bool sw_fault_near(const struct sw_faults *f, const char *ptr)
{
	const size_t whole = strlen(ptr);

	for (size_t i = 0; i < f->n && i < f->cap; i++) {
		const char *noted = f->list[i].ptr;
		const size_t n = strlen(noted), both = n < whole ? n : whole;

		if (strncmp(noted, ptr, both) == 0 &&
		    (n == whole || (n < whole ? ptr : noted)[both] == '/'))
			return true;
	}
	return false;
}

/* --- words --- */

const char *sw_json_kind(const cJSON *v)
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

static void want_number(const struct sw_form_key *k, char *out, size_t cap)
{
	const char *kind = k->kind == SW_KEY_INTEGER ? "an integer" : "a number";
	char low[32], high[32];
	size_t n = (size_t)snprintf(out, cap, "%s", kind);

	sw_json_num_text(k->min, low);
	sw_json_num_text(k->max, high);
	/* Less than any number that is meant is no end that people need to read. */
	const bool low_end = k->min > -SW_JSON_MAX_INT;

	if (low_end)
		n += (size_t)snprintf(out + n, cap - n, ", %s %s",
				      k->min_open ? "above" : "at least", low);
	if (k->max < DBL_MAX)
		(void)snprintf(out + n, cap - n, "%s%s %s", low_end ? " and " : ", ",
			       k->max_open ? "below" : "at most", high);
}

static void want_word(const struct sw_form_key *k, char *out, size_t cap)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; k->choices[i] != NULL && n < cap; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s\"%s\"",
				      i == 0                      ? ""
				      : k->choices[i + 1] == NULL ? " or "
								  : ", ",
				      k->choices[i]);
}

void sw_known_here(const char *const *names, size_t names_n, char list[SW_KNOWN_HERE])
{
	size_t n = (size_t)snprintf(list, SW_KNOWN_HERE,
				    names_n > 0 ? "; known here: " : "; none is known here");

	for (size_t i = 0; i < names_n; i++) {
		/* Room for the dots is kept with each name, so that they always fit. */
		if (n + strlen(names[i]) + sizeof ", , ..." > SW_KNOWN_HERE) {
			(void)snprintf(list + n, SW_KNOWN_HERE - n, ", ...");
			return;
		}
		n += (size_t)snprintf(list + n, SW_KNOWN_HERE - n, "%s%s", i > 0 ? ", " : "",
				      names[i]);
	}
}

const char *sw_key_want(const struct sw_form_key *k, char *out, size_t cap)
{
	static const char *const plain[] = {[SW_KEY_ANY] = "there",
					    [SW_KEY_OBJECT] = "an object",
					    [SW_KEY_ARRAY] = "an array",
					    [SW_KEY_STRING] = "a string",
					    [SW_KEY_BOOLEAN] = "true or false"};

	if (k->must != NULL)
		(void)snprintf(out, cap, "%s", k->must);
	else if (k->kind == SW_KEY_CHOICE)
		want_word(k, out, cap);
	else if (k->kind == SW_KEY_INTEGER || k->kind == SW_KEY_REAL)
		want_number(k, out, cap);
	else if (k->kind == SW_KEY_STRING && k->max < DBL_MAX)
		(void)snprintf(out, cap, "a string of %.0f to %.0f bytes", k->min, k->max);
	else
		(void)snprintf(out, cap, "%s", plain[k->kind]);
	if (k->shared)
		(void)snprintf(out + strlen(out), cap - strlen(out), ", the same for every trial");
	return out;
}
