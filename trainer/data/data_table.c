/* trainer/data/data_table.c — a CSV file as a data set: it is looked at, split, measured by its
 * training rows and encoded, each in a pass of its own, so that no more of it is in memory than the
 * encoded rows. */
#include "base/memory.h"
#include "base/text.h"
#include "proto/json.h"
#include "trainer/data/data_raw.h"
#include "trainer/data/encode.h"
#include "trainer/data/split.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define AT "/trainer/dataset"

struct sw_table_rows {
	struct sw_raw *out;
	const struct sw_data_source *source;
	const struct sw_data_want *want;
	struct sw_table t;
	struct sw_encoder e;
	uint64_t *in_group; /* [rows], or NULL */
	double *at;         /* [rows], or NULL */
	double *value;      /* [rows], or NULL: the targets */
	bool *train;        /* [rows]: is it one that is measured? */
};

static sw_status no_memory(const struct sw_table_rows *m, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory for %zu rows of %s", m->t.rows,
			  m->source->path);
}

/* --- the target, and what rows are split by --- */

static sw_status target_take(struct sw_table_rows *m, const struct sw_csv_reader *r, size_t at,
			     struct sw_err *err)
{
	const struct sw_csv_cell *cell = &r->cell[m->t.target];
	char show[44], where[48];
	double v;
	size_t id;

	if (m->want->classes) {
		if (sw_texts_add(&m->t.classes, cell, &id) != SW_OK)
			return no_memory(m, err);
		m->out->label[at] = (int32_t)id;
		return SW_OK;
	}
	if (!sw_cell_number(cell, m->t.column[m->t.target].decimal, &v) || !isfinite((float)v))
		return sw_err_at(
			err, SW_INVALID, "/label",
			"the loss \"mse\" needs numbers, %s: line %zu, column %s: \"%s\" is "
			"%s",
			r->file.show, r->line, sw_csv_column_show(r, m->t.target, where),
			sw_text_show(cell->text, show),
			sw_cell_plain(cell, &v) ? "too large" : "none");
	m->value[at] = v;
	return SW_OK;
}

static sw_status row_take(void *arg, const struct sw_csv_reader *r, size_t at, struct sw_err *err)
{
	struct sw_table_rows *m = arg;
	const sw_status rc = target_take(m, r, at, err);
	char where[48], show[44];

	if (rc != SW_OK)
		return rc;
	if (m->in_group)
		m->in_group[at] = XXH3_64bits(r->cell[m->t.group].text, r->cell[m->t.group].len);
	if (!m->at)
		return SW_OK;
	const struct sw_table_column *c = &m->t.column[m->t.by];
	const struct sw_csv_cell *cell = &r->cell[m->t.by];
	struct sw_date d = {0};

	if (sw_cell_number(cell, c->decimal, &m->at[at]))
		return SW_OK;
	if (!sw_cell_date(cell, c->form, &d))
		return sw_err_at(err, SW_INVALID, "/split/by",
				 "%s: line %zu, column %s: \"%s\" is neither a number nor a date: "
				 "rows cannot be split by it",
				 r->file.show, r->line, sw_csv_column_show(r, m->t.by, where),
				 sw_text_show(cell->text, show));
	m->at[at] = d.days;
	return SW_OK;
}

/* Numbers the classes in their order. */
static sw_status classes_make(struct sw_table_rows *m, struct sw_err *err)
{
	struct sw_raw *out = m->out;
	int32_t *rank = sw_malloc((m->t.classes.n + 1) * sizeof *rank);
	struct sw_buf list;
	struct sw_jw w;
	sw_status rc;

	sw_buf_init(&list, SW_DATA_ABOUT_MOST);
	sw_jw_init(&w, &list);
	if (rank)
		out->classes =
			sw_texts_sort(&m->t.classes, m->t.column[m->t.target].decimal, rank, &w);
	for (size_t i = 0; rank && out->classes && i < m->t.rows; i++)
		out->label[i] = rank[out->label[i]];
	free(rank);
	rc = sw_data_about_take(&out->about, &list, &out->about.classes, err);
	if (out->classes == 0)
		return no_memory(m, err);
	if (rc == SW_OK && out->classes == 1)
		return sw_err_at(err, SW_INVALID, "/label", "%s: all rows have the same label",
				 m->source->path);
	return rc;
}

/* Takes labels, and what rows are split by. */
static sw_status labels_make(struct sw_table_rows *m, struct sw_err *err)
{
	const struct sw_dataset *set = &m->source->set;
	const size_t rows = m->t.rows;

	if (m->want->classes)
		m->out->label = sw_calloc(rows, sizeof *m->out->label);
	else
		m->value = sw_calloc(rows, sizeof *m->value);
	m->in_group = set->group ? sw_malloc(rows * sizeof *m->in_group) : NULL;
	m->at = set->by ? sw_malloc(rows * sizeof *m->at) : NULL;
	if ((!m->out->label && !m->value) || (set->group && !m->in_group) || (set->by && !m->at))
		return no_memory(m, err);
	const sw_status rc = sw_table_each(&m->t, m->source->path, row_take, m, err);

	return rc == SW_OK && m->want->classes ? classes_make(m, err) : rc;
}

