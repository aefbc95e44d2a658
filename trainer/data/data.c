#include "trainer/data/data.h"
#include "base/beat.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "trainer/data/data_raw.h"
#include "trainer/data/shuffle.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct moments {
	double mean, sd; /* sd 1: it is constant */
};

/* Of bytes in channel c of the training rows. The sums are exact. */
static struct moments bytes_measure(const struct sw_raw *raw, const int32_t *order, size_t n_val,
				    size_t c)
{
	const size_t plane = raw->shape.h * raw->shape.w, count = raw->shape.c * plane;
	const double n = (double)(raw->rows - n_val) * (double)plane;
	uint64_t sum = 0, squares = 0;

	for (size_t i = n_val; i < raw->rows; i++) {
		const uint8_t *at = raw->u8 + (size_t)order[i] * count + c * plane;

		sw_beat();
		for (size_t k = 0; k < plane; k++) {
			sum += at[k];
			squares += (uint32_t)at[k] * at[k];
		}
	}
	/* The sums are whole numbers and exact, so one pass is enough. */
	const double mean = (double)sum / n, var = (double)squares / n - mean * mean;

	return (struct moments){.mean = mean, .sd = var > 1e-12 * mean * mean ? sqrt(var) : 1.0};
}

/* Of x: float[][count], of which a row has `plane` from x on and `from` the n of the training rows;
 * base: what they are less. */
static struct moments floats_measure(const float *x, size_t count, size_t plane,
				     const int32_t *from, size_t n, double base)
{
	const double numbers = (double)n * (double)plane;
	struct moments m = {0};
	bool same = true;
	double var = 0;

	/* two passes: the squares of floats would lose what one pass subtracts in the end */
	for (size_t i = 0; i < n; i++) {
		sw_beat();
		for (size_t k = 0; k < plane; k++) {
			const float v = x[(size_t)from[i] * count + k];

			same = same && v == x[(size_t)from[0] * count];
			m.mean += (double)v;
		}
	}
	m.mean /= numbers;
	for (size_t i = 0; i < n; i++) {
		sw_beat();
		for (size_t k = 0; k < plane; k++) {
			const double d = (double)x[(size_t)from[i] * count + k] - m.mean;

			var += d * d;
		}
	}
	/* 0.3 and 0.30000000000000004 differ by how a double was rounded: a constant, too */
	m.sd = sqrt(var / numbers);
	if (same || m.sd <= DBL_EPSILON / 2 * fabs(base + m.mean))
		m.sd = 1;
	return m;
}

/* Standardises the rows of raw by those that `order` lists from n_val on. moments: double[2][],
 * mean and deviation of each feature. */
static void standardize(struct sw_raw *raw, const int32_t *order, size_t n_val, double *moments)
{
	const size_t features = sw_shape_count(&raw->shape);

	for (size_t f = 0; f < features; f++) {
		const double base = raw->base ? raw->base[f] : 0;
		/* by the training rows' numbers also for validation rows: those must tell
		 * nothing */
		const struct moments m = floats_measure(raw->x + f, features, 1, order + n_val,
							raw->rows - n_val, base);

		moments[f] = base + m.mean;
		moments[features + f] = m.sd;
		for (size_t i = 0; i < raw->rows; i++) {
			float *v = &raw->x[i * features + f];

			*v = (float)(((double)*v - m.mean) / m.sd);
		}
	}
}

/* Targets as inputs: less the mean of the training rows, over their deviation. The loss and the
 * metrics are given back their unit, and predictions both. */
static void targets_scale(struct sw_data *out, struct sw_raw *raw, const int32_t *order,
			  size_t n_val)
{
	const double base = isnan(raw->value_base) ? 0 : raw->value_base;
	const struct moments m =
		floats_measure(raw->value, 1, 1, order + n_val, raw->rows - n_val, base);

	for (size_t i = 0; i < raw->rows; i++)
		raw->value[i] = (float)(((double)raw->value[i] - m.mean) / m.sd);
	out->target_shift = base + m.mean;
	out->target_unit = m.sd;
}

/* A table's order: what is validated on comes first, what is trained on last. The test part of one
 * that is fitted to all rows stands where what is validated on stands: it stays unseen. */
static void order_take(int32_t *order, const struct sw_raw *raw, struct sw_data_want want)
{
	memcpy(order, raw->order, raw->rows * sizeof *order);
	if (want.test || (want.all && raw->test)) {
		memcpy(order, raw->order + raw->val, raw->test * sizeof *order);
		memcpy(order + raw->test, raw->order, raw->val * sizeof *order);
	}
}

