/*
 * worker/trainer.h — the options of one trial: what "trainer" and the trial's parameters say.
 *
 * An option is, in this order: the parameter of that name, the trainer's literal, the parameter
 * that the trainer names, the default of proto/trainer_options.h. adamw's weight_decay defaults to
 * 0.01, as PyTorch's does.
 * Pure     No state. Errors point into the spec ("/trainer/lr", "/parameters/lr").
 */
#ifndef SW_WORKER_TRAINER_H
#define SW_WORKER_TRAINER_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct sw_trainer {
	bool adamw;   /* else sgd */
	bool classes; /* cross_entropy, else mse */
	bool nesterov;
	bool standardize;
	double lr, momentum, weight_decay, beta1, beta2, eps;
	double val_fraction;
	uint64_t batch_size, epochs;
	uint64_t split_seed;
};

/* trainer, params: objects. max_t: 0 when there is none. data_seed: split_seed's default. */
SW_NODISCARD sw_status sw_trainer_resolve(struct sw_trainer *out, const cJSON *trainer,
					  const cJSON *params, uint64_t max_t, uint64_t data_seed,
					  struct sw_err *err);

#endif
