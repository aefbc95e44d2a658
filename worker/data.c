#include "worker/data.h"
#include "base/fault.h"
#include "kernels/philox.h"
#include "worker/shuffle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES ((size_t)65536)

/* The labels of a file as numbers: classes 0..C-1 or values. */
struct labels {
	int32_t *class; /* [rows] or NULL */
	float *value;   /* [rows] or NULL */
	size_t classes;
};

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

static sw_status classes_make(struct labels *out, const struct sw_csv *csv, struct sw_err *err)
{
	struct ref *refs = sw_calloc(csv->rows, sizeof *refs);
	int (*order)(const void *, const void *) = by_number;

	out->class = sw_calloc(csv->rows, sizeof *out->class);
	if (!refs || !out->class) {
		free(refs);
		return sw_err_set(err, SW_NOMEM, "no memory for %zu labels", csv->rows);
	}
	for (size_t i = 0; i < csv->rows; i++) {
		refs[i] = (struct ref){.text = csv->label[i], .row = i};
		if (!sw_csv_number(refs[i].text, &refs[i].number))
			order = by_text;
	}
	qsort(refs, csv->rows, sizeof *refs, order);
	out->classes = 1;
	for (size_t i = 0; i < csv->rows; i++) {
		out->classes += i > 0 && order(&refs[i - 1], &refs[i]) != 0;
		out->class[refs[i].row] = (int32_t)out->classes - 1;
	}
	free(refs);
	if (out->classes == 1)
		return sw_err_at(err, SW_INVALID, "/label", "all rows have the same label");
	if (out->classes > MAX_CLASSES)
		return sw_err_at(err, SW_TOO_BIG, "/label",
				 "the label has %zu classes, at most %zu are possible: is it a "
				 "number to predict (loss \"mse\")?",
				 out->classes, MAX_CLASSES);
	return SW_OK;
}

static sw_status values_make(struct labels *out, const struct sw_csv *csv, struct sw_err *err)
{
	char show[44];

	out->value = sw_calloc(csv->rows, sizeof *out->value);
	if (!out->value)
		return sw_err_set(err, SW_NOMEM, "no memory for %zu targets", csv->rows);
	for (size_t i = 0; i < csv->rows; i++) {
		double v;

		if (!sw_csv_number(csv->label[i], &v) || !isfinite((float)v))
			return sw_err_at(err, SW_INVALID, "/label",
					 "the loss \"mse\" needs numbers, data row %zu has the "
					 "label \"%s\"",
					 i + 1, sw_csv_show(csv->label[i], show));
		out->value[i] = (float)v;
	}
	return SW_OK;
}

/* Standardises x: float[rows][features] in place by the rows that `order` lists from n_val on. */
static void standardize(float *x, const int32_t *order, size_t rows, size_t n_val, size_t features)
{
	const double n = (double)(rows - n_val);

	for (size_t f = 0; f < features; f++) {
		double mean = 0, var = 0;

		for (size_t i = n_val; i < rows; i++)
			mean += (double)x[(size_t)order[i] * features + f];
		mean /= n;
		for (size_t i = n_val; i < rows; i++) {
			const double d = (double)x[(size_t)order[i] * features + f] - mean;

			var += d * d;
		}
		var /= n;
		/* rounding leaves a constant column a variance near, not at, zero */
		const double sd = var > 1e-12 * mean * mean && var > 1e-30 ? sqrt(var) : 1.0;

		for (size_t i = 0; i < rows; i++) {
			float *v = &x[i * features + f];

			*v = (float)(((double)*v - mean) / sd);
		}
	}
}

/* Bytes of float[rows][features], kept 64-byte aligned: so is what follows it. */
static size_t x_bytes(const struct sw_data *d, const struct sw_data_part *part)
{
	return (part->rows * d->features * sizeof(float) + 63) / 64 * 64;
}

/* Of rows and labels (int32 or float: four bytes each). */
static size_t part_bytes(const struct sw_data *d, const struct sw_data_part *part)
{
	return x_bytes(d, part) + (part->rows * 4 + 63) / 64 * 64;
}

static void part_place(const struct sw_data *d, struct sw_data_part *part, char *at)
{
	part->x = (float *)(void *)at;
	if (d->classes)
		part->label = (int32_t *)(void *)(at + x_bytes(d, part));
	else
		part->target = (float *)(void *)(at + x_bytes(d, part));
}

