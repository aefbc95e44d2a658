/* trainer/data/data_table.c — the labels of a CSV file as numbers: classes 0..C-1 in sorted order,
 * or values. */
#include "base/memory.h"
#include "base/text.h"
#include "proto/json.h"
#include "trainer/data/csv.h"
#include "trainer/data/data_csv.h"
#include "trainer/data/data_raw.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES ((size_t)65536)

struct ref {
	const char *text;
	double number;
	size_t row;
};

static int by_number(const void *a, const void *b)
{
	const double x = ((const struct ref *)a)->number, y = ((const struct ref *)b)->number;

	return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct ref *)a)->text, ((const struct ref *)b)->text);
}

/* The text of each class, of rows that are sorted by it. */
static sw_status names_make(struct sw_raw *out, const struct ref *refs, size_t rows,
			    int (*order)(const void *, const void *), struct sw_err *err)
{
	struct sw_buf list;
	struct sw_jw w;

	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	sw_jw_arr(&w);
	for (size_t i = 0; i < rows; i++)
		if (i == 0 || order(&refs[i - 1], &refs[i]) != 0)
			sw_jw_str(&w, refs[i].text);
	sw_jw_arr_end(&w);
	return sw_data_about_take(&out->about, &list, &out->about.classes, err);
}

/* The names of the features' columns and of the label's. */
static sw_status columns_make(struct sw_raw *out, const struct sw_data_csv *csv, struct sw_err *err)
{
	struct sw_buf list;
	struct sw_jw w;
	sw_status rc;

	out->about.label_column = csv->label_column;
	if (!csv->name)
		return SW_OK; /* no header: columns are known by their places */
	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	sw_jw_str(&w, csv->name[csv->label_column]);
	rc = sw_data_about_take(&out->about, &list, &out->about.label, err);
	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	sw_jw_arr(&w);
	for (size_t i = 0; i <= csv->features; i++)
		if (i != csv->label_column)
			sw_jw_str(&w, csv->name[i]);
	sw_jw_arr_end(&w);
	if (rc == SW_OK)
		rc = sw_data_about_take(&out->about, &list, &out->about.columns, err);
	sw_buf_fini(&list);
	return rc;
}

#define AT "/trainer/dataset"

/* Says what is allowed, but likely a mistake: the first that it finds. */
static void look_for_odd(struct sw_raw *out, const struct sw_data_csv *csv)
{
	static const char unknown[] = ",na,n/a,#n/a,<na>,nan,null,none,?,";
	char *odd = out->about.odd, word[12];
	const size_t cap = sizeof out->about.odd;

	if (csv->named_by_row)
		(void)snprintf(odd, cap,
			       AT "/header: the first line is all numbers, and is taken for the "
				  "names of the columns: \"header\": false makes a row of it");
	else if (out->classes > 9 && out->classes > csv->rows / 2)
		(void)snprintf(odd, cap,
			       AT "/label: %zu classes in %zu rows: is it an id, or a number to "
				  "predict (loss \"mse\")?",
			       out->classes, csv->rows);
	for (size_t i = 0; out->classes && !*odd && i < csv->rows; i++)
		if (snprintf(word, sizeof word, ",%s,", csv->label[i]) < (int)sizeof word &&
		    strcasestr(unknown, word))
			(void)snprintf(odd, cap,
				       AT "/label: data row %zu has the label \"%s\", which is a "
					  "class: leave out rows whose label is not known",
				       i + 1, csv->label[i]);
}

