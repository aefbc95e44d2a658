/*
 * trainer/predict.h — predicts rows: a safetensors file and a file of rows become CSV
 * (docs/predict.md).
 *
 * Memory   The model twice, a batch of rows, a block of the file.
 * Errors   One line, with the file that it is about.
 */
#ifndef SW_TRAINER_PREDICT_H
#define SW_TRAINER_PREDICT_H

#include "base/buf.h"
#include <stdbool.h>

/* On the CPU, with `cores`. model: as sw_export wrote it. rows: a file, a folder or "-"; format: of
 * sw_dataset_formats, or NULL (trainer/data/rows.h). to: where the CSV goes; a reader that closes
 * it (EPIPE) ends it without an error. What was written before a failure is whole rows.
 * proba: of classes their probabilities, too.
 * said: a line for each column with values that have no input of their own.
 * SW_NOT_FOUND, SW_INVALID, SW_TOO_BIG: the files; SW_IO, SW_FULL, SW_NOMEM. */
SW_NODISCARD sw_status sw_predict(const char *model, const char *rows, const char *format,
				  bool proba, int to, unsigned cores, struct sw_buf *said,
				  struct sw_err *err);

#endif
