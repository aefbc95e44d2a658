#include "cli/yaml.h"
#include "base/memory.h"
#include "cli/yaml_scalar.h"
#include "proto/frame.h"
#include "proto/json.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define MAX_KEYS    1000 /* of a mapping: each is compared with those before it */
#define MAX_ANCHORS 256
#define TAG_PREFIX  "tag:yaml.org,2002:"

struct reader {
	yaml_parser_t parser;
	const char *name, *text;
	size_t len;
	struct {
		char *name;
		cJSON *node; /* in the tree; it stays while the tree does */
	} anchors[MAX_ANCHORS];
	size_t n_anchors;
	size_t n_values;
	size_t n_bytes; /* of strings */
	cJSON *merged;  /* an array of what stood at <<: anchors may point into it */
	struct sw_err *err;
};

static sw_status fail(struct reader *r, yaml_mark_t at, const char *fmt, ...) SW_PRINTF(3, 4);

static sw_status fail(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	return sw_err_set(r->err, SW_PARSE, "%s:%zu:%zu: %s", r->name, at.line + 1, at.column + 1,
			  line);
}

static sw_status no_memory(struct reader *r)
{
	return sw_err_set(r->err, SW_NOMEM, "out of memory");
}

/* Bytes that are no text: libyaml reads ahead, so only their offset is known. */
static sw_status not_text(struct reader *r)
{
	yaml_mark_t at = {0, 0, 0};

	for (size_t i = 0; i < r->parser.problem_offset && i < r->len; i++) {
		at.column = r->text[i] == '\n' ? 0 : at.column + 1;
		at.line += r->text[i] == '\n';
	}
	return fail(r, at, "%s", r->parser.problem != NULL ? r->parser.problem : "not text");
}

static sw_status parser_failed(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return no_memory(r);
	if (p->error == YAML_READER_ERROR)
		return not_text(r);
	return fail(r, p->problem_mark, "%s%s%s", p->problem != NULL ? p->problem : "not YAML",
		    p->context != NULL ? " " : "", p->context != NULL ? p->context : "");
}

static sw_status next(struct reader *r, yaml_event_t *e)
{
	return yaml_parser_parse(&r->parser, e) != 0 ? SW_OK : parser_failed(r);
}

/* --- values --- */

/* Counts a value and all below it: what an alias stands for may hold aliases, or much text. depth:
 * lists and mappings around it. */
