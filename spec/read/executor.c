/* "executor": what the jobs that are asked for a sweep ask their cluster for, over the options that
 * the daemon was started with (docs/cluster.md). */
#define XXH_INLINE_ALL
#include "base/memory.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define OPTIONS_MAX 32
#define KEY_MAX     ((size_t)64)
#define VALUE_MAX   ((size_t)900)
#define NAME_CHARS  "abcdefghijklmnopqrstuvwxyz0123456789-_"
#define KEY_CHARS   NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ."
#define TIME_MAX    (365U * 24 * 3600)
#define TIME_LEAST  60U /* a pilot needs some of it to leave in order */

bool sw_spec_job_time(const char *text, unsigned *out)
{
	unsigned h, m, s;
	char more, *end;

	/* The "%c" must find nothing: it is how sscanf() tells "1:00:00" from "1:00:00x". */
	if (sscanf(text, "%5u:%2u:%2u%c", &h, &m, &s, &more) == 3 && m < 60 && s < 60) {
		*out = (h * 60 + m) * 60 + s;
	} else {
		const unsigned long n = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || *end != '\0' || n > TIME_MAX)
			return false;
		*out = (unsigned)n;
	}
	return *out >= TIME_LEAST && *out <= TIME_MAX;
}

static bool is_daemons(const char *key)
{
	/* Lists and cancels have the daemon's own options: elsewhere they would not see a job. */
	static const char *const keys[] = {"gpus",   "cpus",    "mem",  "idle",
					   "listen", "address", "hosts"};

	for (size_t i = 0; i < SW_SPEC_N(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static sw_status check_key(const char *key, struct sw_err *err)
{
	const size_t n = strspn(key, KEY_CHARS);

	if (n == 0 || key[n] != '\0' || n > KEY_MAX)
		return sw_spec_at_key(err, key,
				      "the name of an option has letters, digits, \"-\", \"_\" and "
				      "\".\", at most %zu",
				      KEY_MAX);
	if (is_daemons(key))
		return sw_spec_at_key(err, key,
				      "\"%s\" is the daemon's, for all its jobs: it stands in the "
				      "file of --executor-options",
				      key);
	return SW_OK;
}

/* The value as a line of the options has it: "" takes the key away. */
static sw_status read_value(const cJSON *v, char out[VALUE_MAX + 1], struct sw_err *err)
{
	unsigned time_s;

	*out = '\0';
	if (cJSON_IsNumber(v)) {
		sw_json_num_text(v->valuedouble, out);
	} else if (cJSON_IsString(v)) {
		const size_t n = strlen(v->valuestring);

		for (size_t i = 0; i < n; i++)
			/* The executor reads its options a line each: a newline here would be
			 * another option. */
			if ((unsigned char)v->valuestring[i] < 0x20 || v->valuestring[i] == 0x7f)
				return sw_spec_key_wrong(v->string, err,
							 "has a control character in it");
		if (n == 0 || n > VALUE_MAX)
			return sw_spec_at_key(err, v->string, "\"%s\" must have 1 to %zu bytes",
					      v->string, VALUE_MAX);
		memcpy(out, v->valuestring, n + 1);
	} else if (cJSON_IsTrue(v)) {
		strcpy(out, "yes");
	} else if (!cJSON_IsFalse(v)) {
		return sw_spec_at_key(err, v->string,
				      "\"%s\" must be a string, a number, true or false, not %s",
				      v->string, sw_json_kind(v));
	}
	if (strcmp(v->string, "time") != 0)
		return SW_OK;
	if (cJSON_IsBool(v) || !sw_spec_job_time(out, &time_s))
		return sw_spec_key_wrong("time", err,
					 "must be \"H:MM:SS\" or seconds, from a minute to a year");
	/* Seconds for both forms, so that "1:00:00" and 3600 are the same shape of job. */
	(void)snprintf(out, VALUE_MAX + 1, "%u", time_s);
	return SW_OK;
}

static int by_key(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

/* Its options in the order of their keys: what is the same asks for the same jobs. */
static sw_status read_options(struct sw_spec *s, const cJSON *all, struct sw_err *err)
{
	const cJSON *sorted[OPTIONS_MAX], *v;
	char text[SW_SPEC_MAX_OPTIONS], value[VALUE_MAX + 1];
	size_t n = 0, len = 0;

	cJSON_ArrayForEach (v, all) {
		if (n == OPTIONS_MAX)
			return sw_err_set(err, SW_INVALID, "at most %d options", OPTIONS_MAX);
		if (check_key(v->string, err) != SW_OK)
			return err->code;
		sorted[n++] = v;
	}
	if (n == 0)
		return SW_OK;
	qsort(sorted, n, sizeof(const cJSON *), by_key);
	for (size_t i = 0; i < n; i++) {
		if (read_value(sorted[i], value, err) != SW_OK)
			return err->code;
		len += (size_t)snprintf(text + len, sizeof text - len, "%s=%s\n", sorted[i]->string,
					value);
		/* Asked after each: the next line would be written behind the end. */
		if (len >= sizeof text)
			return sw_err_set(err, SW_INVALID,
					  "the options are longer than 4 KiB together");
	}
	s->job_options = sw_strdup(text);
	if (s->job_options == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	/* 62 bits, so that what is added cannot wrap. */
	s->job_shape = (XXH64(text, len, 0) >> 2) + SW_SPEC_SHAPE_USUAL + 1;
	return SW_OK;
}

sw_status sw_spec_executor_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	char ptr[sizeof err->ptr] = "/executor";

	if (v->child == NULL || v->child->next != NULL)
		return sw_spec_at_key(err, "executor", "\"executor\" must be %s",
				      sw_form_find(&sw_form_top, "executor")->must);
	const cJSON *options = v->child;
	const size_t n = strspn(options->string, NAME_CHARS);
	sw_json_pointer_add(ptr, sizeof ptr, options->string);
	if (n == 0 || options->string[n] != '\0' || n > SW_SPEC_MAX_EXECUTOR)
		return sw_err_at(
			err, SW_INVALID, ptr,
			"an executor's name has at most %d small letters, digits, \"-\" and \"_\"",
			SW_SPEC_MAX_EXECUTOR);
	if (!cJSON_IsObject(options))
		return sw_err_at(err, SW_INVALID, ptr,
				 "\"%s\" must be an object of options, not %s", options->string,
				 sw_json_kind(options));
	s->executor = options->string;
	const sw_status rc = read_options(s, options, err);
	sw_err_prefix(err, ptr);
	return rc;
}
