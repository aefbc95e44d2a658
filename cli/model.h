/* cli/model.h — what sweep-worker does with the weights of a finished trial, which c->sweep and
 * c->trial name. An exit status; what went wrong was said. */
#ifndef SW_CLI_MODEL_H
#define SW_CLI_MODEL_H

#include "cli/cli.h"
#include <cjson/cJSON.h>

/* The weights as a model that no name leads to and that ends with *fd, which is the caller's to
 * close: nothing is left behind when this is interrupted. */
int sw_model_open(struct sw_cli *c, int *fd);

/* Appends the job of the trial, once more: to its best epoch, if it has one. sweep, trial: what
 * sweep.get and trial.get answer. SW_INVALID: the sweep has no trainer. */
sw_status sw_model_job(const struct sw_cli *c, const cJSON *sweep, const cJSON *trial,
		       struct sw_buf *out, struct sw_err *err);

/* Prints how good it is on the test part of its data set. */
int sw_model_test(struct sw_cli *c, const cJSON *sweep);

#endif
