#include "proto/json.h"
#include "proto/nearest.h"
#include "proto/spec_internal.h"
#include <string.h>

static const char *const known[] = {
	"type",        "variant", "grace_period", "max_t",    "reduction_factor", "brackets",
	"min_results", "eta",     "min_iter",     "max_iter", "min_resource",     "max_resource",
};

static const struct spec_hint hints[] = {
	{"s", NULL, "give grace_period and max_t"},
	{"strict", NULL, "leave it out"},
	{"time_attr", NULL, "rungs count the step of the reports"},
	{"metric", NULL, "the sweep's \"metric\" is used"},
	{"mode", NULL, "the sweep's \"metric\" has the goal"},
	{"min_early_stopping_rate", "brackets", NULL},
	{"stop_last_trials", NULL, "leave it out"},
};

/* A field under its own name or another tool's. */
static const struct field {
	const char *names[3];
	size_t at; /* in struct sw_spec_asha */
	uint64_t least;
} fields[] = {
	{{"grace_period", "min_iter", "min_resource"},
	 offsetof(struct sw_spec_asha, grace_period),
	 1},
	{{"max_t", "max_iter", "max_resource"}, offsetof(struct sw_spec_asha, max_t), 1},
	{{"reduction_factor", "eta", NULL}, offsetof(struct sw_spec_asha, reduction_factor), 2},
	{{"brackets", NULL, NULL}, offsetof(struct sw_spec_asha, brackets), 1},
	{{"min_results", NULL, NULL}, offsetof(struct sw_spec_asha, min_results), 1},
};

/* *used: the name that it goes by in this spec, or its own. */
static sw_status read_field(struct sw_spec_asha *a, const struct field *f, const cJSON *v,
			    const char **used, struct sw_err *err)
{
	uint64_t *out = (uint64_t *)(void *)((char *)a + f->at);
	const cJSON *found = NULL;

	*used = f->names[0];
	for (size_t i = 0; i < SPEC_N(f->names) && f->names[i] != NULL; i++) {
		const cJSON *given = sw_json_get(v, f->names[i]);
		char ptr[64] = "";
		if (given == NULL)
			continue;
		sw_json_pointer_add(ptr, sizeof ptr, f->names[i]);
		if (found != NULL)
			return sw_err_at(err, SW_INVALID, ptr,
					 "\"%s\" and \"%s\" are two names of one thing: give one",
					 *used, f->names[i]);
		found = given;
		*used = f->names[i];
	}
	if (found == NULL)
		return SW_OK;
	return spec_read_u64(found, *used, f->least, 1000000000, out, err);
}

static sw_status read_type(const cJSON *v, struct sw_err *err)
{
	static const char *const later[] = {"hyperband", "median", "bohb",
					    "sha",       "pbt",    "envelope"};
	const cJSON *type = sw_json_get(v, "type"), *variant = sw_json_get(v, "variant");
	static const char *const have[] = {"asha"};

	if (type == NULL)
		return sw_err_at(err, SW_INVALID, "/type", "\"type\" is missing: \"asha\"");
	if (!cJSON_IsString(type))
		return sw_err_at(err, SW_INVALID, "/type", "\"type\" must be \"asha\", not %s",
				 spec_kind(type));
	for (size_t i = 0; i < SPEC_N(later); i++)
		if (strcmp(later[i], type->valuestring) == 0)
			return sw_err_at(err, SW_INVALID, "/type",
					 "type \"%s\" is not supported by this version: use "
					 "\"type\": \"asha\"",
					 later[i]);
	if (strcmp(type->valuestring, have[0]) != 0)
		return sw_err_at(err, SW_INVALID, "/type",
				 sw_nearest(type->valuestring, have, 1) != NULL
					 ? "unknown type \"%.64s\"; did you mean \"asha\"?"
					 : "unknown type \"%.64s\": type must be \"asha\"",
				 type->valuestring);
	if (variant == NULL)
		return SW_OK;
	if (cJSON_IsString(variant) && strcmp(variant->valuestring, "promote") == 0)
		return sw_err_at(err, SW_INVALID, "/variant",
				 "variant \"promote\" is not supported by this version: variant "
				 "must be \"stop\"");
	if (!cJSON_IsString(variant) || strcmp(variant->valuestring, "stop") != 0)
		return sw_err_at(err, SW_INVALID, "/variant", "\"variant\" must be \"stop\"");
	return SW_OK;
}

static sw_status read_fields(struct sw_spec_asha *a, const cJSON *v, struct sw_err *err)
{
	static const struct spec_keys keys = {known, SPEC_N(known), hints, SPEC_N(hints)};
	const char *used[SPEC_N(fields)] = {NULL};
	char ptr[64] = "";

	/* The type first: the keys of another type are no mistakes of their own. */
	sw_status rc = read_type(v, err);
	if (rc == SW_OK)
		rc = spec_check_keys(v, &keys, err);
	for (size_t i = 0; rc == SW_OK && i < SPEC_N(fields); i++)
		rc = read_field(a, &fields[i], v, &used[i], err);
	if (rc != SW_OK)
		return rc;
	if (a->min_results == 0)
		a->min_results = a->reduction_factor;
	if (a->grace_period <= a->max_t)
		return SW_OK;
	sw_json_pointer_add(ptr, sizeof ptr, used[0]);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is %llu, beyond the last step %llu (%s)",
			 used[0], (unsigned long long)a->grace_period, (unsigned long long)a->max_t,
			 used[1]);
}

sw_status spec_asha_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	uint64_t epochs = 0;

	if (!cJSON_IsObject(v))
		return sw_err_at(err, SW_INVALID, "/early_terminate",
				 "\"early_terminate\" must be an object like {\"type\": \"asha\"}, "
				 "not %s",
				 spec_kind(v));
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "/early_terminate",
				 "\"early_terminate\" compares trials by one metric, and the sweep "
				 "has %zu: leave it out, or give one \"metric\"",
				 s->n_metrics);
	s->has_asha = true;
	s->asha = (struct sw_spec_asha){
		.grace_period = 1, .max_t = 100, .reduction_factor = 4, .brackets = 1};
	if (sw_json_u64(sw_json_get(s->trainer, "epochs"), &epochs))
		s->asha.max_t = epochs;
	const sw_status rc = read_fields(&s->asha, v, err);
	if (rc != SW_OK)
		sw_err_prefix(err, "/early_terminate");
	return rc;
}
