/* tests/daemon/sweep/test_pace.c — when a core that is left over beside GPUs is worth a trial. */
#include "daemon/sweep/pace.h"
#include "tests/run.h"

/* A step's operations and launches, as the worker's check says them of some nets. */
#define LENET_FLOPS     12.8e6 /* a batch of 4 */
#define LENET_LAUNCHES  19
#define RESNET_FLOPS    430e9 /* of 128 */
#define RESNET_LAUNCHES 600
#define MLP_FLOPS       0.6e6 /* of 16 */
#define MLP_LAUNCHES    11

static const struct {
	double flops;
	int64_t launches;
	uint64_t left;
	unsigned lanes;
	bool suits;
} rows[] = {
	/* long steps: a GPU ends them sooner, however many are left */
	{RESNET_FLOPS, RESNET_LAUNCHES, UINT64_MAX, 1, false},
	{RESNET_FLOPS, RESNET_LAUNCHES, 1000, 8, false},
	/* a small net: both at once, until the lanes come through the rest sooner */
	{LENET_FLOPS, LENET_LAUNCHES, UINT64_MAX, 1, true},
	{LENET_FLOPS, LENET_LAUNCHES, 40, 1, true},
	{LENET_FLOPS, LENET_LAUNCHES, 40, 4, true},
	{LENET_FLOPS, LENET_LAUNCHES, 40, 32, false},
	{LENET_FLOPS, LENET_LAUNCHES, 3, 1, false},
	/* one that a core trains as fast as a lane */
	{MLP_FLOPS, MLP_LAUNCHES, 1, 1, true},
	{MLP_FLOPS, MLP_LAUNCHES, 1, 32, true},
	/* nothing is known */
	{0, 0, UINT64_MAX, 1, false},
	{0, 0, UINT64_MAX, 0, false},
	/* no GPU takes trials, for now */
	{LENET_FLOPS, LENET_LAUNCHES, 1, 0, true},
	{RESNET_FLOPS, RESNET_LAUNCHES, 1, 0, false},
};

START_TEST(pace_row_is_worth_a_core_or_waits_for_a_lane)
{
	struct sw_pace p = {.estimate = 0};

	sw_pace_estimate(&p, rows[_i].flops, rows[_i].launches);
	ck_assert_int_eq(sw_pace_suits_core(&p, rows[_i].left, rows[_i].lanes), rows[_i].suits);
}
END_TEST

START_TEST(pace_is_what_both_kinds_took_once_both_have_run)
{
	struct sw_pace p = {.estimate = 0};
	bool measured = true;

	sw_pace_estimate(&p, RESNET_FLOPS, RESNET_LAUNCHES);
	const double estimate = sw_pace_ratio(&p, &measured);
	ck_assert(!measured);
	ck_assert_double_gt(estimate, SW_PACE_MOST);
	sw_pace_add(&p, true, 10, 5);
	sw_pace_add(&p, true, 30, 15); /* 2 s a step */
	ck_assert_double_eq(sw_pace_ratio(&p, &measured), estimate);
	sw_pace_add(&p, false, 60, 10);
	ck_assert_double_eq(sw_pace_ratio(&p, &measured), 3.0);
	ck_assert(measured);
	ck_assert(sw_pace_suits_core(&p, 3, 1));
	ck_assert(!sw_pace_suits_core(&p, 2, 1));
}
END_TEST

SUITE(tcase)
{
	tcase_add_rows(tcase, pace_row_is_worth_a_core_or_waits_for_a_lane, rows);
	tcase_add_test(tcase, pace_is_what_both_kinds_took_once_both_have_run);
}
