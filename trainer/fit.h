/*
 * trainer/fit.h — the final fit: a configuration trained once more, on training and validation
 * rows, and exported (trainer/file/export.h).
 *
 * Input    A trial's job (proto/job.h) with a trainer. As many epochs as it says, at most max_t;
 *          `until`: it ends after that epoch, with the schedule of all.
 * Errors   One line; pointers into the spec stand before it.
 */
#ifndef SW_TRAINER_FIT_H
#define SW_TRAINER_FIT_H

#include "proto/job.h"

struct sw_fit {
	size_t rows, epochs;
	double train_loss; /* the last epoch's, over all rows */
};

/* On the CPU, with `cores`, into the file at path. epochs: instead of the job's; 0: those.
 * SW_INVALID: the job, or a loss that is no finite number. */
SW_NODISCARD sw_status sw_fit_run(struct sw_fit *out, const struct sw_job *job, uint64_t epochs,
				  const char *path, unsigned cores, struct sw_err *err);

#endif