/* --- the parts --- */

static sw_status parts_make(struct sw_table_rows *m, struct sw_err *err)
{
	const struct sw_data_want *want = m->want;
	struct sw_raw *out = m->out;
	const struct sw_split_by by = {.val = want->val_fraction,
				       .test = m->source->set.test_fraction,
				       .seed = want->split_seed,
				       .label = m->in_group || m->at ? NULL : out->label,
				       .group = m->in_group,
				       .order = m->at};
	struct sw_split split;
	sw_status rc = SW_OK;
	char show[44];

	if (by.val + by.test >= 1)
		rc = sw_err_at(err, SW_INVALID, "/split/test",
			       "val_fraction %g and test %g leave no rows to train on", by.val,
			       by.test);
	if (rc != SW_OK)
		return rc;
	rc = sw_split_make(&split, m->t.rows, &by);
	out->order = split.order;
	if (rc == SW_INVALID)
		return sw_err_at(err, rc, "/group",
				 "the groups of column \"%s\" are too few or too large: each part "
				 "needs one, and most rows are to be trained on",
				 sw_text_show(m->source->set.group, show));
	if (rc != SW_OK)
		return no_memory(m, err);
	out->val = split.val;
	out->test = split.test;
	if (by.test > 0 && split.test == 0)
		return sw_err_at(err, SW_INVALID, "/split/test",
				 "%g of %zu rows leaves none to test on", by.test, m->t.rows);
	m->train = sw_calloc(m->t.rows, sizeof *m->train);
	if (!m->train)
		return no_memory(m, err);
	for (size_t i = 0; i < m->t.rows; i++)
		m->train[split.order[i]] = want->all ? i < split.val || i >= split.val + split.test
						     : i >= split.val + split.test;
	return SW_OK;
}

/* Targets as inputs: less the mean of the training rows, over their deviation. The loss and the
 * metrics are given back their unit, and predictions both. */
static sw_status values_make(struct sw_table_rows *m, struct sw_err *err)
{
	struct sw_raw *out = m->out;
	double n = 0, mean = 0, square = 0;

	if (!m->value)
		return SW_OK; /* classes */
	out->value = sw_malloc(m->t.rows * sizeof *out->value);
	if (!out->value)
		return no_memory(m, err);
	for (size_t i = 0; i < m->t.rows; i++) {
		n += m->train[i];
		mean += m->train[i] ? m->value[i] : 0;
	}
	mean /= n > 0 ? n : 1;
	for (size_t i = 0; i < m->t.rows; i++)
		square += m->train[i] ? (m->value[i] - mean) * (m->value[i] - mean) : 0;
	if (m->want->scale != SW_SCALE_NONE) {
		const double sd = n > 0 ? sqrt(square / n) : 0;

		out->shift = mean;
		out->unit = sd > DBL_EPSILON / 2 * fabs(mean) ? sd : 1;
	}
	for (size_t i = 0; i < m->t.rows; i++)
		out->value[i] =
			(float)(out->unit != 0 ? (m->value[i] - mean) / out->unit : m->value[i]);
	return SW_OK;
}

/* --- the rows --- */

/* Where a row of the file goes: to one part, to both (all are trained on), or to none. */
struct places {
	struct sw_encoder *e;
	const struct sw_raw_to *to;
	int32_t *at[2]; /* [rows], of a part; -1: it is not in it. NULL: where it is in the file */
};

static sw_status row_encode(void *arg, const struct sw_csv_reader *r, size_t at, struct sw_err *err)
{
	const struct places *p = arg;
	const size_t n = p->e->features;
	float *first = NULL;

	for (int k = 0; k < 2; k++) {
		if (!p->to[k].x || (p->at[k] && p->at[k][at] < 0))
			continue;
		float *x = p->to[k].x + (p->at[k] ? (size_t)p->at[k][at] : at) * n;

		if (first) {
			memcpy(x, first, n * sizeof *x);
			continue;
		}
		const sw_status rc = sw_encoder_row(p->e, r, NULL, x, err);

		if (rc != SW_OK)
			return rc;
		first = x;
	}
	return SW_OK;
}

sw_status sw_data_table_encode(struct sw_table_rows *m, const struct sw_raw_to to[2],
			       struct sw_err *err)
{
	struct places p = {.e = &m->e, .to = to};
	sw_status rc = SW_OK;

	for (int k = 0; k < 2; k++) {
		if (!to[k].row)
			continue;
		p.at[k] = sw_malloc(m->t.rows * sizeof *p.at[k]);
		if (!p.at[k]) {
			rc = no_memory(m, err);
			break;
		}
		memset(p.at[k], -1, m->t.rows * sizeof *p.at[k]);
		for (size_t i = 0; i < to[k].n; i++)
			p.at[k][to[k].row[i]] = (int32_t)i;
	}
	if (rc == SW_OK)
		rc = sw_table_each(&m->t, m->source->path, row_encode, &p, err);
	free(p.at[0]);
	free(p.at[1]);
	return rc;
}

