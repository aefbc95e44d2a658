/* spec/schema/write.h — what the makers of the schema share. Each writes a definition, or a piece
 * of one, from a table and the words of schema.json. Internal to spec/. */
#ifndef SW_SPEC_SCHEMA_WRITE_H
#define SW_SPEC_SCHEMA_WRITE_H

#include "proto/json.h"
#include "spec/schema.h"

struct sw_schema {
	struct sw_jw w;
	const cJSON *words; /* of schema.json */
	struct sw_err err;  /* the first entry that has none */
};

/* The words of an entry, NULL and err if there are none; of a table with n entries. */
const cJSON *sw_schema_words(struct sw_schema *m, const cJSON *section, const char *name);
const cJSON *sw_schema_section(struct sw_schema *m, const cJSON *in, const char *name, size_t n);
/* Words are a description, or an object of keys with one among them: all but those `without`
 * names (NULL at its end; may be NULL). */
void sw_schema_describe(struct sw_schema *m, const cJSON *words, const char *const *without);

void sw_schema_open(struct sw_schema *m, const char *key); /* an object; NULL: in a list */
void sw_schema_close(struct sw_schema *m);                 /* and it has no other keys */
void sw_schema_list(struct sw_schema *m, const char *key);
void sw_schema_reference(struct sw_schema *m, const char *key, const char *to);
void sw_schema_constant(struct sw_schema *m, const char *key, const char *word);
void sw_schema_choices(struct sw_schema *m, const char *const *choices);    /* NULL comes last */
void sw_schema_required(struct sw_schema *m, const char *a, const char *b); /* b may be NULL */
void sw_schema_not_both(struct sw_schema *m, const char *a, const char *b);
/* "allOf": the list, to be ended by the caller; and the rules among the words. */
void sw_schema_rules(struct sw_schema *m);
void sw_schema_more_rules(struct sw_schema *m, const cJSON *words);

/* The definitions. */
void sw_schema_method(struct sw_schema *m);
void sw_schema_trainer(struct sw_schema *m);
void sw_schema_layer(struct sw_schema *m);
void sw_schema_model(struct sw_schema *m);
void sw_schema_dataset(struct sw_schema *m);
void sw_schema_early_terminate(struct sw_schema *m);
void sw_schema_parameter(struct sw_schema *m);

#endif
