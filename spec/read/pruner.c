/* "early_terminate": finds the type, and reads what all types have in common. */
#include "proto/json.h"
#include "spec/read/pruner_type.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
const struct sw_spec_pruner_type *const sw_spec_pruner_types[SW_SPEC_PRUNER_TYPE_N] = {
#define SW_ROW(name, KIND) &sw_spec_pruner_##name,
	SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
};
static const char *const names[SW_SPEC_PRUNER_TYPE_N + 1] = {
#define SW_ROW(name, KIND) #name,
	SW_PRUNERS(SW_ROW, SW_NO_ROW)
#undef SW_ROW
};
/* clang-format on */

/* Names of other tools, and what they are here. */
static const struct {
	const char *type, *line;
} elsewhere[] = {
	{"sha", "did you mean \"asha\"?"},
	{"successive_halving", "did you mean \"asha\"?"},
	{"async_hyperband", "did you mean \"asha\"?"},
	{"asynchyperband", "did you mean \"asha\"?"},
	{"AsyncHyperBand", "did you mean \"asha\"?"},
	{"AsyncHyperBandScheduler", "did you mean \"asha\"?"},
	{"ASHAScheduler", "did you mean \"asha\"?"},
	{"SuccessiveHalvingPruner", "did you mean \"asha\"?"},
	{"median_stopping", "did you mean \"median\"?"},
	{"median_stopping_rule", "did you mean \"median\"?"},
	{"medianstopping", "did you mean \"median\"?"},
	{"MedianStoppingRule", "did you mean \"median\"?"},
	{"MedianPruner", "did you mean \"median\"?"},
	{"PopulationBasedTraining", "did you mean \"pbt\"?"},
	{"promote", "did you mean \"asha\" with \"variant\": \"promote\"?"},
	{"bohb", "it is a \"method\", and goes with \"asha\""},
	{"percentile", "did you mean \"median\"?"},
	{"patient", "did you mean \"patience\"?"},
	{"pb2", "did you mean \"pbt\"?"},
	{"plateau", "one trial's is \"patience\"; the sweep's has a key of its own, \"plateau\""},
};

static sw_status unknown_type(const char *name, struct sw_err *err)
{
	char known[100], tail[130];

	for (size_t i = 0; i < SW_SPEC_N(elsewhere); i++)
		if (strcmp(elsewhere[i].type, name) == 0)
			return sw_err_at(err, SW_INVALID, "/type", "unknown type \"%s\": %s", name,
					 elsewhere[i].line);
	(void)snprintf(tail, sizeof tail, ": type must be %s",
		       sw_spec_one_of(names, known, sizeof known));
	return sw_spec_unknown("type", name, names, SW_SPEC_PRUNER_TYPE_N, tail, "/type", err);
}

static sw_status read_type(const cJSON *v, const struct sw_spec_pruner_type **out,
			   struct sw_err *err)
{
	const cJSON *type = sw_json_get(v, "type");
	char known[100];

	*out = NULL;
	(void)sw_spec_one_of(names, known, sizeof known);
	if (type == NULL)
		return sw_err_at(err, SW_INVALID, "/type", "\"type\" is missing: %s", known);
	if (!cJSON_IsString(type))
		return sw_spec_must_be(type, "type", known, err);
	for (size_t i = 0; i < SW_SPEC_PRUNER_TYPE_N; i++)
		if (strcmp(names[i], type->valuestring) == 0)
			*out = sw_spec_pruner_types[i];
	assert(*out == NULL || strcmp((*out)->name, type->valuestring) == 0);
	return *out != NULL ? SW_OK : unknown_type(type->valuestring, err);
}

/* --- keys --- */

#define MAX_KEYS (1 + PRUNER_MAX_FIELDS * PRUNER_MAX_NAMES + 2)

static size_t keys_of(const struct sw_spec_pruner_type *t, const char *keys[MAX_KEYS])
{
	size_t n = 0;

	keys[n++] = "type";
	for (size_t i = 0; i < SW_SPEC_N(t->more); i++)
		if (t->more[i] != NULL)
			keys[n++] = t->more[i];
	/* Our own names come first: a line that lists the keys shows no more than those. */
	for (size_t k = 0; k < PRUNER_MAX_NAMES; k++)
		for (size_t i = 0; i < t->n_fields; i++)
			if (t->fields[i].names[k] != NULL)
				keys[n++] = t->fields[i].names[k];
	return n;
}

