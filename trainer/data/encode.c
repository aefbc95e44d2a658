#include "trainer/data/encode.h"
#include "base/memory.h"
#include "base/normal.h"
#include "base/text.h"
#include "proto/json.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 1e150
/* Ranks of a quantile scale stay so far from 0 and 1: 3.1 deviations. */
#define RANK_LEAST 0.001

static size_t parts_of(const struct sw_input *in)
{
	return in->kind == SW_KIND_DATE ? SW_ENCODE_PARTS : in->kind == SW_KIND_NUMBER ? 1 : 0;
}

size_t sw_input_features(const struct sw_input *in)
{
	return (in->kind == SW_KIND_CATEGORY ? in->values.n : parts_of(in)) + in->hole;
}

/* --- numbers --- */

static float float_of(double z)
{
	return (float)(z > (double)FLT_MAX    ? (double)FLT_MAX
		       : z < -(double)FLT_MAX ? -(double)FLT_MAX
					      : z);
}

/* The rank of v among rising numbers, from 0 to 1. Of several equal ones the middle. */
static double rank_of(const double *q, size_t n, double v)
{
	size_t low = 0, high = n;

	while (low < high) { /* the first that is not below v */
		const size_t mid = (low + high) / 2;

		if (q[mid] < v)
			low = mid + 1;
		else
			high = mid;
	}
	const size_t first = low;

	for (high = n; low < high;) { /* the first that is above it */
		const size_t mid = (low + high) / 2;

		if (q[mid] <= v)
			low = mid + 1;
		else
			high = mid;
	}
	if (low > first)
		return (double)(first + low - 1) / 2 / (double)(n - 1);
	if (first == 0 || first == n)
		return first == 0 ? 0 : 1;
	return ((double)(first - 1) + (v - q[first - 1]) / (q[first] - q[first - 1])) /
	       (double)(n - 1);
}

static float scaled(const struct sw_scaling *s, double v)
{
	if (s->quantile) {
		const double rank = rank_of(s->quantile, s->n, v);

		return (float)sw_normal_quantile(fmin(fmax(rank, RANK_LEAST), 1 - RANK_LEAST));
	}
	const double z = (v - s->center) / s->width;

	if (s->clip == 0)
		return float_of(z);
	/* far out the square has no double */
	return (float)(fabs(z) > 1e100 ? copysign(s->clip, z)
				       : z / sqrt(1 + z / s->clip * (z / s->clip)));
}

/* --- a row --- */

sw_status sw_encoder_numbers(const struct sw_encoder *e, const struct sw_input *in,
			     const struct sw_csv_reader *r, size_t column,
			     double v[SW_ENCODE_PARTS], size_t *parts, bool *is, struct sw_err *err)
{
	const struct sw_csv_cell *cell = &r->cell[column];
	struct sw_date d;
	char where[48], show[44];

	*parts = parts_of(in);
	*is = in->kind == SW_KIND_DATE
		      ? sw_cell_date(cell, in->form, &d)
		      : (in->decimal == SW_DECIMAL_POINT && sw_cell_read(cell, v)) ||
				sw_cell_number(cell, in->decimal, v);
	if (*is && in->kind == SW_KIND_NUMBER) /* so that squares and differences are finite */
		*v = fmin(fmax(*v, -LARGEST), LARGEST);
	if (*is && in->kind == SW_KIND_DATE) {
		v[0] = d.days;
		v[1] = d.month;
		v[2] = d.weekday;
	}
	if (*is || (!e->strict && sw_cell_is_hole(cell)))
		return SW_OK;
	if (in->kind == SW_KIND_NUMBER)
		return sw_csv_bad_cell(r, column, err);
	return sw_err_at(err, SW_INVALID, "/path",
			 "%s: line %zu, column %s: \"%s\" is not a date, as %s is one",
			 r->file.show, r->line, sw_csv_column_show(r, column, where),
			 sw_text_show(cell->text, show), sw_date_names[in->form]);
}

/* Returns how many inputs there were. */
static size_t category_put(struct sw_input *in, const struct sw_csv_cell *cell, float *x)
{
	const size_t n = sw_input_features(in);

	memset(x, 0, n * sizeof *x);
	if (sw_cell_is_hole(cell)) {
		if (in->hole)
			x[n - 1] = 1;
		return n;
	}
	const size_t at = sw_texts_find(&in->values, cell);

	if (at < in->values.n)
		x[at] = 1;
	else if (in->unseen++ == 0)
		sw_text_show(cell->text, in->unseen_text);
	return n;
}

