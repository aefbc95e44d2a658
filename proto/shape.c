#include "proto/shape.h"
#include <stdio.h>
#include <string.h>

/* A part of a shape's text. */
struct span {
	const char *at;
	size_t n;
};

static struct span trimmed(struct span s)
{
	while (s.n > 0 && s.at[0] == ' ')
		s.at++, s.n--;
	while (s.n > 0 && s.at[s.n - 1] == ' ')
		s.n--;
	return s;
}

/* What stands before the first `end` that is in no parenthesis and no word. */
static struct span span_before(struct span s, char end)
{
	bool word = false;
	int depth = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char c = s.at[i];

		if (c == end && depth == 0 && !word)
			return (struct span){s.at, i};
		word = word != (c == '\'');
		depth += word ? 0 : (c == '(') - (c == ')');
	}
	return s;
}

/* Takes the next of T | U | V. False: there is none. */
static bool next_choice(struct span *rest, struct span *out)
{
	if (rest->n == 0)
		return false;
	const struct span one = span_before(*rest, '|');
	const size_t used = one.n < rest->n ? one.n + 1 : one.n;
	*rest = (struct span){rest->at + used, rest->n - used};
	*out = trimmed(one);
	return true;
}

static bool ends_with(struct span s, const char *end)
{
	return s.n > 2 && memcmp(s.at + s.n - 2, end, 2) == 0;
}

static bool is_word(struct span s)
{
	return s.n >= 2 && s.at[0] == '\'' && s.at[s.n - 1] == '\'';
}

static bool is_json_type(struct span s)
{
	static const char *const names[] = {"integer", "number", "string", "boolean", "null"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == s.n && memcmp(names[i], s.at, s.n) == 0)
			return true;
	return false;
}

static void write_text(struct sw_jw *w, struct span s)
{
	char text[80];

	(void)snprintf(text, sizeof text, "%.*s", (int)s.n, s.at);
	sw_jw_str(w, text);
}

/* Are all choices of the kind that `is` tells? */
static bool all_are(struct span shape, bool (*is)(struct span s), size_t *n)
{
	struct span one;
	bool all = true;

	for (*n = 0; next_choice(&shape, &one); ++*n)
		all = all && is(one);
	return all;
}

static void write_choices(struct sw_jw *w, struct span shape);

static void write_inner(struct sw_jw *w, const char *type, const char *key, struct span inner)
{
	sw_jw_kstr(w, "type", type);
	sw_jw_key(w, key);
	sw_jw_obj(w);
	write_choices(w, inner);
	sw_jw_obj_end(w);
}

static void write_reference(struct sw_jw *w, struct span name)
{
	char ref[96];

	(void)snprintf(ref, sizeof ref, "#/components/schemas/%.*s", (int)name.n, name.at);
	sw_jw_kstr(w, "$ref", ref);
}

/* One choice: a list, a map, what parentheses hold, or a name. */
static void write_one(struct sw_jw *w, struct span s)
{
	if (ends_with(s, "[]"))
		write_inner(w, "array", "items", (struct span){s.at, s.n - 2});
	else if (ends_with(s, "{}"))
		write_inner(w, "object", "additionalProperties", (struct span){s.at, s.n - 2});
	else if (s.n > 2 && s.at[0] == '(')
		write_choices(w, (struct span){s.at + 1, s.n - 2});
	else if (s.n != 3 || memcmp(s.at, "any", 3) != 0) /* an empty schema takes any */
		write_reference(w, s);
}

static void write_list(struct sw_jw *w, const char *key, struct span shape, size_t n, bool words)
{
	struct span one;

	sw_jw_key(w, key);
	if (n > 1 || words)
		sw_jw_arr(w);
	while (next_choice(&shape, &one))
		write_text(w, words ? (struct span){one.at + 1, one.n - 2} : one);
	if (n > 1 || words)
		sw_jw_arr_end(w);
}

/* The keys of a schema, whose object is open. */
static void write_choices(struct sw_jw *w, struct span shape)
{
	struct span one, rest = shape;
	size_t n;

	if (all_are(shape, is_word, &n)) {
		write_list(w, "enum", shape, n, true);
	} else if (all_are(shape, is_json_type, &n)) {
		write_list(w, "type", shape, n, false);
	} else if (n == 1) {
		write_one(w, trimmed(shape));
	} else {
		sw_jw_key(w, "anyOf");
		sw_jw_arr(w);
		while (next_choice(&rest, &one)) {
			sw_jw_obj(w);
			write_choices(w, one);
			sw_jw_obj_end(w);
		}
		sw_jw_arr_end(w);
	}
}

/* --- objects --- */

static bool is_optional(const char *key)
{
	return key[strlen(key) - 1] == '?';
}

static void write_fields(struct sw_jw *w, const cJSON *types, const cJSON *object)
{
	const cJSON *field;
	char key[64];

	cJSON_ArrayForEach (field, object) {
		if (strcmp(field->string, "...") == 0) {
			write_fields(w, types, sw_json_get(types, field->valuestring));
			continue;
		}
		(void)snprintf(key, sizeof key, "%.*s",
			       (int)strlen(field->string) - is_optional(field->string),
			       field->string);
		sw_jw_key(w, key);
		sw_shape_write(w, types, field);
	}
}

static void write_required(struct sw_jw *w, const cJSON *types, const cJSON *object)
{
	const cJSON *field;

	cJSON_ArrayForEach (field, object) {
		if (strcmp(field->string, "...") == 0)
			write_required(w, types, sw_json_get(types, field->valuestring));
		else if (!is_optional(field->string))
			sw_jw_str(w, field->string);
	}
}

static void write_object(struct sw_jw *w, const cJSON *types, const cJSON *object)
{
	sw_jw_kstr(w, "type", "object");
	sw_jw_key(w, "properties");
	sw_jw_obj(w);
	write_fields(w, types, object);
	sw_jw_obj_end(w);
	sw_jw_key(w, "required");
	sw_jw_arr(w);
	write_required(w, types, object);
	sw_jw_arr_end(w);
	sw_jw_kbool(w, "additionalProperties", false);
}

void sw_shape_write(struct sw_jw *w, const cJSON *types, const cJSON *shape)
{
	const char *text = cJSON_GetStringValue(shape);

	sw_jw_obj(w);
	if (text == NULL) {
		write_object(w, types, shape);
	} else {
		const struct span head = span_before((struct span){text, strlen(text)}, ':');

		write_choices(w, head);
		if (text[head.n] == ':')
			sw_jw_kstr(w, "description", text + head.n + 2);
	}
	sw_jw_obj_end(w);
}
