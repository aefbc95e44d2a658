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

size_t sw_input_features(const struct sw_input *in)
{
	const struct sw_scaling *s = &in->scale;

	return (in->kind == SW_KIND_CATEGORY ? in->values.n : s->pieces ? s->n - 1 : 1) + in->hole;
}

/* --- numbers --- */

static float float_of(double z)
{
	return (float)(z > (double)FLT_MAX    ? (double)FLT_MAX
		       : z < -(double)FLT_MAX ? -(double)FLT_MAX
					      : z);
}

/* How many of rising numbers are below v, or equal: not above it. */
static size_t count_of(const double *q, size_t n, double v, bool equal)
{
	size_t low = 0;

	while (low < n) {
		const size_t mid = (low + n) / 2;

		if (q[mid] < v || (equal && q[mid] == v))
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* The rank of v among rising numbers, from 0 to 1. Of several equal ones the middle. */
static double rank_of(const double *q, size_t n, double v)
{
	const size_t first = count_of(q, n, v, false), behind = count_of(q, n, v, true);

	if (behind > first)
		return (double)(first + behind - 1) / 2 / (double)(n - 1);
	if (first == 0 || first == n)
		return first == 0 ? 0 : 1;
	return ((double)(first - 1) + (v - q[first - 1]) / (q[first] - q[first - 1])) /
	       (double)(n - 1);
}

static float scaled(const struct sw_scaling *s, double v)
{
	if (s->point) {
		const double rank = rank_of(s->point, s->n, v);

		return (float)sw_normal_quantile(fmin(fmax(rank, RANK_LEAST), 1 - RANK_LEAST));
	}
	const double z = (v - s->center) / s->width;

	if (s->clip == 0)
		return float_of(z);
	/* far out the square has no double */
	return (float)(fabs(z) > 1e100 ? copysign(s->clip, z)
				       : z / sqrt(1 + z / s->clip * (z / s->clip)));
}

/* Returns how many inputs there were. */
static size_t number_put(const struct sw_scaling *s, double v, float *x)
{
	if (!s->pieces) {
		*x = scaled(s, v);
		return 1;
	}
	for (size_t i = 0; i + 1 < s->n; i++) {
		const double part = (v - s->point[i]) / (s->point[i + 1] - s->point[i]);

		x[i] = (float)fmin(fmax(part, 0), 1);
	}
	return s->n - 1;
}

/* --- a row --- */

sw_status sw_input_number(const struct sw_input *in, const struct sw_csv_reader *r, size_t column,
			  double *v, bool *is, struct sw_err *err)
{
	const struct sw_csv_cell *cell = &r->cell[column];
	const bool strict = isnan(in->fill), date = in->kind == SW_KIND_DATE;
	struct sw_date d;
	char where[48], show[44];

	*is = date ? sw_cell_date(cell, in->form, &d) : sw_cell_number(cell, in->decimal, v);
	if (*is && date)
		*v = in->part == 0 ? d.days : in->part == 1 ? d.month : d.weekday;
	if (*is && !date && strict && !isfinite((float)*v))
		return sw_csv_bad_cell(r, column, err);
	if (*is && !date) /* so that squares and differences are finite */
		*v = fmin(fmax(*v, -LARGEST), LARGEST);
	if (*is || (!strict && sw_cell_is_hole(cell)))
		return SW_OK;
	if (!date)
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
		double v;
		bool is;

		if (in->kind == SW_KIND_CATEGORY) {
			x += category_put(in, &r->cell[at], x);
			continue;
		}
		const sw_status rc = sw_input_number(in, r, at, &v, &is, err);

		if (rc != SW_OK)
			return rc;
		x += number_put(&in->scale, is ? v : in->fill, x);
		if (in->hole)
			*x++ = is ? 0 : 1;
	}
	return SW_OK;
}

void sw_encoder_fini(struct sw_encoder *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->input[i].name);
		free(e->input[i].scale.point);
		sw_texts_fini(&e->input[i].values);
	}
	free(e->input);
	free(e->target_name);
	memset(e, 0, sizeof *e);
}

/* --- JSON --- */

/* An input's numbers, and what one has that is not written. */
static const struct {
	const char *key;
	size_t at;
	double absent;
} numbers[] = {{"fill", offsetof(struct sw_input, fill), (double)NAN},
	       {"center", offsetof(struct sw_input, scale.center), 0},
	       {"width", offsetof(struct sw_input, scale.width), 1},
	       {"clip", offsetof(struct sw_input, scale.clip), 0}};
