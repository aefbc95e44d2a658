/* tests/trainer/net/gang_cases.h — the models and data on which ranks and pipelines have the bits
 * of one rank. */
#ifndef SW_TESTS_WORKER_NET_GANG_CASES_H
#define SW_TESTS_WORKER_NET_GANG_CASES_H

#include "tests/trainer/net/gang.h"

/* Of 163 rows 131 are trained on: with batches of 32 the last has 3 rows, fewer than 4 ranks or
 * than there are parts; one of 30 is not divided by 4, and its last one leaves two of 4 ranks
 * without rows. */
static const struct {
	const char *dataset, *layers;
	struct sw_trainer trainer;
	bool norms; /* statistics are a part's, and those of evaluation rank 0's pipeline's */
} cases[] = {
	{.dataset = "{\"format\": \"synthetic\", \"features\": 13, \"rows\": 163, \"classes\": 7}",
	 .layers = "[{\"dropout\": 0.1}, {\"linear\": 24}, \"relu\", {\"dropout\": 0.3}, "
		   "{\"residual\": [\"layernorm\", {\"linear\": 24}, \"tanh\"]}, "
		   "{\"residual\": [{\"linear\": 24}]}, \"sigmoid\", {\"linear\": 24}, \"gelu\", "
		   "{\"linear\": 7}]",
	 .trainer = {ADAMW, .classes = true, .clip_norm = 0.5, .batch_size = 32, .epochs = 3}},
	{.dataset = "{\"format\": \"synthetic\", \"features\": 9, \"rows\": 163}",
	 .layers = "[{\"linear\": 16}, \"gelu\", {\"dropout\": 0.2}, {\"linear\": 8}, \"relu\", "
		   "{\"linear\": 8}, {\"linear\": 1}]",
	 .trainer = {SGD, .clip_norm = 2, .batch_size = 30, .epochs = 3}},
	{.dataset = "{\"format\": \"synthetic\", \"image\": [3, 32, 32], \"rows\": 80, "
		    "\"classes\": 10, \"augment\": {\"crop\": 4, \"flip\": true}}",
	 .layers = "{\"preset\": \"lenet-cifar\"}",
	 .trainer = {SGD, .classes = true, .label_smoothing = 0.1, .batch_size = 15, .epochs = 2}},
	{.dataset = "{\"format\": \"synthetic\", \"tokens\": 8, \"vocab\": 20, \"rows\": 163, "
		    "\"classes\": 4}",
	 .layers = "{\"preset\": \"transformer-encoder\", \"outputs\": 4, \"layers\": 3, "
		   "\"heads\": 2, \"width\": 16, \"hidden\": 24, \"dropout\": 0.1}",
	 .trainer = {ADAMW, .classes = true, .clip_norm = 1, .batch_size = 32, .epochs = 2}},
	{.dataset = "{\"format\": \"synthetic\", \"tokens\": 8, \"vocab\": 20, \"rows\": 163, "
		    "\"next_token\": true}",
	 .layers = "[{\"embedding\": 16}, {\"positional\": 12}, {\"residual\": [{\"attention\": "
		   "{\"heads\": 2, \"causal\": true}}]}, {\"dropout\": 0.2}, {\"linear\": 20}, "
		   "\"relu\", {\"linear\": 20}]",
	 .trainer = {ADAMW, .classes = true, .batch_size = 30, .epochs = 2}},
	{.dataset = "{\"format\": \"synthetic\", \"image\": [2, 8, 8], \"rows\": 163, "
		    "\"classes\": 3, \"augment\": {\"crop\": 1, \"flip\": true}}",
	 .layers = "[{\"conv2d\": {\"out\": 6, \"kernel\": 3}}, \"batchnorm\", \"relu\", "
		   "{\"maxpool2d\": 2}, {\"conv2d\": {\"out\": 8, \"kernel\": 3, \"padding\": 1}}, "
		   "\"batchnorm\", \"relu\", \"flatten\", {\"linear\": 9}, {\"linear\": 3}]",
	 .trainer = {SGD, .classes = true, .batch_size = 30, .epochs = 3},
	 .norms = true},
};

static inline void case_setup(size_t i, size_t device_bytes)
{
	gang_setup(cases[i].dataset, cases[i].trainer.classes, device_bytes);
	for (size_t k = 0; data.labels > 1 && k < data.train.rows * data.labels; k++)
		if (k * k % 7 < 3 || k / data.labels % 5 == 0)
			data.train.label[k] = -1; /* by different numbers in different rows */
	gang.layers = cases[i].layers;
	gang.trainer = cases[i].trainer;
}

static inline size_t up(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

/* What so many ranks without stages see, their shares in parts of so many rows. */
static inline struct rank unstaged(unsigned world, uint64_t micro)
{
	const uint64_t stages = gang.trainer.stages;

	gang.trainer.stages = 1;
	gang.trainer.micro_batch = micro;
	gang_run(world);
	gang.trainer.micro_batch = 0;
	gang.trainer.stages = stages;
	ck_assert_msg(gang.rank[0].rc == SW_OK, "%s", gang.rank[0].line);
	ck_assert_uint_eq(gang.rank[0].reports, gang.trainer.epochs);
	return gang.rank[0];
}

#endif
