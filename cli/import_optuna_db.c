/* cli/import_optuna_db.c — Optuna's RDB storage in SQLite, as its versions from 2.4 on write it. */
#include "cli/import_db.h"
#include "cli/import_optuna.h"
#include "proto/json.h"
#include <string.h>

struct db_reader {
	const char *path;
	cJSON *studies;
	cJSON *study, *trial; /* where the rows, which are sorted, have come to */
};

static cJSON *seek(cJSON *from, double id)
{
	while (from != NULL && sw_json_get(from, "id")->valuedouble < id)
		from = from->next;
	return from;
}

static sw_status no_memory(struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "out of memory");
}

/* Columns 0 and 1 are the study's and the trial's id; *out NULL: a row of neither. */
static cJSON *trial_of_row(struct db_reader *r, sqlite3_stmt *row)
{
	const double study = sqlite3_column_double(row, 0), trial = sqlite3_column_double(row, 1);
	cJSON *now = seek(r->study != NULL ? r->study : r->studies->child, study);

	if (now == NULL || sw_json_get(now, "id")->valuedouble != study)
		return NULL;
	if (now != r->study)
		r->trial = cJSON_GetObjectItemCaseSensitive(now, "trials")->child;
	r->study = now;
	r->trial = seek(r->trial, trial);
	return r->trial != NULL && sw_json_get(r->trial, "id")->valuedouble == trial ? r->trial
										     : NULL;
}

static sw_status study_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct db_reader *r = arg;

	return sw_optuna_study(r->studies, sqlite3_column_double(row, 0),
			       sw_import_db_text(row, 1)) != NULL
		       ? SW_OK
		       : no_memory(err);
}

static sw_status direction_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct db_reader *r = arg;
	const bool maximize = strcmp(sw_import_db_text(row, 1), "MAXIMIZE") == 0;

	r->study = seek(r->study != NULL ? r->study : r->studies->child,
			sqlite3_column_double(row, 0));
	if (r->study == NULL)
		return SW_OK;
	cJSON *list = cJSON_GetObjectItemCaseSensitive(r->study, "maximize");
	return cJSON_AddItemToArray(list, cJSON_CreateBool(maximize)) ? SW_OK : no_memory(err);
}

static sw_status names_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct db_reader *r = arg;
	const char *text = sw_import_db_text(row, 1);
	cJSON *names = NULL;

	cJSON *study = seek(r->studies->child, sqlite3_column_double(row, 0));
	if (study == NULL || sw_json_parse(&names, text, strlen(text), NULL) != SW_OK)
		return SW_OK;
	if (cJSON_AddItemToObject(study, "names", names))
		return SW_OK;
	cJSON_Delete(names);
	return no_memory(err);
}

static sw_status trial_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct db_reader *r = arg;
	cJSON *study = seek(r->study != NULL ? r->study : r->studies->child,
			    sqlite3_column_double(row, 0));

	r->study = study;
	if (study == NULL)
		return SW_OK;
	return sw_optuna_trial(study, sqlite3_column_double(row, 1), sw_import_db_text(row, 2)) !=
			       NULL
		       ? SW_OK
		       : no_memory(err);
}

static sw_status param_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	struct db_reader *r = arg;
	const char *text = sw_import_db_text(row, 4);
	cJSON *trial = trial_of_row(r, row), *distribution = NULL;
	struct sw_err why = SW_ERR_INIT;

	if (trial == NULL)
		return SW_OK;
	if (sw_json_parse(&distribution, text, strlen(text), &why) != SW_OK)
		return sw_err_set(err, SW_PARSE, "%s: a distribution of \"%.64s\": %s", r->path,
				  sw_import_db_text(row, 2), why.msg);
	return sw_optuna_param(trial, sw_import_db_text(row, 2), sqlite3_column_double(row, 3),
			       distribution)
		       ? SW_OK
		       : no_memory(err);
}

static sw_status step_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	cJSON *trial = trial_of_row(arg, row);

	return trial == NULL || sw_optuna_step(trial, sqlite3_column_double(row, 2),
					       sw_import_db_number(row, 3))
		       ? SW_OK
		       : no_memory(err);
}

static sw_status value_row(void *arg, sqlite3_stmt *row, struct sw_err *err)
{
	cJSON *trial = trial_of_row(arg, row);

	return trial == NULL || sw_optuna_value(trial, sw_import_db_number(row, 2))
		       ? SW_OK
		       : no_memory(err);
}

/* Sorted alike, so that each table is read once beside the trials. */
static const struct {
	const char *sql;
	sw_status (*row)(void *arg, sqlite3_stmt *row, struct sw_err *err);
} queries[] = {
	{"SELECT study_id, study_name FROM studies ORDER BY study_id", study_row},
	{"SELECT study_id, direction FROM study_directions ORDER BY study_id, objective",
	 direction_row},
	{"SELECT study_id, value_json FROM study_system_attributes WHERE key = "
	 "'study:metric_names'",
	 names_row},
	{"SELECT study_id, trial_id, state FROM trials ORDER BY study_id, trial_id", trial_row},
	{"SELECT study_id, trial_id, param_name, param_value, distribution_json FROM trial_params "
	 "JOIN trials USING (trial_id) ORDER BY study_id, trial_id, param_id",
	 param_row},
	{"SELECT study_id, trial_id, step, intermediate_value FROM trial_intermediate_values JOIN "
	 "trials USING (trial_id) ORDER BY study_id, trial_id, step",
	 step_row},
	{"SELECT study_id, trial_id, value FROM trial_values JOIN trials USING (trial_id) ORDER BY "
	 "study_id, trial_id, objective",
	 value_row},
};

sw_status sw_optuna_db_read(cJSON **out, const char *path, struct sw_err *err)
{
	struct db_reader r = {.path = path, .studies = cJSON_CreateArray()};
	sqlite3 *db = NULL;

	sw_status rc = r.studies != NULL ? sw_import_db_open(&db, path, err) : no_memory(err);
	for (size_t i = 0; rc == SW_OK && i < sizeof queries / sizeof queries[0]; i++) {
		r.study = NULL;
		r.trial = NULL;
		rc = sw_import_db_each(db, path, "a storage of Optuna", queries[i].sql,
				       queries[i].row, &r, err);
	}
	(void)sqlite3_close(db);
	if (rc != SW_OK) {
		cJSON_Delete(r.studies);
		r.studies = NULL;
	}
	*out = r.studies;
	return rc;
}
