/* tests/sched/pruner/prune.h — what the tests of the pruners share. */
#ifndef SW_TESTS_SCHED_PRUNER_PRUNE_H
#define SW_TESTS_SCHED_PRUNER_PRUNE_H

#include "sched/pruner/pruners.h"
#include "tests/sched/suite.h"
#include <inttypes.h>
#include <math.h>

static inline struct sw_pruner *make_pruner(const struct sw_pruner_config *config, uint64_t seed)
{
	struct sw_pruner *p;

	ck_assert_int_eq(sw_pruners_create(&p, config, seed, NULL), SW_OK);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(sw_pruner_kind(p), config->kind);
	return p;
}

static inline struct sw_judgement report(struct sw_pruner *p, uint64_t trial,
					 struct sw_prune_trial *t, uint64_t step, double value)
{
	struct sw_judgement j;

	ck_assert(sw_pruner_report(p, trial, t, step, value, false, &j) == SW_OK);
	return j;
}

#endif