/* out: float[2][c], scale and shift of each channel; moments: double[2][c]. */
static void channels_make(const struct sw_raw *raw, const struct sw_dataset *set,
			  const int32_t *order, size_t n_val, bool measure, float *out,
			  double *moments)
{
	const size_t plane = raw->shape.h * raw->shape.w, count = raw->shape.c * plane;
	const double unit = raw->u8 ? 255.0 : 1.0;

	for (size_t c = 0; c < raw->shape.c; c++) {
		const double base = raw->base ? raw->base[c] : 0;
		double mean = 0, sd = unit;

		if (set->norm_n) {
			mean = set->mean[c] * unit;
			sd = set->std[c] * unit;
		} else if (measure) {
			const struct moments m = raw->u8 ? bytes_measure(raw, order, n_val, c)
							 : floats_measure(raw->x + c * plane, count,
									  plane, order + n_val,
									  raw->rows - n_val, base);

			mean = base + m.mean;
			sd = m.sd;
		}
		moments[c] = mean;
		moments[raw->shape.c + c] = sd;
		out[c] = (float)(1.0 / sd);
		out[raw->shape.c + c] = (float)((base - mean) / sd);
	}
}

/* --- */

/* Rows of both parts, the shape, the bytes. */
static sw_status counts_make(struct sw_data *out, const struct sw_raw *raw,
			     const struct sw_dataset *set, struct sw_data_want want,
			     struct sw_err *err)
{
	const bool u8 = raw->kind == SW_RAW_U8;

	out->input = raw->shape;
	out->features = sw_shape_count(&raw->shape);
	out->classes = raw->classes;
	out->labels = raw->labels;
	out->vocab = raw->vocab;
	out->pad = (int)set->crop;
	out->flip = set->flip;
	out->val.rows = raw->val_rows ? raw->val_rows
			: raw->order ? (want.test || (want.all && raw->test) ? raw->test : raw->val)
				     : (size_t)floor((double)raw->rows * want.val_fraction);
	out->train.rows = want.all     ? raw->rows - raw->test
			  : raw->order ? raw->rows - raw->val - raw->test
				       : raw->rows - out->val.rows;
	sw_data_place_bytes(out, u8, raw->length != NULL);
	if (out->train.rows == 0 || out->val.rows == 0)
		return sw_err_set(err, SW_INVALID, "val_fraction %g of %zu rows leaves none to %s",
				  want.val_fraction, raw->rows,
				  out->val.rows ? "train on" : "validate on");
	if (set->norm_n && (out->input.kind != SW_SHAPE_IMAGE || set->norm_n != out->input.c))
		return sw_err_at(err, SW_INVALID, "/normalize/mean",
				 "\"normalize\" is for %zu channels, the data has %zu%s",
				 set->norm_n, out->input.kind == SW_SHAPE_IMAGE ? out->input.c : 0,
				 out->input.kind == SW_SHAPE_IMAGE ? ""
								   : ": its rows are not images");
	if ((set->crop || set->flip) && out->input.kind != SW_SHAPE_IMAGE)
		return sw_err_at(err, SW_INVALID, "/augment", "\"augment\" is for images");
	if (set->crop && (set->crop >= out->input.h || set->crop >= out->input.w))
		return sw_err_at(err, SW_INVALID, "/augment/crop",
				 "a shift by up to %u pixels can leave nothing of an image of "
				 "%zu x %zu",
				 set->crop, out->input.h, out->input.w);
	return SW_OK;
}

static sw_status classes_keep(struct sw_data *out, const struct sw_raw *raw, const int32_t *order,
			      struct sw_err *err)
{
	const size_t skip = raw->rows - out->train.rows;

	out->train_class = sw_malloc((out->train.rows + out->val.rows) * sizeof(int32_t));
	if (!out->train_class)
		return sw_err_set(err, SW_NOMEM, "no memory for %zu labels", raw->rows);
	out->val_class = out->train_class + out->train.rows;
	for (size_t i = 0; i < out->train.rows; i++)
		out->train_class[i] = raw->label[order[skip + i]];
	for (size_t i = 0; i < out->val.rows; i++)
		out->val_class[i] = raw->label[order[i]];
	return SW_OK;
}

