/*
 * trainer/data/data.h — a data set, ready to train on: split, standardised, in the device's memory.
 *
 * Tables   CSV files: trainer/data/table.h, split.h, encode.h.
 * Classes  Labels of a CSV file, any text, become 0..C-1 in sorted order, numeric order when all
 *          are numbers. Those of other formats are numbers from 0.
 * Split    A shuffle by split_seed; the first floor(rows * val_fraction) rows are for validation.
 *          A validation part that the data set names takes the split's place.
 * Scale    Each feature minus the mean of the training rows, over their (population) deviation;
 *          a column that is constant there keeps the deviation 1. In double, then as floats.
 *          Targets, too, of all formats.
 * Images   Kept as they are in the file. Each channel has a scale and a shift, which a batch gets
 *          as it is gathered: from "normalize" (of pixels from 0 to 1, as PyTorch's Normalize
 *          after ToTensor), else measured as above; without standardising, bytes are over 255.
 * Errors   Pointers start at the data set's object ("/path", "/name", "/label").
 * Threads  A set, once loaded, may be read from any thread. The cache's hold and release may be
 *          called by several, each with its own queue.
 */
#ifndef SW_TRAINER_DATA_DATA_H
#define SW_TRAINER_DATA_DATA_H

#include "base/status.h"
#include "kernels/ops.h"
#include "trainer/data/shape.h"
#include "trainer/spec/dataset.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The source of rows: the data set's options, and the file or folder they lie in. Borrows from the
 * JSON. */
struct sw_data_source {
	struct sw_dataset set;
	char path[SW_DATASET_MAX_PATH]; /* "" for a synthetic one */
	const char *label;              /* CSV: a column of the header, or NULL */
};

/* The form of a data set that a trainer asks for. */
struct sw_data_want {
	bool classes; /* labels are classes; else numbers to regress on */
	double val_fraction;
	uint64_t split_seed;
	enum sw_scale scale; /* of all formats but CSV: none, or by mean and deviation */
	bool test;           /* of a table with a test part: it is validated on */
	bool all; /* train on the validation rows, too; they are validated on all the same */
	/* Most bytes that it may have on the device: a larger one stays in the host's memory, and
	 * batches are fetched from there. 0: it lies on the device, however large. */
	size_t device_bytes;
	size_t most;  /* a set of more bytes than this is refused before it is made; 0: any */
	uint64_t sum; /* the cache alone: one whose files have another one is refused; 0: any */
};

/* Arrays that are marked "backend" lie in the host's memory when the set is streamed. */
struct sw_data_part {
	size_t rows;
	float *x;        /* backend: float[rows][features]; an IMAGE's is [c][h][w] */
	uint8_t *u8;     /* backend: uint8[rows][features] in x's place: IMAGE alone */
	int32_t *token;  /* backend: int32[rows][t] in x's place: TOKENS */
	int32_t *length; /* backend: int32[rows], the tokens that are no padding; NULL: all t */
	int32_t *label;  /* backend: int32[rows][labels], or NULL */
	float *target;   /* backend: float[rows][1], or NULL */
};

/* Facts of the training rows that are needed to predict with the model later: JSON lists, in the
 * host's memory, each NULL if the data has no such facts. */
struct sw_data_about {
	char *table;   /* the columns of a CSV file (trainer/data/encode.h) */
	char *classes; /* the labels' texts, in the order of their numbers */
	char *mean;    /* subtracted from a feature, or a channel's pixel, as it is in the file */
	char *std;     /* by which it is then divided */
	char odd[300]; /* a likely mistake in a table: a line with its pointer; or "" */
	bool too_big;  /* one of them would have had over SW_DATA_ABOUT_MOST bytes */
};

#define SW_DATA_ABOUT_MOST ((size_t)4 << 20)
#define SW_DATA_TABLE_MOST ((size_t)7 << 20) /* the rest of a label (trainer/file/label.h) has 1 */
#define SW_LABEL_VALUES    ((size_t)500000)  /* JSON values of one of them */

