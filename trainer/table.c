#include "trainer/table.h"
#include "base/memory.h"
#include "proto/json.h"
#include "trainer/data/encode.h"
#include "trainer/data/table.h"
#include "trainer/spec/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data set of a file with options. */
static sw_status set_read(cJSON **json, struct sw_dataset *set, const char *path,
			  const char *options, struct sw_err *err)
{
	sw_status rc = options ? sw_json_parse(json, options, strlen(options), err) : SW_OK;

	if (!options)
		*json = cJSON_CreateObject();
	if (rc != SW_OK)
		return rc;
	if (cJSON_IsObject(*json)) {
		if (!sw_json_get(*json, "format"))
			(void)cJSON_AddStringToObject(*json, "format", "csv");
		cJSON_DeleteItemFromObjectCaseSensitive(*json, "path");
		(void)cJSON_AddStringToObject(*json, "path", path);
	}
	return sw_dataset_read(set, *json, err);
}

/* What becomes of a column, in words. in: its first input, NULL: it has none. Returns how many
 * numbers of a row it has. */
static size_t becomes(const struct sw_table_column *c, const struct sw_input *in, bool scaled,
		      char out[160])
{
	static const char *const days[SW_DATE_FORMS] = {"", " (the day is first)",
							" (the month is first)"};
	const char *holes = c->holes ? ", and 1 that says where it is empty" : "";
	const bool all = !c->more && c->values <= SW_TABLE_VALUES_MOST;
	size_t n = 0;

	if (!in && c->kind == SW_KIND_TARGET) {
		(void)snprintf(out, 160, "what is predicted");
	} else if (!in) {
		(void)snprintf(out, 160, "left out: %s", c->why);
	} else if (in->scale.pieces) {
		n = in->scale.n - 1;
		(void)snprintf(out, 160, "a number, mostly %.15g: in %zu pieces%s", in->fill, n,
			       holes);
	} else if (in->kind == SW_KIND_NUMBER) {
		n = 1;
		(void)snprintf(out, 160, "a number%s%s", scaled ? ", scaled" : "", holes);
	} else if (in->kind == SW_KIND_DATE) {
		n = SW_DATE_PARTS;
		(void)snprintf(out, 160, "3 numbers: day, month, day of the week%s%s",
			       days[in->form], holes);
	} else {
		n = all ? c->values : SW_TABLE_VALUES_MOST;
		(void)snprintf(out, 160, "%zu columns, one for each %s%s", n,
			       all ? "value" : "of the most frequent values", holes);
	}
	return n + (n > 0 && c->holes > 0);
}

static void write_column(struct sw_jw *w, const struct sw_table *t, size_t i,
			 const struct sw_input *in, bool scaled)
{
	const struct sw_table_column *c = &t->column[i];
	char text[160], number[24];

	(void)snprintf(number, sizeof number, "%zu", i);
	const size_t inputs = becomes(c, in, scaled, text);

	sw_jw_obj(w);
	sw_jw_kstr(w, "name", t->header ? sw_texts_text(&t->names, i) : number);
	sw_jw_kstr(w, "kind", sw_kind_names[c->kind]);
	sw_jw_kint(w, "holes", (int64_t)c->holes);
	sw_jw_kint(w, "values", (int64_t)c->values);
	sw_jw_kbool(w, "more", c->more);
	sw_jw_kint(w, "inputs", (int64_t)inputs);
	sw_jw_kstr(w, "becomes", text);
	if (c->warning[0])
		sw_jw_kstr(w, "warning", c->warning);
	sw_jw_obj_end(w);
}

static sw_status write_table(struct sw_jw *w, const struct sw_table *t, const struct sw_encoder *e,
			     bool scaled)
{
	char number[24];
	sw_status rc = SW_OK;

	(void)snprintf(number, sizeof number, "%zu", t->target);
	sw_jw_kint(w, "rows", (int64_t)t->rows);
	sw_jw_kstr(w, "separator", (const char[]){t->separator, '\0'});
	sw_jw_kstr(w, "decimal", t->decimal == SW_DECIMAL_COMMA ? "," : ".");
	sw_jw_kbool(w, "header", t->header);
	sw_jw_key(w, "target");
	sw_jw_obj(w);
	sw_jw_kstr(w, "column", t->header ? sw_texts_text(&t->names, t->target) : number);
	sw_jw_kstr(w, "task", t->is_classes ? "classes" : "regression");
	if (t->is_classes) {
		sw_jw_key(w, "classes");
		if (sw_texts_sort(&t->classes, t->column[t->target].decimal, NULL, w) == 0)
			rc = SW_NOMEM;
	}
	sw_jw_obj_end(w);
	sw_jw_karr(w, "columns");
	for (size_t i = 0, at = 0; i < t->columns; i++) {
		const size_t first = at;

		while (at < e->n && e->input[at].column == i)
			at++; /* a date has several */
		write_column(w, t, i, at > first ? &e->input[first] : NULL, scaled);
	}
	sw_jw_arr_end(w);
	return rc;
}

bool sw_table_show(const char *path, const char *options, const char *scale, struct sw_buf *out)
{
	const struct sw_form_key *scales = sw_trainer_option_find("scale");
	const enum sw_scale how = scale ? (enum sw_scale)sw_key_word(scales, scale) : SW_SCALE_AUTO;
	struct sw_err err = SW_ERR_INIT;
	struct sw_table t = {0};
	struct sw_encoder e = {0};
	struct sw_dataset set;
	cJSON *json = NULL;
	struct sw_jw w;
	sw_status rc = set_read(&json, &set, path, options, &err);

	if (rc == SW_OK)
		rc = sw_table_look(&t, path, set.label, &set, NULL, &err);
	if (rc == SW_OK)
		rc = sw_encoder_fit(&e, &t, path, how, NULL, &err);
	sw_jw_init_obj(&w, out);
	if (rc == SW_OK)
		rc = write_table(&w, &t, &e, how != SW_SCALE_NONE && !t.image);
	sw_jw_obj_end(&w);
	if (rc != SW_OK) {
		sw_buf_clear(out);
		sw_jw_init_obj(&w, out);
		sw_jw_kstr(&w, "error", *err.msg ? err.msg : sw_status_str(rc));
		sw_jw_obj_end(&w);
	}
	sw_encoder_fini(&e);
	sw_table_fini(&t);
	cJSON_Delete(json);
	return rc == SW_OK;
}