static sw_status part_upload(const struct sw_data *d, const struct sw_data_part *part,
			     const struct sw_csv *csv, const struct labels *labels,
			     const int32_t *order, float *row_buf, struct sw_queue *q)
{
	const size_t F = d->features;
	float *y = row_buf + part->rows * F;
	sw_status status;

	for (size_t i = 0; i < part->rows; i++) {
		const size_t row = (size_t)order[i];

		memcpy(row_buf + i * F, csv->x + row * F, F * sizeof *row_buf);
		if (labels->class)
			memcpy(y + i, labels->class + row, sizeof *y);
		else
			y[i] = labels->value[row];
	}
	status = d->ops->upload(q, part->x, row_buf, part->rows * F * sizeof *row_buf);
	if (status != SW_OK)
		return status;
	return d->ops->upload(q, part->label ? (void *)part->label : (void *)part->target, y,
			      part->rows * sizeof *y);
}

static sw_status to_device(struct sw_data *d, const struct sw_csv *csv, const struct labels *labels,
			   const int32_t *order, struct sw_queue *q, struct sw_err *err)
{
	float *rows = sw_malloc(csv->rows * (d->features + 1) * sizeof *rows);
	sw_status status;

	d->bytes = part_bytes(d, &d->train) + part_bytes(d, &d->val);
	status = rows ? d->ops->alloc(&d->memory, d->bytes) : SW_NOMEM;
	if (status == SW_OK) {
		part_place(d, &d->train, d->memory);
		part_place(d, &d->val, (char *)d->memory + part_bytes(d, &d->train));
	}
	if (status == SW_OK)
		status = part_upload(d, &d->val, csv, labels, order, rows, q);
	if (status == SW_OK)
		status = part_upload(d, &d->train, csv, labels, order + d->val.rows, rows, q);
	free(rows);
	if (status != SW_OK)
		return sw_err_set(err, status, "the data set does not get to the device: %s",
				  sw_status_str(status));
	return SW_OK;
}

static sw_status load_rows(struct sw_data *out, struct sw_csv *csv, struct sw_data_want want,
			   struct sw_queue *q, struct sw_err *err)
{
	struct labels labels = {0};
	int32_t *order = NULL;
	sw_status status = want.classes ? classes_make(&labels, csv, err)
					: values_make(&labels, csv, err);

	if (status != SW_OK)
		goto out;
	out->features = csv->features;
	out->input = sw_shape_flat(csv->features);
	out->labels = 1;
	out->classes = labels.classes;
	out->val.rows = (size_t)floor((double)csv->rows * want.val_fraction);
	out->train.rows = csv->rows - out->val.rows;
	if (out->train.rows == 0 || out->val.rows == 0) {
		status = sw_err_set(
			err, SW_INVALID, "val_fraction %g of %zu rows leaves none to %s",
			want.val_fraction, csv->rows, out->val.rows ? "train on" : "validate on");
		goto out;
	}
	if (!out->ops)
		goto out;
	order = sw_malloc(csv->rows * sizeof *order);
	if (!order) {
		status = sw_err_set(err, SW_NOMEM, "no memory to shuffle %zu rows", csv->rows);
		goto out;
	}
	sw_shuffle(order, csv->rows, want.split_seed, SW_PHILOX_SPLIT, 0);
	if (want.standardize)
		standardize(csv->x, order, csv->rows, out->val.rows, csv->features);
	status = to_device(out, csv, &labels, order, q, err);
out:
	free(order);
	free(labels.class);
	free(labels.value);
	return status;
}

sw_status sw_data_load(struct sw_data *out, const struct sw_data_source *source,
		       struct sw_data_want want, const struct sw_ops *ops, struct sw_queue *q,
		       struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	struct sw_csv csv;
	sw_status status = sw_csv_read(&csv, source->path, source->header, source->label, &why);

	memset(out, 0, sizeof *out);
	out->ops = ops;
	if (status == SW_OK) {
		status = load_rows(out, &csv, want, q, &why);
		sw_csv_fini(&csv);
	}
	if (status == SW_OK)
		return SW_OK;
	sw_data_fini(out);
	/* a named set has no "path" in the spec that the pointer could name */
	if (source->named && strcmp(why.ptr, "/path") == 0)
		strcpy(why.ptr, "/name");
	return sw_err_at(err, status, why.ptr, "%s", why.msg);
}

void sw_data_fini(struct sw_data *d)
{
	if (d->ops && d->memory)
		d->ops->free(d->memory);
	memset(d, 0, sizeof *d);
}
