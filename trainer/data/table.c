#include "trainer/data/table.h"
#include "base/memory.h"
#include "trainer/data/look.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SETS_BYTES      ((size_t)64 << 20) /* for all columns' different values */
#define SET_MOST        ((size_t)65536)
#define SET_LEAST       ((size_t)128)
#define CORRELATED_ROWS ((size_t)10000) /* the first, beside a target that is a number */
#define PURE_EACH       ((size_t)1000)  /* rows */
#define TABLE_COLUMNS   ((size_t)16000) /* so that a line a column is JSON of a size that is read */

static sw_status no_memory(const struct sw_csv_reader *r, struct sw_err *err)
{
	return sw_err_set(err, SW_NOMEM, "no memory for the columns of %s", r->file.show);
}

/* --- */

/* Takes what "columns" says of them. */
static sw_status asked_take(struct sw_looking *l, const cJSON *columns, struct sw_err *err)
{
	static const struct {
		const char *key;
		enum sw_kind kind;
	} lists[] = {{"ignore", SW_KIND_IGNORED},
		     {"category", SW_KIND_CATEGORY},
		     {"number", SW_KIND_NUMBER},
		     {"date", SW_KIND_DATE}};
	char key[48], show[48];

	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		const cJSON *one;
		size_t n = 0, at = 0;

		cJSON_ArrayForEach (one, cJSON_GetObjectItemCaseSensitive(columns, lists[k].key)) {
			(void)snprintf(key, sizeof key, "columns/%s/%zu", lists[k].key, n++);
			sw_status rc =
				sw_csv_find(&l->r, cJSON_GetStringValue(one), 0, key, &at, err);
			if (rc != SW_OK)
				return rc;
			char ptr[64];

			(void)snprintf(ptr, sizeof ptr, "/%s", key);
			if (at == l->t->target || l->look[at].asked != SW_KIND_N)
				return sw_err_at(err, SW_INVALID, ptr, "column %s is %s",
						 sw_csv_column_show(&l->r, at, show),
						 at == l->t->target ? "the one to predict"
								    : "there twice");
			l->look[at].asked = lists[k].kind;
		}
	}
	return SW_OK;
}

/* --- a row --- */

/* A line that says the header once more: two files behind one another. */
static bool is_header(const struct sw_csv_reader *r)
{
	if (!r->names.n || *r->cell[0].text != *sw_csv_name(r, 0))
		return false;
	for (size_t i = 0; i < r->columns; i++) {
		double v;

		if (strcmp(r->cell[i].text, sw_csv_name(r, i)) != 0 ||
		    sw_cell_plain(&r->cell[i], &v))
			return false;
	}
	return true;
}

static bool any_pure(const struct sw_looking *l)
{
	for (size_t i = 0; i < l->r.columns; i++)
		if (l->look[i].pure && i != l->t->target)
			return true;
	return false;
}

static sw_status row_look(struct sw_looking *l, struct sw_err *err)
{
	const struct sw_csv_reader *r = &l->r;
	struct sw_table *t = l->t;
	const struct sw_csv_cell *cell = &r->cell[t->target];
	struct sw_look_column *k = &l->look[t->target];
	double number = 0;
	size_t id;

	if (is_header(r))
		return sw_err_at(err, SW_INVALID, "/path",
				 "%s: line %zu is the header once more: leave it out", r->file.show,
				 r->line);
	/* "none" may be a class: how bad is it? */
	if (sw_cell_is_hole(cell) && strcasecmp(cell->text, "none") != 0) {
		if (k->holes++ == 0) {
			l->hole_line = r->line;
			memcpy(l->hole, cell->text, cell->len + 1);
		}
		return SW_OK; /* they are refused once they are counted */
	}
	struct sw_look_row row = {.line = r->line,
				  .most = l->most,
				  .target_look = k,
				  .classes = l->wanted && *l->wanted};

	/* once no column tells the target alone, and none is correlated with it, it is one as all
	 * others are */
	if (t->rows % PURE_EACH == 0)
		l->pure = any_pure(l);
	if (l->pure || t->rows < CORRELATED_ROWS) {
		const bool is = sw_look_number(cell, &number, &row.with);

		row.number = is && t->rows < CORRELATED_ROWS ? &number : NULL;
		for (size_t i = 0; t->rows == 0 && i < r->columns; i++)
			l->look[i].t0 = number;
		if (k->texts == 0 && !is)
			k->n = 0; /* no target to correlate with */
	}
	const size_t known = k->seen.n;

	if (!sw_look_row(l->look, r->cell, r->columns, &row))
		return no_memory(r, err);
	t->classes.others += k->seen.full;
	if (k->seen.n > known && sw_texts_add(&t->classes, cell, &id) != SW_OK)
		return no_memory(r, err);
	t->rows++;
	return SW_OK;
}

/* Refuses rows that have nothing to be learned. */
static sw_status no_target(const struct sw_looking *l, size_t rows, struct sw_err *err)
{
	const bool empty = !*l->hole;
	char show[48];

	sw_csv_column_show(&l->r, l->t->target, show);
	return sw_err_at(err, SW_INVALID, "/path",
			 "%s: %zu %s no value to learn in column %s, the first on line %zu "
			 "(%s): leave such rows out%s%s",
			 l->r.file.show, rows, rows == 1 ? "row has" : "rows have", show,
			 l->hole_line, empty ? "an empty cell" : l->hole,
			 empty ? "" : ", or rename the class ", l->hole);
}

/* --- */

