/* tests/trainer/net/test_gang.c — a batch shared by ranks: the bits of one rank that takes it in
 * parts. */
#include "tests/run.h"
#include "tests/trainer/net/gang_cases.h"

static size_t share(unsigned world)
{
	return (gang.trainer.batch_size + world - 1) / world;
}

static void gang_has_the_bits_of_parts(size_t i, unsigned world)
{
	struct rank parts, whole;

	case_setup(i, 0);
	parts = unstaged(1, share(world));
	whole = unstaged(1, 0);
	gang_run(world);
	ranks_are_alike();
	steps_are_of(&parts, 0);
	reports_are_of(&parts, 0, 1e-12, !cases[i].norms);
	if (!cases[i].norms)
		reports_are_of(&whole, 0, 2e-4, true);
	gang_teardown();
}

TEST_LOOP(gang_of_ranks_has_the_bits_of_one_rank_in_parts, 0, 3 * (int)ROWS(cases))
{
	static const unsigned worlds[] = {2, 3, 4};
	const unsigned world = worlds[(size_t)_i % ROWS(worlds)];

	gang_has_the_bits_of_parts((size_t)_i / ROWS(worlds), world);
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

/* The rows of a batch are fetched to a stage of two, by turns. The last batch is odd. _i: as many
 * cases, each with three ranks and with eight; and a pipeline */
TEST_LOOP(gang_whose_rows_are_streamed_has_the_same_bits_and_each_rank_fetches_its_own, 0,
	  2 * (int)ROWS(cases) + 1)
{
	const bool pipeline = (size_t)_i == 2 * ROWS(cases);
	const size_t i = pipeline ? 0 : (size_t)_i / 2;
	const unsigned world = pipeline ? 4 : _i % 2 ? 8 : 3, stages = pipeline ? 2 : 1;
	struct rank parts;

	case_setup(i, 1);
	ck_assert(data.streamed);
	gang.trainer.clip_norm = 0; /* whose sum has another order in a pipeline */
	parts = unstaged(1, share(world / stages));
	gang.trainer.stages = stages;
	gang.trainer.microbatches = stages;
	gang.spoil = counting;
	gang_run(world);
	gang.trainer.stages = 1;
	if (pipeline) {
		for (unsigned r = 0; r < world; r++)
			ck_assert_msg(gang.rank[r].rc == SW_OK, "%s", gang.rank[r].line);
	} else {
		ranks_are_alike();
		steps_are_of(&parts, 0);
		reports_are_of(&parts, 0, 1e-12, !cases[i].norms);
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_uint_eq(gang.rank[r].fetched,
				  bytes_of(world / stages, r / stages, r % stages));
	gang_teardown();
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
	gang_run(3);
	ranks_are_alike();
	steps_are_of(&parts, 0);
	gang_teardown();
}

/* A rank that takes its share in parts adds them up first: another order of the same sum. */
TEST_LOOP(gang_of_ranks_in_parts_has_the_same_curve, 0, 5)
{
	struct rank whole;

	case_setup((size_t)_i, 0);
	whole = unstaged(1, 0);
	gang.trainer.micro_batch = 5;
	gang_run(2);
	ranks_are_alike();
	ck_assert_uint_eq(gang.rank[0].micro, 5);
	reports_are_of(&whole, 0, 2e-4, true);
	gang_teardown();
}

RUN_TESTS(NULL, NULL)