struct sw_data {
	const struct sw_ops *ops;
	struct sw_shape input;
	size_t features; /* sw_shape_count(&input) */
	size_t classes;  /* 0: regression */
	size_t labels;   /* a row's: 1, or t for the next token (-1: none at this place) */
	size_t vocab;    /* TOKENS: ids are below it */
	/* IMAGE: what the training rows are shifted by at most, and whether they are mirrored
	 * (struct sw_images); normalisation, backend float[c], always there */
	int pad, flip;
	const float *scale, *shift;
	struct sw_data_part train, val;
	void *memory;  /* backend: all of the above, but parts that are streamed */
	size_t bytes;  /* of it */
	bool streamed; /* the parts lie in the host's memory */
	void *host;    /* they do there */
	/* Was subtracted from the targets, which were then divided by; 0: by 1. */
	double target_shift, target_unit;
	/* The host's: the classes of the training and of the validation rows, where a row has one;
	 * else NULL. */
	int32_t *train_class, *val_class;
	struct sw_data_about about;
};

/* Reads "/dataset" of a trainer. Named sets are searched in $SWEEPD_DATA, then relative to the
 * program, then in the source tree. */
SW_NODISCARD sw_status sw_data_source_read(struct sw_data_source *out, const cJSON *dataset,
					   struct sw_err *err);

/* Writes the path of the data set's i-th file, from 0; false: it has fewer. */
bool sw_data_source_file(const struct sw_data_source *source, size_t i,
			 char out[SW_DATASET_MAX_PATH + 64]);

/* *out: a sum (XXH3, 53 bits of it) of what the files hold, in their order; 0: it has none. Equal
 * on machines that see the same data, whatever their files' times. O(bytes); beats. SW_IO,
 * SW_NOMEM. */
SW_NODISCARD sw_status sw_data_source_sum(const struct sw_data_source *source, uint64_t *out,
					  struct sw_err *err);

/* ops NULL: everything is read and checked, nothing is kept but the counts. */
SW_NODISCARD sw_status sw_data_load(struct sw_data *out, const struct sw_data_source *source,
				    struct sw_data_want want, const struct sw_ops *ops,
				    struct sw_queue *q, struct sw_err *err);
void sw_data_fini(struct sw_data *d);
/* Bytes of a row with its labels. */
size_t sw_data_row_bytes(const struct sw_data *d);
/* dst[i] = src[order[i]], rows of so many bytes, in the host's memory. */
void sw_data_rows_take(void *dst, const void *src, const int32_t *order, size_t rows, size_t bytes);

/* --- a few data sets, kept from trial to trial --- */

struct sw_data_cache; /* opaque; at most four sets that nobody holds, those used last */

SW_NODISCARD sw_status sw_data_cache_create(struct sw_data_cache **out, const struct sw_ops *ops);
void sw_data_cache_destroy(struct sw_data_cache *c); /* NULL is allowed; nobody may use a set */
/* *out is the cache's, valid until it is released. A file that changed (size, time) is read again,
 * by way of q, while others that ask wait. A set that does not fit is tried again after all that
 * nobody holds were dropped, and is streamed then where want.device_bytes is not 0; that number
 * does not tell two sets apart. */
SW_NODISCARD sw_status sw_data_cache_hold(struct sw_data_cache *c, struct sw_queue *q,
					  const cJSON *dataset, struct sw_data_want want,
					  const struct sw_data **out, struct sw_err *err);
/* The caller's queue is done with it. NULL is allowed. */
void sw_data_cache_release(struct sw_data_cache *c, const struct sw_data *data);
/* Drops sets that nobody holds until all have at most so many bytes, or all are held. */
void sw_data_cache_trim(struct sw_data_cache *c, size_t most);
size_t sw_data_cache_loads(const struct sw_data_cache *c); /* how often a file was read */

#endif