/* Orders the rows, scales them by the training rows, and takes them to the device. */
static sw_status place(struct sw_data *out, struct sw_raw *raw, const struct sw_dataset *set,
		       struct sw_data_want want, struct sw_queue *q, struct sw_err *err)
{
	const bool image = raw->shape.kind == SW_SHAPE_IMAGE;
	const size_t skip = raw->rows - out->train.rows; /* not measured */
	int32_t *order = sw_malloc(raw->rows * sizeof *order);
	float *channels = image ? sw_malloc(raw->shape.c * 2 * sizeof *channels) : NULL;
	const bool scale = want.scale != SW_SCALE_NONE, table = set->format == SW_DATASET_CSV;
	/* the columns of a table were scaled as they were encoded */
	const bool scaled = image || (raw->x && scale && !table);
	const size_t scales = image ? raw->shape.c : out->features;
	double *moments = scaled ? sw_malloc(scales * 2 * sizeof *moments) : NULL;
	sw_status rc = SW_OK;

	if (!order || (image && !channels) || (scaled && !moments)) {
		rc = sw_err_set(err, SW_NOMEM, "no memory to shuffle %zu rows", raw->rows);
		goto out;
	}
	if (raw->order) {
		order_take(order, raw, want);
	} else if (raw->val_rows) {
		/* the training rows come first in raw, the validation rows in order */
		for (size_t i = 0; i < raw->rows; i++)
			/* Both ways validation rows come first in `order`, and training rows from
			 * `skip` on. */
			order[(i + raw->val_rows) % raw->rows] = (int32_t)i;
	} else {
		sw_shuffle(order, raw->rows, want.split_seed, SW_PHILOX_SPLIT, 0);
	}
	if (image)
		channels_make(raw, set, order, skip, scale, channels, moments);
	else if (scaled)
		standardize(raw, order, skip, moments);
	out->target_shift = raw->shift;
	out->target_unit = raw->unit;
	if (raw->value && scale && !table)
		targets_scale(out, raw, order, skip);
	if (scaled)
		rc = sw_data_about_numbers(&out->about, moments, scales, &out->about.mean, err);
	if (rc == SW_OK && scaled)
		rc = sw_data_about_numbers(&out->about, moments + scales, scales, &out->about.std,
					   err);
	/* Where the host's memory is where rows stay they have no second place. */
	if (rc == SW_OK && raw->table && !sw_data_in_host(out, want.device_bytes))
		rc = sw_data_table_rows(raw, err);
	if (rc == SW_OK)
		rc = sw_data_place(out, raw, channels, order, want.device_bytes, q, err);
	if (rc == SW_OK && raw->label && raw->labels == 1)
		rc = classes_keep(out, raw, order, err);
out:
	free(order);
	free(channels);
	free(moments);
	return rc;
}

sw_status sw_data_load(struct sw_data *out, const struct sw_data_source *source,
		       struct sw_data_want want, const struct sw_ops *ops, struct sw_queue *q,
		       struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	struct sw_raw raw;
	sw_status rc;

	memset(&raw, 0, sizeof raw);
	raw.most = want.most;
	raw.value_base = (double)NAN;
	memset(out, 0, sizeof *out);
	out->ops = ops;
	sw_raw_read_fn *const read = source->set.format == SW_DATASET_CSV ? sw_data_table
				     : source->set.format == SW_DATASET_SYNTHETIC
					     ? sw_data_synthetic
					     : sw_data_arrays;

	rc = read(&raw, source, &want, ops != NULL, &why);
	if (rc == SW_OK)
		rc = counts_make(out, &raw, &source->set, want, &why);
	out->about = raw.about;
	/* Handed over, so that it is freed once. */
	raw.about = (struct sw_data_about){0};
	if (rc == SW_OK && ops)
		rc = place(out, &raw, &source->set, want, q, &why);
	sw_data_raw_fini(&raw);
	if (rc == SW_OK)
		return SW_OK;
	/* a failure leaves nothing, whatever it came after */
	sw_data_fini(out);
	/* a named set has no "path" in the spec that the pointer could name */
	if (source->set.name && strcmp(why.ptr, "/path") == 0)
		strcpy(why.ptr, "/name");
	return sw_err_at(err, rc, why.ptr, "%s", why.msg);
}

void sw_data_fini(struct sw_data *d)
{
	if (d->ops && d->memory)
		d->ops->free(d->memory);
	free(d->host);
	free(d->train_class);
	sw_data_about_fini(&d->about);
	memset(d, 0, sizeof *d);
}
