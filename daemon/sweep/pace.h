/*
 * daemon/sweep/pace.h — is a trial of a sweep better begun on a processor core that --devices auto has
 * left over, or kept for a lane of a GPU?
 *
 * A core is worth it where the trial ends there before the GPUs would have come through those that
 * are left: a small net uses both at once, and near the end the GPUs alone. What a core takes for a
 * lane's second is estimated from the worker's check until both have run trials of the sweep; then
 * it is what they took.
 * Pure     Which slot a trial gets says nothing about its parameters.
 */
#ifndef SW_DAEMON_SWEEP_PACE_H
#define SW_DAEMON_SWEEP_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* What a launch takes on a GPU with the kernel behind it, what a lane and a core compute, and what a
 * core takes for the call of an operation. Estimates, but for a core's rate (docs/performance.md). */
#define SW_PACE_LAUNCH_S   3.5e-6
#define SW_PACE_GPU_FLOPS  3e12
#define SW_PACE_CALL_S     5e-7
#define SW_PACE_CORE_FLOPS 50e9
#define SW_PACE_MOST       16 /* a core's trial takes at most so many of a lane's */

struct sw_pace {
	double estimate; /* seconds of a core for one of a lane; 0: not known */
	/* Of this sweep's trials since the daemon's start, on cores [0] and on lanes [1]. */
	double seconds[2], steps[2];
};

/* flops and launches: of a step (struct sw_speccheck); 0: not known. */
void sw_pace_estimate(struct sw_pace *p, double flops, int64_t launches);
/* An attempt has made so many steps there in these seconds. */
void sw_pace_add(struct sw_pace *p, bool gpu, double seconds, double steps);
/* Seconds of a core for one of a lane; 0: not known. *measured: by trials of both. */
double sw_pace_ratio(const struct sw_pace *p, bool *measured);
/* May a core begin one of the `left` trials that are not begun (UINT64_MAX: no end)? lanes: of the
 * GPUs that take trials of it now. If there are none, one of long steps waits all the same: a GPU that
 * comes back soon ends it sooner. */
bool sw_pace_suits_core(const struct sw_pace *p, uint64_t left, unsigned lanes);

#endif
