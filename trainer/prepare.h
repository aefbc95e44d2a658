/*
 * trainer/prepare.h — makes a trial ready for its first batch on the device where it runs: its
 * options, its data, its model. Each rank of a trial does so for itself.
 */
#ifndef SW_TRAINER_PREPARE_H
#define SW_TRAINER_PREPARE_H

#include "proto/job.h"
#include "trainer/model/model.h"
#include "trainer/model/trainer.h"
#include "trainer/runner.h"

struct sw_prepared {
	bool all;  /* given: the validation rows are trained on, too (struct sw_data_want) */
	bool test; /* given: the test rows are validated on (struct sw_data_want) */
	struct sw_trainer trainer;
	struct sw_model model;
	const struct sw_data *data; /* held in the runner's cache; NULL: not yet */
	char *label;     /* trainer/file/label.h, for a job with checkpoints; else NULL */
	bool impossible; /* after an error: the trial's parameters make no net, others may */
};

/* p: zero but for `all` and `test`. err points at the part of the spec at fault. SW_INVALID;
 * SW_NOT_FOUND, SW_IO: the data set cannot be read; SW_NOMEM; SW_DEVICE_LOST. */
SW_NODISCARD sw_status sw_prepare(struct sw_prepared *p, const struct sw_runner *r,
				  const struct sw_job *job, struct sw_err *err);

/* Gives back what it holds, whether or not all was ready. */
void sw_prepared_release(struct sw_prepared *p, const struct sw_runner *r);

#endif
