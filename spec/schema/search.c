/* The definitions of what a search is made of: methods, pruners and parameters. */
#include "spec/dist_keys.h"
#include "spec/read/pruner_type.h"
#include "spec/read/read.h"
#include "spec/schema/write.h"
#include <float.h>
#include <string.h>

void sw_schema_method(struct sw_schema *m)
{
	sw_schema_open(m, "method");
	sw_schema_choices(m, sw_spec_methods);
	sw_jw_obj_end(&m->w);
}

/* --- pruners --- */

/* Writes the default that the pruner's own function sets. A value below `least` means that there is
 * none. */
static void write_field_default(struct sw_schema *m, const struct sw_spec_pruner_field *f,
				const void *at)
{
	const uint64_t *n = at;
	const double *real = at;

	if (f->kind == FIELD_BOOL)
		sw_jw_kbool(&m->w, "default", *(const bool *)at);
	else if (f->kind == FIELD_U64 && (double)*n >= f->least)
		sw_jw_kint(&m->w, "default", (int64_t)*n);
	else if (f->kind == FIELD_REAL && f->least > -DBL_MAX)
		sw_jw_knum(&m->w, "default", *real);
}

static void write_field(struct sw_schema *m, const struct sw_spec_pruner_field *f)
{
	static const char *const types[] = {"integer", "number", "boolean"};

	sw_jw_kstr(&m->w, "type", types[f->kind]);
	if (f->kind == FIELD_U64) {
		sw_jw_knum(&m->w, "minimum", f->least);
		sw_jw_knum(&m->w, "maximum", PRUNER_MOST);
	} else if (f->kind == FIELD_REAL) {
		if (f->least > -DBL_MAX)
			sw_jw_knum(&m->w, f->open ? "exclusiveMinimum" : "minimum", f->least);
		if (f->most < DBL_MAX)
			sw_jw_knum(&m->w, "maximum", f->most);
	}
}

static void write_fields(struct sw_schema *m, const struct sw_spec_pruner_type *t,
			 const cJSON *words)
{
	const struct sw_spec none = {.n_metrics = 1};
	struct sw_pruner_config defaults = {.kind = t->kind};
	struct sw_spec_pruner_reading r = {.out = &defaults, .spec = &none};

	if (t->defaults != NULL)
		t->defaults(&r);
	for (size_t i = 0; i < t->n_fields; i++) {
		const struct sw_spec_pruner_field *f = &t->fields[i];
		for (size_t k = 0; k < PRUNER_MAX_NAMES && f->names[k] != NULL; k++) {
			sw_schema_open(m, f->names[k]);
			sw_schema_describe(m, sw_schema_words(m, words, f->names[0]), NULL);
			write_field(m, f);
			write_field_default(m, f, (const char *)&defaults + f->at);
			sw_jw_obj_end(&m->w);
		}
	}
	for (size_t i = 0; i < SW_SPEC_N(t->more) && t->more[i] != NULL; i++) {
		sw_jw_key(&m->w, t->more[i]);
		sw_jw_cjson(&m->w, sw_schema_words(m, words, t->more[i]));
	}
}

/* At most one of the names of a field may be given. */
static void write_names_apart(struct sw_schema *m, const struct sw_spec_pruner_field *f)
{
	for (size_t a = 0; a < PRUNER_MAX_NAMES && f->names[a] != NULL; a++)
		for (size_t b = a + 1; b < PRUNER_MAX_NAMES && f->names[b] != NULL; b++)
			sw_schema_not_both(m, f->names[a], f->names[b]);
}

static void write_pruner(struct sw_schema *m, const struct sw_spec_pruner_type *t,
			 const cJSON *words)
{
	static const char *const apart[] = {"properties", "rules", NULL};
	const size_t more = t->more[0] == NULL ? 0 : t->more[1] == NULL ? 1 : 2;

	sw_schema_open(m, NULL);
	sw_schema_describe(m, words, apart);
	sw_jw_kstr(&m->w, "type", "object");
	sw_schema_open(m, "properties");
	sw_schema_constant(m, "type", t->name);
	write_fields(m, t, sw_schema_section(m, words, "properties", t->n_fields + more));
	sw_jw_obj_end(&m->w);
	sw_schema_list(m, "required");
	sw_jw_str(&m->w, "type");
	for (size_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].needs != NULL)
			sw_jw_str(&m->w, t->fields[i].names[0]);
	sw_jw_arr_end(&m->w);
	sw_schema_rules(m);
	for (size_t i = 0; i < t->n_fields; i++)
		write_names_apart(m, &t->fields[i]);
	sw_schema_more_rules(m, words);
	sw_jw_arr_end(&m->w);
	sw_schema_close(m);
}

void sw_schema_early_terminate(struct sw_schema *m)
{
	const cJSON *words = sw_schema_section(m, m->words, "pruners", SW_SPEC_PRUNER_TYPE_N);

	sw_schema_open(m, "early_terminate");
	sw_jw_kstr(&m->w, "description",
		   "Stops or pauses the losers early. Steps are those of the reports.");
	sw_schema_list(m, "anyOf");
	for (size_t i = 0; i < SW_SPEC_PRUNER_TYPE_N; i++) {
		const struct sw_spec_pruner_type *t = sw_spec_pruner_types[i];
		write_pruner(m, t, sw_schema_words(m, words, t->name));
	}
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}

