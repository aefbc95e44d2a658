/*
 * trainer/data/npy.h — the header of a NumPy .npy file, versions 1 to 3.
 *
 * Taken    C order, little endian, f4 f8 u1 i4 i8, at most four dimensions. All else is refused
 *          with its name.
 * Errors   SW_INVALID, SW_TOO_BIG, SW_NOMEM; pointers are the caller's.
 * Source   NumPy Enhancement Proposal 1 and numpy.lib.format's description.
 */
#ifndef SW_TRAINER_DATA_NPY_H
#define SW_TRAINER_DATA_NPY_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define SW_NPY_MAX_DIMS   4
#define SW_NPY_MAX_HEADER ((size_t)65536)

/* U2, U4: of other files of numbers (trainer/data/array.h). */
enum sw_npy_type { SW_NPY_F4, SW_NPY_F8, SW_NPY_U1, SW_NPY_U2, SW_NPY_U4, SW_NPY_I4, SW_NPY_I8 };

struct sw_npy {
	enum sw_npy_type type;
	size_t item; /* bytes of one element */
	size_t dims;
	uint64_t dim[SW_NPY_MAX_DIMS];
};

/* The dictionary, n bytes of text, which is used up; show: how messages call the file, ptr: their
 * pointer. */
SW_NODISCARD sw_status sw_npy_header(struct sw_npy *out, char *text, size_t n, const char *show,
				     const char *ptr, struct sw_err *err);

#endif
