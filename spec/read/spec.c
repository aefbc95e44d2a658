#include "spec/spec.h"
#include "base/memory.h"
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include "spec/warn/warn.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool has_fault(const struct sw_spec *s, const char *key)
{
	char ptr[sizeof s->faults->list->ptr] = "";

	sw_json_pointer_add(ptr, sizeof ptr, key);
	return sw_fault_near(s->faults, ptr);
}

/* --- one reader for each key at the top whose value the schema cannot read alone --- */

static sw_status read_seed(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)v;
	(void)err;
	s->has_seed = true;
	return SW_OK;
}

/* W&B's engine "wandb" is its own search, which "method" names. */
static sw_status read_scheduler(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const cJSON *engine = sw_json_get(v, "engine");

	(void)s;
	if (engine == NULL)
		return sw_spec_key_wrong(
			"scheduler", err,
			"is not supported by this version: it is W&B Launch's; give \"program\" or "
			"\"command\"; a pruner is \"early_terminate\"");
	if (cJSON_GetArraySize(v) > 1 || !cJSON_IsString(engine) ||
	    strcmp(engine->valuestring, "wandb") != 0)
		return sw_spec_key_wrong("scheduler", err,
					 "is not supported by this version, but for {\"engine\": "
					 "\"wandb\"}: \"method\" says how to search");
	return SW_OK;
}

static sw_status check_metric(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (v != NULL)
		return sw_spec_metric_read(s, v, err);
	if (sw_json_get(s->tree, "metrics") != NULL || sw_spec_metric_spared(s))
		return SW_OK;
	return sw_spec_key_wrong(
		"metric", err,
		"is missing: {\"name\": ..., \"goal\": \"minimize\"} (only random, grid and sobol "
		"go without, where no \"trainer\", \"early_terminate\" or \"plateau\" is)");
}

static sw_status check_parameters(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	return v != NULL ? sw_spec_parameters_read(s, v, err)
			 : sw_spec_key_wrong("parameters", err, "is missing: what to search over");
}

/* What is in it its own check says (trainer/check.h), of which a worker is asked. */
static sw_status read_trainer(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const char *precision = sw_json_text(v, "precision", "fp32");

	(void)err;
	s->trainer = v;
	if (strcmp(precision, "fp32") != 0)
		s->precision = precision;
	return SW_OK;
}

static sw_status check_resources(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)v;
	return sw_spec_resources_check(s, err);
}

static sw_status check_command(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	(void)v;
	return sw_spec_command_check(s, err);
}

/* The order matters: trainer needs the parameters, early_terminate the trainer's epochs and
 * run_cap, and several metrics rule out what comes after them. */
static const struct reader {
	const char *key;
	/* Other keys that it looks at: with a fault in one of them it would say what is false. */
	const char *also[6];
	enum {
		GIVEN,
		ALWAYS,
		INSIDE
	} when; /* with the key; without it, too (v is NULL then); also with
						faults inside, which it looks for itself */
	sw_status (*read)(struct sw_spec *s, const cJSON *v, struct sw_err *err);
} readers[] = {
	{"scheduler", {NULL}, GIVEN, read_scheduler},
	{"seed", {NULL}, GIVEN, read_seed},
	{"metric", {"metrics", "method"}, ALWAYS, check_metric},
	{"metrics", {"metric", "method"}, GIVEN, sw_spec_metrics_read},
	{"parameters", {NULL}, ALWAYS, check_parameters},
	{"constraints", {NULL}, GIVEN, sw_spec_constraints_read},
	{"init", {NULL}, GIVEN, sw_spec_init_read},
	{"warm_start", {"method"}, GIVEN, sw_spec_warm_start_read},
	{"shuffle", {"method"}, GIVEN, sw_spec_shuffle_check},
	{"plateau", {"metrics"}, GIVEN, sw_spec_plateau_read},
	{"resources", {NULL}, ALWAYS, sw_spec_resources_read},
	{"parallel", {NULL}, GIVEN, sw_spec_parallel_read},
	{"executor", {NULL}, GIVEN, sw_spec_executor_read},
	{"trainer", {NULL}, GIVEN, read_trainer},
	{"program", {NULL}, GIVEN, sw_spec_program_read},
	{"command", {"program"}, GIVEN, sw_spec_command_read},
	{"run", {NULL}, INSIDE, sw_spec_run_read},
	{"checkpoint", {"trainer", "command", "program"}, GIVEN, sw_spec_checkpoint_read},
	{"early_terminate", {"metrics", "run_cap", "trainer"}, GIVEN, sw_spec_early_terminate_read},
	/* What concerns several keys is checked when all have been read. */
	{"resources", {"parallel", "trainer", "command", "program"}, ALWAYS, check_resources},
	{"command",
	 {"program", "run", "trainer", "resources", "metric", "metrics"},
	 ALWAYS,
	 check_command},
};