/* --- parameters --- */

/* A key of a distribution: its words, what the distribution says of it, integers where it has
 * them. */
static void write_argument(struct sw_schema *m, const char *as, const struct sw_spec_dist_field *f,
			   const struct sw_spec_dist *d, const cJSON *own)
{
	static const char *const type_apart[] = {"type", NULL};
	const bool integer = (d->flags & INTEGERS) != 0 && (f->bit & (RANGE | Q)) != 0;
	const cJSON *words = sw_schema_words(m, m->words, "parameter");

	sw_schema_open(m, as);
	sw_schema_describe(m, sw_schema_words(m, words, f->key), integer ? type_apart : NULL);
	if (integer) {
		sw_jw_kstr(&m->w, "type", "integer");
		sw_jw_kint(&m->w, "minimum", -(int64_t)SW_JSON_MAX_INT);
		sw_jw_kint(&m->w, "maximum", (int64_t)SW_JSON_MAX_INT);
	}
	if (cJSON_IsObject(sw_json_get(own, f->key))) {
		sw_schema_list(m, "allOf");
		sw_jw_cjson(&m->w, sw_json_get(own, f->key));
		sw_jw_arr_end(&m->w);
	}
	sw_jw_obj_end(&m->w);
}

/* Ray's names for the argument, where the distribution takes them. */
static size_t names_of(const struct sw_spec_dist_field *f, const struct sw_spec_dist *d,
		       const char *names[SW_SPEC_DIST_ALIAS_N + 1])
{
	size_t n = 0;

	names[n++] = f->key;
	for (size_t i = 0; i < SW_SPEC_DIST_ALIAS_N; i++)
		if ((d->flags & RAYS) != 0 && strcmp(sw_spec_dist_aliases[i].key, f->key) == 0)
			names[n++] = sw_spec_dist_aliases[i].ray;
	return n;
}

static void write_arguments(struct sw_schema *m, const struct sw_spec_dist *d, const cJSON *own)
{
	const char *names[SW_SPEC_DIST_ALIAS_N + 1];

	for (size_t i = 0; i < SW_SPEC_DIST_FIELD_N; i++) {
		const struct sw_spec_dist_field *f = &sw_spec_dist_fields[i];
		const size_t n = names_of(f, d, names);
		for (size_t k = 0; k < n && ((d->needs | d->may) & f->bit) != 0; k++)
			write_argument(m, names[k], f, d, own);
	}
}

/* One of an argument's names where it is needed, else at most one. */
static void write_argument_rules(struct sw_schema *m, const struct sw_spec_dist *d)
{
	const char *names[SW_SPEC_DIST_ALIAS_N + 1];

	for (size_t i = 0; i < SW_SPEC_DIST_FIELD_N; i++) {
		const struct sw_spec_dist_field *f = &sw_spec_dist_fields[i];
		const size_t n = names_of(f, d, names);
		if (((d->needs | d->may) & f->bit) == 0)
			continue;
		for (size_t a = 0; a < n; a++)
			for (size_t b = a + 1; b < n; b++)
				sw_schema_not_both(m, names[a], names[b]);
		if ((d->needs & f->bit) == 0)
			continue;
		sw_schema_open(m, NULL);
		sw_schema_list(m, "anyOf");
		for (size_t a = 0; a < n; a++)
			sw_schema_required(m, names[a], NULL);
		sw_jw_arr_end(&m->w);
		sw_jw_obj_end(&m->w);
	}
}

static void write_distribution(struct sw_schema *m, const struct sw_spec_dist *d,
			       const cJSON *words)
{
	sw_schema_open(m, NULL);
	sw_jw_kstr(&m->w, "type", "object");
	sw_schema_open(m, "properties");
	sw_schema_open(m, "distribution");
	sw_jw_kstr(&m->w, "const", sw_spec_dist_name(d));
	sw_jw_kstr(&m->w, "description",
		   cJSON_GetStringValue(cJSON_IsObject(words) ? sw_json_get(words, "description")
							      : words));
	sw_jw_obj_end(&m->w);
	write_arguments(m, d, words);
	sw_schema_reference(m, "when", "when");
	sw_jw_obj_end(&m->w);
	sw_schema_list(m, "required");
	sw_jw_str(&m->w, "distribution");
	sw_jw_arr_end(&m->w);
	sw_schema_rules(m);
	write_argument_rules(m, d);
	sw_jw_arr_end(&m->w);
	sw_schema_close(m);
}

void sw_schema_parameter(struct sw_schema *m)
{
	const cJSON *words = sw_schema_section(m, m->words, "distributions", SW_SPEC_DIST_N), *form;

	sw_schema_open(m, "parameter");
	sw_schema_list(m, "anyOf");
	cJSON_ArrayForEach (form, sw_schema_words(m, m->words, "forms"))
		sw_jw_cjson(&m->w, form);
	for (size_t i = 0; i < SW_SPEC_DIST_N; i++) {
		const struct sw_spec_dist *d = &sw_spec_dists[i];
		write_distribution(m, d, sw_schema_words(m, words, sw_spec_dist_name(d)));
	}
	sw_jw_arr_end(&m->w);
	sw_jw_obj_end(&m->w);
}
