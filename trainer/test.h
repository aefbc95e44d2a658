/*
 * trainer/test.h — judges a model by the test part of its data set, which no trial has seen.
 *
 * Errors   One line, with a pointer into the job or the file that it is about.
 */
#ifndef SW_TRAINER_TEST_H
#define SW_TRAINER_TEST_H

#include "base/buf.h"
#include "proto/job.h"

/* On the CPU, with `cores`. job: the trial's; model: as sw_export wrote it. Writes one JSON object:
 * "rows", and test_loss, test_accuracy, test_macro_f1 and, of two classes, test_auc, or test_loss,
 * test_rmse, test_mae and test_r2, in the target's own units.
 * SW_INVALID: the data set keeps no test part; or what data and model say. */
SW_NODISCARD sw_status sw_test_run(const struct sw_job *job, const char *model, unsigned cores,
				   struct sw_buf *out, struct sw_err *err);

#endif