sw_status sw_encoder_row(struct sw_encoder *e, const struct sw_csv_reader *r, const size_t *column,
			 float *x, struct sw_err *err)
{
	for (size_t i = 0; i < e->n; i++) {
		struct sw_input *in = &e->input[i];
		const size_t at = column ? column[i] : in->column;
		double v[SW_ENCODE_PARTS];
		size_t parts;
		bool is;

		if (in->kind == SW_KIND_CATEGORY) {
			x += category_put(in, &r->cell[at], x);
			continue;
		}
		const sw_status rc = sw_encoder_numbers(e, in, r, at, v, &parts, &is, err);

		if (rc != SW_OK)
			return rc;
		for (size_t p = 0; p < parts; p++)
			*x++ = scaled(&in->scale[p], is ? v[p] : in->fill[p]);
		if (in->hole)
			*x++ = is ? 0 : 1;
	}
	return SW_OK;
}

void sw_encoder_fini(struct sw_encoder *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->input[i].name);
		for (size_t p = 0; p < SW_ENCODE_PARTS; p++)
			free(e->input[i].scale[p].quantile);
		sw_texts_fini(&e->input[i].values);
	}
	free(e->input);
	free(e->target_name);
	memset(e, 0, sizeof *e);
}

/* --- JSON --- */

static void scale_write(struct sw_jw *w, const struct sw_scaling *s)
{
	sw_jw_obj(w);
	if (s->quantile) {
		sw_jw_karr(w, "quantiles");
		for (size_t i = 0; i < s->n; i++)
			sw_jw_num(w, s->quantile[i]);
		sw_jw_arr_end(w);
	} else {
		sw_jw_knum(w, "center", s->center);
		sw_jw_knum(w, "width", s->width);
		if (s->clip != 0)
			sw_jw_knum(w, "clip", s->clip);
	}
	sw_jw_obj_end(w);
}

static void input_write(struct sw_jw *w, const struct sw_input *in)
{
	sw_jw_obj(w);
	if (in->name)
		sw_jw_kstr(w, "name", in->name);
	sw_jw_kint(w, "column", (int64_t)in->column);
	sw_jw_kstr(w, "kind", sw_kind_names[in->kind]);
	sw_jw_kbool(w, "hole", in->hole);
	if (in->kind == SW_KIND_NUMBER)
		sw_jw_kstr(w, "decimal", in->decimal == SW_DECIMAL_COMMA ? "," : ".");
	if (in->kind == SW_KIND_DATE)
		sw_jw_kstr(w, "form", sw_date_names[in->form]);
	if (in->kind == SW_KIND_CATEGORY) {
		sw_jw_karr(w, "values");
		for (size_t i = 0; i < in->values.n; i++)
			sw_jw_str(w, sw_texts_text(&in->values, i));
		sw_jw_arr_end(w);
	} else {
		sw_jw_karr(w, "fill");
		for (size_t p = 0; p < parts_of(in); p++)
			sw_jw_num(w, in->fill[p]);
		sw_jw_arr_end(w);
		sw_jw_karr(w, "scale");
		for (size_t p = 0; p < parts_of(in); p++)
			scale_write(w, &in->scale[p]);
		sw_jw_arr_end(w);
	}
	sw_jw_obj_end(w);
}

void sw_encoder_write(const struct sw_encoder *e, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kstr(&w, "target", e->target_name);
	sw_jw_kint(&w, "target_column", (int64_t)e->target);
	sw_jw_kint(&w, "width", (int64_t)e->width);
	sw_jw_kbool(&w, "header", e->header);
	sw_jw_kstr(&w, "encoding", e->latin1 ? "latin-1" : "utf-8");
	sw_jw_karr(&w, "columns");
	for (size_t i = 0; i < e->n; i++)
		input_write(&w, &e->input[i]);
	sw_jw_arr_end(&w);
	sw_jw_obj_end(&w);
}

/* A file may come from anywhere: each number is held to what sw_encoder_row() relies on. */
static bool number_is(const cJSON *v, double *out)
{
	*out = cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
	return isfinite(*out);
}

static bool place_is(const cJSON *v, size_t *out)
{
	uint64_t n = 0;
	const bool fine = sw_json_u64(v, &n) && n < SW_DATASET_MAX_ROW;

	*out = (size_t)n;
	return fine;
}

