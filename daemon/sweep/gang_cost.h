/*
 * daemon/sweep/gang_cost.h — what a step of a trainer's trial is expected to take on one slot, and as
 * the gang that its spec asks for.
 *
 * A rank works on its part of the batch, calls every operation all the same, and waits for the sum of
 * all gradients. Of a pipeline of P stages it works on its stage's operations, on a micro-batch at a
 * time; a step has the time of M + P - 1 of the M micro-batches in the heaviest stage (1F1B:
 * Narayanan et al., "PipeDream", 2019; the bubble as in "Memory-Efficient Pipeline-Parallel DNN
 * Training", 2021), and each waits for a value from the stage before and a gradient from the next.
 * All figures are estimates: those of daemon/sweep/pace.h, and the sum's below.
 * Pure
 */
#ifndef SW_DAEMON_SWEEP_GANG_COST_H
#define SW_DAEMON_SWEEP_GANG_COST_H

#include <stdbool.h>

struct sw_spec;
struct sw_speccheck;

/* What the ranks of a machine need for a sum, or to pass a value on, beside its bytes, and a second's
 * bytes: of shared memory [0] and of GPUs [1]. The bytes of the first are about half of what two ranks
 * had in `scripts/bench comm` from 256 KiB on; all else is a guess. */
#define SW_GANG_COST_WAIT_S                                                                        \
	{                                                                                          \
		20e-6, 30e-6                                                                       \
	}
#define SW_GANG_COST_BYTES_S                                                                       \
	{                                                                                          \
		8e9, 2e10                                                                          \
	}

struct sw_gang_cost {
	unsigned ranks;
	double alone_s, gang_s; /* seconds a step */
	unsigned stages;        /* of a pipeline; else 0, as the next two */
	double heaviest;        /* the heaviest stage's part of a step's operations */
	double bubble;          /* the part of a step that a stage waits, at least */
};

/* Of the largest configuration, on slots of so many cores, or on GPUs. False: no gang, or no facts. */
bool sw_gang_cost_of(const struct sw_spec *spec, const struct sw_speccheck *facts, unsigned cores,
		     struct sw_gang_cost *out);

#endif
