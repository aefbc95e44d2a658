/* cli/import_optuna_journal.c — Optuna's journal: a file with an operation, as JSON, on each line. */
#include "base/memory.h"
#include "cli/import.h"
#include "cli/import_optuna.h"
#include "proto/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CREATE_STUDY, DELETE_STUDY, STUDY_USER, STUDY_SYSTEM, CREATE_TRIAL, PARAM, STATE, STEP };

struct journal {
	cJSON *studies;
	double n_studies; /* made so far: the next one's id */
	cJSON **trial;    /* by their ids; NULL: of a study that was deleted before */
	size_t n_trials, room;
};

/* Optuna's numbers of the states. */
static const char *state_word(const cJSON *v)
{
	static const char *const words[] = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};
	uint64_t n = 0;

	return sw_json_u64(v, &n) && n < 5 ? words[n] : "RUNNING";
}

static double number(const cJSON *v)
{
	return cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
}

static cJSON *study_of(const struct journal *j, const cJSON *op)
{
	cJSON *s;

	cJSON_ArrayForEach (s, j->studies)
		if (sw_json_get(s, "id")->valuedouble == number(sw_json_get(op, "study_id")))
			return s;
	return NULL;
}

static cJSON *trial_of(const struct journal *j, const cJSON *op)
{
	uint64_t id = 0;

	return sw_json_u64(sw_json_get(op, "trial_id"), &id) && id < j->n_trials ? j->trial[id]
										 : NULL;
}

static bool has_ended(const cJSON *trial)
{
	const char *state = sw_json_get(trial, "state")->valuestring;

	return strcmp(state, "RUNNING") != 0 && strcmp(state, "WAITING") != 0;
}

/* One of a name that is taken is no study, and has no number. */
static bool create_study(struct journal *j, const cJSON *op)
{
	const char *name = cJSON_GetStringValue(sw_json_get(op, "study_name"));
	const cJSON *v, *old;

	cJSON_ArrayForEach (old, j->studies)
		if (name != NULL && strcmp(sw_json_get(old, "name")->valuestring, name) == 0)
			return true;
	cJSON *s = sw_optuna_study(j->studies, j->n_studies++, name != NULL ? name : "study");
	cJSON *list = cJSON_GetObjectItemCaseSensitive(s, "maximize");
	cJSON_ArrayForEach (v, sw_json_get(op, "directions"))
		if (!cJSON_AddItemToArray(list, cJSON_CreateBool(number(v) == 2)))
			return false;
	return s != NULL;
}

static bool delete_study(struct journal *j, const cJSON *op)
{
	cJSON *s = study_of(j, op);
	const cJSON *trial;

	cJSON_ArrayForEach (trial, sw_json_get(s, "trials"))
		for (size_t i = 0; i < j->n_trials; i++)
			if (j->trial[i] == trial)
				j->trial[i] = NULL;
	if (s != NULL)
		cJSON_Delete(cJSON_DetachItemViaPointer(j->studies, s));
	return true;
}

static bool study_system(struct journal *j, const cJSON *op)
{
	const cJSON *names = sw_json_get(sw_json_get(op, "system_attr"), "study:metric_names");
	cJSON *s = study_of(j, op);

	return names == NULL || s == NULL ||
	       cJSON_AddItemToObject(s, "names", cJSON_Duplicate(names, 1));
}

static cJSON *parse_distribution(const cJSON *text)
{
	const char *s = cJSON_GetStringValue(text);
	cJSON *v = NULL;

	return s != NULL && sw_json_parse(&v, s, strlen(s), NULL) == SW_OK ? v
									   : cJSON_CreateObject();
}

/* What a trial that was added whole brings along (Optuna's add_trial and copy_study). */
static bool take_template(cJSON *trial, const cJSON *op)
{
	const cJSON *v, *distributions = sw_json_get(op, "distributions");
	const cJSON *values = sw_json_get(op, "values");

	cJSON_ArrayForEach (v, sw_json_get(op, "params"))
		if (!sw_optuna_param(trial, v->string, number(v),
				     parse_distribution(sw_json_get(distributions, v->string))))
			return false;
	cJSON_ArrayForEach (v, sw_json_get(op, "intermediate_values"))
		if (!sw_optuna_step(trial, strtod(v->string, NULL), number(v)))
			return false;
	cJSON_ArrayForEach (v, values)
		if (!sw_optuna_value(trial, number(v)))
			return false;
	v = sw_json_get(op, "value");
	return !cJSON_IsNumber(v) || cJSON_IsArray(values) ||
	       sw_optuna_value(trial, v->valuedouble);
}