static sw_status run_reader(struct sw_spec *s, const struct reader *r)
{
	const cJSON *v = sw_json_get(s->tree, r->key);
	struct sw_err err = SW_ERR_INIT;

	if ((v == NULL && r->when != ALWAYS) ||
	    (r->when == INSIDE ? !cJSON_IsObject(v) : has_fault(s, r->key)))
		return SW_OK;
	for (size_t i = 0; i < SW_SPEC_N(r->also) && r->also[i] != NULL; i++)
		if (has_fault(s, r->also[i]))
			return SW_OK;
	const sw_status rc = r->read(s, v, &err);
	if (rc != SW_INVALID)
		return rc;
	/* One mistake, one line: the schema may have found it at the same place. */
	if (!sw_fault_near(s->faults, err.ptr))
		sw_fault_note(s->faults, err.ptr, "%s", err.msg);
	return SW_OK;
}

/* A key that was misspelt is read as the one that was meant, which shows the mistakes inside. */
static sw_status rename_misspelt(cJSON *tree)
{
	cJSON *v;

	cJSON_ArrayForEach (v, tree) {
		const char *near = sw_form_find(&sw_form_top, v->string) == NULL
					   ? sw_form_nearest(&sw_form_top, v->string)
					   : NULL;
		if (near == NULL || sw_json_get(tree, near) != NULL)
			continue;
		char *name = sw_strdup(near);
		if (name == NULL)
			return SW_NOMEM;
		cJSON_free(v->string);
		v->string = name;
	}
	return SW_OK;
}

static sw_status read_all(struct sw_spec *s)
{
	sw_status rc = SW_OK;

	sw_form_check(&sw_form_top, s->tree, "", s->faults);
	/* for the readers, which are asked only as long as there is room for what they find */
	if (s->faults->n > 0 && s->faults->n < s->faults->cap)
		rc = rename_misspelt(s->tree);
	/* Before the readers, which look at each other's members; a wrong value leaves its default
	 * there. */
	sw_form_fill(&sw_form_top, s->tree, s);
	for (size_t i = 0; i < SW_SPEC_N(readers); i++)
		if (rc == SW_OK && s->faults->n < s->faults->cap)
			rc = run_reader(s, &readers[i]);
	if (rc == SW_OK && s->faults->n == 0)
		sw_spec_warn_all(s);
	return rc;
}

sw_status sw_spec_read_all(struct sw_spec **out, const cJSON *spec, struct sw_faults *f)
{
	struct sw_spec *s = sw_calloc(1, sizeof *s);

	*out = s;
	if (s == NULL)
		return SW_NOMEM;
	s->name = "sweep";
	s->job_shape = SW_SPEC_SHAPE_USUAL;
	s->faults = f;
	if (!cJSON_IsObject(spec)) {
		sw_fault_note(f, "", "a sweep spec must be an object, not %s", sw_json_kind(spec));
		return SW_OK;
	}
	/* A copy: names and values point into it, keys may be renamed in it, and the caller keeps
	 * its own. */
	s->tree = cJSON_Duplicate(spec, 1);
	const sw_status rc = s->tree != NULL ? read_all(s) : SW_NOMEM;
	/* The list is the caller's, and may end before the spec does. */
	s->faults = NULL;
	return rc;
}

sw_status sw_spec_read(struct sw_spec **out, const cJSON *spec, struct sw_err *err)
{
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	sw_status rc = sw_spec_read_all(out, spec, &f);

	rc = rc != SW_OK ? sw_err_set(err, rc, "out of memory") : sw_spec_first(&f, err);
	if (rc == SW_OK)
		return rc;
	sw_spec_destroy(*out);
	*out = NULL;
	return rc;
}

sw_status sw_spec_parse(struct sw_spec **out, const char *text, size_t len, struct sw_err *err)
{
	cJSON *tree = NULL;
	sw_status rc = sw_json_parse(&tree, text, len, err);

	*out = NULL;
	if (rc == SW_OK)
		rc = sw_spec_read(out, tree, err);
	cJSON_Delete(tree);
	return rc;
}

void sw_spec_destroy(struct sw_spec *s)
{
	if (s == NULL)
		return;
	sw_spec_space_fini(s);
	cJSON_Delete(s->usual_command);
	free(s->job_options);
	cJSON_Delete(s->tree);
	free(s);
}
