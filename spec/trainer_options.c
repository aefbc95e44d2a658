#include "spec/trainer_options.h"
#include <math.h>
#include <string.h>

static const char *const optimizers[] = {"sgd", "adam", "adamw", NULL};
static const char *const schedules[] = {"constant", "step", "cosine", NULL};
static const char *const precisions[] = {"fp32", "tf32", "bf16", NULL};
static const char *const losses[] = {"cross_entropy", "mse", NULL};

/* clang-format off */
const struct sw_trainer_option sw_trainer_options[SW_TRAINER_OPTION_N] = {
	{.name = "optimizer", .kind = SW_OPTION_CHOICE, .choices = optimizers,
	 .fallback = NAN, .fallback_text = "sgd", .searched = true, .doc = "how the weights move"},
	{.name = "lr", .kind = SW_OPTION_REAL, .min = 0, .min_open = true, .max = 1e6,
	 .fallback = NAN, .fallback_text = "0.01 (sgd), 0.001 (adam, adamw)", .searched = true,
	 .doc = "learning rate"},
	{.name = "batch_size", .kind = SW_OPTION_INTEGER, .min = 1, .max = 1e9,
	 .fallback = 32, .fallback_text = "32", .searched = true, .doc = "rows in one step"},
	{.name = "epochs", .kind = SW_OPTION_INTEGER, .min = 1, .max = 1e9,
	 .fallback = NAN, .fallback_text = "early_terminate.max_t, else 10", .searched = true,
	 .doc = "passes over the training rows; a trial's step is its epoch"},
	{.name = "momentum", .kind = SW_OPTION_REAL, .min = 0, .max = 1, .max_open = true,
	 .fallback = 0, .fallback_text = "0", .searched = true, .doc = "sgd only"},
	{.name = "nesterov", .kind = SW_OPTION_BOOLEAN,
	 .fallback = 0, .fallback_text = "false", .searched = true, .doc = "sgd only"},
	{.name = "weight_decay", .kind = SW_OPTION_REAL, .min = 0, .max = 1e6,
	 .fallback = NAN, .fallback_text = "0 (sgd, adam), 0.01 (adamw)", .searched = true,
	 .doc = "sgd, adam: added to the gradient; adamw: decoupled from it"},
	{.name = "beta1", .kind = SW_OPTION_REAL, .min = 0, .max = 1, .max_open = true,
	 .fallback = 0.9, .fallback_text = "0.9", .searched = true, .doc = "adam and adamw only"},
	{.name = "beta2", .kind = SW_OPTION_REAL, .min = 0, .max = 1, .max_open = true,
	 .fallback = 0.999, .fallback_text = "0.999", .searched = true, .doc = "adam and adamw only"},
	{.name = "eps", .kind = SW_OPTION_REAL, .min = 0, .min_open = true, .max = 1,
	 .fallback = 1e-8, .fallback_text = "1e-8", .searched = true, .doc = "adam and adamw only"},
	{.name = "schedule", .kind = SW_OPTION_CHOICE, .choices = schedules,
	 .fallback = NAN, .fallback_text = "constant", .searched = true,
	 .doc = "how lr changes over the epochs"},
	{.name = "warmup_epochs", .kind = SW_OPTION_REAL, .min = 0, .max = 1e9,
	 .fallback = 0, .fallback_text = "0", .searched = true,
	 .doc = "lr rises from 0 to its value in a line, a step at a time; 0: none"},
	{.name = "step_epochs", .kind = SW_OPTION_INTEGER, .min = 1, .max = 1e9,
	 .fallback = 10, .fallback_text = "10", .searched = true,
	 .doc = "schedule step: lr is multiplied by gamma each time so many epochs have passed"},
	{.name = "gamma", .kind = SW_OPTION_REAL, .min = 0, .min_open = true, .max = 1,
	 .fallback = 0.1, .fallback_text = "0.1", .searched = true, .doc = "schedule step"},
	{.name = "clip_norm", .kind = SW_OPTION_REAL, .min = 0, .max = 1e9,
	 .fallback = 0, .fallback_text = "0", .searched = true,
	 .doc = "the norm that a step's gradient is cut to; 0: none"},
	{.name = "label_smoothing", .kind = SW_OPTION_REAL, .min = 0, .max = 1, .max_open = true,
	 .fallback = 0, .fallback_text = "0", .searched = true, .doc = "cross_entropy only"},
	{.name = "precision", .kind = SW_OPTION_CHOICE, .choices = precisions,
	 .fallback = NAN, .fallback_text = "fp32", .searched = true,
	 .doc = "of the operands of products; weights, sums and all else are fp32. On a CPU fp32 alone"},
	{.name = "patience", .kind = SW_OPTION_INTEGER, .min = 0, .max = 1e9,
	 .fallback = 0, .fallback_text = "0", .searched = true,
	 .doc = "the trial is COMPLETED, and its cause says so, when val_loss was not lower for so many epochs; 0: never"},
	{.name = "loss", .kind = SW_OPTION_CHOICE, .choices = losses,
	 .fallback = NAN, .fallback_text = "cross_entropy",
	 .doc = "cross_entropy for classes, mse for numbers"},
	{.name = "val_fraction", .kind = SW_OPTION_REAL,
	 .min = 0, .min_open = true, .max = 1, .max_open = true,
	 .fallback = 0.2, .fallback_text = "0.2", .doc = "share of the rows kept for validation"},
	{.name = "split_seed", .kind = SW_OPTION_INTEGER, .min = 0, .max = 9007199254740991.0,
	 .fallback = NAN, .fallback_text = "the sweep's seed",
	 .doc = "which rows are kept; the same for every trial"},
	{.name = "standardize", .kind = SW_OPTION_BOOLEAN,
	 .fallback = 1, .fallback_text = "true",
	 .doc = "scale each column to mean 0 and deviation 1, measured on the training rows"},
};
/* clang-format on */

const struct sw_trainer_option *sw_trainer_option_find(const char *name)
{
	for (size_t i = 0; i < SW_TRAINER_OPTION_N; i++)
		if (strcmp(sw_trainer_options[i].name, name) == 0)
			return &sw_trainer_options[i];
	return NULL;
}
