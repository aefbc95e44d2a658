/* tests/trainer/net/test_gang.c — a batch that is shared by ranks, a model in stages, and both: the
 * bits of ranks without stages, or of one, that take batches in the same parts. Each rank is a
 * thread. */
#include "tests/run.h"
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

static size_t share(unsigned ranks)
{
	return up(gang.trainer.batch_size, ranks);
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

struct shape {
	unsigned stages, world, parts;
};

/* Of the case that is set up. One rank with as many parts as two pipelines have is the oracle of
 * ranks that take one each; else as many ranks as there are pipelines. */
static void shape_has_the_bits_of_parts(const struct shape *s, bool norms)
{
	const unsigned ranks = s->world / s->stages;
	const bool alone = ranks == 1 || s->parts == 1;
	const bool same = !norms || ranks == 1 || !alone; /* statistics are a rank's */
	const struct rank *lead = &gang.rank[0];
	const struct rank one = unstaged(alone ? 1 : ranks, up(share(ranks), s->parts));

	staged_run(s->stages, s->world, s->parts);
	all_ended(SW_TRAIN_DONE, gang.trainer.epochs, one.steps);
	if (s->stages == 1)
		steps_are_of(&one, 0);
	if (same)
		models_are_of(&one);
	reports_are_of(&one, 0, 1e-12, same);
	for (size_t i = 0; s->stages > 1 && i < lead->reports; i++)
		ck_assert_msg(lead->e[i].bubble > 0 && lead->e[i].bubble < 1,
			      "epoch %zu: %g of its steps waited", i + 1, lead->e[i].bubble);
}

static const struct shape shapes[] = {{1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 2, 1},
				      {2, 2, 4}, {3, 3, 2}, {3, 3, 5}, {4, 4, 3},
				      {4, 4, 8}, {2, 4, 3}, {2, 4, 1}};

/* _i / shapes: the case; the fifth model has fewer places for a cut */
TEST_LOOP(gang_has_the_bits_of_ranks_in_parts, 0, (int)(ROWS(shapes) * ROWS(cases)))
{
	const struct shape *s = &shapes[(size_t)_i % ROWS(shapes)];
	const size_t i = (size_t)_i / ROWS(shapes);

	case_setup(i, 0);
	shape_has_the_bits_of_parts(s, cases[i].norms);
	if (s->stages == 1 && !cases[i].norms) {
		const struct rank whole = unstaged(1, 0);

		staged_run(1, s->world, 1);
		reports_are_of(&whole, 0, 2e-4, true);
	}
}

static sw_status counted_transfer(struct sw_queue *q, unsigned buffer, void *dst, const void *src,
				  size_t bytes)
{
	me->fetched += bytes;
	return sw_ops_cpu.transfer(q, buffer, dst, src, bytes);
}

static void counting(struct sw_ops *ops, unsigned rank)
{
	(void)rank;
	ops->transfer = counted_transfer;
}

/* Of rows in shares of at most so many. */
static size_t rows_of(size_t rows, size_t most, unsigned rank)
{
	const size_t from = rank * most;

	return from >= rows ? 0 : rows - from < most ? rows - from : most;
}

/* Of so many ranks that share a batch, and of a stage: bytes of its own rows, and labels of all. */
static size_t bytes_of(unsigned ranks, unsigned rank, unsigned stage)
{
	const struct sw_trainer *t = &gang.trainer;
	const size_t all = data.train.rows, labels = data.labels * sizeof(int32_t);
	const size_t lengths = data.train.length ? sizeof(int32_t) : 0;
	const size_t x = stage == 0 ? sw_data_row_bytes(&data) - labels - lengths : 0;
	const size_t vals = (data.val.rows + ranks - 1) / ranks;
	const size_t val = rows_of(data.val.rows, vals, rank) * (x + lengths + labels);
	size_t own = 0;

	for (size_t at = 0; at < all; at += t->batch_size)
		own += rows_of(all - at < t->batch_size ? all - at : t->batch_size, share(ranks),
			       rank);
	return t->epochs * (own * (x + lengths) + all * labels + val);
}

static const struct shape streamed[] = {{1, 3, 1}, {1, 8, 1}, {2, 2, 4}, {2, 4, 2}};

/* The rows of a batch are fetched to a stage of two, by turns. The last batch is odd. */
TEST_LOOP(gang_whose_rows_are_streamed_has_the_same_bits_and_each_rank_fetches_its_own, 0,
	  (int)(ROWS(streamed) * ROWS(cases)))
{
	const struct shape *s = &streamed[(size_t)_i % ROWS(streamed)];
	const size_t i = (size_t)_i / ROWS(streamed);

	case_setup(i, 1);
	ck_assert(data.streamed);
	gang.spoil = counting;
	shape_has_the_bits_of_parts(s, cases[i].norms);
	for (unsigned r = 0; r < s->world; r++)
		ck_assert_uint_eq(gang.rank[r].fetched,
				  bytes_of(s->world / s->stages, r / s->stages, r % s->stages));
}

/* A net of over 2 million weights is summed in three buckets. */
TEST(gang_sums_large_nets_by_buckets)
{
	struct rank parts;

	gang_setup("{\"format\": \"synthetic\", \"features\": 256, \"rows\": 25, \"classes\": 5}",
		   true, 0);
	gang.layers = "[{\"linear\": 1024}, \"relu\", {\"linear\": 1040}, \"relu\", "
		      "{\"linear\": 1024}, \"relu\", {\"linear\": 5}]";
	gang.trainer = (struct sw_trainer){SGD, .classes = true, .batch_size = 8, .epochs = 1,
					   .clip_norm = 1};
	parts = unstaged(1, 3);
	staged_run(1, 3, 1);
	ranks_are_alike();
	steps_are_of(&parts, 0);
}

/* A rank that takes its share in parts adds them up first: another order of the same sum. */
TEST_LOOP(gang_of_ranks_in_parts_has_the_same_curve, 0, 5)
{
	struct rank whole;

	case_setup((size_t)_i, 0);
	whole = unstaged(1, 0);
	gang.trainer.micro_batch = 5;
	staged_run(1, 2, 1);
	ranks_are_alike();
	ck_assert_uint_eq(gang.rank[0].micro, 5);
	reports_are_of(&whole, 0, 2e-4, true);
}

/* What crosses a cut is more than the cells between two ranks hold, both ways at once. */
TEST(pipeline_with_large_values_does_not_stand_still)
{
	struct rank one;

	gang_setup("{\"format\": \"synthetic\", \"features\": 16, \"rows\": 1300, \"classes\": 5}",
		   true, 0);
	gang.layers =
		"[{\"linear\": 12000}, \"relu\", {\"linear\": 16}, \"relu\", {\"linear\": 5}]";
	gang.trainer = (struct sw_trainer){SGD, .classes = true, .batch_size = 1024, .epochs = 1};
	one = unstaged(1, 256);
	staged_run(2, 2, 4);
	all_ended(SW_TRAIN_DONE, 1, one.steps);
	models_are_of(&one);
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, NULL, gang_teardown);
	tcase_set_timeout(tcase, 60);
}
