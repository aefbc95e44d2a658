#include "proto/job.h"
#include "proto/json.h"
#include <stddef.h>
#include <stdio.h>

/* The kind of a field in JSON. All but NUMBER and OBJECT may be missing or null: then it is 0, NULL
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
	enum { ALWAYS, OF_PROGRAM, NEEDED_OF_PROGRAM, OF_RANKS, OF_STAGES, OF_SYNC, OF_PILOT } when;
	size_t offset;
} job_fields[] = {
	{"sweep", NUMBER, ALWAYS, offsetof(struct sw_job, sweep)},
	{"trial", NUMBER, ALWAYS, offsetof(struct sw_job, trial)},
	{"attempt", NUMBER, ALWAYS, offsetof(struct sw_job, attempt)},
	{"seed", NUMBER, ALWAYS, offsetof(struct sw_job, seed)},
	{"data_seed", NUMBER, ALWAYS, offsetof(struct sw_job, data_seed)},
	{"data_sum", NUMBER_OR_ZERO, OF_PILOT, offsetof(struct sw_job, data_sum)},
	{"params", OBJECT, ALWAYS, offsetof(struct sw_job, params)},
	{"resume_step", NUMBER_OR_ZERO, ALWAYS, offsetof(struct sw_job, resume_step)},
	{"parent", NUMBER_OR_NULL, ALWAYS, offsetof(struct sw_job, parent)},
	{"checkpoint", PATH, ALWAYS, offsetof(struct sw_job, checkpoint)},
	{"until", NUMBER_OR_ZERO, ALWAYS, offsetof(struct sw_job, until)},
	{"checkpoint_every", NUMBER_OR_ZERO, ALWAYS, offsetof(struct sw_job, checkpoint_every)},
	{"checkpoint_s", NUMBER_OR_ZERO, ALWAYS, offsetof(struct sw_job, checkpoint_s)},
	{"checkpoint_end", FLAG, ALWAYS, offsetof(struct sw_job, checkpoint_end)},
	{"checkpoint_stop", FLAG, ALWAYS, offsetof(struct sw_job, checkpoint_stop)},
	{"checkpoint_best", FLAG, ALWAYS, offsetof(struct sw_job, checkpoint_best)},
	{"checkpoint_record", FLAG, ALWAYS, offsetof(struct sw_job, checkpoint_record)},
	{"record", REAL_OR_NULL, ALWAYS, offsetof(struct sw_job, record)},
	{"checkpoint_dir", PATH, ALWAYS, offsetof(struct sw_job, checkpoint_dir)},
	{"trainer", OBJECT_OR_NULL, ALWAYS, offsetof(struct sw_job, trainer)},
	{"max_t", NUMBER_OR_NULL, ALWAYS, offsetof(struct sw_job, max_t)},
	{"metric", TEXT, ALWAYS, offsetof(struct sw_job, metric)},
	{"goal", TEXT, ALWAYS, offsetof(struct sw_job, goal)},
	{"command", ARRAY_OR_NULL, NEEDED_OF_PROGRAM, offsetof(struct sw_job, command)},
	{"program", TEXT, OF_PROGRAM, offsetof(struct sw_job, program)},
	{"run", OBJECT_OR_NULL, NEEDED_OF_PROGRAM, offsetof(struct sw_job, run)},
	{"log", PATH, NEEDED_OF_PROGRAM, offsetof(struct sw_job, log)},
	{"cookie", TEXT, NEEDED_OF_PROGRAM, offsetof(struct sw_job, cookie)},
	{"env_file", PATH, OF_PROGRAM, offsetof(struct sw_job, env_file)},
	{"trial_dir", PATH, OF_PROGRAM, offsetof(struct sw_job, trial_dir)},
	{"cores", NUMBER_OR_ZERO, OF_PROGRAM, offsetof(struct sw_job, cores)},
	{"ranks", NUMBER_OR_ZERO, OF_RANKS, offsetof(struct sw_job, ranks)},
	{"visible", TEXT, OF_RANKS, offsetof(struct sw_job, visible)},
	{"gpu_percent", NUMBER_OR_ZERO, OF_PROGRAM, offsetof(struct sw_job, gpu_percent)},
	{"gpu_mib", NUMBER_OR_ZERO, OF_PROGRAM, offsetof(struct sw_job, gpu_mib)},
	{"stages", NUMBER_OR_ZERO, OF_STAGES, offsetof(struct sw_job, stages)},
	{"microbatches", NUMBER_OR_ZERO, OF_STAGES, offsetof(struct sw_job, microbatches)},
	{"sync_batchnorm", FLAG, OF_SYNC, offsetof(struct sw_job, sync_batchnorm)},
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

static bool is_written(const struct job_field *f, const struct sw_job *job)
{
	const bool program = job->command != NULL, ranks = job->ranks > 0;

	switch (f->when) {
	case ALWAYS:
		return true;
	case OF_PROGRAM:
	case NEEDED_OF_PROGRAM:
		return program;
	case OF_RANKS:
		return program || ranks;
	case OF_STAGES:
		return !program && job->stages > 1;
	case OF_SYNC:
		return job->sync_batchnorm;
	case OF_PILOT:
		return job->data_sum != 0;
	}
	return false;
}

void sw_job_write(struct sw_buf *b, const struct sw_job *job, const char *params)
{
	struct sw_jw w;

	sw_jw_init_obj(&w, b);
	for (size_t i = 0; i < JOB_FIELD_N; i++)
		if (is_written(&job_fields[i], job))
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
		/* A double holds whole numbers up to 2^53, which is why seeds are 53 bits. */
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

		/* It stays 0, NULL or false. */
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
	/* Fields are set one by one, so a job that is refused is cleared again. */
	*out = (struct sw_job){0};
	const sw_status rc = read_fields(out, object, err);
	if (rc != SW_OK)
		*out = (struct sw_job){0};
	return rc;
}
