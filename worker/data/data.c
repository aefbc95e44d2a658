#include "worker/data/data.h"
#include "base/beat.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "worker/data/data_raw.h"
#include "worker/data/shuffle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standardises x: float[rows][features] in place by the rows that `order` lists from n_val on.
 * moments: double[2][features], mean and deviation. */
static void standardize(float *x, const int32_t *order, size_t rows, size_t n_val, size_t features,
			double *moments)
{
	const double n = (double)(rows - n_val);

	for (size_t f = 0; f < features; f++) {
		double mean = 0, var = 0;

		sw_beat();
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

		/* by the training rows' numbers also for validation rows: those must tell
		 * nothing */
		moments[f] = mean;
		moments[features + f] = sd;
		for (size_t i = 0; i < rows; i++) {
			float *v = &x[i * features + f];

			*v = (float)(((double)*v - mean) / sd);
		}
	}
}

struct moments {
	double mean, var;
};

/* Mean and deviation of channel c over the training rows, in the units of the file. The sums of
 * bytes are exact. */
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
	const double mean = (double)sum / n;

	return (struct moments){.mean = mean, .var = (double)squares / n - mean * mean};
}

/* The same of floats. */
static struct moments floats_measure(const struct sw_raw *raw, const int32_t *order, size_t n_val,
				     size_t c)
{
	const size_t plane = raw->shape.h * raw->shape.w, count = raw->shape.c * plane;
	const double n = (double)(raw->rows - n_val) * (double)plane;
	struct moments m = {0};

	/* two passes: the squares of floats would lose what one pass subtracts in the end */
	for (size_t i = n_val; i < raw->rows; i++) {
		sw_beat();
		for (size_t k = 0; k < plane; k++)
			m.mean += (double)raw->x[(size_t)order[i] * count + c * plane + k];
	}
	m.mean /= n;
	for (size_t i = n_val; i < raw->rows; i++) {
		sw_beat();
		for (size_t k = 0; k < plane; k++) {
			const double d =
				(double)raw->x[(size_t)order[i] * count + c * plane + k] - m.mean;

			m.var += d * d;
		}
	}
	m.var /= n;
	return m;
}

/* out: float[2][c], scale and shift of each channel; moments: double[2][c]. */
static void channels_make(const struct sw_raw *raw, const struct sw_dataset *set,
			  const int32_t *order, size_t n_val, bool measure, float *out,
			  double *moments)
{
	const double unit = raw->u8 ? 255.0 : 1.0;

	for (size_t c = 0; c < raw->shape.c; c++) {
		double mean = 0, sd = unit;

		if (set->norm_n) {
			mean = set->mean[c] * unit;
			sd = set->std[c] * unit;
		} else if (measure) {
			const struct moments m = raw->u8 ? bytes_measure(raw, order, n_val, c)
							 : floats_measure(raw, order, n_val, c);

			mean = m.mean;
			/* a constant channel: as in standardize() */
			if (m.var > 1e-12 * mean * mean && m.var > 1e-30)
				sd = sqrt(m.var);
		}
		moments[c] = mean;
		moments[raw->shape.c + c] = sd;
		out[c] = (float)(1.0 / sd);
		out[raw->shape.c + c] = (float)(-mean / sd);
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
				      : (size_t)floor((double)raw->rows * want.val_fraction);
	out->train.rows = want.all ? raw->rows : raw->rows - out->val.rows;
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

/* Orders the rows, scales them by the training rows, and takes them to the device. */
static sw_status place(struct sw_data *out, struct sw_raw *raw, const struct sw_dataset *set,
		       struct sw_data_want want, struct sw_queue *q, struct sw_err *err)
{
	const bool image = raw->shape.kind == SW_SHAPE_IMAGE;
	const size_t skip = raw->rows - out->train.rows; /* not measured */
	int32_t *order = sw_malloc(raw->rows * sizeof *order);
	float *channels = image ? sw_malloc(raw->shape.c * 2 * sizeof *channels) : NULL;
	const bool scaled = image || (raw->x && want.standardize);
	const size_t scales = image ? raw->shape.c : out->features;
	double *moments = scaled ? sw_malloc(scales * 2 * sizeof *moments) : NULL;
	sw_status rc = SW_OK;

	if (!order || (image && !channels) || (scaled && !moments)) {
		rc = sw_err_set(err, SW_NOMEM, "no memory to shuffle %zu rows", raw->rows);
		goto out;
	}
	if (raw->val_rows) {
		/* the training rows come first in raw, the validation rows in order */
		for (size_t i = 0; i < raw->rows; i++)
			order[(i + raw->val_rows) % raw->rows] = (int32_t)i;
	} else {
		sw_shuffle(order, raw->rows, want.split_seed, SW_PHILOX_SPLIT, 0);
	}
	if (image)
		channels_make(raw, set, order, skip, want.standardize, channels, moments);
	else if (scaled)
		standardize(raw->x, order, raw->rows, skip, out->features, moments);
	out->about = raw->about;
	raw->about = (struct sw_data_about){0};
	if (scaled)
		rc = sw_data_about_numbers(&out->about, moments, scales, &out->about.mean, err);
	if (rc == SW_OK && scaled)
		rc = sw_data_about_numbers(&out->about, moments + scales, scales, &out->about.std,
					   err);
	if (rc == SW_OK)
		rc = sw_data_place(out, raw, channels, order, want.device_bytes, q, err);
out:
	free(order);
	free(channels);
	free(moments);
	return rc;
}

static sw_raw_read_fn *const readers[SW_DATASET_FORMAT_N] = {
	[SW_DATASET_CSV] = sw_data_table,
	[SW_DATASET_CIFAR10] = sw_data_cifar,
	[SW_DATASET_CIFAR100] = sw_data_cifar,
	[SW_DATASET_IDX] = sw_data_idx,
	[SW_DATASET_NPY] = sw_data_npy,
	[SW_DATASET_TOKENS] = sw_data_tokens,
	[SW_DATASET_SYNTHETIC] = sw_data_synthetic,
};

sw_status sw_data_load(struct sw_data *out, const struct sw_data_source *source,
		       struct sw_data_want want, const struct sw_ops *ops, struct sw_queue *q,
		       struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	struct sw_raw raw;
	sw_status rc;

	memset(&raw, 0, sizeof raw);
	raw.most = want.most;
	memset(out, 0, sizeof *out);
	out->ops = ops;
	rc = readers[source->set.format](&raw, source, &want, ops != NULL, &why);
	if (rc == SW_OK)
		rc = counts_make(out, &raw, &source->set, want, &why);
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
	sw_data_about_fini(&d->about);
	memset(d, 0, sizeof *d);
}
