#include "proto/job.h"
#include "proto/json.h"
#include <stddef.h>
#include <stdio.h>

/* How a field stands in JSON. All but NUMBER and OBJECT may be missing or null: then it is 0, NULL
 * or false. */
enum job_kind {
	NUMBER,         /* uint64_t */
	NUMBER_OR_ZERO, /* uint64_t */
	NUMBER_OR_NULL, /* uint64_t; 0 is written as null */
	FLAG,           /* bool */
	TEXT,           /* const char *; NULL is written as null */
	PATH,           /* the same, and absolute */
	OBJECT,         /* const cJSON * */
};

/* In the order in which they are written. */
static const struct job_field {
	const char *key;
	enum job_kind kind;
	size_t offset;
} job_fields[] = {
	{"sweep", NUMBER, offsetof(struct sw_job, sweep)},
	{"trial", NUMBER, offsetof(struct sw_job, trial)},
	{"attempt", NUMBER, offsetof(struct sw_job, attempt)},
	{"seed", NUMBER, offsetof(struct sw_job, seed)},
	{"data_seed", NUMBER, offsetof(struct sw_job, data_seed)},
	{"params", OBJECT, offsetof(struct sw_job, params)},
	{"resume_step", NUMBER_OR_ZERO, offsetof(struct sw_job, resume_step)},
	{"parent", NUMBER_OR_NULL, offsetof(struct sw_job, parent)},
	{"checkpoint", PATH, offsetof(struct sw_job, checkpoint)},
	{"until", NUMBER_OR_ZERO, offsetof(struct sw_job, until)},
	{"checkpoint_every", NUMBER_OR_ZERO, offsetof(struct sw_job, checkpoint_every)},
	{"checkpoint_s", NUMBER_OR_ZERO, offsetof(struct sw_job, checkpoint_s)},
	{"checkpoint_end", FLAG, offsetof(struct sw_job, checkpoint_end)},
	{"checkpoint_dir", PATH, offsetof(struct sw_job, checkpoint_dir)},
	{"trainer", OBJECT, offsetof(struct sw_job, trainer)},
	{"max_t", NUMBER_OR_NULL, offsetof(struct sw_job, max_t)},
	{"metric", TEXT, offsetof(struct sw_job, metric)},
	{"goal", TEXT, offsetof(struct sw_job, goal)},
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
	case FLAG:
		sw_jw_bool(w, *(const bool *)at);
		return;
	case TEXT:
	case PATH:
		sw_jw_str(w, *(const char *const *)at);
		return;
	case OBJECT:
		if (f->offset == offsetof(struct sw_job, params))
			sw_jw_raw(w, params);
		else
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
		write_field(&w, &job_fields[i], (const char *)job + job_fields[i].offset, params);
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
		*(const cJSON **)at = v;
		return cJSON_IsObject(v) ? NULL : "an object";
	}
	return NULL;
}

sw_status sw_job_read(struct sw_job *out, const cJSON *object, struct sw_err *err)
{
	*out = (struct sw_job){0};
	for (size_t i = 0; i < JOB_FIELD_N; i++) {
		const struct job_field *f = &job_fields[i];
		const cJSON *v = sw_json_get(object, f->key);
		const char *must;
		char ptr[40];

		if ((v == NULL || cJSON_IsNull(v)) && f->kind != NUMBER && f->kind != OBJECT)
			continue;
		must = read_field(f->kind, v, (char *)out + f->offset);
		if (must == NULL)
			continue;
		*out = (struct sw_job){0};
		(void)snprintf(ptr, sizeof ptr, "/%s", f->key);
		if (v == NULL)
			return sw_err_at(err, SW_INVALID, ptr, "\"%s\" is missing", f->key);
		return sw_err_at(err, SW_INVALID, ptr, "\"%s\" must be %s", f->key, must);
	}
	return SW_OK;
}
