/*
 * trainer/check.h — `sweep-worker check`: all that is wrong in the trainer's part of a spec, or, if
 * nothing is, whether what it asks for is there and fits together. The daemon asks before it
 * accepts a sweep or other ranges for one, so that no trial has to find out.
 *
 * The model is compiled for the largest and for the smallest values of the parameters, or for
 * points near them where these break a constraint (trainer/corner.h). `parameters` and `bytes`
 * (arena and data set) are those of the point that takes most memory of up to 2,000 around each of
 * these two; 0 where the constraints leave none that is found. The arena is the larger one of a
 * CPU's and, where gpu says so, a GPU's, which has room for what libraries need there. Of a
 * pipeline it is that of the largest stage, and a model that cannot be cut into its stages is
 * refused.
 */
#ifndef SW_TRAINER_CHECK_H
#define SW_TRAINER_CHECK_H

#include "base/buf.h"
#include "base/status.h"
#include "kernels/ops.h"
#include <stdbool.h>

/* A GPU's table that counts bytes and uses no GPU: the process sees none from then on. NULL:
 * without the module there is nothing to count for, and the worker of a GPU's slot says so. */
const struct sw_ops *sw_check_gpu(void);

/* gpu: a GPU's table, of which only what counts bytes is called; NULL: none is there. text: the
 * question's JSON, and form its kind; daemon/slot/speccheck.h, whose question it is, says what
 * both may be and what is answered. Appends that answer, one JSON object without a newline.
 * Failures to write latch in out. */
void sw_check_spec(const char *text, size_t len, bool form, const struct sw_ops *gpu,
		   struct sw_buf *out);

#endif
