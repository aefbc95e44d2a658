/*
 * trainer/spec/dataset.h — "trainer.dataset": which data set, in which format, with which options.
 *
 * Pure     Form alone: keys, types, which go together. What the files hold, the worker reads.
 * Memory   Strings are borrowed from the JSON.
 * Errors   SW_INVALID; pointers start at the data set's object ("/path").
 */
#ifndef SW_TRAINER_SPEC_DATASET_H
#define SW_TRAINER_SPEC_DATASET_H

#include "base/status.h"
#include "proto/form.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_DATASET_MAX_CHANNELS 16   /* of "normalize" */
#define SW_DATASET_MAX_PATH     4096 /* bytes of a path with its end */
#define SW_DATASET_MAX_SIDE     65536
#define SW_DATASET_MAX_ROW      ((uint64_t)1 << 28) /* numbers in one row */
#define SW_DATASET_MAX_CLASSES  65536

enum sw_dataset_format {
	SW_DATASET_CSV,
	SW_DATASET_CIFAR10,  /* a folder: data_batch_1..5.bin, test_batch.bin */
	SW_DATASET_CIFAR100, /* a folder: train.bin, test.bin */
	SW_DATASET_IDX,      /* a folder of four files, or pairs of files */
	SW_DATASET_NPY,      /* pairs of files */
	SW_DATASET_TOKENS,   /* raw ids */
	SW_DATASET_SYNTHETIC,
	SW_DATASET_FORMAT_N
};

/* How inputs are scaled, by the training rows (trainer/data/encode.h). */
enum sw_scale { SW_SCALE_AUTO, SW_SCALE_STANDARD, SW_SCALE_QUANTILE, SW_SCALE_NONE };

extern const char *const sw_dataset_formats[SW_DATASET_FORMAT_N]; /* "csv", "cifar10", ... */
extern const struct sw_forms sw_forms_dataset; /* their keys, made of trainer/schema.json */

struct sw_dataset {
	enum sw_dataset_format format;
	const char *name; /* of one that comes with sweepd, a CSV file; NULL: it has a path */
	const char *path, *label_path, *val_path, *val_label_path; /* each may be NULL */
	const char *label;    /* CSV: a column of the header; NULL: label_column */
	long label_column;    /* CSV: from 0; -1 the last */
	bool header;          /* CSV */
	bool latin1;          /* CSV: its text, else UTF-8 */
	const char *group;    /* CSV: a column whose equal cells are rows of one part; or NULL */
	const char *by;       /* CSV: a column that orders the rows for the split; or NULL */
	double test_fraction; /* CSV: rows that are kept for the test at the end */
	const cJSON *columns; /* CSV: lists "ignore", "category", "number", "date"; or NULL */
	bool test;            /* CIFAR, IDX folder: validate on the test part instead of a split */
	bool coarse;          /* CIFAR-100: the 20 groups are the labels */
	size_t image[3];      /* channels, height, width: a row is an image; all 0: not said */
	size_t features;      /* synthetic: numbers in a row; 0: not said */
	size_t tokens;        /* tokens, synthetic: in a row; 0: not said */
	bool wide;            /* tokens: ids are uint32, else uint16 */
	int64_t pad;          /* tokens: the id that fills rows up, -1: none */
	size_t vocab;         /* tokens: ids are below it; 0: not said */
	bool next_token;      /* tokens, synthetic: each place's label is the next token */
	size_t rows, classes; /* synthetic */
	uint64_t seed;        /* synthetic */
	unsigned noise;       /* synthetic: in 1/256, 0 to 256 */
	size_t norm_n;        /* channels that mean and std are given for; 0: not given */
	double mean[SW_DATASET_MAX_CHANNELS], std[SW_DATASET_MAX_CHANNELS]; /* of pixels 0 to 1 */
	unsigned crop; /* images: shifted by at most so many pixels in training */
	bool flip;     /* images: mirrored half of the time in training */
};

SW_NODISCARD sw_status sw_dataset_read(struct sw_dataset *out, const cJSON *dataset,
				       struct sw_err *err);

enum sw_dataset_image {
	SW_IMAGES_NO,
	SW_IMAGES_PERHAPS, /* the shape in an .npy file says it */
	SW_IMAGES_YES
};

/* Are its rows images, as far as the object tells? */
enum sw_dataset_image sw_dataset_images(const struct sw_dataset *d);

#endif
