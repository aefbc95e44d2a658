/* trainer/data/encode_fit.c — measures the training rows of a table, for trainer/data/encode.h. */
#include "base/memory.h"
#include "trainer/data/encode.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP           3.0
#define SAMPLES_BYTES  ((size_t)64 << 20)
#define SAMPLES_MOST   ((size_t)65536)
#define SAMPLES_LEAST  ((size_t)256)
#define VALUES_MOST    ((size_t)65536) /* different ones of a category that are counted */
#define QUANTILES_MOST ((size_t)256)

/* One number of an input. Mean and squares as in Welford, "Note on a method for calculating
 * corrected sums of squares and products", 1962: in one pass, and large numbers lose nothing. */
struct measure {
	double n, first, mean, square, min, max; /* mean: less the first one */
	double *sample;                          /* [at most] */
	size_t samples;
};

struct fit {
	struct sw_encoder *e;
	struct sw_csv_reader r;
	struct measure *m; /* [e->n][SW_ENCODE_PARTS] */
	double *room;      /* the samples of all */
	size_t step;       /* every so-manieth training row is one */
	bool *holes;       /* [e->n] */
};

static sw_status no_memory(const struct fit *f, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory to measure the columns of %s", f->r.file.show);
}

/* --- the inputs --- */

static sw_status inputs_make(struct fit *f, const struct sw_table *t, struct sw_err *err)
{
	struct sw_encoder *e = f->e;

	e->input = sw_calloc(t->columns, sizeof *e->input);
	e->target_name = t->name ? sw_strdup(t->name[t->target]) : NULL;
	if (!e->input || (t->name && !e->target_name))
		return no_memory(f, err);
	for (size_t i = 0; i < t->columns; i++) {
		const struct sw_table_column *c = &t->column[i];
		struct sw_input *in = &e->input[e->n];

		if (i == t->target || (c->why && !e->strict))
			continue;
		in->kind = e->strict ? SW_KIND_NUMBER : c->kind;
		in->column = i;
		in->decimal = c->decimal;
		in->form = c->form;
		in->values.most = VALUES_MOST;
		e->n++;
		in->name = t->name ? sw_strdup(t->name[i]) : NULL;
		if (t->name && !in->name)
			return no_memory(f, err);
	}
	if (e->n == 0)
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s has no column to learn from: all are left out",
				 f->r.file.show);
	return SW_OK;
}

static sw_status room_make(struct fit *f, size_t train, struct sw_err *err)
{
	const size_t numbers = f->e->n * SW_ENCODE_PARTS;
	size_t most = SAMPLES_BYTES / sizeof(double) / numbers;

	most = most > SAMPLES_MOST ? SAMPLES_MOST : most < SAMPLES_LEAST ? SAMPLES_LEAST : most;
	most = most > train ? train : most;
	f->step = (train + most - 1) / (most ? most : 1);
	f->m = sw_calloc(numbers, sizeof *f->m);
	f->holes = sw_calloc(f->e->n, sizeof *f->holes);
	f->room = sw_malloc(numbers * (most + 1) * sizeof *f->room);
	if (!f->m || !f->holes || !f->room)
		return no_memory(f, err);
	for (size_t i = 0; i < numbers; i++)
		f->m[i].sample = f->room + i * (most + 1);
	return SW_OK;
}

/* --- a row --- */

static void number_add(struct measure *m, double v, bool sampled)
{
	m->first = m->n == 0 ? v : m->first;
	const double less = v - m->first, d = less - m->mean;

	m->min = m->n == 0 || v < m->min ? v : m->min;
	m->max = m->n == 0 || v > m->max ? v : m->max;
	m->n++;
	m->mean += d / m->n;
	m->square += d * (less - m->mean);
	if (sampled)
		m->sample[m->samples++] = v;
}

static sw_status row_add(struct fit *f, bool sampled, struct sw_err *err)
{
	for (size_t i = 0; i < f->e->n; i++) {
		struct sw_input *in = &f->e->input[i];
		const struct sw_csv_cell *cell = &f->r.cell[in->column];
		double v[SW_ENCODE_PARTS];
		size_t id, parts;
		bool is = !sw_cell_is_hole(cell);

		if (in->kind == SW_KIND_CATEGORY) {
			if (is && sw_texts_add(&in->values, cell, &id) != SW_OK)
				return no_memory(f, err);
		} else {
			const sw_status rc = sw_encoder_numbers(f->e, in, &f->r, in->column, v,
								&parts, &is, err);

			if (rc != SW_OK)
				return rc;
			for (size_t p = 0; is && p < parts; p++)
				number_add(&f->m[i * SW_ENCODE_PARTS + p], v[p], sampled);
		}
		f->holes[i] = f->holes[i] || !is;
	}
	return SW_OK;
}

static sw_status rows_add(struct fit *f, const struct sw_table *t, const bool *train,
			  struct sw_err *err)
{
	size_t row = 0, n = 0;
	sw_status rc = t->header ? sw_csv_next(&f->r, err) : SW_OK;

	for (; rc == SW_OK && f->r.cells > 0; row++) {
		if (row < t->rows && train[row])
			rc = row_add(f, n++ % f->step == 0, err);
		if (rc == SW_OK)
			rc = sw_csv_next(&f->r, err);
	}
	if (rc == SW_OK && row != t->rows)
		rc = sw_err_at(err, SW_IO, "/path", "%s changed while it was read", f->r.file.show);
	return rc;
}