/* The column that an option names. */
static sw_status split_by(const struct sw_looking *l, const char *name, const char *key,
			  size_t *out, struct sw_err *err)
{
	char ptr[32];

	*out = l->t->columns;
	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	const sw_status rc = name ? sw_csv_find(&l->r, name, 0, key, out, err) : SW_OK;

	return rc == SW_OK && *out == l->t->target
		       ? sw_err_at(err, SW_INVALID, ptr, "rows cannot be split by the label")
		       : rc;
}

static sw_status begin(struct sw_looking *l, const char *label, const struct sw_dataset *set,
		       struct sw_err *err)
{
	struct sw_table *t = l->t;
	char show[48];
	sw_status rc = set->header ? sw_csv_names(&l->r, NULL, err) : SW_OK;

	if (rc == SW_OK && l->r.columns < 2)
		rc = sw_err_at(err, SW_INVALID, "/path",
			       "%s has one column (%s): a label and at least one feature are "
			       "needed, with ',', ';', '|' or a tab between them, and no line "
			       "above the names",
			       l->r.file.show, sw_csv_column_show(&l->r, 0, show));
	if (rc == SW_OK)
		rc = sw_csv_find(&l->r, label, set->label_column, "label", &t->target, err);
	if (rc != SW_OK)
		return rc;
	t->image = set->image[0] != 0;
	if (!t->image && l->r.columns > TABLE_COLUMNS)
		return sw_err_at(err, SW_TOO_BIG, "/path",
				 "%s has %zu columns, a table at most %zu", l->r.file.show,
				 l->r.columns, TABLE_COLUMNS);
	t->columns = l->r.columns;
	t->separator = l->r.separator;
	t->header = set->header;
	t->latin1 = set->latin1;
	t->column = sw_calloc(t->columns, sizeof *t->column);
	l->look = sw_calloc(t->columns, sizeof *l->look);
	if (!t->column || !l->look)
		return no_memory(&l->r, err);
	l->most = SETS_BYTES / (4 * sizeof(uint64_t)) / t->columns;
	l->most = l->most > SET_MOST ? SET_MOST : l->most < SET_LEAST ? SET_LEAST : l->most;
	for (size_t i = 0; i < t->columns; i++) {
		l->look[i].asked = SW_KIND_N;
		l->look[i].pure = l->look[i].fresh = true;
	}
	rc = asked_take(l, set->columns, err);
	if (rc == SW_OK)
		rc = split_by(l, set->group, "group", &t->group, err);
	if (rc == SW_OK)
		rc = split_by(l, set->by, "split/by", &t->by, err);
	if (rc == SW_OK && set->group)
		l->look[t->group].asked = SW_KIND_IGNORED;
	return rc;
}

sw_status sw_table_look(struct sw_table *t, const char *path, const char *label,
			const struct sw_dataset *set, const bool *classes, struct sw_err *err)
{
	struct sw_looking l = {.t = t, .wanted = classes};
	sw_status rc;

	memset(t, 0, sizeof *t);
	t->classes.most = SW_DATASET_MAX_CLASSES;
	rc = sw_csv_open(&l.r, path, set->latin1, err);
	if (rc == SW_OK)
		rc = begin(&l, label, set, err);
	if (rc == SW_OK && set->header)
		rc = sw_csv_next(&l.r, err);
	while (rc == SW_OK && l.r.cells > 0) {
		rc = row_look(&l, err);
		if (rc == SW_OK)
			rc = sw_csv_next(&l.r, err);
	}
	if (rc == SW_OK && l.look[t->target].holes)
		rc = no_target(&l, l.look[t->target].holes, err);
	if (rc == SW_OK && t->rows > INT32_MAX)
		rc = sw_err_at(err, SW_TOO_BIG, "/path", "%s has over 2^31 - 1 rows",
			       l.r.file.show);
	if (rc == SW_OK && t->rows < 2)
		rc = sw_err_at(err, SW_INVALID, "/path", "%s has %zu %s of data: too few",
			       l.r.file.show, t->rows, t->rows == 1 ? "row" : "rows");
	if (rc == SW_OK)
		rc = sw_looking_kinds(&l, err);
	t->names = l.r.names;
	l.r.names = (struct sw_texts){0};
	for (size_t i = 0; l.look && i < t->columns; i++)
		free(l.look[i].seen.key);
	free(l.look);
	sw_csv_close(&l.r);
	return rc;
}

sw_status sw_table_each(const struct sw_table *t, const char *path, sw_table_row_fn *row, void *arg,
			struct sw_err *err)
{
	struct sw_csv_reader r;
	size_t n = 0;
	sw_status rc = sw_csv_open(&r, path, t->latin1, err);

	if (rc == SW_OK && t->header)
		rc = sw_csv_names(&r, NULL, err);
	if (rc == SW_OK && t->header)
		rc = sw_csv_next(&r, err);
	for (; rc == SW_OK && r.cells > 0; n++) {
		if (n < t->rows && r.columns == t->columns)
			rc = row(arg, &r, n, err);
		if (rc == SW_OK)
			rc = sw_csv_next(&r, err);
	}
	if (rc == SW_OK && n != t->rows)
		rc = sw_err_at(err, SW_IO, "/path", "%s changed while it was read", r.file.show);
	sw_csv_close(&r);
	return rc;
}

void sw_table_fini(struct sw_table *t)
{
	sw_texts_fini(&t->names);
	free(t->column);
	sw_texts_fini(&t->classes);
	memset(t, 0, sizeof *t);
}
