#include "proto/job.h"
#include "proto/json.h"
#include <stddef.h>
#include <stdio.h>

/* How a field stands in JSON. All but NUMBER and OBJECT may be missing or null: then it is 0, NULL
 * or false, and is written as such. */
enum job_kind {
	NUMBER,         /* uint64_t */
	NUMBER_OR_ZERO, /* uint64_t */
	NUMBER_OR_NULL, /* uint64_t; 0 is written as null */
	REAL_OR_NULL,   /* const double * */
	FLAG,           /* bool */
	TEXT,           /* const char *; NULL is written as null */
	PATH,           /* the same, and absolute */
	OBJECT,         /* const cJSON * */
	OBJECT_OR_NULL, /* const cJSON * */
	ARRAY_OR_NULL,  /* const cJSON * */
};

/* In the order in which they are written. */
static const struct job_field {
	const char *key;
	enum job_kind kind;
	size_t offset;
	enum { ALWAYS, OF_PROGRAM, NEEDED_OF_PROGRAM } when;
} job_fields[] = {
	{"sweep", NUMBER, offsetof(struct sw_job, sweep), ALWAYS},
	{"trial", NUMBER, offsetof(struct sw_job, trial), ALWAYS},
	{"attempt", NUMBER, offsetof(struct sw_job, attempt), ALWAYS},
	{"seed", NUMBER, offsetof(struct sw_job, seed), ALWAYS},
	{"data_seed", NUMBER, offsetof(struct sw_job, data_seed), ALWAYS},
	{"params", OBJECT, offsetof(struct sw_job, params), ALWAYS},
	{"resume_step", NUMBER_OR_ZERO, offsetof(struct sw_job, resume_step), ALWAYS},
	{"parent", NUMBER_OR_NULL, offsetof(struct sw_job, parent), ALWAYS},
	{"checkpoint", PATH, offsetof(struct sw_job, checkpoint), ALWAYS},
	{"until", NUMBER_OR_ZERO, offsetof(struct sw_job, until), ALWAYS},
	{"checkpoint_every", NUMBER_OR_ZERO, offsetof(struct sw_job, checkpoint_every), ALWAYS},
	{"checkpoint_s", NUMBER_OR_ZERO, offsetof(struct sw_job, checkpoint_s), ALWAYS},
	{"checkpoint_end", FLAG, offsetof(struct sw_job, checkpoint_end), ALWAYS},
	{"checkpoint_best", FLAG, offsetof(struct sw_job, checkpoint_best), ALWAYS},
	{"checkpoint_record", FLAG, offsetof(struct sw_job, checkpoint_record), ALWAYS},
	{"record", REAL_OR_NULL, offsetof(struct sw_job, record), ALWAYS},
	{"checkpoint_dir", PATH, offsetof(struct sw_job, checkpoint_dir), ALWAYS},
	{"trainer", OBJECT_OR_NULL, offsetof(struct sw_job, trainer), ALWAYS},
	{"max_t", NUMBER_OR_NULL, offsetof(struct sw_job, max_t), ALWAYS},
	{"metric", TEXT, offsetof(struct sw_job, metric), ALWAYS},
	{"goal", TEXT, offsetof(struct sw_job, goal), ALWAYS},
	{"command", ARRAY_OR_NULL, offsetof(struct sw_job, command), NEEDED_OF_PROGRAM},
	{"program", TEXT, offsetof(struct sw_job, program), OF_PROGRAM},
	{"run", OBJECT_OR_NULL, offsetof(struct sw_job, run), NEEDED_OF_PROGRAM},
	{"log", PATH, offsetof(struct sw_job, log), NEEDED_OF_PROGRAM},
	{"cookie", TEXT, offsetof(struct sw_job, cookie), NEEDED_OF_PROGRAM},
	{"cores", NUMBER_OR_ZERO, offsetof(struct sw_job, cores), OF_PROGRAM},
};

#define JOB_FIELD_N (sizeof job_fields / sizeof *job_fields)