/* --- what it comes to --- */

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The number that the part u of n sorted ones lies below, between two neighbours in a line. */
static double quantile_of(const double *sorted, size_t n, double u)
{
	const double at = u * (double)(n - 1);
	const size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

static double width_or_1(double width)
{
	return width > 0 && isfinite(width) ? width : 1;
}

static sw_status scale_make(struct sw_scaling *s, const struct measure *m, enum sw_scale scale)
{
	const double sd = m->n > 0 ? sqrt(m->square / m->n) : 0, mean = m->first + m->mean;

	*s = (struct sw_scaling){.width = 1};
	if (m->n == 0 || scale == SW_SCALE_NONE)
		return SW_OK;
	if (scale == SW_SCALE_STANDARD) {
		s->center = mean;
		/* 0.3 and 0.30000000000000004 differ by how a double was rounded: a constant */
		s->width = width_or_1(sd > DBL_EPSILON / 2 * fabs(mean) ? sd : 0);
		return SW_OK;
	}
	qsort(m->sample, m->samples, sizeof *m->sample, by_size);
	s->center = m->samples ? quantile_of(m->sample, m->samples, 0.5) : mean;
	if (scale == SW_SCALE_QUANTILE && m->samples >= 2 && m->min < m->max) {
		const size_t due = m->samples / 30;

		s->n = due < 10 ? 10 : due > QUANTILES_MOST ? QUANTILES_MOST : due;
		s->quantile = sw_malloc(s->n * sizeof *s->quantile);
		if (!s->quantile)
			return SW_NOMEM;
		for (size_t i = 0; i < s->n; i++)
			s->quantile[i] =
				quantile_of(m->sample, m->samples, (double)i / (double)(s->n - 1));
		return SW_OK;
	}
	if (m->samples) {
		const double between = quantile_of(m->sample, m->samples, 0.75) -
				       quantile_of(m->sample, m->samples, 0.25);

		/* most rows have the same number: half of the range in its place */
		s->width = width_or_1(between > 0 ? between : (m->max - m->min) / 2);
	}
	s->clip = CLIP;
	return SW_OK;
}

static int by_count(const void *a, const void *b)
{
	const struct sw_texts_one *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct sw_csv_cell *)a)->text, ((const struct sw_csv_cell *)b)->text);
}

/* The values that have an input, in the order of their texts: all, or the most frequent. */
static sw_status values_choose(struct sw_input *in)
{
	struct sw_csv_cell cell[SW_TABLE_VALUES_MOST];
	struct sw_texts all = in->values;
	const size_t n = all.n < SW_TABLE_VALUES_MOST ? all.n : SW_TABLE_VALUES_MOST;
	sw_status rc = SW_OK;

	in->values = (struct sw_texts){.most = SW_TABLE_VALUES_MOST};
	qsort(all.one, all.n, sizeof *all.one, by_count);
	for (size_t i = 0; i < n; i++) {
		cell[i].text = sw_texts_text(&all, i);
		cell[i].len = strlen(cell[i].text);
	}
	qsort(cell, n, sizeof *cell, by_text);
	for (size_t i = 0, id; rc == SW_OK && i < n; i++)
		rc = sw_texts_add(&in->values, &cell[i], &id);
	sw_texts_fini(&all);
	return rc;
}

static sw_status inputs_end(struct fit *f, enum sw_scale scale, struct sw_err *err)
{
	for (size_t i = 0; i < f->e->n; i++) {
		struct sw_input *in = &f->e->input[i];
		sw_status rc = in->kind == SW_KIND_CATEGORY ? values_choose(in) : SW_OK;

		in->hole = f->holes[i];
		for (size_t p = 0; rc == SW_OK && p < SW_ENCODE_PARTS; p++) {
			const struct measure *m = &f->m[i * SW_ENCODE_PARTS + p];

			in->fill[p] = m->first + m->mean;
			rc = scale_make(&in->scale[p], m, scale);
		}
		if (rc != SW_OK)
			return no_memory(f, err);
		f->e->features += sw_input_features(in);
	}
	return SW_OK;
}

sw_status sw_encoder_fit(struct sw_encoder *e, const struct sw_table *t, const char *path,
			 const struct sw_dataset *set, enum sw_scale scale, const bool *train,
			 struct sw_err *err)
{
	struct fit f = {.e = e};
	size_t n = 0;
	sw_status rc;

	memset(e, 0, sizeof *e);
	e->strict = set->image[0] != 0;
	e->header = t->header;
	e->latin1 = t->latin1;
	e->width = t->columns;
	e->target = t->target;
	for (size_t i = 0; i < t->rows; i++)
		n += train[i];
	rc = sw_csv_open(&f.r, path, t->latin1, err);
	if (rc == SW_OK)
		rc = inputs_make(&f, t, err);
	if (rc == SW_OK)
		rc = room_make(&f, n, err);
	/* so that lines name the column */
	if (rc == SW_OK && t->header)
		rc = sw_csv_names(&f.r, err);
	if (rc == SW_OK)
		rc = rows_add(&f, t, train, err);
	if (rc == SW_OK)
		rc = inputs_end(&f, e->strict ? SW_SCALE_NONE : scale, err);
	sw_csv_close(&f.r);
	free(f.m);
	free(f.holes);
	free(f.room);
	return rc;
}
