/* tests/trainer/net/test_gang_sync.c — batch norms over the rows of all ranks: the curve and the
 * weights of one rank with the whole batch, but for rounding. Each rank is a thread. */
#include "tests/run.h"
#include "tests/trainer/net/gang.h"

/* Of 163 rows 131 are trained on: batches of 32 leave 3 to the last, those of 30 leave 11, those of
 * 43 leave 2, and some ranks without rows, of 2 already. */
static const struct {
	const char *dataset, *layers;
	struct sw_trainer trainer;
} cases[] = {
	{.dataset = "{\"format\": \"synthetic\", \"features\": 13, \"rows\": 163, \"classes\": 5}",
	 .layers = "[{\"linear\": 24}, \"batchnorm\", \"relu\", {\"linear\": 12}, \"batchnorm\", "
		   "\"tanh\", {\"linear\": 5}]",
	 .trainer = {SGD, .classes = true, .batch_size = 32, .epochs = 3}},
	{.dataset = "{\"format\": \"synthetic\", \"image\": [2, 8, 8], \"rows\": 163, "
		    "\"classes\": 3, \"augment\": {\"crop\": 1, \"flip\": true}}",
	 .layers = "[{\"conv2d\": {\"out\": 6, \"kernel\": 3}}, \"batchnorm\", \"relu\", "
		   "{\"maxpool2d\": 2}, {\"residual\": [{\"conv2d\": {\"out\": 6, \"kernel\": 3, "
		   "\"padding\": 1}}, \"batchnorm\", \"relu\"]}, \"flatten\", {\"dropout\": 0.2}, "
		   "{\"linear\": 3}]",
	 .trainer = {SGD, .classes = true, .clip_norm = 1, .batch_size = 30, .epochs = 3}},
	{.dataset = "{\"format\": \"synthetic\", \"features\": 9, \"rows\": 163}",
	 .layers = "[\"batchnorm\", {\"linear\": 16}, \"gelu\", \"batchnorm\", {\"linear\": 1}]",
	 .trainer = {ADAMW, .batch_size = 43, .epochs = 3}},
};

/* How far the last weights are from one's, at most, in parts of the largest of these. */
static double distance(const struct rank *one)
{
	const struct rank *lead = &gang.rank[0];
	double most = 0, scale = 0;

	ck_assert_uint_gt(one->last_n, 0);
	ck_assert_uint_lt(one->last_n, LAST_MOST);
	ck_assert_uint_eq(lead->last_n, one->last_n);
	for (size_t i = 0; i < one->last_n; i++) {
		scale = fmax(scale, fabs((double)one->last[i]));
		most = fmax(most, fabs((double)one->last[i] - (double)lead->last[i]));
	}
	return most / scale;
}

/* What one rank sees of whole batches. */
static struct rank alone(size_t i)
{
	gang_setup(cases[i].dataset, cases[i].trainer.classes, 0);
	gang.layers = cases[i].layers;
	gang.trainer = cases[i].trainer;
	gang_run(1);
	ck_assert_msg(gang.rank[0].rc == SW_OK, "%s", gang.rank[0].line);
	ck_assert_uint_eq(gang.rank[0].reports, gang.trainer.epochs);
	return gang.rank[0];
}

/* Of a pass's statistics, and of the running ones after it, each channel's. */
static sw_status noted_batchnorm(struct sw_queue *q, const float *x, const double *sums,
				 const float *gamma, const float *beta, float *running_mean,
				 float *running_var, float *y, float *mean, float *rstd, size_t N,
				 size_t B, size_t C, size_t S, struct sw_norm n)
{
	const sw_status rc = sw_ops_cpu.batchnorm_train_summed(
		q, x, sums, gamma, beta, running_mean, running_var, y, mean, rstd, N, B, C, S, n);
	uint64_t h = hash_floats(me->norms, mean, C);

	h = hash_floats(hash_floats(h, rstd, C), running_mean, C);
	me->norms = hash_floats(h, running_var, C);
	me->idle += B == 0;
	return rc;
}

static void note_norms(struct sw_ops *ops, unsigned rank)
{
	(void)rank;
	ops->batchnorm_train_summed = noted_batchnorm;
}

