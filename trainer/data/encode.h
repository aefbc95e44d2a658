/*
 * trainer/data/encode.h — the columns of a table as the numbers that a model takes. What that needs
 * to know is measured on the training rows alone, and goes with the model: new rows are encoded by
 * the same code, to the bit.
 *
 * Number    One input, or of scale auto several: scaled, in double, then as floats. A hole has the
 *           mean; where the training rows have holes one more input is 1 there and 0 elsewhere.
 * Date      Three such numbers: days since 1970-01-01 with the part of the day, the month (1 to
 *           12), the day of the week (0 to 6, from Monday on); the input of holes is the last.
 * Category  One input for each value, 1 for the one that it is: all values of the training rows, or
 *           of more than 40 the 40 most frequent. Others are all 0, and counted.
 * Scale     auto      less the median, over what lies between the quartiles, then softly clipped:
 *                     z / sqrt(1 + (z / 3)^2). Where both quartiles are one number, they say
 *                     nothing of the others: of at least three different numbers up to 41 are
 *                     points, and each two neighbours p, q have an input, (x - p) / (q - p), held
 *                     to 0 and 1. A hole is then the number that most rows have. Such inputs of
 *                     all columns together are at most 40, or as many as there were without them.
 *           standard  less the mean, over the deviation
 *           quantile  the rank among the training rows, as a normal's quantile
 *           none      as it is
 *           Source: the first as RealMLP's preprocessing (Holzmueller et al. 2024, "Better by
 *           default", section 3), its pieces as in Gorishniy et al. 2022, "On embeddings for
 *           numerical features", section 3.2; the third as in Gorishniy et al. 2021, section 5.
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

#define SW_DATE_PARTS 3 /* inputs of a date: the days, the month, the day of the week */

struct sw_scaling {
	double center, width, clip; /* clip 0: none */
	double *point;              /* [n], rising, in the place of these; or NULL */
	size_t n;
	bool pieces; /* an input for each two neighbours; else one, the rank among the points */
};

/* What the model takes: a number of a column, or a category. */
struct sw_input {
	enum sw_kind kind; /* number, date, category */
	size_t column;     /* in the file */
	char *name;        /* or NULL */
	enum sw_decimal decimal;
	enum sw_date_form form;
	size_t part; /* of a date */
	bool hole;   /* an input of its own behind it says where it is empty */
	double fill; /* what a hole has; NAN: it is refused */
	struct sw_scaling scale;
	struct sw_texts values; /* of a category, in the order of the inputs */
	/* While rows are encoded: */
	size_t unseen; /* cells with a value that has no input */
	char unseen_text[44];
};

struct sw_encoder {
	struct sw_input *input; /* [n] */
	size_t n, features;     /* features: floats of a row */
	size_t width,
		target; /* columns of the file it was made from; the target's place, or width */
	bool header, latin1;
	char *target_name; /* or NULL */
};

/* Measures the training rows of t's file. train: bool[t->rows]; NULL: for a look, of all rows as
 * many as have their numbers sampled, and none if no column may be cut in pieces. Images are
 * numbers as they are. Fini also after a failure. */
SW_NODISCARD sw_status sw_encoder_fit(struct sw_encoder *e, const struct sw_table *t,
				      const char *path, enum sw_scale scale, const bool *train,
				      struct sw_err *err);

/* The row in r->cell as float[features]. column: size_t[e->n], the file's column of each input;
 * NULL: those of the training file. */
SW_NODISCARD sw_status sw_encoder_row(struct sw_encoder *e, const struct sw_csv_reader *r,
				      const size_t *column, float *x, struct sw_err *err);
void sw_encoder_fini(struct sw_encoder *e);

size_t sw_input_features(const struct sw_input *in);
/* The number of a cell; *is false: it is a hole. */
SW_NODISCARD sw_status sw_input_number(const struct sw_input *in, const struct sw_csv_reader *r,
				       size_t column, double *v, bool *is, struct sw_err *err);

void sw_encoder_write(const struct sw_encoder *e, struct sw_buf *out);
/* SW_NOMEM, or SW_INVALID: it makes no sense. */
SW_NODISCARD sw_status sw_encoder_read(struct sw_encoder *e, const cJSON *json);

#endif
