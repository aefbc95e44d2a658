/*
 * worker/fit.h — the final fit: a configuration trained once more, on training and validation rows,
 * and exported (worker/file/export.h).
 *
 * Input    {"trainer": {...}, "params": {...}, "sweep": 1, "trial": 7, "seed": 42, "epochs": 27
 *          (null: the trainer's, at most max_t), "max_t": 27 or null, "stop": 9 (after this
 *          epoch, with the schedule of the trainer's epochs) or null, "out": "model.safetensors"}
 * Errors   One line; pointers into the spec stand before it.
 */
#ifndef SW_WORKER_FIT_H
#define SW_WORKER_FIT_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* The trained model's sweep and trial, and the last epoch's loss over all rows. */
struct sw_fit {
	uint64_t sweep, trial; /* as the input says */
	size_t rows, epochs;
	double train_loss;
};

/* On the CPU, with `cores`. SW_INVALID: the input, or a loss that is no finite number. */
SW_NODISCARD sw_status sw_fit_run(struct sw_fit *out, const cJSON *input, unsigned cores,
				  struct sw_err *err);

#endif
