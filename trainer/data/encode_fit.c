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
#define PIECES_MOST    ((size_t)SW_TABLE_VALUES_MOST)

/* One number of an input. Mean and squares as in Welford, "Note on a method for calculating
 * corrected sums of squares and products", 1962: in one pass, and large numbers lose nothing. */
struct measure {
	double n, first, mean, square, min, max; /* mean: less the first one */
	double *sample;                          /* [at most], by size once the scale is made */
	size_t samples;
	bool hole; /* there are some */
	bool same; /* both quartiles are one number, but not all rows have it */
};

struct fit {
	struct sw_encoder *e;
	const struct sw_table *t;
	const bool *train;
	struct measure *m; /* [e->n] */
	double *room;      /* the samples of all */
	size_t rows, step; /* so far; every so-manieth is a sample */
};

/* --- the inputs --- */

static sw_status inputs_make(struct fit *f)
{
	struct sw_encoder *e = f->e;
	const struct sw_table *t = f->t;

	e->input = sw_calloc(SW_DATE_PARTS * t->columns, sizeof *e->input);
	e->target_name = t->header ? sw_strdup(sw_texts_text(&t->names, t->target)) : NULL;
	if (!e->input || (t->header && !e->target_name))
		return SW_NOMEM;
	for (size_t i = 0; i < t->columns; i++) {
		const struct sw_table_column *c = &t->column[i];
		const enum sw_kind kind = t->image ? SW_KIND_NUMBER : c->kind;

		if (i == t->target || (c->why && !t->image))
			continue;
		for (size_t p = 0; p < (kind == SW_KIND_DATE ? SW_DATE_PARTS : 1); p++) {
			e->input[e->n] = (struct sw_input){.kind = kind,
							   .column = i,
							   .decimal = c->decimal,
							   .form = c->form,
							   .part = p,
							   .fill = t->image ? (double)NAN : 0,
							   .values.most = VALUES_MOST};
			struct sw_input *in = &e->input[e->n++];

			in->name = t->header ? sw_strdup(sw_texts_text(&t->names, i)) : NULL;
			if (t->header && !in->name)
				return SW_NOMEM;
		}
	}
	return SW_OK;
}

static sw_status room_make(struct fit *f)
{
	const size_t n = f->e->n;
	size_t most = SAMPLES_BYTES / sizeof(double) / (n ? n : 1), rows = 0;

	for (size_t i = 0; i < f->t->rows; i++)
		rows += !f->train || f->train[i];

	most = most > SAMPLES_MOST ? SAMPLES_MOST : most < SAMPLES_LEAST ? SAMPLES_LEAST : most;
	most = most > rows ? rows : most;
	f->step = (rows + most - 1) / (most ? most : 1);
	f->m = sw_calloc(n + 1, sizeof *f->m);
	f->room = sw_malloc((n + 1) * (most + 1) * sizeof *f->room);
	if (!f->m || !f->room)
		return SW_NOMEM;
	for (size_t i = 0; i < n; i++)
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

static sw_status row_add(void *arg, const struct sw_csv_reader *r, size_t at, struct sw_err *err)
{
	struct fit *f = arg;

	if (!(f->train ? f->train[at] : at % f->step == 0))
		return SW_OK;
	const bool sampled = !f->train || f->rows++ % f->step == 0;

	for (size_t i = 0; i < f->e->n; i++) {
		struct sw_input *in = &f->e->input[i];
		const struct sw_csv_cell *cell = &r->cell[in->column];
		bool is = !sw_cell_is_hole(cell);
		double v;
		size_t id;

		if (in->kind != SW_KIND_CATEGORY) {
			const sw_status rc = sw_input_number(in, r, in->column, &v, &is, err);

			if (rc != SW_OK)
				return rc;
			if (is)
				number_add(&f->m[i], v, sampled);
		} else if (is && sw_texts_add(&in->values, cell, &id) != SW_OK) {
			return sw_err_set(err, SW_NOMEM, "no memory for the values of %s",
					  r->file.show);
		}
		f->m[i].hole = f->m[i].hole || !is;
	}
	return SW_OK;
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

static sw_status scale_make(struct sw_scaling *s, struct measure *m, enum sw_scale scale)
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
		s->point = sw_malloc(s->n * sizeof *s->point);
		if (!s->point)
			return SW_NOMEM;
		for (size_t i = 0; i < s->n; i++)
			s->point[i] =
				quantile_of(m->sample, m->samples, (double)i / (double)(s->n - 1));
		return SW_OK;
	}
	if (m->samples) {
		const double between = quantile_of(m->sample, m->samples, 0.75) -
				       quantile_of(m->sample, m->samples, 0.25);

		m->same = !(between > 0) && m->min < m->max;
		/* half of the range, where there are too few numbers or too little room to cut */
		s->width = width_or_1(m->same ? (m->max - m->min) / 2 : between);
	}
	s->clip = CLIP;
	return SW_OK;
}

