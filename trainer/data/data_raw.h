/*
 * trainer/data/data_raw.h — a data set as a format's reader leaves it, in the host's memory, and
 * what the readers share. trainer/data/data.c splits it, measures it and takes it to the device.
 *
 * Reading  With keep false all is read and checked that can be wrong, but no rows are kept: only
 *          the counts and the labels.
 * Memory   sw_data_raw_alloc() knows the bytes before the first row is read, and refuses what is
 *          over SW_DATA_MAX_BYTES or more than is free. sw_data_raw_fini() frees, also after a
 *          failure.
 * Errors   SW_NOT_FOUND, SW_IO, SW_TOO_BIG, SW_NOMEM, SW_INVALID: one line with the path, what is
 *          wrong, at which byte or row, what was expected and what was found. Pointers start at the
 *          data set's object ("/path").
 * Cost     O(bytes), files are read once, in blocks.
 */
#ifndef SW_TRAINER_DATA_DATA_RAW_H
#define SW_TRAINER_DATA_DATA_RAW_H

#include "base/buf.h"
#include "trainer/data/data.h"
#include "trainer/data/file.h"

enum sw_raw_kind { SW_RAW_FLOAT, SW_RAW_U8, SW_RAW_TOKEN };

struct sw_raw {
	enum sw_raw_kind kind; /* of x, u8, token: the one that rows are kept in */
	struct sw_shape shape;
	size_t rows;
	size_t val_rows; /* the last of rows are the given validation part; 0: split */
	float *x;        /* float[rows][count]: FLAT, IMAGE; each less its base */
	double *base;    /* double[count], or of an IMAGE [c]; NULL: 0 */
	uint8_t *u8;     /* uint8[rows][count]: IMAGE */
	int32_t *token;  /* int32[rows][t]: TOKENS */
	int32_t *length; /* int32[rows], or NULL */
	int32_t *label;  /* int32[rows][labels], or NULL */
	float *value;    /* float[rows], each less value_base; or NULL */
	double value_base;
	size_t labels;      /* of a row: 1 or t */
	size_t classes;     /* 0: values */
	size_t vocab;       /* TOKENS */
	double shift, unit; /* of a table: of its values, which are scaled; unit 0: they are not */
	int32_t *order;     /* [rows], of a table: the val rows to validate on, test rows, others */
	size_t val, test;
	/* A CSV file whose rows are encoded as they get to their places; NULL: they are there. */
	struct sw_table_rows *table;
	size_t most; /* bytes that rows and labels may take; 0: any */
	struct sw_data_about about;
};

/* Takes memory for r->rows rows of r->shape and r->kind (keep) and for their labels (classes) or
 * values. */
SW_NODISCARD sw_status sw_data_raw_alloc(struct sw_raw *r, bool keep, bool classes,
					 struct sw_err *err);
/* Memory for the rows alone. */
SW_NODISCARD sw_status sw_data_raw_rows(struct sw_raw *r, struct sw_err *err);
void sw_data_raw_fini(struct sw_raw *r);

/* The loss "mse" of labels that are classes: SW_INVALID. */
SW_NODISCARD sw_status sw_data_raw_wants_classes(const struct sw_data_want *want,
						 const char *format, struct sw_err *err);
/* At least two classes among the labels (all of them 0 <= label < 65536): sets classes to the
 * largest + 1. */
SW_NODISCARD sw_status sw_data_raw_classes(struct sw_raw *r, const char *show, const char *ptr,
					   struct sw_err *err);

/* A list that was written for struct sw_data_about. SW_NOMEM; one that is too long is NULL, and
 * said to be. The buffer is empty afterwards. */
SW_NODISCARD sw_status sw_data_about_take(struct sw_data_about *about, struct sw_buf *list,
					  char **out, struct sw_err *err);
/* double[n] as a list. */
SW_NODISCARD sw_status sw_data_about_numbers(struct sw_data_about *about, const double *v, size_t n,
					     char **out, struct sw_err *err);
void sw_data_about_fini(struct sw_data_about *about);

/* A reader for all formats of a kind. *out is zeroed at first. */
typedef sw_status sw_raw_read_fn(struct sw_raw *out, const struct sw_data_source *source,
				 const struct sw_data_want *want, bool keep, struct sw_err *err);
sw_raw_read_fn sw_data_table, sw_data_arrays, sw_data_synthetic;

/* --- data_table.c: rows that are not made yet --- */

/* n rows of the file, in the order of `row`, to float[n][features]. row NULL: all of them, in the
 * file's; x NULL: nowhere. */
struct sw_raw_to {
	float *x;
	const int32_t *row;
	size_t n;
};
SW_NODISCARD sw_status sw_data_table_encode(struct sw_table_rows *table,
					    const struct sw_raw_to to[2], struct sw_err *err);
/* To raw->x, whose memory it takes. */
SW_NODISCARD sw_status sw_data_table_rows(struct sw_raw *raw, struct sw_err *err);
void sw_data_table_end(struct sw_table_rows *table); /* NULL is allowed */

/* --- data_cifar.c: what a folder of CIFAR has beside its batches --- */

static inline bool sw_data_is_cifar(enum sw_dataset_format format)
{
	return format == SW_DATASET_CIFAR10 || format == SW_DATASET_CIFAR100;
}

/* first: the first batch. SW_INVALID where the folder has the version for Python in its place. */
SW_NODISCARD sw_status sw_data_cifar_check(const struct sw_data_source *source, const char *first,
					   struct sw_err *err);
/* Reads the names of classes from the file beside the rows. Without that file, or if its lines do
 * not fit, the classes have their numbers: training does not need the names. */
SW_NODISCARD sw_status sw_data_cifar_names(struct sw_raw *out, const struct sw_data_source *source,
					   uint32_t classes, struct sw_err *err);

/* --- data_place.c --- */

/* d->bytes, of parts whose rows are counted. */
void sw_data_place_bytes(struct sw_data *d, bool u8, bool lengths);
/* Do its rows stay in the host's memory? */
bool sw_data_in_host(const struct sw_data *d, size_t device_bytes);
/* Sets the pointers of a part to its pieces from `at` on. Returns the end of them. */
char *sw_data_part_place(const struct sw_data *d, enum sw_raw_kind kind, bool lengths,
			 struct sw_data_part *part, char *at);
/* The rows to where they stay; order: int32[raw->rows], the validation rows first; channels:
 * float[2][c] of images, else NULL. Over device_bytes (not 0) they are streamed. */
SW_NODISCARD sw_status sw_data_place(struct sw_data *d, const struct sw_raw *raw,
				     const float *channels, const int32_t *order,
				     size_t device_bytes, struct sw_queue *q, struct sw_err *err);

#endif