/* What goes with the model, to encode new rows. */
static sw_status about_make(struct sw_table_rows *m, struct sw_err *err)
{
	struct sw_data_about *about = &m->out->about;
	struct sw_buf text;
	size_t more = 0;

	sw_buf_init(&text, SW_DATA_TABLE_MOST);
	sw_encoder_write(&m->e, &text);
	for (size_t i = 0; i < text.len; i++) /* as a text in the label */
		more += text.data[i] == '"' || text.data[i] == '\\';
	/* said when a sweep is submitted, not when its model is asked */
	if (text.failed == SW_TOO_BIG ||
	    (text.failed == SW_OK &&
	     (text.len + more > SW_DATA_TABLE_MOST ||
	      sw_json_check_most(text.data, text.len, SW_LABEL_VALUES, NULL) != SW_OK))) {
		sw_buf_fini(&text);
		return sw_err_at(err, SW_TOO_BIG, "/path",
				 "%s: what is known of its %zu columns and their values is "
				 "too much to go with a model: \"ignore\" some of \"columns\"",
				 m->source->path, m->e.n);
	}
	return sw_data_about_take(about, &text, &about->table, err);
}

static bool names_are_numbers(const struct sw_table *t)
{
	bool counted = true;

	for (size_t i = 0; i < t->columns; i++) {
		char *text = sw_texts_text(&t->names, i);
		const struct sw_csv_cell name = {.text = text, .len = strlen(text)};
		double v;

		if (i == t->target)
			continue;
		if (!sw_cell_plain(&name, &v))
			return false;
		counted = counted && v == (double)i; /* as a table without names is given them */
	}
	return !counted;
}

/* Says what is allowed, but likely a mistake: the first that it finds. */
static void look_for_odd(struct sw_table_rows *m)
{
	const struct sw_csv_reader names = {.names = m->t.names};
	char *odd = m->out->about.odd, show[48];
	const size_t cap = sizeof m->out->about.odd;
	const struct sw_table *t = &m->t;

	if (t->header && names_are_numbers(t))
		(void)snprintf(odd, cap,
			       AT "/header: the first line is all numbers, and is taken for the "
				  "names of the columns: \"header\": false makes a row of it");
	for (size_t i = 0; !*odd && i < t->columns; i++)
		if (t->column[i].warning[0] && (i != t->target || m->want->classes))
			(void)snprintf(odd, cap, AT ": column %s: %s",
				       sw_csv_column_show(&names, i, show), t->column[i].warning);
}

static sw_status shape_make(struct sw_table_rows *m, struct sw_err *err)
{
	const size_t *image = m->source->set.image;
	struct sw_raw *out = m->out;

	out->shape = image[0] ? sw_shape_image(image[0], image[1], image[2])
			      : sw_shape_flat(m->e.features);
	if (image[0] && image[0] * image[1] * image[2] != m->e.features)
		return sw_err_at(err, SW_INVALID, "/image",
				 "%s has %zu columns beside the label, an image of %zu x %zu x "
				 "%zu needs %zu",
				 m->source->path, m->e.features, image[0], image[1], image[2],
				 image[0] * image[1] * image[2]);
	return SW_OK;
}

sw_status sw_data_table_rows(struct sw_raw *raw, struct sw_err *err)
{
	sw_status rc = sw_data_raw_rows(raw, err);
	const struct sw_raw_to to[2] = {{.x = raw->x}, {.x = NULL}};

	if (rc == SW_OK)
		rc = sw_data_table_encode(raw->table, to, err);
	sw_data_table_end(raw->table);
	raw->table = NULL;
	return rc;
}

void sw_data_table_end(struct sw_table_rows *m)
{
	if (!m)
		return;
	sw_encoder_fini(&m->e);
	sw_table_fini(&m->t);
	free(m->in_group);
	free(m->at);
	free(m->value);
	free(m->train);
	free(m);
}

sw_status sw_data_table(struct sw_raw *out, const struct sw_data_source *source,
			const struct sw_data_want *want, bool keep, struct sw_err *err)
{
	struct sw_table_rows *m = sw_calloc(1, sizeof *m);
	sw_status rc;

	if (!m)
		return sw_err_set(err, SW_NOMEM, "no memory to read %s", source->path);
	*m = (struct sw_table_rows){.out = out, .source = source, .want = want};
	out->table = m; /* freed with it */
	rc = sw_table_look(&m->t, source->path, source->label, &source->set, &m->want->classes,
			   err);
	out->rows = m->t.rows;
	out->labels = 1;
	if (rc == SW_OK)
		rc = labels_make(m, err);
	if (rc == SW_OK)
		rc = parts_make(m, err);
	if (rc == SW_OK)
		rc = values_make(m, err);
	if (rc == SW_OK)
		rc = sw_encoder_fit(&m->e, &m->t, source->path, want->scale, m->train, err);
	if (rc == SW_OK)
		rc = shape_make(m, err);
	if (rc == SW_OK)
		rc = about_make(m, err);
	if (rc == SW_OK)
		look_for_odd(m);
	/* the channels of images are measured before they get to their places */
	if (rc == SW_OK && keep && source->set.image[0])
		rc = sw_data_table_rows(out, err);
	return rc;
}