static bool has_key(const struct sw_spec_pruner_type *t, const char *key)
{
	const char *keys[MAX_KEYS];
	const size_t n = keys_of(t, keys);

	for (size_t i = 0; i < n; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static bool has_hint(const struct sw_spec_pruner_type *t, const char *key)
{
	for (size_t i = 0; i < t->n_hints; i++)
		if (strcmp(t->hints[i].key, key) == 0)
			return true;
	return false;
}

static sw_status other_types_key(const struct sw_spec_pruner_type *t, const char *key,
				 struct sw_err *err)
{
	for (size_t i = 0; i < SW_SPEC_PRUNER_TYPE_N; i++)
		if (has_key(sw_spec_pruner_types[i], key))
			return sw_spec_at_key(
				err, key, "\"%s\" is a key of type \"%s\", and this is type \"%s\"",
				key, sw_spec_pruner_types[i]->name, t->name);
	/* No type has it: sw_spec_check_keys() names the nearest key. */
	return SW_OK;
}

static sw_status check_keys(const struct sw_spec_pruner_type *t, const cJSON *v, struct sw_err *err)
{
	/* Other tools give these with the pruner; here they are the sweep's. */
	static const struct sw_spec_hint common[] = {
		{"time_attr", NULL, "steps are those of the reports"},
		{"metric", NULL, "the sweep's \"metric\" is used"},
		{"mode", NULL, "the sweep's \"metric\" has the goal"},
	};
	const char *known[MAX_KEYS];
	struct sw_spec_hint hints[24];
	size_t n = 0;
	const cJSON *item;
	sw_status rc = SW_OK;

	for (size_t i = 0; i < SW_SPEC_N(common); i++)
		hints[n++] = common[i];
	for (size_t i = 0; i < t->n_hints && n < SW_SPEC_N(hints); i++)
		hints[n++] = t->hints[i];
	cJSON_ArrayForEach (item, v) {
		if (!has_key(t, item->string) && !has_hint(t, item->string))
			rc = other_types_key(t, item->string, err);
		if (rc != SW_OK)
			return rc;
	}
	const struct sw_spec_keys keys = {known, keys_of(t, known), hints, n};
	return sw_spec_check_keys(v, &keys, err);
}

/* --- fields --- */

static sw_status find_field(struct sw_spec_pruner_reading *r, const struct sw_spec_pruner_field *f,
			    const cJSON **found, const char **name, struct sw_err *err)
{
	*found = NULL;
	*name = NULL;
	for (size_t i = 0; i < PRUNER_MAX_NAMES && f->names[i] != NULL; i++) {
		const cJSON *v = sw_json_get(r->v, f->names[i]);
		if (v == NULL)
			continue;
		if (*found != NULL)
			return sw_spec_at_key(
				err, f->names[i],
				"\"%s\" and \"%s\" are two names of one thing: give one", *name,
				f->names[i]);
		*found = v;
		*name = f->names[i];
	}
	/* The default stays, if the field has one. */
	if (*found != NULL || f->needs == NULL)
		return SW_OK;
	return sw_spec_at_key(err, f->names[0], "\"%s\" is missing: %s", f->names[0], f->needs);
}

static sw_status read_field(struct sw_spec_pruner_reading *r, const struct sw_spec_pruner_field *f,
			    const char **name, struct sw_err *err)
{
	void *at = (char *)r->out + f->at;
	const cJSON *v;
	const sw_status rc = find_field(r, f, &v, name, err);

	if (rc != SW_OK || v == NULL)
		return rc;
	if (f->kind == FIELD_U64)
		return sw_spec_read_u64(v, *name, (uint64_t)f->least, PRUNER_MOST, at, err);
	if (f->kind == FIELD_REAL)
		return sw_spec_read_real(v, *name, f->least, f->open, f->most, at, err);
	return sw_spec_read_bool(v, *name, at, err);
}

sw_status sw_spec_pruner_read(struct sw_pruner_config *out, const struct sw_spec *s,
			      const cJSON *early_terminate, struct sw_err *err)
{
	struct sw_spec_pruner_reading r = {.out = out, .spec = s, .v = early_terminate};
	const struct sw_spec_pruner_type *t;

	*out = (struct sw_pruner_config){.kind = SW_PRUNER_NONE};
	if (!cJSON_IsObject(early_terminate))
		return sw_err_at(err, SW_INVALID, "",
				 "\"early_terminate\" must be an object like {\"type\": \"asha\"}, "
				 "not %s",
				 sw_spec_kind(early_terminate));
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "",
				 "\"early_terminate\" compares trials by one metric, and the sweep "
				 "has %zu: leave it out, or give one \"metric\"",
				 s->n_metrics);
	/* The type comes first: with the wrong one each key would look like a mistake. */
	sw_status rc = read_type(early_terminate, &t, err);
	if (rc != SW_OK)
		return rc;
	assert(t != NULL);
	out->kind = t->kind;
	if (t->defaults != NULL)
		t->defaults(&r);
	rc = check_keys(t, early_terminate, err);
	for (size_t i = 0; rc == SW_OK && i < t->n_fields; i++)
		rc = read_field(&r, &t->fields[i], &r.given[i], err);
	return rc == SW_OK && t->finish != NULL ? t->finish(&r, err) : rc;
}

sw_status sw_spec_early_terminate_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const sw_status rc = sw_spec_pruner_read(&s->pruner, s, v, err);

	sw_err_prefix(err, "/early_terminate");
	return rc;
}
