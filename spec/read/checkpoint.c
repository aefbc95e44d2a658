/* "checkpoint": when the workers write the state of a trial, and which of these files stay. */
#include "proto/json.h"
#include "spec/read/read.h"
#include <string.h>

static const char *const keeps[] = {
	[SW_SPEC_KEEP_BEST_AND_LAST] = "best-and-last",
	[SW_SPEC_KEEP_ALL] = "all",
	[SW_SPEC_KEEP_NONE] = "none",
};

static sw_status read_keep(const cJSON *v, enum sw_spec_keep *out, struct sw_err *err)
{
	for (size_t i = 0; cJSON_IsString(v) && i < SW_SPEC_N(keeps); i++)
		if (strcmp(v->valuestring, keeps[i]) == 0) {
			*out = (enum sw_spec_keep)i;
			return SW_OK;
		}
	return sw_err_at(err, SW_INVALID, "/keep",
			 "\"keep\" must be \"best-and-last\", \"all\" or \"none\"");
}

static sw_status fields(struct sw_spec_checkpoint *p, const cJSON *v, struct sw_err *err)
{
	static const char *const known[] = {"every", "keep", "max_mb"};
	static const struct sw_spec_hint hints[] = {
		{"checkpoint_frequency", "every", NULL},
		{"frequency", "every", NULL},
		{"epochs", "every", NULL},
		{"num_to_keep", "keep", NULL},
		{"checkpoint_at_end", NULL, "the last epoch always has one"},
		{"max_bytes", "max_mb", NULL},
	};
	static const struct sw_spec_keys keys = {known, SW_SPEC_N(known), hints, SW_SPEC_N(hints)};
	const cJSON *every = sw_json_get(v, "every"), *keep = sw_json_get(v, "keep");
	const cJSON *max_mb = sw_json_get(v, "max_mb");

	sw_status rc = sw_spec_check_keys(v, &keys, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "every", 1, 1000000000, &p->every, err);
	if (rc == SW_OK && keep != NULL)
		rc = read_keep(keep, &p->keep, err);
	if (rc == SW_OK)
		rc = sw_spec_key_u64(v, "max_mb", 1, 1000000000, &p->max_mb, err);
	/* Two keys that contradict each other: one of them is a mistake. */
	if (rc == SW_OK && p->keep == SW_SPEC_KEEP_NONE && (every != NULL || max_mb != NULL))
		return sw_err_at(err, SW_INVALID, "/keep",
				 "with \"keep\": \"none\" there is nothing for \"%s\" to do",
				 every != NULL ? "every" : "max_mb");
	return rc;
}

sw_status sw_spec_checkpoint_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (!cJSON_IsObject(v))
		return sw_spec_must_be(v, "checkpoint",
				       "an object like {\"every\": 5, \"keep\": \"all\"}", err);
	if (sw_spec_driven(s))
		return sw_err_at(
			err, SW_INVALID, "/checkpoint",
			"\"checkpoint\" needs \"trainer\" or \"command\": if you drive the trials, "
			"you keep their state too");
	sw_status rc = fields(&s->checkpoint, v, err);
	if (rc == SW_OK && s->command != NULL && s->checkpoint.every > 0)
		rc = sw_err_at(err, SW_INVALID, "/every",
			       "\"every\" is for trainers: a program says itself when its state is "
			       "whole");
	sw_err_prefix(err, "/checkpoint");
	return rc;
}
