/*
 * trainer/file/label.h — describes a model in words that go with its weights: into a checkpoint,
 * and from there into the metadata of a safetensors file (docs/predict.md).
 *
 * Format   A JSON object of strings, each a JSON text itself:
 *            sweepd    the version of these, 1
 *            model     the list of layers, presets written out, numbers in the place of parameters
 *            input     {"kind": "numbers", "shape": [13]}, {"kind": "image", "shape": [3, 32, 32],
 *                      "bytes": true}, {"kind": "tokens", "shape": [128], "vocab": 50, ...}
 *            output    {"loss": "cross_entropy", "outputs": 3, "labels": 1}; of "mse" "shift" and
 *                      "scale", too: a prediction is the net's output by scale, and shift
 *            dataset   {"format": "csv"}
 *            table     the columns of a CSV file (trainer/data/encode.h)
 *            classes, mean, std   lists, where there are such (struct sw_data_about)
 * Pure     But for the data set's options nothing is read.
 */
#ifndef SW_TRAINER_FILE_LABEL_H
#define SW_TRAINER_FILE_LABEL_H

#include "trainer/data/data.h"

#define SW_LABEL_VERSION 1
#define SW_LABEL_MOST    ((size_t)8 << 20) /* bytes */

/* trainer, params: the trial's. data: loaded. *out: freed by the caller; NULL if it would be too
 * long: `sweep predict` then refuses the model. SW_NOMEM, or what is wrong with the trainer's data
 * set or model. */
SW_NODISCARD sw_status sw_label_make(char **out, const cJSON *trainer, const cJSON *params,
				     const struct sw_data *data, struct sw_err *err);

#endif