/* The different numbers of the sample, in its place. Returns how many there are. */
static size_t only_different(struct measure *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->samples; i++)
		if (n == 0 || m->sample[i] > m->sample[n - 1])
			m->sample[n++] = m->sample[i];
	m->samples = n;
	return n;
}

/* Points among the m->samples different numbers, for at most `due` pieces: both ends, the number
 * that most rows have, and others as evenly as they come. */
static sw_status pieces_make(struct sw_input *in, const struct measure *m, size_t due)
{
	const double most = in->scale.center;
	const size_t last = m->samples - 1, n = last <= due ? last + 1 : due + 1;
	double *point = sw_malloc(n * sizeof *point);
	size_t at = 0;

	if (!point)
		return SW_NOMEM;
	while (m->sample[at] < most)
		at++;
	for (size_t i = 0; i < n; i++)
		point[i] = m->sample[i * last / (n - 1)];
	/* the first point that is not below it, but for the last */
	const size_t own = (at * (n - 1) + last - 1) / last;

	point[own == n - 1 && at < last ? own - 1 : own] = most;
	in->scale = (struct sw_scaling){.width = 1, .pieces = true, .n = n, .point = point};
	in->fill = most; /* a hole is as most rows are: the mean may be a rare number */
	return SW_OK;
}

/* Numbers that most rows share, with at least two others. A table of thousands of counts, most of
 * them 0, has no room for pieces of each: together they are no more than the inputs were, or than
 * one column may have. */
static sw_status cut_in_pieces(struct fit *f)
{
	const size_t before = f->e->features;
	size_t same = 0;
	sw_status rc = SW_OK;

	for (size_t i = 0; i < f->e->n; i++) {
		f->m[i].same = f->m[i].same && only_different(&f->m[i]) > 2;
		same += f->m[i].same;
	}
	const size_t room = before > PIECES_MOST ? before : PIECES_MOST,
		     each = same ? room / same : 0;
	const size_t due = each < PIECES_MOST ? each : PIECES_MOST;

	for (size_t i = 0; rc == SW_OK && due > 1 && i < f->e->n; i++) {
		struct sw_input *in = &f->e->input[i];

		if (!f->m[i].same)
			continue;
		f->e->features -= sw_input_features(in);
		rc = pieces_make(in, &f->m[i], due);
		f->e->features += sw_input_features(in);
	}
	return rc;
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
	const size_t most = SW_TABLE_VALUES_MOST;
	const size_t n = !all.one ? 0 : all.n < most ? all.n : most;
	sw_status rc = SW_OK;

	in->values = (struct sw_texts){.most = SW_TABLE_VALUES_MOST};
	if (n > 0)
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

static sw_status inputs_end(struct fit *f, enum sw_scale scale)
{
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < f->e->n; i++) {
		struct sw_input *in = &f->e->input[i];
		struct measure *m = &f->m[i];
		const bool last = in->kind != SW_KIND_DATE || in->part + 1 == SW_DATE_PARTS;

		in->hole = m->hole && last;
		if (!f->t->image)
			in->fill = m->first + m->mean;
		rc = in->kind == SW_KIND_CATEGORY
			     ? values_choose(in)
			     : scale_make(&in->scale, m, f->t->image ? SW_SCALE_NONE : scale);
		f->e->features += sw_input_features(in);
	}
	return rc == SW_OK ? cut_in_pieces(f) : rc;
}

/* A look needs the rows for this alone. */
static bool may_cut(const struct fit *f)
{
	for (size_t i = 0; i < f->e->n; i++)
		if (f->e->input[i].kind == SW_KIND_NUMBER &&
		    f->t->column[f->e->input[i].column].mostly)
			return true;
	return false;
}

sw_status sw_encoder_fit(struct sw_encoder *e, const struct sw_table *t, const char *path,
			 enum sw_scale scale, const bool *train, struct sw_err *err)
{
	struct fit f = {.e = e, .t = t, .train = train};

	*e = (struct sw_encoder){
		.header = t->header, .latin1 = t->latin1, .width = t->columns, .target = t->target};
	sw_status rc = inputs_make(&f);

	if (rc == SW_OK)
		rc = room_make(&f);
	if (rc == SW_OK && (train || may_cut(&f)))
		rc = sw_table_each(t, path, row_add, &f, err);
	if (rc == SW_OK)
		rc = inputs_end(&f, scale);
	free(f.m);
	free(f.room);
	/* what a row lacks has its line; all else is memory */
	return rc != SW_NOMEM ? rc : sw_err_set(err, rc, "no memory for the columns of %s", path);
}