/* Sums in another order differ by some 1e-7 of themselves; 15 steps make 2e-6 of it at most, with
 * AdamW, which divides a small gradient by its own size. Without sync it is over 8e-3. */
#define NEAR 2e-5
#define FAR  2e-3

/* _i % 3: the ranks but 2; _i / 3: the case */
static void gang_of(size_t i)
{
	const unsigned world = 2 + (unsigned)i % 3;
	const struct rank one = alone(i / 3);

	gang.trainer.sync_batchnorm = true;
	gang.spoil = note_norms;
	gang_run(world);
	ranks_are_alike();
	for (unsigned r = 0; r < world; r++)
		ck_assert_msg(gang.rank[r].norms == gang.rank[0].norms,
			      "rank %u of %u has other statistics", r, world);
	ck_assert_uint_ne(gang.rank[0].norms, 0);
	ck_assert_uint_gt(gang.rank[world - 1].idle, 0);
	ck_assert_msg(distance(&one) < NEAR, "%u ranks: %g", world, distance(&one));
	reports_are_of(&one, 0, NEAR, true);
}

TEST_LOOP(gang_with_sync_is_one_rank_with_the_whole_batch, 0, 3 * (int)ROWS(cases))
{
	gang_of((size_t)_i);
}

TEST_ROWS(gang_without_sync_is_far_from_one_rank, cases)
{
	const struct rank one = alone((size_t)_i);

	gang_run(2);
	ranks_are_alike();
	ck_assert_msg(distance(&one) > FAR, "%g", distance(&one));
}

/* A net without batch norms makes the sums that it makes without the option. */
TEST(gang_with_sync_and_without_norms_has_the_bits_of_parts)
{
	struct rank plain;

	gang_setup(cases[0].dataset, true, 0);
	gang.layers = "[{\"linear\": 24}, \"layernorm\", \"relu\", {\"linear\": 5}]";
	gang.trainer = cases[0].trainer;
	gang_run(3);
	ranks_are_alike();
	plain = gang.rank[0];
	gang.trainer.sync_batchnorm = true;
	gang_run(3);
	ranks_are_alike();
	steps_are_of(&plain, 0);
	reports_are_of(&plain, 0, 0, true);
}

/* --- memory: a rank's rows stay together --- */

static void synced(void)
{
	gang_setup(cases[0].dataset, true, 0);
	gang.layers = cases[0].layers;
	gang.trainer = cases[0].trainer;
	gang.trainer.sync_batchnorm = true;
}

static void all_end_for_want_of_memory(const char *line)
{
	for (unsigned r = 0; r < gang.world; r++) {
		ck_assert_msg(gang.rank[r].rc == SW_NOMEM, "rank %u: %d, %s", r,
			      (int)gang.rank[r].rc, gang.rank[r].line);
		ck_assert_msg(strstr(gang.rank[r].line, line) != NULL, "%s", gang.rank[r].line);
	}
}

TEST(gang_with_sync_whose_part_does_not_fit_ends)
{
	synced();
	gang.trainer.memory = 20000;
	gang_run(2);
	all_end_for_want_of_memory("the 16 rows of a rank, in one part for sync_batchnorm, need ");
	gang.trainer.sync_batchnorm = false;
	gang_run(2);
	ranks_are_alike();
	ck_assert_uint_gt(gang.rank[0].oom_events, 0);
}

static sw_status short_of_memory(struct sw_queue *q, const float *y, const float *dy, float *dx,
				 size_t n)
{
	return me->steps == 2 ? SW_NOMEM : sw_ops_cpu.relu_backward(q, y, dy, dx, n);
}

static void run_short(struct sw_ops *ops, unsigned rank)
{
	if (rank == 1)
		ops->relu_backward = short_of_memory;
}

/* In mid-step, between the sums of batch norms. */
TEST(gang_with_sync_that_runs_short_of_memory_ends)
{
	synced();
	gang.spoil = run_short;
	gang_run(2);
	all_end_for_want_of_memory("training failed on cpu");
	ck_assert_uint_eq(gang.rank[0].steps, 2);
	ck_assert_uint_eq(gang.rank[1].oom_events, 0);
}

RUN_TESTS(NULL, gang_teardown)
