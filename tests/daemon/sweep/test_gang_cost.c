/* tests/daemon/sweep/test_gang_cost.c — what a step is expected to take alone and as a gang. */
#include "daemon/slot/speccheck.h"
#include "daemon/sweep/gang_cost.h"
#include "spec/spec.h"
#include "tests/run.h"

static const struct {
	double flops;
	int64_t launches, weights;
	unsigned ranks, cores;
	const char *transport;
	double alone_ms, gang_ms; /* by hand, from the figures of the two headers */
} rows[] = {
	{50e6, 20, 1000, 2, 1, "shm", 1.01, .531},
	{50e6, 20, 1000, 4, 1, "shm", 1.01, .281},
	{50e6, 20, 1000, 2, 2, "shm", .51, .281},
	{50e6, 20, 1000000, 2, 1, "shm", 1.01, 1.53}, /* its gradients are too many */
	{50e6, 20, 1000, 2, 1, "tcp", 1.01, .614},
	{1e6, 20, 1000, 2, 1, "shm", .03, .041}, /* too short a step */
};

START_TEST(gang_cost_row_is_the_work_the_calls_and_the_sum)
{
	const struct sw_spec spec = {.data_ranks = rows[_i].ranks, .transport = rows[_i].transport};
	const struct sw_speccheck facts = {.flops = rows[_i].flops,
					   .launches = rows[_i].launches,
					   .parameters = rows[_i].weights};
	struct sw_gang_cost cost;

	ck_assert(sw_gang_cost_of(&spec, &facts, rows[_i].cores, &cost));
	ck_assert_uint_eq(cost.ranks, rows[_i].ranks);
	ck_assert_double_eq_tol(cost.alone_s * 1e3, rows[_i].alone_ms, 1e-9);
	ck_assert_double_eq_tol(cost.gang_s * 1e3, rows[_i].gang_ms, 1e-9);
}
END_TEST

START_TEST(gang_cost_of_one_rank_or_without_facts_is_none)
{
	const struct sw_spec one = {.data_ranks = 1, .transport = "shm"}, none = {.data_ranks = 0};
	const struct sw_spec two = {.data_ranks = 2, .transport = "shm"};
	const struct sw_speccheck facts = {.flops = 1e9, .launches = 9}, unknown = {.flops = 0};
	struct sw_gang_cost cost;

	ck_assert(!sw_gang_cost_of(&one, &facts, 1, &cost));
	ck_assert(!sw_gang_cost_of(&none, &facts, 1, &cost));
	ck_assert(!sw_gang_cost_of(&two, &unknown, 1, &cost));
	ck_assert(!sw_gang_cost_of(&two, &facts, 0, &cost));
}
END_TEST

SUITE(tcase)
{
	tcase_add_rows(tcase, gang_cost_row_is_the_work_the_calls_and_the_sum, rows);
	tcase_add_test(tcase, gang_cost_of_one_rank_or_without_facts_is_none);
}
