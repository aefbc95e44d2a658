/*
 * trainer/data/file.h — a file that is read from its beginning to its end, and the numbers in it.
 *
 * Errors   SW_NOT_FOUND, SW_IO, SW_INVALID: one line with the path, the byte, what was expected and
 *          what was found.
 * Cost     O(bytes), in pieces between which the worker gives a sign of life.
 */
#ifndef SW_TRAINER_DATA_FILE_H
#define SW_TRAINER_DATA_FILE_H

#include "base/status.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define SW_DATA_MAX_BYTES ((uint64_t)1 << 40) /* of a data set */

struct sw_data_file {
	int fd;          /* -1: closed */
	char show[84];   /* the path for a message; the end of a long one */
	const char *ptr; /* "/path" */
	uint64_t size;   /* when it was opened */
	uint64_t at;     /* the next byte */
};

/* A regular file, not empty. */
SW_NODISCARD sw_status sw_data_file_open_any(struct sw_data_file *f, const char *path,
					     const char *ptr, struct sw_err *err);
/* The same, and not compressed. */
SW_NODISCARD sw_status sw_data_file_open(struct sw_data_file *f, const char *path, const char *ptr,
					 struct sw_err *err);
/* Exactly n bytes; what: the noun of a message when they are not there, "the header". */
SW_NODISCARD sw_status sw_data_file_read(struct sw_data_file *f, void *to, size_t n,
					 const char *what, struct sw_err *err);
void sw_data_file_close(struct sw_data_file *f);

/* The end of a long path, "..." in front: a trial's cause has room for the rest of the message.
 * Returns out. */
const char *sw_data_file_show(const char *path, char out[84]);

/* A number as a float that is kept less the base of its column: time stamps, ids and metres would
 * lose in a float what sets them apart. NAN: the first number becomes the base. NULL: 0. */
static inline float sw_data_less(double v, double *base)
{
	if (base && isnan(*base))
		*base = v;
	return (float)(base ? v - *base : v);
}
/* *out: n bases that are not known yet. */
SW_NODISCARD sw_status sw_data_bases(double **out, size_t n, struct sw_err *err);

#endif
