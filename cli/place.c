#include "cli/place.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* The next token of the pointer at *ptr, unescaped, cut at cap. False: it has ended. */
static bool next_token(const char **ptr, char *out, size_t cap)
{
	const char *at = *ptr;
	size_t n = 0;

	if (*at != '/')
		return false;
	for (at++; *at != '/' && *at != '\0'; at++) {
		const bool escaped = at[0] == '~' && at[1] != '\0';
		/* RFC 6901: ~0 is ~ and ~1 is /. */
		const char c = !escaped ? *at : *++at == '0' ? '~' : '/';

		if (n + 1 < cap)
			out[n++] = c;
	}
	out[n] = '\0';
	*ptr = at;
	return true;
}

/* The member's value, and in *key the node whose line is its own; NULL: no such member. */
static yaml_node_t *find_member(yaml_document_t *doc, const yaml_node_t *node, const char *token,
				const yaml_node_t **key)
{
	if (node->type == YAML_SEQUENCE_NODE) {
		const yaml_node_item_t *items = node->data.sequence.items.start;
		const long i = strtol(token, NULL, 10);

		if (i < 0 || i >= node->data.sequence.items.top - items)
			return NULL;
		yaml_node_t *item = yaml_document_get_node(doc, items[i]);
		*key = item;
		return item;
	}
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(doc, pair->key);

		if (name == NULL || name->type != YAML_SCALAR_NODE ||
		    strcmp((const char *)name->data.scalar.value, token) != 0)
			continue;
		*key = name;
		return yaml_document_get_node(doc, pair->value);
	}
	return NULL;
}

/* From 1: of what ptr names, or of the nearest part around it that is there. JSON is YAML, too. 0:
 * it cannot be told. */
static size_t line_of(const struct sw_place_source *source, const char *ptr)
{
	yaml_parser_t parser;
	yaml_document_t doc;
	char token[256];
	size_t line = 0;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, (const unsigned char *)source->text.data,
				     source->text.len);
	if (yaml_parser_load(&parser, &doc)) {
		const yaml_node_t *node = yaml_document_get_root_node(&doc), *key = node;

		while (node != NULL && next_token(&ptr, token, sizeof token))
			node = find_member(&doc, node, token, &key);
		line = key != NULL && key != yaml_document_get_root_node(&doc)
			       ? key->start_mark.line + 1
			       : 0;
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
	return line;
}

/* "parameters.lr.min" */
static void write_dotted(const char *ptr, char *out, size_t cap)
{
	char token[256];
	size_t n = 0;

	*out = '\0';
	while (n < cap && next_token(&ptr, token, sizeof token))
		n += (size_t)snprintf(out + n, cap - n, "%s%s", n > 0 ? "." : "", token);
}

void sw_place_write(const struct sw_place_source *source, const char *ptr, char *out, size_t cap)
{
	/* The first token is the request's own member, which the user did not write. */
	if (source->form == SW_PLACE_WORDS && *ptr == '/')
		ptr += 1 + strcspn(ptr + 1, "/");
	if (source->form == SW_PLACE_JSON)
		(void)snprintf(out, cap, "%s", ptr);
	else
		write_dotted(ptr, out, cap);
	const size_t line = *out != '\0' && source->text.len > 0 ? line_of(source, ptr) : 0;
	const size_t n = strlen(out);

	if (line > 0)
		(void)snprintf(out + n, cap - n, " (line %zu)", line);
}
