/* tests/trainer/net/test_pipeline.c — a model in stages, each a thread with some of its layers:
 * the bits of one rank that takes its batches in the same parts. */
#include "tests/run.h"
#include "tests/trainer/net/gang_cases.h"

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
	pipeline_run(2, 2, 4);
	models_are_of(&one);
	gang_teardown();
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
}