#define NUMBERS_N (sizeof numbers / sizeof *numbers)

static void input_write(struct sw_jw *w, const struct sw_input *in)
{
	sw_jw_obj(w);
	if (in->name)
		sw_jw_kstr(w, "name", in->name);
	sw_jw_kint(w, "column", (int64_t)in->column);
	sw_jw_kstr(w, "kind", sw_kind_names[in->kind]);
	if (in->hole)
		sw_jw_kbool(w, "hole", true);
	if (in->decimal == SW_DECIMAL_COMMA)
		sw_jw_kstr(w, "decimal", ",");
	if (in->kind == SW_KIND_DATE) {
		sw_jw_kstr(w, "form", sw_date_names[in->form]);
		sw_jw_kint(w, "part", (int64_t)in->part);
	}
	for (size_t i = 0; in->kind != SW_KIND_CATEGORY && i < NUMBERS_N; i++) {
		const double v = *(const double *)((const char *)in + numbers[i].at);

		if (!isnan(v) && v != numbers[i].absent)
			sw_jw_knum(w, numbers[i].key, v);
	}
	if (in->kind == SW_KIND_CATEGORY || in->scale.point)
		sw_jw_karr(w, in->scale.pieces  ? "pieces"
			      : in->scale.point ? "quantiles"
						: "values");
	for (size_t i = 0; i < in->values.n; i++)
		sw_jw_str(w, sw_texts_text(&in->values, i));
	for (size_t i = 0; in->scale.point && i < in->scale.n; i++)
		sw_jw_num(w, in->scale.point[i]);
	if (in->kind == SW_KIND_CATEGORY || in->scale.point)
		sw_jw_arr_end(w);
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

static sw_status scale_read(struct sw_input *in, const cJSON *json)
{
	const cJSON *pieces = sw_json_get(json, "pieces"), *one;
	const cJSON *list = pieces ? pieces : sw_json_get(json, "quantiles");
	const int n = cJSON_GetArraySize(list);
	bool fine = true;

	for (size_t i = 0; i < NUMBERS_N; i++) {
		double *v = (double *)((char *)in + numbers[i].at);
		const cJSON *has = sw_json_get(json, numbers[i].key);

		*v = numbers[i].absent;
		fine = fine && (!has || number_is(has, v));
	}
	if (!fine || in->scale.width <= 0 || in->scale.clip < 0 ||
	    (list && (!cJSON_IsArray(list) || n < 2 || n > 65536)))
		return SW_INVALID;
	if (!list)
		return SW_OK;
	in->scale.pieces = pieces != NULL;
	in->scale.point = sw_malloc((size_t)n * sizeof *in->scale.point);
	if (!in->scale.point)
		return SW_NOMEM;
	cJSON_ArrayForEach (one, list) {
		double *p = &in->scale.point[in->scale.n];

		/* a piece has a length: it is divided by */
		fine = fine && number_is(one, p) &&
		       (in->scale.n == 0 || *p > p[-1] || (!pieces && *p == p[-1]));
		in->scale.n++;
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
		const struct sw_csv_cell cell = {.text = one->valuestring,
						 .len = strlen(one->valuestring)};
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
	double part = sw_json_number(json, "part", 0);

	in->kind = SW_KIND_NUMBER;
	while (in->kind <= SW_KIND_DATE && strcmp(kind, sw_kind_names[in->kind]) != 0)
		in->kind++;
	in->hole = cJSON_IsTrue(sw_json_get(json, "hole"));
	in->decimal = strcmp(sw_json_text(json, "decimal", "."), ",") == 0 ? SW_DECIMAL_COMMA
									   : SW_DECIMAL_POINT;
	while (in->form + 1 < SW_DATE_FORMS && strcmp(form, sw_date_names[in->form]) != 0)
		in->form++;
	if (in->kind > SW_KIND_DATE || !place_is(sw_json_get(json, "column"), &in->column) ||
	    !(part >= 0 && part < SW_DATE_PARTS))
		return SW_INVALID;
	in->part = (size_t)part;
	if (name && !(in->name = sw_strdup(name)))
		return SW_NOMEM;
	return in->kind == SW_KIND_CATEGORY ? values_read(in, sw_json_get(json, "values"))
					    : scale_read(in, json);
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
		if (rc == SW_OK && (in->column >= e->width || in->column == e->target ||
				    e->header != (in->name != NULL)))
			rc = SW_INVALID;
		if (rc != SW_OK)
			return rc;
		e->features += sw_input_features(in);
	}
	return SW_OK;
}