static sw_status scale_read(struct sw_scaling *s, const cJSON *json)
{
	const cJSON *list = sw_json_get(json, "quantiles"), *one, *clip = sw_json_get(json, "clip");
	bool fine = true;

	if (!list) {
		fine = number_is(sw_json_get(json, "center"), &s->center) &&
		       number_is(sw_json_get(json, "width"), &s->width) && s->width > 0 &&
		       (!clip || (number_is(clip, &s->clip) && s->clip > 0));
		return fine ? SW_OK : SW_INVALID;
	}
	const int n = cJSON_GetArraySize(list);

	if (n < 2 || n > 65536)
		return SW_INVALID;
	s->quantile = sw_malloc((size_t)n * sizeof *s->quantile);
	if (!s->quantile)
		return SW_NOMEM;
	cJSON_ArrayForEach (one, list) {
		fine = fine && number_is(one, &s->quantile[s->n]) &&
		       (s->n == 0 || s->quantile[s->n] >= s->quantile[s->n - 1]);
		s->n++;
	}
	return fine ? SW_OK : SW_INVALID;
}

static sw_status values_read(struct sw_input *in, const cJSON *list)
{
	const cJSON *one;

	in->values.most = SW_DATASET_MAX_CLASSES;
	if (!cJSON_IsArray(list))
		return SW_INVALID;
	cJSON_ArrayForEach (one, list) {
		size_t id, n = in->values.n;

		if (!cJSON_IsString(one))
			return SW_INVALID;
		const struct sw_csv_cell cell = {one->valuestring, strlen(one->valuestring)};
		const sw_status rc = sw_texts_add(&in->values, &cell, &id);

		if (rc != SW_OK || in->values.n == n) /* twice, or too many */
			return rc != SW_OK ? rc : SW_INVALID;
	}
	return SW_OK;
}

static sw_status input_read(struct sw_input *in, const cJSON *json)
{
	const char *name = sw_json_text(json, "name", NULL), *kind = sw_json_text(json, "kind", "");
	const char *form = sw_json_text(json, "form", "");
	const cJSON *fill = sw_json_get(json, "fill"), *scale = sw_json_get(json, "scale");
	sw_status rc = SW_OK;

	in->kind = SW_KIND_NUMBER;
	while (in->kind <= SW_KIND_DATE && strcmp(kind, sw_kind_names[in->kind]) != 0)
		in->kind++;
	in->hole = cJSON_IsTrue(sw_json_get(json, "hole"));
	in->decimal = strcmp(sw_json_text(json, "decimal", "."), ",") == 0 ? SW_DECIMAL_COMMA
									   : SW_DECIMAL_POINT;
	while (in->form + 1 < SW_DATE_FORMS && strcmp(form, sw_date_names[in->form]) != 0)
		in->form++;
	if (in->kind > SW_KIND_DATE || !place_is(sw_json_get(json, "column"), &in->column))
		return SW_INVALID;
	if (name && !(in->name = sw_strdup(name)))
		return SW_NOMEM;
	if (in->kind == SW_KIND_CATEGORY)
		return values_read(in, sw_json_get(json, "values"));
	for (size_t p = 0; rc == SW_OK && p < parts_of(in); p++) {
		if (!number_is(cJSON_GetArrayItem(fill, (int)p), &in->fill[p]))
			return SW_INVALID;
		rc = scale_read(&in->scale[p], cJSON_GetArrayItem(scale, (int)p));
	}
	return rc;
}

sw_status sw_encoder_read(struct sw_encoder *e, const cJSON *json)
{
	const cJSON *columns = sw_json_get(json, "columns"), *one;
	const char *target = sw_json_text(json, "target", NULL);
	const int n = cJSON_IsArray(columns) ? cJSON_GetArraySize(columns) : 0;
	sw_status rc = SW_OK;

	memset(e, 0, sizeof *e);
	e->header = cJSON_IsTrue(sw_json_get(json, "header"));
	e->latin1 = strcmp(sw_json_text(json, "encoding", ""), "latin-1") == 0;
	if (n < 1 || !place_is(sw_json_get(json, "width"), &e->width) ||
	    !place_is(sw_json_get(json, "target_column"), &e->target))
		return SW_INVALID;
	e->input = sw_calloc((size_t)n, sizeof *e->input);
	if (!e->input || (target && !(e->target_name = sw_strdup(target))))
		return SW_NOMEM;
	cJSON_ArrayForEach (one, columns) {
		struct sw_input *in = &e->input[e->n++];

		rc = input_read(in, one);
		if (rc == SW_OK && (in->column >= e->width || e->header != (in->name != NULL)))
			rc = SW_INVALID;
		if (rc != SW_OK)
			return rc;
		e->features += sw_input_features(in);
	}
	return SW_OK;
}
