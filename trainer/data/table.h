/*
 * trainer/data/table.h — what a CSV file turns out to be: the kind of each column, by looking at
 * all of its cells, and what becomes of it.
 *
 * Kinds     number    all cells but holes are numbers, with a point or with a comma
 *           date      all are dates of one form
 *           constant  one value, or none
 *           id        numbers the rows, in any order, or names each of them
 *           category  other texts, few beside the rows
 *           text      other texts
 *           ignored   the data set says so ("columns"), which can also say number, category, date
 * Holes     sw_cell_is_hole(). The target has none.
 * Refused   Numbers or dates with others in up to 3 cells, or in one of a thousand, likely a slip
 *           (with more, or of up to 40 different values, it is a category, and said); a header that
 *           comes twice, two columns of one name, one class alone, over 65,536 of words, and no
 *           column to learn from.
 * Memory    Some numbers a column, and up to 64 MiB to count different values.
 * Cost      One pass over the file.
 * Errors    Those of trainer/data/csv.h; err->ptr is "/path", "/label" or "/columns/...", relative
 *           to the data set's object.
 */
#ifndef SW_TRAINER_DATA_TABLE_H
#define SW_TRAINER_DATA_TABLE_H

#include "trainer/data/csv.h"
#include "trainer/data/texts.h"
#include "trainer/spec/dataset.h"

enum sw_kind {
	SW_KIND_NUMBER,
	SW_KIND_CATEGORY,
	SW_KIND_DATE,
	SW_KIND_CONSTANT,
	SW_KIND_ID,
	SW_KIND_TEXT,
	SW_KIND_IGNORED,
	SW_KIND_TARGET,
	SW_KIND_N
};
extern const char *const sw_kind_names[SW_KIND_N];

#define SW_TABLE_VALUES_MOST 40 /* of a category, that have a column of their own */

struct sw_table_column {
	enum sw_kind kind;
	enum sw_decimal decimal; /* of numbers, a target's too */
	enum sw_date_form form;
	size_t holes;
	size_t values;     /* that differ */
	bool more;         /* there are more than these */
	bool mostly;       /* one may be that of half of the rows */
	const char *why;   /* it is left out; or NULL */
	char warning[200]; /* what is likely a mistake; or "" */
};

struct sw_table {
	size_t rows, columns, target;
	size_t group, by; /* the columns that rows are split by, or `columns` */
	char separator;
	bool header, latin1, image; /* image: the columns are pixels */
	enum sw_decimal decimal;
	struct sw_texts classes;        /* the target's texts; of numbers the first 1,024 */
	bool is_classes;                /* the target is one of classes, not a quantity */
	struct sw_texts names;          /* of the columns, where there is a header */
	struct sw_table_column *column; /* [columns] */
};

/* path: the file of a data set of format csv, or of one that has a name. classes: whether the
 * target is one of them; NULL: what is likely. Fini also after a failure. */
SW_NODISCARD sw_status sw_table_look(struct sw_table *t, const char *path, const char *label,
				     const struct sw_dataset *set, const bool *classes,
				     struct sw_err *err);
void sw_table_fini(struct sw_table *t);
/* Goes through the rows of its file once more, which must be as many. at: the row, from 0. */
typedef sw_status sw_table_row_fn(void *arg, const struct sw_csv_reader *r, size_t at,
				  struct sw_err *err);
SW_NODISCARD sw_status sw_table_each(const struct sw_table *t, const char *path,
				     sw_table_row_fn *row, void *arg, struct sw_err *err);

#endif
