/*
 * trainer/data/encode.h — the columns of a table as the numbers that a model takes. What that needs
 * to know is measured on the training rows alone, and goes with the model: new rows are encoded by
 * the same code, to the bit.
 *
 * Number    One input: scaled, in double, then as a float. A hole has the mean; where the training
 *           rows have holes a second input is 1 there and 0 elsewhere.
 * Date      The same of three numbers: days since 1970-01-01 with the part of the day, the month
 *           (1 to 12), the day of the week (0 to 6, from Monday on).
 * Category  One input for each value, 1 for the one that it is: all values of the training rows, or
 *           of more than 40 the 40 most frequent. Others are all 0, and counted.
 * Scale     auto      less the median, over what lies between the quartiles, then softly clipped:
 *                     z / sqrt(1 + (z / 3)^2)
 *           standard  less the mean, over the deviation
 *           quantile  the rank among the training rows, as a normal's quantile
 *           none      as it is
 *           Source: the first as RealMLP's preprocessing (Holzmueller et al. 2024, "Better by
 *           default", section 3); the third as in Gorishniy et al. 2021, section 5.
 * Samples   Medians, quartiles and quantiles are those of up to 65,536 training rows, spread over
 *           all; of very many columns fewer, in 64 MiB.
 * JSON      {"target", "target_column", "width", "encoding", "header", "columns": [{"name",
 *           "column", "kind", ...}, ...]}: docs/predict.md.
 * Errors    As trainer/data/csv.h. Of the JSON: SW_INVALID, without a line.
 */
#ifndef SW_TRAINER_DATA_ENCODE_H
#define SW_TRAINER_DATA_ENCODE_H

#include "base/buf.h"
#include "trainer/data/table.h"
#include "trainer/data/texts.h"

#define SW_ENCODE_PARTS 3 /* numbers of a date */

struct sw_scaling {
	double center, width, clip; /* clip 0: none */
	double *quantile;           /* [n], rising, in the place of these; or NULL */
	size_t n;
};

/* A column that the model takes. */
struct sw_input {
	enum sw_kind kind; /* number, date, category */
	size_t column;     /* in the file */
	char *name;        /* or NULL */
	enum sw_decimal decimal;
	enum sw_date_form form;
	bool hole; /* an input of its own says where it is empty */
	double fill[SW_ENCODE_PARTS];
	struct sw_scaling scale[SW_ENCODE_PARTS];
	struct sw_texts values; /* of a category, in the order of the inputs */
	/* While rows are encoded: */
	size_t unseen; /* cells with a value that has no input */
	char unseen_text[44];
};

struct sw_encoder {
	struct sw_input *input; /* [n] */
	size_t n, features;     /* features: floats of a row */
	size_t width, target;   /* columns of the file it was made from, and the target's place */
	bool header, latin1, strict; /* strict: a hole is refused (images) */
	char *target_name;           /* or NULL */
};

/* Measures the training rows: train: bool[t->rows]. set->image: all columns are numbers as they
 * are. Fini also after a failure. */
SW_NODISCARD sw_status sw_encoder_fit(struct sw_encoder *e, const struct sw_table *t,
				      const char *path, const struct sw_dataset *set,
				      enum sw_scale scale, const bool *train, struct sw_err *err);
/* The row in r->cell as float[features]. column: size_t[e->n], the file's column of each input;
 * NULL: those of the training file. */
SW_NODISCARD sw_status sw_encoder_row(struct sw_encoder *e, const struct sw_csv_reader *r,
				      const size_t *column, float *x, struct sw_err *err);
void sw_encoder_fini(struct sw_encoder *e);

size_t sw_input_features(const struct sw_input *in);
/* The numbers of a cell, *parts of them; *is false: it is a hole. */
SW_NODISCARD sw_status sw_encoder_numbers(const struct sw_encoder *e, const struct sw_input *in,
					  const struct sw_csv_reader *r, size_t column,
					  double v[SW_ENCODE_PARTS], size_t *parts, bool *is,
					  struct sw_err *err);

void sw_encoder_write(const struct sw_encoder *e, struct sw_buf *out);
/* SW_NOMEM, or SW_INVALID: it makes no sense. */
SW_NODISCARD sw_status sw_encoder_read(struct sw_encoder *e, const cJSON *json);

#endif
