/* tests/worker/net/test_pipeline.c — a model in stages, each a process with some of its layers: the
 * bits of one rank that takes its batches in the same parts. */
#include "tests/run.h"
#include "tests/worker/net/gang.h"

/* Last batches of an epoch are smaller, some of them than there are parts. */
static const struct {
	const char *dataset, *layers;
	struct sw_trainer trainer;
	bool norms; /* statistics are a part's, and those of evaluation the first pipeline's */
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

static void case_setup(size_t i, size_t device_bytes)
{
	gang_setup(cases[i].dataset, cases[i].trainer.classes, device_bytes);
	for (size_t k = 0; data.labels > 1 && k < data.train.rows * data.labels; k++)
		if (k * k % 7 < 3 || k / data.labels % 5 == 0)
			data.train.label[k] = -1; /* by different numbers in different rows */
	gang.layers = cases[i].layers;
	gang.trainer = cases[i].trainer;
}

static size_t up(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

/* What so many ranks without stages see, their shares in parts of so many rows. */
static struct rank unstaged(unsigned world, uint64_t micro)
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

static void all_ended_well(void)
{
	for (unsigned r = 0; r < gang.world; r++) {
		ck_assert_msg(gang.rank[r].rc == SW_OK, "rank %u of %u: %s", r, gang.world,
			      gang.rank[r].line);
		ck_assert_int_eq(gang.rank[r].end, gang.rank[0].end);
		ck_assert_uint_eq(gang.rank[r].reports, r == 0 ? gang.trainer.epochs : 0);
		ck_assert_uint_eq(gang.rank[r].steps, gang.rank[0].steps);
	}
}

/* Each epoch left the whole model as it left one's. */
static void models_are_of(const struct rank *one)
{
	const struct rank *lead = &gang.rank[0];

	for (size_t i = 0; i < lead->reports; i++)
		ck_assert_msg(lead->whole[i] == one->whole[i],
			      "%u ranks, %d stages, %d parts: epoch %zu has other bits", gang.world,
			      (int)gang.trainer.stages, (int)gang.trainer.microbatches, i + 1);
}

static void pipeline_run(unsigned stages, unsigned world, unsigned parts)
{
	gang.trainer.stages = stages;
	gang.trainer.microbatches = parts;
	gang_run(world);
	all_ended_well();
	for (size_t i = 0; i < gang.rank[0].reports; i++)
		ck_assert_msg(gang.rank[0].e[i].bubble > 0 && gang.rank[0].e[i].bubble < 1,
			      "epoch %zu: %g of its steps waited", i + 1, gang.rank[0].e[i].bubble);
}

static const struct {
	unsigned stages, parts;
} shapes[] = {{2, 1}, {2, 4}, {3, 2}, {3, 5}, {4, 3}, {4, 8}};

/* case: _i / shapes; the fifth model has fewer places for a cut */
static void pipeline_has_the_bits_of_one(size_t i, unsigned stages, unsigned parts)
{
	struct rank one;

	case_setup(i, 0);
	one = unstaged(1, up(gang.trainer.batch_size, parts));
	pipeline_run(stages, stages, parts);
	models_are_of(&one);
	reports_are_of(&one, 0, 1e-12, true);
	gang_teardown();
}

TEST_LOOP(pipeline_has_the_bits_of_one_rank_with_the_same_parts, 0,
	  (int)(ROWS(shapes) * ROWS(cases)))
{
	const size_t k = (size_t)_i % ROWS(shapes);

	pipeline_has_the_bits_of_one((size_t)_i / ROWS(shapes), shapes[k].stages, shapes[k].parts);
}

/* Two pipelines that share each batch are two ranks that do, with the same parts; with one part
 * each they are one rank with two. */
TEST_LOOP(pipelines_that_share_batches_have_the_bits_of_ranks_that_do, 0, (int)ROWS(cases))
{
	struct rank two, one;

	case_setup((size_t)_i, 0);
	const size_t share = up(gang.trainer.batch_size, 2);

	two = unstaged(2, up(share, 3));
	pipeline_run(2, 4, 3);
	models_are_of(&two);
	reports_are_of(&two, 0, 1e-12, true);
	one = unstaged(1, share);
	pipeline_run(2, 4, 1);
	/* running statistics are those of the first pipeline's parts */
	if (!cases[_i].norms)
		models_are_of(&one);
	reports_are_of(&one, 0, 1e-12, !cases[_i].norms);
	gang_teardown();
}

TEST_LOOP(pipeline_whose_rows_are_streamed_has_the_same_bits, 0, (int)ROWS(cases))
{
	struct rank one;

	case_setup((size_t)_i, 1);
	ck_assert(data.streamed);
	one = unstaged(1, up(gang.trainer.batch_size, 4));
	pipeline_run(2, 2, 4);
	models_are_of(&one);
	reports_are_of(&one, 0, 1e-12, true);
	gang_teardown();
}

/* What crosses a cut is more than the slots between two ranks hold, both ways at once. */
TEST(pipeline_with_large_values_does_not_stand_still)
{
	struct rank one;

	gang_setup("{\"format\": \"synthetic\", \"features\": 16, \"rows\": 1300, \"classes\": 5}",
		   true, 0);
	gang.layers =
		"[{\"linear\": 12000}, \"relu\", {\"linear\": 16}, \"relu\", {\"linear\": 5}]";
	gang.trainer = (struct sw_trainer){SGD, .classes = true, .batch_size = 1024, .epochs = 1};
	one = unstaged(1, 256);
	pipeline_run(2, 2, 4);
	models_are_of(&one);
	gang_teardown();
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
}