static sw_status count(struct reader *r, const cJSON *v, size_t depth, yaml_mark_t at)
{
	const cJSON *child;

	if (depth == SW_JSON_MAX_DEPTH && (cJSON_IsArray(v) || cJSON_IsObject(v)))
		return fail(r, at, "nested deeper than %d", SW_JSON_MAX_DEPTH);
	if (++r->n_values > SW_JSON_MAX_VALUES)
		return fail(r, at, "more than %d values", SW_JSON_MAX_VALUES);
	r->n_bytes += v->string != NULL ? strlen(v->string) : 0;
	r->n_bytes += v->valuestring != NULL ? strlen(v->valuestring) : 0;
	if (r->n_bytes > SW_FRAME_MAX)
		return fail(r, at, "more than %zu bytes", SW_FRAME_MAX);
	cJSON_ArrayForEach (child, v) {
		const sw_status rc = count(r, child, depth + 1, at);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

static sw_status copy_of(struct reader *r, const cJSON *v, size_t depth, yaml_mark_t at,
			 cJSON **out)
{
	/* Counted before it is copied: nine aliases of nine aliases are a billion values. */
	const sw_status rc = count(r, v, depth, at);

	*out = rc == SW_OK ? cJSON_Duplicate(v, 1) : NULL;
	if (rc == SW_OK && *out == NULL)
		return no_memory(r);
	if (rc == SW_OK && (*out)->string != NULL) { /* it will have a key of its own, or none */
		cJSON_free((*out)->string);
		(*out)->string = NULL;
	}
	return rc;
}

static sw_status remember(struct reader *r, const yaml_char_t *anchor, cJSON *v, yaml_mark_t at)
{
	if (anchor == NULL)
		return SW_OK; /* most nodes have none */
	if (r->n_anchors == MAX_ANCHORS)
		return fail(r, at, "more than %d anchors", MAX_ANCHORS);
	char *name = sw_strdup((const char *)anchor);
	if (name == NULL)
		return no_memory(r);
	r->anchors[r->n_anchors].name = name;
	r->anchors[r->n_anchors++].node = v;
	return SW_OK;
}

/* An anchor may be given again: the last one before the alias counts. */
static sw_status follow(struct reader *r, const yaml_event_t *e, size_t depth, cJSON **out)
{
	const char *name = (const char *)e->data.alias.anchor;

	for (size_t i = r->n_anchors; i > 0; i--)
		if (strcmp(r->anchors[i - 1].name, name) == 0)
			return copy_of(r, r->anchors[i - 1].node, depth, e->start_mark, out);
	return fail(r, e->start_mark, "*%.64s: no value before it has the anchor &%.64s", name,
		    name);
}

/* NULL, or the short name of one of JSON's types among `names` (ends with NULL). */
static sw_status check_tag(struct reader *r, const yaml_char_t *given, const char *const *names,
			   yaml_mark_t at, const char **tag)
{
	const char *text = (const char *)given;
	const size_t n = sizeof TAG_PREFIX - 1;

	*tag = NULL;
	if (text == NULL)
		return SW_OK; /* the value itself says what it is */
	for (; strncmp(text, TAG_PREFIX, n) == 0 && *names != NULL; names++)
		if (strcmp(text + n, *names) == 0) {
			*tag = *names;
			return SW_OK;
		}
	return fail(r, at, "the tag %.64s is not supported here", text);
}

static sw_status read_scalar(struct reader *r, const yaml_event_t *e, cJSON **out)
{
	static const char *const tags[] = {"str", "int", "float", "bool", "null", NULL};
	const char *text = (const char *)e->data.scalar.value, *tag;
	struct sw_err why = SW_ERR_INIT;

	if (strlen(text) != e->data.scalar.length)
		return fail(r, e->start_mark, "a NUL in a string");
	sw_status rc = SW_OK;
	if (e->data.scalar.plain_implicit)
		tag = NULL;
	else if (e->data.scalar.quoted_implicit)
		tag = "str";
	else
		rc = check_tag(r, e->data.scalar.tag, tags, e->start_mark, &tag);
	if (rc == SW_OK)
		rc = sw_yaml_scalar_read(out, text, tag, &why);
	if (rc == SW_OK)
		return count(r, *out, 0, e->start_mark);
	return rc == SW_NOMEM ? no_memory(r) : fail(r, e->start_mark, "%s", why.msg);
}

/* --- mappings and lists --- */

static sw_status read_node(struct reader *r, const yaml_event_t *e, size_t depth, cJSON **out);

/* The next node; *end: it was the end of the list or mapping instead. */
static sw_status read_next(struct reader *r, size_t depth, yaml_event_type_t last, cJSON **out,
			   bool *end)
{
	yaml_event_t e;
	sw_status rc = next(r, &e);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	*end = e.type == last;
	if (!*end)
		rc = read_node(r, &e, depth, out);
	yaml_event_delete(&e);
	return rc;
}

static sw_status read_list(struct reader *r, size_t depth, cJSON *list)
{
	bool end = false;
	cJSON *item;

	for (;;) {
		const sw_status rc = read_next(r, depth, YAML_SEQUENCE_END_EVENT, &item, &end);
		if (rc != SW_OK || end)
			return rc;
		cJSON_AddItemToArray(list, item);
	}
}

/* Those of a mapping that have no value yet. */
static sw_status merge_one(struct reader *r, cJSON *map, const cJSON *from, size_t depth,
			   yaml_mark_t at)
{
	const cJSON *v;
	cJSON *copy;

	if (!cJSON_IsObject(from))
		return fail(r, at, "<< takes a mapping or a list of mappings");
	cJSON_ArrayForEach (v, from) {
		if (sw_json_get(map, v->string) != NULL)
			continue;
		const sw_status rc = copy_of(r, v, depth, at, &copy);
		if (rc != SW_OK)
			return rc;
		if (!cJSON_AddItemToObject(map, v->string, copy)) {
			cJSON_Delete(copy);
			return no_memory(r);
		}
	}
	return SW_OK;
}

/* The value of <<, once the mapping's own keys are known: they win, then the first of a list. */
static sw_status merge(struct reader *r, cJSON *map, const cJSON *from, size_t depth,
		       yaml_mark_t at)
{
	const cJSON *one;

	if (!cJSON_IsArray(from))
		return merge_one(r, map, from, depth, at);
	cJSON_ArrayForEach (one, from) {
		const sw_status rc = merge_one(r, map, one, depth, at);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* A key stays as it is written: JSON's keys are strings. n: which key it is, from 1. */
static sw_status check_key(struct reader *r, const yaml_event_t *e, const cJSON *map, size_t n)
{
	const char *key = (const char *)e->data.scalar.value;

	if (e->type != YAML_SCALAR_EVENT)
		return fail(r, e->start_mark, "a key must be a plain name");
	if (strlen(key) != e->data.scalar.length)
		return fail(r, e->start_mark, "a NUL in a key");
	if (n > MAX_KEYS)
		return fail(r, e->start_mark, "a mapping has at most %d keys", MAX_KEYS);
	if (sw_json_get(map, key) != NULL)
		return fail(r, e->start_mark, "the key \"%.64s\" appears twice", key);
	return SW_OK;
}

/* The value of a key: into the mapping or, of <<, aside into *from. */
static sw_status read_value(struct reader *r, const yaml_event_t *key, size_t depth, cJSON *map,
			    cJSON **from)
{
	const char *name = (const char *)key->data.scalar.value;
	bool end = false;
	cJSON *v;

	const sw_status rc = read_next(r, depth, YAML_NO_EVENT, &v, &end);
	if (rc != SW_OK)
		return rc;
	if (!key->data.scalar.plain_implicit || strcmp(name, "<<") != 0) {
		if (cJSON_AddItemToObject(map, name, v))
			return SW_OK;
		cJSON_Delete(v);
		return no_memory(r);
	}
	/* In the reader's own array, which frees it at the end whether or not the document is
	 * good. */
	cJSON_AddItemToArray(r->merged, v);
	if (*from != NULL)
		return fail(r, key->start_mark, "the key \"<<\" appears twice");
	*from = v;
	return SW_OK;
}

static sw_status read_map(struct reader *r, size_t depth, cJSON *map)
{
	cJSON *from = NULL;
	bool end = false;

	for (size_t n = 1; !end; n++) {
		yaml_event_t e;
		sw_status rc = next(r, &e);

		if (rc != SW_OK)
			return rc;
		end = e.type == YAML_MAPPING_END_EVENT;
		if (!end)
			rc = check_key(r, &e, map, n);
		if (!end && rc == SW_OK)
			rc = read_value(r, &e, depth, map, &from);
		if (end && from != NULL)
			rc = merge(r, map, from, depth, e.start_mark);
		yaml_event_delete(&e);
		if (rc != SW_OK)
			return rc;
	}
	return SW_OK;
}

/* An empty list or mapping, whose tag has been checked. */
static sw_status make_parent(struct reader *r, const yaml_event_t *e, size_t depth, cJSON **out)
{
	static const char *const of_list[] = {"seq", NULL}, *const of_map[] = {"map", NULL};
	const bool list = e->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *given = list ? e->data.sequence_start.tag : e->data.mapping_start.tag;
	const char *tag;

	const sw_status rc = check_tag(r, given, list ? of_list : of_map, e->start_mark, &tag);
	if (rc != SW_OK)
		return rc;
	*out = list ? cJSON_CreateArray() : cJSON_CreateObject();
	return *out != NULL ? count(r, *out, depth, e->start_mark) : no_memory(r);
}

static sw_status read_parent(struct reader *r, const yaml_event_t *e, size_t depth, cJSON **out)
{
	const bool list = e->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *anchor = list ? e->data.sequence_start.anchor
					 : e->data.mapping_start.anchor;

	sw_status rc = make_parent(r, e, depth, out);
	if (rc == SW_OK)
		rc = list ? read_list(r, depth + 1, *out) : read_map(r, depth + 1, *out);
	/* Once it is whole: an alias inside would be a value that holds itself. */
	return rc == SW_OK ? remember(r, anchor, *out, e->start_mark) : rc;
}

/* *out: NULL where it fails. */
static sw_status read_node(struct reader *r, const yaml_event_t *e, size_t depth, cJSON **out)
{
	sw_status rc;

	*out = NULL;
	if (e->type == YAML_ALIAS_EVENT)
		return follow(r, e, depth, out);
	if (e->type == YAML_SCALAR_EVENT) {
		rc = read_scalar(r, e, out);
		if (rc == SW_OK)
			rc = remember(r, e->data.scalar.anchor, *out, e->start_mark);
	} else {
		rc = read_parent(r, e, depth, out);
	}
	if (rc != SW_OK) {
		cJSON_Delete(*out);
		*out = NULL;
	}
	return rc;
}

/* --- the document --- */

/* The events before the first value, and those after it. */
static sw_status skip(struct reader *r, yaml_event_type_t wanted)
{
	yaml_event_t e;
	sw_status rc = next(r, &e);

	if (rc != SW_OK)
		return rc;
	if (e.type != wanted)
		rc = fail(r, e.start_mark, "%s",
			  e.type == YAML_STREAM_END_EVENT ? "there is nothing in it"
							  : "a second document");
	yaml_event_delete(&e);
	return rc;
}

static sw_status read_document(struct reader *r, cJSON **out)
{
	bool end = false;

	sw_status rc = skip(r, YAML_STREAM_START_EVENT);
	if (rc == SW_OK)
		rc = skip(r, YAML_DOCUMENT_START_EVENT);
	if (rc == SW_OK)
		rc = read_next(r, 0, YAML_NO_EVENT, out, &end);
	if (rc == SW_OK)
		rc = skip(r, YAML_DOCUMENT_END_EVENT);
	return rc == SW_OK ? skip(r, YAML_STREAM_END_EVENT) : rc;
}

static sw_status start(struct reader *r)
{
	if (yaml_parser_initialize(&r->parser) == 0)
		return no_memory(r);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text, r->len);
	r->merged = cJSON_CreateArray();
	return r->merged != NULL ? SW_OK : no_memory(r);
}

static void finish(struct reader *r)
{
	yaml_parser_delete(&r->parser);
	cJSON_Delete(r->merged);
	for (size_t i = 0; i < r->n_anchors; i++)
		free(r->anchors[i].name);
	free(r);
}

sw_status sw_yaml_read(cJSON **out, const char *name, const char *text, size_t len,
		       struct sw_err *err)
{
	struct reader *r = sw_calloc(1, sizeof *r);

	*out = NULL;
	if (r == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	r->name = name;
	r->text = text;
	r->len = len;
	r->err = err;
	sw_status rc = start(r);
	if (rc == SW_OK)
		rc = read_document(r, out);
	finish(r);
	if (rc != SW_OK) {
		cJSON_Delete(*out);
		*out = NULL;
	}
	return rc;
}
