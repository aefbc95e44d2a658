/* cli/verb_init.c — `init houses.csv --target price`: looks at a table, says what becomes of each
 * column, and prints a spec for it, in which nothing is hidden: all that it chose stands there. */
#include "base/text.h"
#include "cli/dataset_text.h"
#include "cli/verb.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What suits tables of up to so many rows; docs/tables.md has the measurements. */
static const struct size {
	uint64_t rows;
	unsigned epochs, grace, batch_min, batch_max;
} sizes[] = {
	{3000, 81, 27, 16, 128},
	{50000, 27, 3, 64, 512},
	{UINT64_MAX, 9, 1, 256, 2048},
};

/* Wide tables have rows far out in some of their many inputs; a layernorm behind each linear layer
 * keeps what these cause small. Of narrow ones it takes away what the size of a number says. */
#define WIDE 64

static bool is_wide(const cJSON *found)
{
	const cJSON *column;
	uint64_t inputs = 0;

	cJSON_ArrayForEach (column, sw_json_get(found, "columns"))
		inputs += sw_json_uint(column, "inputs");
	return inputs > WIDE;
}

static const struct size *size_of(uint64_t rows)
{
	const struct size *s = sizes;

	while (rows > s->rows)
		s++;
	return s;
}

/* "format": "csv", "path": "houses.csv" */
static void add_members(struct sw_buf *b, const cJSON *object)
{
	const char *between = "";
	const cJSON *v;
	struct sw_jw w;

	cJSON_ArrayForEach (v, object) {
		(void)sw_buf_addf(b, "%s\"%s\": ", between, v->string);
		sw_jw_init(&w, b);
		sw_jw_cjson(&w, v);
		between = ", ";
	}
}

/* The file's name without its folder and ending, as a sweep may be called. */
static void add_name(struct sw_buf *b, const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash != NULL ? slash + 1 : path;
	char name[65];
	size_t n = 0;

	for (; *at != '\0' && (*at != '.' || n == 0) && n < 64; at++)
		if (strchr("\"\\/", *at) == NULL)
			name[n++] = *at;
	name[n] = '\0';
	sw_text_plain(name);
	/* A number would be taken for the number of a sweep. */
	(void)sw_buf_addf(b, "{\n  \"name\": \"%s%s\",\n",
			  name[strspn(name, "0123456789")] == '\0' ? "table-" : "", name);
}

static void add_space(struct sw_buf *b, const struct size *s)
{
	(void)sw_buf_addf(b,
			  "  \"parameters\": {\n"
			  "    \"lr\": {\"distribution\": \"log_uniform_values\", \"min\": 0.0001, "
			  "\"max\": 0.01},\n"
			  "    \"batch_size\": {\"distribution\": \"pow2\", \"min\": %u, \"max\": "
			  "%u},\n"
			  "    \"weight_decay\": {\"distribution\": \"log_uniform_values\", "
			  "\"min\": 0.01, \"max\": 10},\n"
			  "    \"dropout\": {\"min\": 0.0, \"max\": 0.5},\n"
			  "    \"width\": {\"values\": [64, 128, 256]},\n"
			  "    \"activation\": {\"values\": [\"relu\", \"silu\", \"tanh\"]}\n"
			  "  },\n",
			  s->batch_min, s->batch_max);
	(void)sw_buf_addf(b,
			  "  \"early_terminate\": {\"type\": \"asha\", \"grace_period\": %u, "
			  "\"max_t\": %u, \"reduction_factor\": 3},\n"
			  "  \"run_cap\": 30,\n",
			  s->grace, s->epochs);
}

static void add_spec(struct sw_buf *b, const char *path, const cJSON *dataset, const cJSON *found)
{
	const cJSON *target = sw_json_get(found, "target");
	const bool classes = strcmp(sw_json_text(target, "task", ""), "classes") == 0;
	const int outputs = classes ? cJSON_GetArraySize(sw_json_get(target, "classes")) : 1;

	add_name(b, path);
	(void)sw_buf_addf(b,
			  "  \"method\": \"bayes\",\n"
			  "  \"metric\": {\"name\": \"%s\", \"goal\": \"minimize\"},\n",
			  classes ? "val_loss" : "val_rmse");
	add_space(b, size_of(sw_json_uint(found, "rows")));
	(void)sw_buf_adds(b, "  \"trainer\": {\n    \"dataset\": {");
	add_members(b, dataset);
	(void)sw_buf_adds(b, "},\n    \"model\": [\n");
	for (int i = 0; i < 3; i++)
		(void)sw_buf_addf(b,
				  "      {\"linear\": \"width\"}, %s{\"activation\": "
				  "\"activation\"}, {\"dropout\": \"dropout\"},\n",
				  is_wide(found) ? "\"layernorm\", " : "");
	(void)sw_buf_addf(b,
			  "      {\"linear\": %d}\n    ],\n    \"loss\": \"%s\",\n"
			  "    \"optimizer\": \"adamw\"\n  }\n}\n",
			  outputs, classes ? "cross_entropy" : "mse");
}

/* {"format": "csv", "path": FILE, "label": NAME} and the words. NULL: no memory, or *wrong is the
 * word that is none. */
static cJSON *dataset_of(const struct sw_cli *c, const char **wrong)
{
	cJSON *d = cJSON_CreateObject();
	char *end;

	*wrong = NULL;
	if (cJSON_AddStringToObject(d, "format", "csv") == NULL ||
	    cJSON_AddStringToObject(d, "path", c->args.word[0]) == NULL ||
	    cJSON_AddStringToObject(d, "label", c->args.target) == NULL) {
		cJSON_Delete(d);
		return NULL;
	}
	for (size_t i = 1; *wrong == NULL && i < c->args.n_words; i++)
		*wrong = sw_verb_add_word(d, c->args.word[i]) ? NULL : c->args.word[i];
	/* A column of a file without names is a number in the spec; of others "4" is a name. */
	const long place = strtol(c->args.target, &end, 10);
	const bool numbered = cJSON_IsFalse(sw_json_get(d, "header")) && *end == '\0';

	if (*wrong == NULL && (!numbered || cJSON_ReplaceItemInObjectCaseSensitive(
						    d, "label", cJSON_CreateNumber((double)place))))
		return d;
	cJSON_Delete(d);
	return NULL;
}

int sw_verb_init(struct sw_cli *c)
{
	struct sw_buf lines;
	cJSON *dataset, *found = NULL;
	const char *wrong;
	int status;

	if (c->args.target == NULL)
		return sw_cli_usage(c, "init needs --target NAME, the column to predict");
	if (strcmp(c->args.word[0], "-") == 0)
		return sw_cli_usage(c, "init needs a file: the spec names it");
	dataset = dataset_of(c, &wrong);
	if (wrong != NULL)
		return sw_cli_usage(c, "init: expected KEY=VALUE, each key once, not '%s'", wrong);
	if (dataset == NULL) {
		sw_cli_say(c, "out of memory");
		return SW_EXIT_REFUSED;
	}
	status = sw_dataset_text_find(c, c->args.word[0], dataset, NULL, &found);
	if (status == SW_EXIT_DONE) {
		sw_buf_init(&lines, (size_t)64 << 20);
		sw_dataset_text(c, &lines, c->args.word[0], found);
		/* to stderr: what is redirected is the spec */
		if (lines.len > 0)
			(void)fputs(lines.data, stderr);
		sw_buf_fini(&lines);
		add_spec(&c->out, c->args.word[0], dataset, found);
	}
	cJSON_Delete(found);
	cJSON_Delete(dataset);
	return status;
}