static bool create_trial(struct journal *j, const cJSON *op)
{
	const cJSON *state = sw_json_get(op, "state");
	cJSON *s = study_of(j, op);

	if (s == NULL)
		return true;
	if (j->n_trials == j->room) {
		const size_t room = j->room > 0 ? 2 * j->room : 256;
		cJSON **more = sw_realloc(j->trial, room * sizeof(cJSON *));

		if (more == NULL)
			return false;
		j->trial = more;
		j->room = room;
	}
	cJSON *trial = sw_optuna_trial(s, (double)j->n_trials, state_word(state));
	j->trial[j->n_trials++] = trial;
	return trial != NULL && take_template(trial, op);
}

static bool set_state(cJSON *trial, const cJSON *op)
{
	const cJSON *v;

	if (cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(trial, "state"),
				 state_word(sw_json_get(op, "state"))) == NULL)
		return false;
	cJSON_ArrayForEach (v, sw_json_get(op, "values"))
		if (!sw_optuna_value(trial, number(v)))
			return false;
	return true;
}

static bool of_trial(struct journal *j, const cJSON *op, uint64_t code)
{
	const char *name = cJSON_GetStringValue(sw_json_get(op, "param_name"));
	cJSON *trial = trial_of(j, op);

	if (trial == NULL || has_ended(trial))
		return true;
	if (code == STATE)
		return set_state(trial, op);
	if (code == STEP)
		return sw_optuna_step(trial, number(sw_json_get(op, "step")),
				      number(sw_json_get(op, "intermediate_value")));
	return name == NULL ||
	       sw_optuna_param(trial, name, number(sw_json_get(op, "param_value_internal")),
			       parse_distribution(sw_json_get(op, "distribution")));
}

static bool apply(struct journal *j, const cJSON *op)
{
	uint64_t code = 0;

	if (!sw_json_u64(sw_json_get(op, "op_code"), &code))
		return true;
	if (code == CREATE_STUDY)
		return create_study(j, op);
	if (code == DELETE_STUDY)
		return delete_study(j, op);
	if (code == STUDY_SYSTEM)
		return study_system(j, op);
	if (code == CREATE_TRIAL)
		return create_trial(j, op);
	return code < PARAM || code > STEP || of_trial(j, op, code);
}

static sw_status read_lines(struct journal *j, FILE *f, const char *path, struct sw_err *err)
{
	char *line = NULL;
	size_t room = 0, n_line = 0;
	sw_status rc = SW_OK;
	ssize_t n;

	while (rc == SW_OK && (n = getline(&line, &room, f)) > 0) {
		struct sw_err why = SW_ERR_INIT;
		cJSON *op = NULL;

		n_line++;
		if (line[n - 1] != '\n')
			break; /* a writer died here, or still writes: Optuna does not count it */
		rc = sw_import_json(&op, line, (size_t)n, &why);
		if (rc != SW_OK)
			rc = sw_err_set(err, rc, "%s:%zu: %s", path, n_line, why.msg);
		else if (!apply(j, op))
			rc = sw_err_set(err, SW_NOMEM, "out of memory");
		cJSON_Delete(op);
	}
	if (rc == SW_OK && ferror(f) != 0)
		rc = sw_err_set(err, SW_IO, "%s: %s", path, strerror(errno));
	free(line);
	return rc;
}

sw_status sw_optuna_journal_read(cJSON **out, const char *path, struct sw_err *err)
{
	struct journal j = {.studies = cJSON_CreateArray()};
	FILE *f = fopen(path, "rbe");
	sw_status rc = SW_OK;

	if (f == NULL)
		rc = sw_err_set(err, SW_IO, "%s: %s", path, strerror(errno));
	else if (j.studies == NULL)
		rc = sw_err_set(err, SW_NOMEM, "out of memory");
	else
		rc = read_lines(&j, f, path, err);
	if (f != NULL)
		(void)fclose(f);
	free(j.trial);
	if (rc != SW_OK) {
		cJSON_Delete(j.studies);
		j.studies = NULL;
	}
	*out = j.studies;
	return rc;
}