static void write_field(struct sw_jw *w, const struct job_field *f, const void *at,
			const char *params)
{
	const uint64_t *number = at;

	sw_jw_key(w, f->key);
	switch (f->kind) {
	case NUMBER:
	case NUMBER_OR_ZERO:
		sw_jw_int(w, (int64_t)*number);
		return;
	case NUMBER_OR_NULL:
		if (*number == 0)
			sw_jw_null(w);
		else
			sw_jw_int(w, (int64_t)*number);
		return;
	case REAL_OR_NULL:
		if (*(const double *const *)at == NULL)
			sw_jw_null(w);
		else
			sw_jw_num(w, **(const double *const *)at);
		return;
	case FLAG:
		sw_jw_bool(w, *(const bool *)at);
		return;
	case TEXT:
	case PATH:
		sw_jw_str(w, *(const char *const *)at);
		return;
	case OBJECT:
		sw_jw_raw(w, params); /* there is one */
		return;
	case OBJECT_OR_NULL:
	case ARRAY_OR_NULL:
		sw_jw_cjson(w, *(const cJSON *const *)at);
		return;
	}
}

void sw_job_write(struct sw_buf *b, const struct sw_job *job, const char *params)
{
	struct sw_jw w;

	sw_jw_init(&w, b);
	sw_jw_obj(&w);
	for (size_t i = 0; i < JOB_FIELD_N; i++)
		if (job_fields[i].when == ALWAYS || job->command != NULL)
			write_field(&w, &job_fields[i], (const char *)job + job_fields[i].offset,
				    params);
	sw_jw_obj_end(&w);
}

/* Sets *at, and returns NULL if v was right, else what it must be. */
static const char *read_field(enum job_kind kind, const cJSON *v, void *at)
{
	const char *text = cJSON_GetStringValue(v);

	switch (kind) {
	case NUMBER:
	case NUMBER_OR_ZERO:
	case NUMBER_OR_NULL:
		return sw_json_u64(v, at) ? NULL : "an integer of at least 0";
	case REAL_OR_NULL:
		*(const double **)at = &v->valuedouble;
		return cJSON_IsNumber(v) ? NULL : "a number";
	case FLAG:
		*(bool *)at = cJSON_IsTrue(v);
		return cJSON_IsBool(v) ? NULL : "true or false";
	case TEXT:
		*(const char **)at = text;
		return text != NULL ? NULL : "a string";
	case PATH:
		*(const char **)at = text;
		return text != NULL && *text == '/' ? NULL : "an absolute path";
	case OBJECT:
	case OBJECT_OR_NULL:
		*(const cJSON **)at = v;
		return cJSON_IsObject(v) ? NULL : "an object";
	case ARRAY_OR_NULL:
		*(const cJSON **)at = v;
		return cJSON_IsArray(v) ? NULL : "an array";
	}
	return NULL;
}

static sw_status refuse_key(const char *key, const char *must, struct sw_err *err)
{
	char ptr[40];

	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	if (must == NULL)
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is missing", key);
	return sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be %s", key, must);
}

static sw_status read_fields(struct sw_job *out, const cJSON *object, struct sw_err *err)
{
	const cJSON *command = sw_json_get(object, "command");
	const bool program = command != NULL && !cJSON_IsNull(command);

	for (size_t i = 0; i < JOB_FIELD_N; i++) {
		const struct job_field *f = &job_fields[i];
		const cJSON *v = sw_json_get(object, f->key);
		const bool needed = f->kind == NUMBER || f->kind == OBJECT ||
				    (program && f->when == NEEDED_OF_PROGRAM);
		const char *must;

		if (!needed && (v == NULL || cJSON_IsNull(v)))
			continue;
		must = read_field(f->kind, v, (char *)out + f->offset);
		if (must != NULL)
			return refuse_key(f->key, v != NULL ? must : NULL, err);
	}
	if (!program && out->trainer == NULL)
		return refuse_key("trainer", NULL, err);
	if (program && out->trainer != NULL)
		return sw_err_at(err, SW_INVALID, "/trainer", "\"trainer\" beside \"command\"");
	return SW_OK;
}

sw_status sw_job_read(struct sw_job *out, const cJSON *object, struct sw_err *err)
{
	*out = (struct sw_job){0};
	const sw_status rc = read_fields(out, object, err);
	if (rc != SW_OK)
		*out = (struct sw_job){0};
	return rc;
}
