/* tests/daemon/sweep/test_gang_cost.c — what a step is expected to take alone and as a gang. */
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/gang_cost.h"
#include "spec/spec.h"
#include "tests/run.h"

static const struct {
	double flops;
	int64_t launches, weights;
	unsigned ranks, cores;
	double alone_ms, gang_ms; /* by hand, from the figures of the two headers */
} rows[] = {
	{50e6, 20, 1000, 2, 1, 1.01, .5305},
	{50e6, 20, 1000, 4, 1, 1.01, .2805},
	{50e6, 20, 1000, 2, 2, .51, .2805},
	{50e6, 20, 1000000, 2, 1, 1.01, 1.03}, /* its gradients are too many */
	{1e6, 20, 1000, 2, 1, .03, .0405},     /* too short a step */
};

START_TEST(gang_cost_row_is_the_work_the_calls_and_the_sum)
{
	const struct sw_spec spec = {.data_ranks = rows[_i].ranks, .stages = 1};
	const struct sw_speccheck facts = {.flops = rows[_i].flops,
					   .launches = rows[_i].launches,
					   .parameters = rows[_i].weights};
	struct sw_gang_cost cost;

	ck_assert(sw_gang_cost_of(&spec, &facts, rows[_i].cores, &cost));
	ck_assert_uint_eq(cost.ranks, rows[_i].ranks);
	ck_assert_uint_eq(cost.stages, 0);
	ck_assert_double_eq_tol(cost.alone_s * 1e3, rows[_i].alone_ms, 1e-9);
	ck_assert_double_eq_tol(cost.gang_s * 1e3, rows[_i].gang_ms, 1e-9);
}
END_TEST

static const struct {
	double flops, stage_flops;
	int64_t cut_bytes, weights;
	unsigned data, stages, parts;
	double gpu;
	double alone_us, gang_us, heaviest, bubble; /* by hand */
} staged[] = {
	/* 4 + 2 - 1 times: 500 us / 4, 10 calls of half a us, twice 20 us and no bytes */
	{50e6, 25e6, 0, 1000, 1, 2, 4, 0, 1010, 850, .5, .2},
	/* 60 us of the whole batch's bytes / 4, twice a micro-batch */
	{50e6, 25e6, 480000, 1000, 1, 2, 4, 0, 1010, 1000, .5, .2},
	/* a cut that is not in the middle */
	{50e6, 40e6, 0, 1000, 1, 2, 4, 0, 1010, 1225, .8, .2},
	/* four stages: 8 + 4 - 1 times 250 us / 8, 5 calls, twice 20 us */
	{50e6, 12.5e6, 0, 1000, 1, 4, 8, 0, 1010, 811.25, .25, 3.0 / 11},
	/* two data ranks: half the rows each, and a sum of half the weights: 20 us and 50 us */
	{50e6, 25e6, 480000, 200000, 2, 2, 4, 0, 1010, 682.5, .5, .2},
	/* GPUs: 5000 us / 4, 10 launches of 3.5 us, twice 30 us */
	{30e9, 15e9, 0, 1000, 1, 2, 4, 2, 10070, 6725, .5, .2},
};

START_TEST(gang_cost_of_a_pipeline_is_that_of_its_heaviest_stage)
{
	const struct sw_spec spec = {
		.data_ranks = staged[_i].data, .stages = staged[_i].stages, .gpu = staged[_i].gpu};
	const struct sw_speccheck facts = {.flops = staged[_i].flops,
					   .launches = 20,
					   .parameters = staged[_i].weights,
					   .stage_flops = staged[_i].stage_flops,
					   .parts = staged[_i].parts,
					   .cut_bytes = staged[_i].cut_bytes};
	struct sw_gang_cost cost;

	ck_assert(sw_gang_cost_of(&spec, &facts, 1, &cost));
	ck_assert_uint_eq(cost.ranks, staged[_i].data * staged[_i].stages);
	ck_assert_double_eq_tol(cost.alone_s * 1e6, staged[_i].alone_us, 1e-6);
	ck_assert_double_eq_tol(cost.gang_s * 1e6, staged[_i].gang_us, 1e-6);
	ck_assert_uint_eq(cost.stages, staged[_i].stages);
	ck_assert_double_eq_tol(cost.heaviest, staged[_i].heaviest, 1e-9);
	ck_assert_double_eq_tol(cost.bubble, staged[_i].bubble, 1e-9);
}
END_TEST

START_TEST(gang_cost_of_one_rank_or_without_facts_is_none)
{
	const struct sw_spec one = {.data_ranks = 1, .stages = 1}, none = {.data_ranks = 0};
	const struct sw_spec two = {.data_ranks = 2, .stages = 1};
	const struct sw_speccheck facts = {.flops = 1e9, .launches = 9}, unknown = {.flops = 0};
	const struct sw_spec staged_two = {.data_ranks = 1, .stages = 2, .microbatches = 8};
	struct sw_gang_cost cost;

	ck_assert(!sw_gang_cost_of(&staged_two, &facts, 1, &cost)); /* no stage is known */
	ck_assert(!sw_gang_cost_of(&one, &facts, 1, &cost));
	ck_assert(!sw_gang_cost_of(&none, &facts, 1, &cost));
	ck_assert(!sw_gang_cost_of(&two, &unknown, 1, &cost));
	ck_assert(!sw_gang_cost_of(&two, &facts, 0, &cost));
}
END_TEST

SUITE(tcase)
{
	tcase_add_rows(tcase, gang_cost_row_is_the_work_the_calls_and_the_sum, rows);
	tcase_add_rows(tcase, gang_cost_of_a_pipeline_is_that_of_its_heaviest_stage, staged);
	tcase_add_test(tcase, gang_cost_of_one_rank_or_without_facts_is_none);
}
