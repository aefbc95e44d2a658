/*
 * trainer/model/trainer.h — the options of one trial: what "trainer" and the trial's parameters
 * say.
 *
 * An option is, in this order: the parameter of that name, the trainer's literal, the parameter
 * that the trainer names, the default of trainer/spec/options.h.
 * Pure     No state. Errors point into the spec ("/trainer/lr", "/parameters/lr").
 */
#ifndef SW_TRAINER_MODEL_TRAINER_H
#define SW_TRAINER_MODEL_TRAINER_H

#include "base/status.h"
#include "kernels/shapes.h"
#include "trainer/spec/dataset.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the choices of trainer/schema.json are ordered. */
enum sw_optimizer { SW_SGD, SW_ADAM, SW_ADAMW };
enum sw_schedule { SW_SCHEDULE_CONSTANT, SW_SCHEDULE_STEP, SW_SCHEDULE_COSINE };

struct sw_trainer {
	enum sw_optimizer optimizer;
	enum sw_schedule schedule;
	enum sw_precision precision; /* of products */
	bool classes;                /* cross_entropy, else mse */
	bool nesterov;
	bool balanced; /* class_weight: each class has an equal share of an epoch's rows */
	enum sw_scale scale;
	bool sync_batchnorm; /* of several ranks: statistics are those of all ranks' rows */
	double lr, momentum, weight_decay, beta1, beta2, eps;
	double warmup_epochs, gamma;
	double clip_norm, label_smoothing; /* 0: none */
	double val_fraction;
	uint64_t batch_size, epochs, step_epochs;
	uint64_t ranks;        /* that share each batch and the validation rows; 0 and 1: one */
	uint64_t stages;       /* of a pipeline, through which a rank's rows go; 0 and 1: none */
	uint64_t microbatches; /* of a pipeline: in so many parts */
	uint64_t stage;        /* of these, a net's own; the loop's to set */
	uint64_t micro_batch;  /* rows that the device works on at once; 0: all of a rank's */
	size_t memory;         /* most bytes of the arena and library; 0: what the device has */
	size_t feed_row;       /* bytes of a row that is fed to the device; 0: the data lie there */
	uint64_t patience;     /* epochs without a lower val_loss; 0: no end but the last epoch */
	uint64_t split_seed;
};

/* trainer, params: objects. max_t: 0 without one. data_seed: split_seed's default. */
SW_NODISCARD sw_status sw_trainer_resolve(struct sw_trainer *out, const cJSON *trainer,
					  const cJSON *params, uint64_t max_t, uint64_t data_seed,
					  struct sw_err *err);

/* The learning rate of a step, counted from 0, of an epoch that has steps_per_epoch. In the first
 * warmup_epochs it is lr times the part of them that has passed with this step. After that, with
 * "cosine", lr (1 + cos(pi s)) / 2, s the part of the remaining steps that has passed; with "step",
 * lr gamma^k, k the times that step_epochs epochs have passed since the start. */
double sw_trainer_lr(const struct sw_trainer *t, uint64_t step, uint64_t steps_per_epoch);

/* "sgd", "adam", "adamw" */
const char *sw_trainer_optimizer_name(enum sw_optimizer optimizer);
/* "fp32", "tf32", "bf16" */
const char *sw_trainer_precision_name(enum sw_precision precision);

#endif