/* Numbers the classes in sorted order: of numbers if all labels are, else of texts. */
static sw_status classes_make(struct sw_raw *out, const struct sw_data_csv *csv, struct sw_err *err)
{
	sw_status rc;
	struct ref *refs = sw_calloc(csv->rows, sizeof *refs);
	int (*order)(const void *, const void *) = by_number;

	out->label = sw_calloc(csv->rows, sizeof *out->label);
	if (!refs || !out->label) {
		free(refs);
		return sw_err_set(err, SW_NOMEM, "no memory for %zu labels", csv->rows);
	}
	/* One text among numbers makes all of them texts: "10" is then before "9". */
	for (size_t i = 0; i < csv->rows; i++) {
		refs[i] = (struct ref){.text = csv->label[i], .row = i};
		if (!sw_cell_plain(&(struct sw_csv_cell){csv->label[i], strlen(csv->label[i])},
				   &refs[i].number))
			order = by_text;
	}
	qsort(refs, csv->rows, sizeof *refs, order);
	out->classes = 1;
	/* By equality in that order: "1" and "1.0" are one class of numbers. */
	for (size_t i = 0; i < csv->rows; i++) {
		out->classes += i > 0 && order(&refs[i - 1], &refs[i]) != 0;
		out->label[refs[i].row] = (int32_t)out->classes - 1;
	}
	rc = names_make(out, refs, csv->rows, order, err);
	free(refs);
	if (rc != SW_OK)
		return rc;
	if (out->classes == 1)
		return sw_err_at(err, SW_INVALID, "/label", "all rows have the same label");
	if (out->classes > MAX_CLASSES)
		return sw_err_at(err, SW_TOO_BIG, "/label",
				 "the label has %zu classes, at most %zu are possible: is it a "
				 "number to predict (loss \"mse\")?",
				 out->classes, MAX_CLASSES);
	return SW_OK;
}

/* Reads the labels as numbers to predict. */
static sw_status values_make(struct sw_raw *out, const struct sw_data_csv *csv,
			     const struct sw_data_want *want, struct sw_err *err)
{
	char show[44];

	out->value = sw_calloc(csv->rows, sizeof *out->value);
	if (!out->value)
		return sw_err_set(err, SW_NOMEM, "no memory for %zu targets", csv->rows);
	for (size_t i = 0; i < csv->rows; i++) {
		double v;

		if (!sw_cell_plain(&(struct sw_csv_cell){csv->label[i], strlen(csv->label[i])},
				   &v) ||
		    !isfinite((float)v))
			return sw_err_at(err, SW_INVALID, "/label",
					 "the loss \"mse\" needs numbers, data row %zu has the "
					 "label \"%s\"",
					 i + 1, sw_text_show(csv->label[i], show));
		out->value[i] = sw_data_less(v, want->standardize ? &out->value_base : NULL);
	}
	return SW_OK;
}

sw_status sw_data_table(struct sw_raw *out, const struct sw_data_source *source,
			const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	const struct sw_dataset *set = &source->set;
	const struct sw_data_csv_label label = {.name = source->label, .index = set->label_column};
	const size_t c = set->image[0], h = set->image[1], w = set->image[2];
	struct sw_data_csv csv;
	sw_status rc = sw_data_csv_read(&csv, source->path, set->header, label,
					want->standardize ? (c ? h * w : 1) : 0, err);

	(void)keep; /* the rows are made to be checked */
	if (rc != SW_OK)
		return rc;
	out->rows = csv.rows;
	out->labels = 1;
	out->shape = c ? sw_shape_image(c, h, w) : sw_shape_flat(csv.features);
	rc = want->classes ? classes_make(out, &csv, err) : values_make(out, &csv, want, err);
	if (rc == SW_OK)
		rc = columns_make(out, &csv, err);
	look_for_odd(out, &csv);
	if (rc == SW_OK && c && c * h * w != csv.features)
		rc = sw_err_at(err, SW_INVALID, "/image",
			       "%s has %zu columns beside the label, an image of %zu x %zu x "
			       "%zu needs %zu",
			       source->path, csv.features, c, h, w, c * h * w);
	out->x = csv.x;
	out->base = csv.base;
	csv.x = NULL;
	csv.base = NULL;
	sw_data_csv_fini(&csv);
	return rc;
}
