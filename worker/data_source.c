/* worker/data_source.c — which file a data set is. */
#include "proto/json.h"
#include "proto/nearest.h"
#include "worker/data.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name, *label;
} known[] = {
	{"digits", "digit"},
	{"breast_cancer", "class"},
	{"wine", "class"},
	{"diabetes", "target"},
};
#define KNOWN_N (sizeof known / sizeof *known)

/* Puts the first existing DIR/name.csv into out. */
static bool locate(char *out, size_t cap, const char *name)
{
	const char *env = getenv("SWEEPD_DATA");
	char dir[2048], self[1024], *slash;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (int place = 0; place < 4; place++) {
		if (place == 0 && env && *env)
			snprintf(dir, sizeof dir, "%s", env);
		else if (place == 1 && slash) /* build/bin in the source tree */
			snprintf(dir, sizeof dir, "%s/../../data", self);
		else if (place == 2 && slash)
			snprintf(dir, sizeof dir, "%s/../share/sweepd/data", self);
		else if (place == 3)
			snprintf(dir, sizeof dir, "%s", SW_DATA_DIR);
		else
			continue;
		snprintf(out, cap, "%s/%s.csv", dir, name);
		if (access(out, R_OK) == 0)
			return true;
	}
	return false;
}

static sw_status named_read(struct sw_data_source *out, const cJSON *name, struct sw_err *err)
{
	const char *names[KNOWN_N], *near;
	char show[44];

	if (!cJSON_IsString(name))
		return sw_err_at(err, SW_INVALID, "/name", "the name of a data set is a string");
	out->named = true;
	out->header = true;
	for (size_t i = 0; i < KNOWN_N; i++) {
		names[i] = known[i].name;
		if (strcmp(known[i].name, name->valuestring) != 0)
			continue;
		if (!out->label.name)
			out->label.name = known[i].label;
		snprintf(out->shown, sizeof out->shown, "%s", known[i].name);
		if (locate(out->path, sizeof out->path, known[i].name))
			return SW_OK;
		return sw_err_at(err, SW_NOT_FOUND, "/name",
				 "%s.csv is not found: set SWEEPD_DATA to the folder it is in",
				 known[i].name);
	}
	sw_csv_show(name->valuestring, show);
	near = sw_nearest(name->valuestring, names, KNOWN_N);
	if (near)
		return sw_err_at(err, SW_NOT_FOUND, "/name",
				 "no data set is named \"%s\": did you mean \"%s\"?", show, near);
	return sw_err_at(err, SW_NOT_FOUND, "/name",
			 "no data set is named \"%s\": there are digits, breast_cancer, wine and "
			 "diabetes",
			 show);
}

static sw_status label_read(struct sw_data_source *out, const cJSON *label, struct sw_err *err)
{
	if (cJSON_IsString(label)) {
		out->label.name = label->valuestring;
		return SW_OK;
	}
	if (cJSON_IsNumber(label) && label->valuedouble == floor(label->valuedouble) &&
	    fabs(label->valuedouble) < 65536) {
		out->label.index = (long)label->valuedouble;
		return SW_OK;
	}
	return sw_err_at(err, SW_INVALID, "/label",
			 "the label is a column's name, or its number from 0 (-1 is the last)");
}

static sw_status keys_check(const cJSON *dataset, struct sw_err *err)
{
	static const char *const keys[] = {"name", "format", "path", "label", "header"};
	const size_t n = sizeof keys / sizeof *keys;

	for (const cJSON *v = dataset->child; v; v = v->next) {
		char ptr[160] = "", show[44];
		const char *near;
		size_t i = 0;

		while (i < n && strcmp(keys[i], v->string) != 0)
			i++;
		if (i < n)
			continue;
		sw_json_pointer_add(ptr, sizeof ptr, v->string);
		near = sw_nearest(v->string, keys, n);
		return sw_err_at(err, SW_INVALID, ptr, "a data set has no key \"%s\"%s%s%s",
				 sw_csv_show(v->string, show), near ? ": did you mean \"" : "",
				 near ? near : "", near ? "\"?" : "");
	}
	return SW_OK;
}

sw_status sw_data_source_read(struct sw_data_source *out, const cJSON *dataset, struct sw_err *err)
{
	const cJSON *name = sw_json_get(dataset, "name"), *path = sw_json_get(dataset, "path");
	const cJSON *label = sw_json_get(dataset, "label"), *format, *header;
	const char *base;
	sw_status status;

	memset(out, 0, sizeof *out);
	if (!cJSON_IsObject(dataset))
		return sw_err_set(err, SW_INVALID,
				  "a trainer needs \"dataset\": {\"name\": NAME} or {\"format\": "
				  "\"csv\", \"path\": PATH, \"label\": COLUMN}");
	status = keys_check(dataset, err);
	if (status == SW_OK && label)
		status = label_read(out, label, err);
	if (status != SW_OK)
		return status;
	format = sw_json_get(dataset, "format");
	header = sw_json_get(dataset, "header");
	if (format && !(cJSON_IsString(format) && strcmp(format->valuestring, "csv") == 0))
		return sw_err_at(err, SW_INVALID, "/format", "the format is \"csv\"");
	if (header && !cJSON_IsBool(header))
		return sw_err_at(err, SW_INVALID, "/header", "header is true or false");
	if (name && path)
		return sw_err_at(err, SW_INVALID, "/path",
				 "a data set has a name or a path, not both");
	if (name)
		return named_read(out, name, err);
	if (!cJSON_IsString(path) || !*path->valuestring)
		return sw_err_at(err, SW_INVALID, "/path", "a data set needs a name or a path");
	if (strlen(path->valuestring) >= sizeof out->path)
		return sw_err_at(err, SW_INVALID, "/path", "the path is too long");
	if (!label)
		return sw_err_at(err, SW_INVALID, "/label",
				 "a CSV data set needs \"label\": the column to learn");
	snprintf(out->path, sizeof out->path, "%s", path->valuestring);
	base = strrchr(out->path, '/');
	snprintf(out->shown, sizeof out->shown, "%.63s", base ? base + 1 : out->path);
	out->header = !header || cJSON_IsTrue(header);
	return SW_OK;
}
