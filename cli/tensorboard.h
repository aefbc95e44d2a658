/*
 * cli/tensorboard.h — a sweep as a folder that TensorBoard reads: the run SWEEP/TRIAL is a trial.
 * Event files that are there are written anew.
 *
 * Memory   A page of what the daemon has, and 32 bytes a trial.
 */
#ifndef SW_CLI_TENSORBOARD_H
#define SW_CLI_TENSORBOARD_H

#include "cli/cli.h"

/* Into the folder c->args.out; with --follow until the sweep has ended. spec: borrowed. *trials,
 * *reports: raised by how many were written. An exit status. */
int sw_tensorboard_write(struct sw_cli *c, const cJSON *spec, uint64_t *trials, uint64_t *reports);

#endif
