/*
 * trainer/data/array.h — a file of numbers that are rows of one shape: NumPy's .npy, IDX (MNIST's),
 * CIFAR's binary version, raw ids. Opening tells the formats apart; from then on all are read
 * alike, to train on as to predict on.
 *
 * IDX      Two zero bytes, the type of the elements (8: unsigned bytes), the number of dimensions,
 *          each as a big-endian uint32, the elements. Images have three dimensions (rows, height,
 *          width) or four (rows, channels, height, width), labels one.
 * CIFAR    Rows of one label byte (CIFAR-100: two, coarse and fine) and 3,072 bytes, the image
 *          [3][32][32]. Source: Krizhevsky, "Learning multiple layers of features from tiny
 *          images", 2009; the layout is that of the data's own page.
 * Ids      uint16 or uint32, little endian, without a header.
 * Reading  From the first row to the last, in blocks. What is not kept (out NULL) is checked all
 *          the same, but bytes, of which any will do.
 * Errors   As those of trainer/data/file.h: one line with the file, the byte, the row.
 */
#ifndef SW_TRAINER_DATA_ARRAY_H
#define SW_TRAINER_DATA_ARRAY_H

#include "trainer/data/file.h"
#include "trainer/data/npy.h"
#include "trainer/data/shape.h"
#include "trainer/spec/dataset.h"

/* How a file is to be opened. */
struct sw_array_as {
	const char *path, *ptr; /* the pointer of what is wrong with it */
	enum sw_dataset_format format;
	bool labels; /* one number a row */
	bool coarse; /* CIFAR-100 */
	bool wide;   /* TOKENS: ids are uint32, else uint16 */
	size_t t;    /* TOKENS: ids of a row */
	bool text;   /* TOKENS: one id follows the last row */
};

struct sw_array {
	struct sw_data_file f;
	struct sw_npy head;  /* the type of the elements, of all formats */
	uint64_t begin;      /* the first row's byte */
	size_t front, which; /* CIFAR: bytes of labels in front of a row, and the one that counts */
	uint32_t classes;    /* CIFAR: that one is below */
	uint64_t rows;       /* of the file */
	size_t row;          /* elements of one */
	struct sw_shape shape; /* of one */
	unsigned char *block;
};

/* Reads the header; the size of the file is what it says. Closed by the caller, also after a
 * failure. */
SW_NODISCARD sw_status sw_array_open(struct sw_array *a, struct sw_array_as as, struct sw_err *err);
void sw_array_close(struct sw_array *a);

/* Rows of numbers as those of an image, where there are as many. */
bool sw_array_reshape(struct sw_array *a, const struct sw_shape *image);
/* "images of 3 x 32 x 32 bytes", "rows of 13 numbers": equal texts, rows that fit. Returns out. */
const char *sw_array_text(const struct sw_shape *s, bool bytes, char out[96]);
static inline bool sw_array_is_bytes(const struct sw_array *a)
{
	return a->shape.kind == SW_SHAPE_IMAGE && a->head.type == SW_NPY_U1;
}

/* The next n elements as finite floats. base: of every `plane` elements of a row one, or NULL. */
SW_NODISCARD sw_status sw_array_floats(struct sw_array *a, float *out, uint64_t n, double *base,
				       size_t plane, struct sw_err *err);
/* The next n elements as integers below limit; noun: of one. *largest: the largest so far. */
SW_NODISCARD sw_status sw_array_whole(struct sw_array *a, int32_t *out, uint64_t n, uint32_t limit,
				      const char *noun, int32_t *largest, struct sw_err *err);
/* The next n rows of bytes, and their labels where CIFAR's are wanted (else NULL). */
SW_NODISCARD sw_status sw_array_bytes(struct sw_array *a, uint8_t *out, int32_t *label, size_t n,
				      struct sw_err *err);

/* The ids of a row in front of its padding. */
static inline int32_t sw_array_length(const int32_t *row, size_t t, int32_t pad)
{
	while (t > 0 && row[t - 1] == pad)
		t--;
	return (int32_t)t;
}

#endif
