#include "spec/trainer_options.h"
#include <math.h>
#include <string.h>

static const char *const optimizers[] = {"sgd", "adam", "adamw", NULL};
static const char *const schedules[] = {"constant", "step", "cosine", NULL};
static const char *const precisions[] = {"fp32", "tf32", "bf16", NULL};
static const char *const losses[] = {"cross_entropy", "mse", NULL};

/* clang-format off */
#define CHOICE(n, words) .name = (n), .kind = SW_OPTION_CHOICE, .choices = (words)
#define INT(n, low, high, f) \
	.name = (n), .kind = SW_OPTION_INTEGER, .min = (low), .max = (high), .fallback = (f)
#define REAL(n, low, high, f) \
	.name = (n), .kind = SW_OPTION_REAL, .min = (low), .max = (high), .fallback = (f)
#define BOOL(n, f) .name = (n), .kind = SW_OPTION_BOOLEAN, .fallback = (f)
#define ABOVE .min_open = true
#define BELOW .max_open = true
#define SEARCHED .searched = true

const struct sw_trainer_option sw_trainer_options[SW_TRAINER_OPTION_N] = {
	{CHOICE("optimizer", optimizers), SEARCHED},
	{REAL("lr", 0, 1e6, 0.001), ABOVE, SEARCHED, .other = {"sgd", 0.01}},
	{INT("batch_size", 1, 1e9, 32), SEARCHED},
	{INT("epochs", 1, 1e9, 10), SEARCHED},
	{REAL("momentum", 0, 1, 0), BELOW, SEARCHED},
	{BOOL("nesterov", 0), SEARCHED},
	{REAL("weight_decay", 0, 1e6, 0), SEARCHED, .other = {"adamw", 0.01}},
	{REAL("beta1", 0, 1, 0.9), BELOW, SEARCHED},
	{REAL("beta2", 0, 1, 0.999), BELOW, SEARCHED},
	{REAL("eps", 0, 1, 1e-8), ABOVE, SEARCHED},
	{CHOICE("schedule", schedules), SEARCHED},
	{REAL("warmup_epochs", 0, 1e9, 0), SEARCHED},
	{INT("step_epochs", 1, 1e9, 10), SEARCHED},
	{REAL("gamma", 0, 1, 0.1), ABOVE, SEARCHED},
	{REAL("clip_norm", 0, 1e9, 0), SEARCHED},
	{REAL("label_smoothing", 0, 1, 0), BELOW, SEARCHED},
	{CHOICE("precision", precisions)},
	{INT("patience", 0, 1e9, 0), SEARCHED},
	{CHOICE("loss", losses)},
	{REAL("val_fraction", 0, 1, 0.2), ABOVE, BELOW},
	{INT("split_seed", 0, 9007199254740991.0, NAN)},
	{BOOL("standardize", 1)},
	{INT("micro_batch", 0, 1e9, 0)},
};
/* clang-format on */

const struct sw_trainer_option *sw_trainer_option_find(const char *name)
{
	for (size_t i = 0; i < SW_TRAINER_OPTION_N; i++)
		if (strcmp(sw_trainer_options[i].name, name) == 0)
			return &sw_trainer_options[i];
	return NULL;
}

double sw_trainer_option_fallback(const struct sw_trainer_option *o, const char *optimizer)
{
	return o->other.optimizer != NULL && strcmp(o->other.optimizer, optimizer) == 0
		       ? o->other.fallback
		       : o->fallback;
}
